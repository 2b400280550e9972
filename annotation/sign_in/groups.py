"""Which role a person's groups at the provider give them. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

RANK = ("researcher", "administrator")
"""From the least to the most that a role may do."""


def groups_of(claims: Mapping[str, Any], claim: str) -> list[str]:
    """Return the groups in a claim; dots lead into it, as in ``realm_access.roles``. One that is no list is none.

    Examples
    --------
    >>> groups_of({"realm_access": {"roles": ["lab"]}}, "realm_access.roles")
    ['lab']
    """
    found: Any = claims.get(claim)
    if found is None:
        found = claims
        for part in claim.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        return [found]
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def role_of(groups: Iterable[str], mapped: Mapping[str, str]) -> str | None:
    """Return the role that may do most among those of these groups; None if no group is mapped.

    Examples
    --------
    >>> role_of(["lab", "it"], {"lab": "researcher", "it": "administrator"})
    'administrator'
    >>> role_of(["guests"], {"lab": "researcher"})
    """
    roles = {mapped[group] for group in groups if group in mapped}
    return max(roles, key=RANK.index) if roles else None

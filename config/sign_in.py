"""Reading the settings of single sign-on from the environment."""

import json
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

ROLES = ("researcher", "administrator")
LOCAL = ("localhost", "127.0.0.1", "::1")


def issuer_read(text: str) -> str:
    """Return the issuer's address as it was given; empty means no single sign-on.

    Raises ImproperlyConfigured for one that is no https address, except on this machine.

    Examples
    --------
    >>> issuer_read("https://id.example/realms/lab")
    'https://id.example/realms/lab'
    """
    if not text:
        return ""
    parts = urlsplit(text)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL)
    if not is_safe or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ImproperlyConfigured(
            f"TOUCHSTONE_OIDC_ISSUER is {text!r}; it must be an https address without a query, as the provider's "
            "metadata has it."
        )
    return text


def groups_read(text: str) -> dict[str, str]:
    """Return the role of each group: of ``group=role,group=role``, or of a JSON object for names with a comma.

    Raises ImproperlyConfigured for a role that there isn't.

    Examples
    --------
    >>> groups_read("lab=researcher, it=administrator")
    {'lab': 'researcher', 'it': 'administrator'}
    """
    if not text.strip():
        return {}
    found: dict[str, str]
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ImproperlyConfigured(f"TOUCHSTONE_OIDC_GROUPS is no JSON: {error}") from None
    else:
        parts = [part.rpartition("=") for part in text.split(",") if part.strip()]
        found = {group.strip(): role.strip() for group, _, role in parts}
    for group, role in found.items():
        if not group or role not in ROLES:
            raise ImproperlyConfigured(
                f"TOUCHSTONE_OIDC_GROUPS has {group!r} with the role {role!r}; write group=researcher or "
                "group=administrator, with commas between."
            )
    return found

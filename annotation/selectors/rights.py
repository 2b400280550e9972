"""What a person may do with a study or a dataset: as its owner, or by what was granted to them or to their teams.

The table of these rights is in `docs/running-a-study.md`. The conditions are parts of the query that fetches the rows,
so a grant counts at that moment, and a page has the same number of queries however many there are. They are flat:
they stand inside other subqueries, and SQLite parses only so many levels.
"""

from typing import Literal

from django.db.models import OuterRef, Q, QuerySet, Subquery

from annotation.domain.rights import Rights
from annotation.models import AccessGrant, AccessRole, User

Shared = Literal["study", "dataset"]


def shared_with(user: User, what: Shared, *, key: str = "pk", editor: bool = False) -> Q:
    """What restricts rows to studies, or datasets, that were shared with this person or one of their teams.

    Parameters
    ----------
    key
        The way from the rows to the primary key: "dataset" of a study.
    editor
        Those that they were made an editor of.
    """
    granted = _grants(what)
    if editor:
        granted = granted.filter(role=AccessRole.EDITOR)
    # Two lookups, so that each is by an index.
    return Q(**{f"{key}__in": granted.filter(user=user).values(what)}) | Q(
        **{f"{key}__in": granted.filter(team__members__user=user).values(what)}
    )


def role_granted(user: User, what: Shared) -> Subquery:
    """The higher role that was granted on a row of an outer query."""
    mine = Q(user=user) | Q(team__members__user=user)
    held = _grants(what).filter(mine, **{what: OuterRef("pk")})
    return Subquery(held.order_by("role").values("role")[:1])  # editor comes before viewer


def studies_granted(user: User) -> QuerySet[AccessGrant, int]:
    """Primary keys of the studies that were shared with this person, each once."""
    held = _grants("study").filter(Q(user=user) | Q(team__members__user=user))
    return held.values_list("study", flat=True).distinct()


def _grants(what: Shared) -> QuerySet[AccessGrant]:
    return AccessGrant.objects.order_by().filter(**{f"{what}__isnull": False})


def rights_on(user: User, *, owner: int | None, granted: str | None) -> Rights:
    """The rights on a row that this person sees.

    Parameters
    ----------
    owner : int or None
        Primary key of its owner.
    granted : str or None
        What `role_granted` says of it.
    """
    if owner == user.pk:
        return Rights(True, True, True, "owner")
    if user.is_administrator:
        return Rights(True, True, True, "administrator")
    if owner is None:
        return Rights(True, True)
    return Rights(may_edit=granted == AccessRole.EDITOR, role=granted or "")

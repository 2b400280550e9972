"""What a person may do with a study or a dataset: as its owner, or by what was granted to them or to their teams.

The table of these rights is in `docs/running-a-study.md`. Grants are few and looked up by person and team, as one
uncorrelated subquery, so that a page has the same number of queries however many there are.
"""

from django.db.models import OuterRef, Q, QuerySet, Subquery

from annotation.domain.rights import Rights
from annotation.models import AccessGrant, AccessRole, TeamMember, User


def grants_held_by(user: User, *, editor: bool = False) -> QuerySet[AccessGrant]:
    """Grants to this person or to one of their teams; `editor`: those that let them change something."""
    teams = TeamMember.objects.filter(user=user).values("team")
    held = AccessGrant.objects.order_by().filter(Q(user=user) | Q(team__in=teams))
    return held.filter(role=AccessRole.EDITOR) if editor else held


def studies_granted(user: User, *, editor: bool = False) -> QuerySet[AccessGrant, int]:
    """Primary keys of the studies that were shared with this person."""
    return grants_held_by(user, editor=editor).filter(study__isnull=False).values_list("study", flat=True)


def datasets_granted(user: User, *, editor: bool = False) -> QuerySet[AccessGrant, int]:
    """Primary keys of the datasets that were shared with this person."""
    return grants_held_by(user, editor=editor).filter(dataset__isnull=False).values_list("dataset", flat=True)


def role_granted(user: User, subject: str) -> Subquery:
    """The higher role that was granted on a row of an outer query; `subject`: ``"study"`` or ``"dataset"``."""
    held = grants_held_by(user).filter(**{subject: OuterRef("pk")})
    return Subquery(held.order_by("role").values("role")[:1])  # editor comes before viewer


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

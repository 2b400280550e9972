"""Teams: people who are granted access together. A team always has an admin, who chooses its members."""

from django.db import IntegrityError, transaction

from annotation.domain.errors import SharingError
from annotation.models import Role, Team, TeamMember, User

TAKEN = "A team with this name exists."


def team_create(*, name: str, by: User) -> Team:
    """Make a team; the person who makes it is its admin.

    Raises
    ------
    SharingError
        The name is empty, or taken.
    """
    with transaction.atomic():
        team = Team(name=name)
        _saved(team)
        TeamMember.objects.create(team=team, user=by, is_admin=True)
    return team


def team_rename(*, team: Team, name: str) -> Team:
    """Give a team another name.

    Raises
    ------
    SharingError
        The name is empty, or taken.
    """
    team.name = name
    _saved(team)
    return team


def team_delete(*, team: Team) -> bool:
    """Delete a team; what was shared with it is no longer. False if it is gone already."""
    with transaction.atomic():
        held = Team.objects.select_for_update().filter(pk=team.pk).first()
        if held is not None:
            held.delete()
    return held is not None


def member_add(*, team: Team, user: User, is_admin: bool = False) -> tuple[TeamMember, bool]:
    """Put a person into a team: they see at once what is shared with it. The member, and whether they're new.

    Raises
    ------
    SharingError
        They're no active researcher.
    """
    if not user.is_active or user.role == Role.ANNOTATOR:
        raise SharingError("user", f"{user.get_username()} isn't an active researcher.")
    with transaction.atomic():
        Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        return TeamMember.objects.get_or_create(team=team, user=user, defaults={"is_admin": is_admin})


def member_change(*, member: TeamMember, is_admin: bool) -> bool:
    """Make a member an admin of their team, or no longer; False where they are that already.

    Raises
    ------
    SharingError
        They are the only admin.
    """
    with transaction.atomic():
        held = _locked(member)
        if held is None or held.is_admin == is_admin:
            return False
        if not is_admin:
            _other_admin_check(held)
        held.is_admin = is_admin
        held.save(update_fields=["is_admin"])
    return True


def member_remove(*, member: TeamMember) -> bool:
    """Remove a person from a team: what they saw by it, they see no longer. False if they're gone already.

    Raises
    ------
    SharingError
        They are the only admin. Make another member one first, or delete the team.
    """
    with transaction.atomic():
        held = _locked(member)
        if held is None:
            return False
        if held.is_admin:
            _other_admin_check(held)
        held.delete()
    return True


def _saved(team: Team) -> None:
    team.name = Team._meta.get_field("name").to_python(team.name).strip()
    if not team.name:
        raise SharingError("name", "Enter a name.")
    if len(team.name) > 100:
        raise SharingError("name", "Expected at most 100 characters.")
    try:
        with transaction.atomic():
            team.save()
    except IntegrityError:
        raise SharingError("name", TAKEN) from None


def _locked(member: TeamMember) -> TeamMember | None:
    """The member with the lock of their team, so that two admins don't leave it at once."""
    Team.objects.select_for_update(no_key=True).filter(pk=member.team_id).first()
    return TeamMember.objects.select_related("team", "user").filter(pk=member.pk).first()


def _other_admin_check(member: TeamMember) -> None:
    admins = TeamMember.objects.filter(team=member.team_id, is_admin=True, user__is_active=True)
    others = admins.exclude(pk=member.pk)
    if not others.exists():
        raise SharingError(
            "user",
            f"{member.user.get_username()} is the team's only admin. Make another member an admin first.",
        )

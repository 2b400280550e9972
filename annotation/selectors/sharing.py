"""Who has access to a study or a dataset, and teams as their members see them."""

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation.models import AccessGrant, Dataset, Study, Team, TeamMember, User
from annotation.selectors.datasets import datasets_visible_to
from annotation.selectors.overview import studies_visible_to


def grants_of(subject: Study | Dataset) -> QuerySet[AccessGrant]:
    """Who has been granted access, people before teams, by name: one query."""
    about = {"study": subject} if isinstance(subject, Study) else {"dataset": subject}
    rows = AccessGrant.objects.filter(**about).select_related(
        "user", "team", "granted_by", "study", "dataset"
    )
    return rows.annotate(n_members=Count("team__members")).order_by("team__name", "user__username", "pk")


def grant_of(subject: Study | Dataset, pk: int) -> AccessGrant:
    """A grant on a study or a dataset that was fetched for the person; else Http404."""
    return get_object_or_404(grants_of(subject), pk=pk)


def teams_visible_to(user: User) -> QuerySet[Team]:
    """Teams that this person is in, by name; administrators: all."""
    mine = TeamMember.objects.filter(team=OuterRef("pk"), user=user)
    teams = Team.objects.order_by("name")
    return teams if user.is_administrator else teams.filter(Exists(mine))


def teams_managed_by(user: User) -> QuerySet[Team]:
    """Teams whose members this person chooses: those that they're an admin of; administrators: all."""
    mine = TeamMember.objects.filter(team=OuterRef("pk"), user=user, is_admin=True)
    return teams_visible_to(user) if user.is_administrator else teams_visible_to(user).filter(Exists(mine))


def team_list_for(user: User) -> QuerySet[Team]:
    """Teams for a list, each with `n_members`, `n_shared` and whether the person `is_managed` by them: one query."""
    mine = TeamMember.objects.filter(team=OuterRef("pk"), user=user, is_admin=True)
    return teams_visible_to(user).annotate(
        n_members=Count("members", distinct=True),
        n_shared=Count("access_grants", distinct=True),
        is_managed=Exists(mine),
    )


def team_get_for(user: User, pk: int) -> Team:
    """A team that they are in, with its members by name; else Http404. Two queries."""
    members = TeamMember.objects.select_related("user").order_by("user__username")
    return get_object_or_404(teams_visible_to(user).prefetch_related(Prefetch("members", members)), pk=pk)


def team_to_manage(user: User, pk: int) -> Team:
    """A team whose members they choose; else Http404."""
    return get_object_or_404(teams_managed_by(user), pk=pk)


def member_of(team: Team, pk: int) -> TeamMember:
    """A member of a team that was fetched for the person; else Http404."""
    return get_object_or_404(TeamMember.objects.select_related("user", "team"), pk=pk, team=team)


def member_to_remove(user: User, team: int, pk: int) -> TeamMember:
    """A member of a team that they are an admin of, or themselves, who may leave; else Http404."""
    found = member_of(team_get_for(user, team), pk)
    if found.user_id != user.pk and not teams_managed_by(user).filter(pk=team).exists():
        raise Http404("There is no such member.")
    return found


def grants_of_team(user: User, team: Team) -> QuerySet[AccessGrant]:
    """What is shared with a team and seen by this person: one query."""
    seen = Q(study__in=studies_visible_to(user)) | Q(dataset__in=datasets_visible_to(user))
    rows = AccessGrant.objects.filter(seen, team=team).select_related("study", "dataset")
    return rows.order_by("pk")

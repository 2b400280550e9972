"""Teams: listed, made, renamed, deleted; their members."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.domain.errors import SharingError
from annotation.forms.sharing import MemberForm, TeamForm
from annotation.models import Team
from annotation.selectors.sharing import (
    grants_of_team,
    member_of,
    member_to_remove,
    team_get_for,
    team_list_for,
    team_to_manage,
    teams_managed_by,
)
from annotation.services.teams import (
    member_add,
    member_change,
    member_remove,
    team_create,
    team_delete,
    team_rename,
)
from web.access import ResearcherRequest, researcher_action, researcher_form, researcher_page


@researcher_form
def team_list(request: ResearcherRequest) -> HttpResponse:
    """Show the teams that one is in; POST: make one, and be its admin."""
    form = TeamForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            team = team_create(name=form.cleaned_data["name"], by=request.user)
        except SharingError as refusal:
            form.add_error("name", refusal.message)
        else:
            messages.success(request, f"The team {team.name} was created. Add its members.")
            return redirect("annotation:team-detail", team.pk)
    context = {
        "teams": team_list_for(request.user),
        "form": form,
        "crumbs": [("Your account", reverse("me")), ("Teams", None)],
    }
    return render(request, "annotation/researcher/teams.html", context, status=422 if form.is_bound else 200)


@researcher_page
def team_detail(request: ResearcherRequest, pk: int) -> HttpResponse:
    """A team of one's own: its members, and what is shared with it."""
    return _page(request, team_get_for(request.user, pk))


def _page(
    request: ResearcherRequest,
    team: Team,
    *,
    member_form: MemberForm | None = None,
    name_form: TeamForm | None = None,
) -> HttpResponse:
    stored = Team.objects.values_list("name", flat=True).get(pk=team.pk) if name_form else team.name
    context: dict[str, Any] = {
        "team": team,
        "team_name": stored,
        "members": team.members.all(),
        "grants": grants_of_team(request.user, team),
        "is_managed": teams_managed_by(request.user).filter(pk=team.pk).exists(),
        "member_form": member_form or MemberForm(),
        "name_form": name_form or TeamForm(initial={"name": stored}),
        "crumbs": [
            ("Your account", reverse("me")),
            ("Teams", reverse("annotation:team-list")),
            (stored, None),
        ],
    }
    refused = member_form is not None or name_form is not None
    return render(request, "annotation/researcher/team.html", context, status=422 if refused else 200)


@researcher_action
def team_act(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Rename or delete a team that one is an admin of."""
    team = team_to_manage(request.user, pk)
    action = request.POST.get("action", "")
    if action == "delete":
        if team_delete(team=team):
            messages.success(request, f"The team {team.name} was deleted. Its members lost what it shared.")
        return redirect("annotation:team-list")
    if action != "rename":
        raise Http404("There is no such action.")
    form = TeamForm(request.POST)
    if form.is_valid():
        try:
            team_rename(team=team, name=form.cleaned_data["name"])
        except SharingError as refusal:
            form.add_error("name", refusal.message)
    if form.errors:
        return _page(request, team_get_for(request.user, pk), name_form=form)
    messages.success(request, "The team was renamed.")
    return redirect("annotation:team-detail", pk)


@researcher_action
def team_member_add(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Put a person into a team that one is an admin of."""
    team = team_to_manage(request.user, pk)
    form = MemberForm(request.POST)
    if form.is_valid():
        try:
            _, is_new = member_add(team=team, **form.cleaned_data)
        except SharingError as refusal:
            form.add_error("user", refusal.message)
        else:
            name = form.cleaned_data["user"].get_username()
            words = f"{name} is in the team now." if is_new else f"{name} is in the team already."
            messages.success(request, words)
            return redirect("annotation:team-detail", pk)
    return _page(request, team_get_for(request.user, pk), member_form=form)


@researcher_action
def team_member_act(request: ResearcherRequest, pk: int, member: int) -> HttpResponse:
    """Make a member an admin or no longer one, remove a member; everyone may leave a team."""
    action = request.POST.get("action", "")
    try:
        if action == "remove":
            found = member_to_remove(request.user, pk, member)
            if member_remove(member=found):
                messages.success(request, f"{found.user.get_username()} is no longer in the team.")
            if found.user_id == request.user.pk and not request.user.is_administrator:
                return redirect("annotation:team-list")
        elif action in ("admin", "plain"):
            found = member_of(team_to_manage(request.user, pk), member)
            if member_change(member=found, is_admin=action == "admin"):
                what = "an admin of the team now" if action == "admin" else "no longer an admin of the team"
                messages.success(request, f"{found.user.get_username()} is {what}.")
        else:
            raise Http404("There is no such action.")
    except SharingError as refusal:
        messages.error(request, f"Nothing was changed: {refusal.message}")
    return redirect("annotation:team-detail", pk)

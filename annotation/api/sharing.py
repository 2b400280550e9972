"""Who has access to studies and datasets, and teams, for programs. Each write calls the service that the page calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.base import ApiView, Exact, Listing, deleted, said
from annotation.domain.errors import SharingError
from annotation.models import AccessGrant, AccessRole, Dataset, Study, Team, TeamMember, User
from annotation.selectors.datasets import datasets_owned_by
from annotation.selectors.overview import studies_settled_by
from annotation.selectors.sharing import (
    grant_of,
    grants_of,
    member_of,
    member_to_remove,
    team_get_for,
    team_list_for,
    team_to_manage,
    teams_visible_to,
)
from annotation.selectors.users import user_find
from annotation.services.sharing import access_change, access_grant, access_remove, ownership_transfer
from annotation.services.teams import (
    member_add,
    member_change,
    member_remove,
    team_create,
    team_delete,
    team_rename,
)
from web.api.pages import Narrow
from web.api.problems import RefusalProblem

USERNAME = "A person by their username."


class AccessSerializer(serializers.ModelSerializer[AccessGrant]):
    """What one person, or one team, may do with a study or a dataset of another."""

    user: Any = serializers.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)
    team: Any = serializers.PrimaryKeyRelatedField(read_only=True, allow_null=True)
    team_name = serializers.SerializerMethodField()
    granted_by: Any = serializers.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)

    class Meta:
        model = AccessGrant
        fields = ("id", "user", "team", "team_name", "role", "granted_by", "created_at")
        read_only_fields = fields

    def get_team_name(self, grant: AccessGrant) -> str:
        """Return the name of the team; empty for a person."""
        return grant.team.name if grant.team else ""


class AccessWriteSerializer(Exact):
    """Access to grant: to a person or to a team."""

    user = serializers.CharField(max_length=150, required=False, help_text=USERNAME)
    team = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, required=False, help_text="A team of yours, by its id."
    )
    role = serializers.ChoiceField(choices=AccessRole.choices)


class AccessChangeSerializer(Exact):
    """Another role."""

    role = serializers.ChoiceField(choices=AccessRole.choices)


class TransferSerializer(Exact):
    """Who owns it from now on."""

    to = serializers.CharField(max_length=150, help_text=USERNAME)


class OwnerSerializer(serializers.Serializer[Any]):
    """Who owns it."""

    owner = serializers.CharField()


class MemberSerializer(serializers.ModelSerializer[TeamMember]):
    """A person in a team."""

    user: Any = serializers.SlugRelatedField(slug_field="username", read_only=True)

    class Meta:
        model = TeamMember
        fields = ("id", "user", "is_admin", "created_at")
        read_only_fields = fields


class TeamSerializer(serializers.ModelSerializer[Team]):
    """People who are granted access together."""

    class Meta:
        model = Team
        fields: tuple[str, ...] = ("id", "name", "created_at")
        read_only_fields: tuple[str, ...] = fields


class TeamDetailSerializer(TeamSerializer):
    """A team with its members."""

    members: Any = MemberSerializer(many=True, read_only=True)

    class Meta(TeamSerializer.Meta):
        fields = (*TeamSerializer.Meta.fields, "members")
        read_only_fields = fields


class TeamWriteSerializer(Exact):
    """What a team is called."""

    name = serializers.CharField(max_length=100)


class MemberWriteSerializer(Exact):
    """A person to put into a team."""

    user = serializers.CharField(max_length=150, help_text=USERNAME)
    is_admin = serializers.BooleanField(default=False, help_text="Chooses the members.")


class MemberChangeSerializer(Exact):
    """What a member is."""

    is_admin = serializers.BooleanField(help_text="Chooses the members.")


@contextmanager
def _holder_named(field: str) -> Iterator[None]:
    """Say of a person or a team that is refused by which field of the request they were named."""
    try:
        yield
    except SharingError as refusal:
        where = field if refusal.field == "holder" else refusal.field
        raise RefusalProblem(400, refusal.message, field=where) from None


def _person(name: str, field: str) -> User:
    found = user_find(name)
    if found is None:
        raise RefusalProblem(400, f"No one here has the username {name!r}.", field=field)
    return found


# --- access to a study or a dataset -------------------------------------------------------------------------------


class AccessList(Listing):
    """Who has access, beside the owner and administrators."""

    resource = "sharing"
    serializer_class = AccessSerializer
    narrows = {"role": Narrow("role", "Only with this role.", tuple(AccessRole.values))}

    def subject(self) -> Study | Dataset:
        """The study or the dataset of the address; Http404 where the user may not share it."""
        raise NotImplementedError

    def rows(self) -> QuerySet[AccessGrant]:
        return grants_of(self.subject())

    def grant(self, request: Request) -> Response:
        """Grant what the body says."""
        subject = self.subject()
        given = said(AccessWriteSerializer, request)
        if ("user" in given) == ("team" in given):
            raise RefusalProblem(400, "Expected user or team.", field="user")
        holder: User | Team
        if "user" in given:
            holder = _person(given["user"], "user")
        else:
            team = teams_visible_to(self.user).filter(pk=given["team"]).first()
            if team is None:
                raise RefusalProblem(400, "You're in no team with this id.", field="team")
            holder = team
        with _holder_named("user" if "user" in given else "team"):
            made, _ = access_grant(subject=subject, holder=holder, role=given["role"], by=self.user)
        return Response(AccessSerializer(made).data, status=201)


class StudyAccessList(AccessList):
    """Who has access to a study."""

    def subject(self) -> Study:
        return _study(self, self.kwargs["slug"])

    @extend_schema(request=AccessWriteSerializer, responses={201: AccessSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Share a study of yours with a person or a team; again with another role changes it."""
        return self.grant(request)


class DatasetAccessList(AccessList):
    """Who has access to a dataset."""

    def subject(self) -> Dataset:
        return _dataset(self, self.kwargs["name"])

    @extend_schema(request=AccessWriteSerializer, responses={201: AccessSerializer})
    def post(self, request: Request, name: str) -> Response:
        """Share a dataset of yours with a person or a team; again with another role changes it."""
        return self.grant(request)


class StudyAccess(ApiView):
    """One grant on a study."""

    resource = "sharing"

    @extend_schema(request=AccessChangeSerializer, responses=AccessSerializer)
    def patch(self, request: Request, slug: str, pk: int) -> Response:
        """Change the role of a person or a team that a study is shared with."""
        return _changed(_study(self, slug), pk, request)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """End the access of a person or a team to a study."""
        return deleted(access_remove(grant=grant_of(_study(self, slug), pk)))


class DatasetAccess(ApiView):
    """One grant on a dataset."""

    resource = "sharing"

    @extend_schema(request=AccessChangeSerializer, responses=AccessSerializer)
    def patch(self, request: Request, name: str, pk: int) -> Response:
        """Change the role of a person or a team that a dataset is shared with."""
        return _changed(_dataset(self, name), pk, request)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, name: str, pk: int) -> Response:
        """End the access of a person or a team to a dataset."""
        return deleted(access_remove(grant=grant_of(_dataset(self, name), pk)))


class StudyTransfer(ApiView):
    """The owner of a study."""

    resource = "sharing"

    @extend_schema(request=TransferSerializer, responses=OwnerSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Give a study of yours to another owner; you stay an editor."""
        return _transferred(self, _study(self, slug), request)


class DatasetTransfer(ApiView):
    """The owner of a dataset."""

    resource = "sharing"

    @extend_schema(request=TransferSerializer, responses=OwnerSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Give a dataset of yours to another owner; you stay an editor."""
        return _transferred(self, _dataset(self, name), request)


def _study(view: ApiView, slug: str) -> Study:
    rows = studies_settled_by(view.user).select_related("dataset__owner", "owner")
    return get_object_or_404(rows, slug=slug)


def _dataset(view: ApiView, name: str) -> Dataset:
    return get_object_or_404(datasets_owned_by(view.user).select_related("owner"), name=name)


def _changed(subject: Study | Dataset, pk: int, request: Request) -> Response:
    access_change(grant=grant_of(subject, pk), role=said(AccessChangeSerializer, request)["role"])
    return Response(AccessSerializer(grant_of(subject, pk)).data)


def _transferred(view: ApiView, subject: Study | Dataset, request: Request) -> Response:
    to = _person(said(TransferSerializer, request)["to"], "to")
    with _holder_named("to"):
        ownership_transfer(subject=subject, to=to, by=view.user)
    return Response(OwnerSerializer({"owner": to.get_username()}).data)


# --- teams --------------------------------------------------------------------------------------------------------


class TeamsView(Listing):
    """List the teams that you're in; create one."""

    resource = "sharing"
    serializer_class = TeamSerializer
    narrows = {"name": Narrow("name", "Only the team of this name.")}

    def rows(self) -> QuerySet[Team]:
        return team_list_for(self.user)

    @extend_schema(request=TeamWriteSerializer, responses={201: TeamDetailSerializer})
    def post(self, request: Request) -> Response:
        """Create a team; you're its admin."""
        made = team_create(by=self.user, **said(TeamWriteSerializer, request))
        return Response(TeamDetailSerializer(team_get_for(self.user, made.pk)).data, status=201)


class TeamView(ApiView):
    """One team."""

    resource = "sharing"

    @extend_schema(responses=TeamDetailSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read a team that you're in, with its members."""
        return Response(TeamDetailSerializer(team_get_for(self.user, pk)).data)

    @extend_schema(request=TeamWriteSerializer, responses=TeamDetailSerializer)
    def patch(self, request: Request, pk: int) -> Response:
        """Rename a team that you're an admin of."""
        team_rename(team=team_to_manage(self.user, pk), **said(TeamWriteSerializer, request))
        return Response(TeamDetailSerializer(team_get_for(self.user, pk)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a team that you're an admin of; its members lose what is shared with it."""
        return deleted(team_delete(team=team_to_manage(self.user, pk)))


class MembersView(ApiView):
    """The members of a team."""

    resource = "sharing"

    @extend_schema(request=MemberWriteSerializer, responses={201: MemberSerializer})
    def post(self, request: Request, pk: int) -> Response:
        """Put a person into a team that you're an admin of; once more changes nothing."""
        team = team_to_manage(self.user, pk)
        given = said(MemberWriteSerializer, request)
        user = _person(given.pop("user"), "user")
        made, _ = member_add(team=team, user=user, **given)
        return Response(MemberSerializer(made).data, status=201)


class MemberView(ApiView):
    """One member of a team."""

    resource = "sharing"

    @extend_schema(request=MemberChangeSerializer, responses=MemberSerializer)
    def patch(self, request: Request, pk: int, member: int) -> Response:
        """Make a member an admin of the team, or no longer."""
        found = member_of(team_to_manage(self.user, pk), member)
        member_change(member=found, **said(MemberChangeSerializer, request))
        found.refresh_from_db()
        return Response(MemberSerializer(found).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int, member: int) -> Response:
        """Remove a member from a team that you're an admin of, or leave it."""
        return deleted(member_remove(member=member_to_remove(self.user, pk, member)))

"""Studies, their invitations, items and annotators, for programs. Each write calls the service that the page calls."""

from dataclasses import asdict
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.access import HasScope, IsResearcherWhoDeletes
from annotation.api.base import ApiView, Listing, deleted, said
from annotation.api.rows import rows_on_disk
from annotation.api.serializers import (
    EnrollmentSerializer,
    InvitationSerializer,
    InvitationWriteSerializer,
    ReasonsToLookSerializer,
    StudyChangeSerializer,
    StudyCopySerializer,
    StudyItemsChosenSerializer,
    StudyItemsSerializer,
    StudyMovedSerializer,
    StudyProgressSerializer,
    StudySerializer,
    StudyWriteSerializer,
)
from annotation.kinds import KINDS
from annotation.models import Enrollment, Invitation, Stage, Study, StudyState
from annotation.selectors.overview import may_copy, studies_editable_by, studies_visible_to
from annotation.selectors.progress import study_funnel, study_pace, study_progress
from annotation.selectors.signals import signals_of
from annotation.services.item_choice import chosen_items_read, items_choose
from annotation.services.studies import (
    invitation_create,
    invitation_revoke,
    study_close,
    study_create,
    study_delete,
    study_duplicate,
    study_open,
    study_pause,
    study_update,
)
from annotation.services.study_versions import study_move_on
from web.api.pages import Narrow
from web.api.problems import RefusalProblem

KIND = tuple(KINDS)


class StudiesView(Listing):
    """List studies; create one."""

    resource = "studies"
    serializer_class = StudySerializer
    narrows = {
        "dataset": Narrow("dataset__name", "Only on this dataset."),
        "state": Narrow("state", "Only in this state.", tuple(StudyState.values)),
        "kind": Narrow("kind", "Only of this kind.", KIND),
    }

    def rows(self) -> QuerySet[Study]:
        return _with_related(studies_visible_to(self.user))

    @extend_schema(request=StudyWriteSerializer, responses={201: StudySerializer})
    def post(self, request: Request) -> Response:
        """Create a study in draft. Rules that are left out have the defaults of the form."""
        values = said(StudyWriteSerializer, request, context={"request": request})
        try:
            with transaction.atomic():
                study = study_create(owner=self.user, **values)
        except IntegrityError:
            raise RefusalProblem(409, "A study with this slug exists.", field="slug") from None
        return Response(StudySerializer(study).data, status=201)


class StudyView(ApiView):
    """One study."""

    resource = "studies"
    permission_classes = [IsResearcherWhoDeletes, HasScope]

    @extend_schema(responses=StudySerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read a study with its rules."""
        return Response(StudySerializer(_study(self, slug)).data)

    @extend_schema(request=StudyChangeSerializer, responses=StudySerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Change rules of a study. Some are fixed once it was open."""
        study = _study_to_edit(self, slug)
        values = said(StudyChangeSerializer, request, context={"request": request}, partial=True)
        study_update(study=study, **values)
        return Response(StudySerializer(_study(self, slug)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        """Delete a draft, for administrators. A study that was open stays with its labels: close it."""
        return deleted(study_delete(study=_study(self, slug)))


class StudyMove(ApiView):
    """A change of a study's state; the same again changes nothing."""

    resource = "studies"
    move: Any

    @extend_schema(request=None, responses=StudySerializer)
    def post(self, request: Request, slug: str) -> Response:
        study = _study_to_edit(self, slug)
        type(self).move(study=study)
        return Response(StudySerializer(_study(self, slug)).data)


class StudyOpen(StudyMove):
    """Open a draft or a paused study: its items are drawn, and its invitations let people in."""

    move = staticmethod(study_open)


class StudyPause(StudyMove):
    """Pause a study: nobody is given new items."""

    move = staticmethod(study_pause)


class StudyClose(StudyMove):
    """Close a study for good."""

    move = staticmethod(study_close)


class StudyCopy(ApiView):
    """A new draft with the same rules."""

    resource = "studies"

    @extend_schema(request=StudyCopySerializer, responses={201: StudySerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Copy a study as a new draft of yours: its rules and texts, without items, links and people."""
        study = _study(self, slug)
        if not may_copy(self.user, study):
            raise Http404
        wanted = said(StudyCopySerializer, request)
        try:
            with transaction.atomic():
                copied = study_duplicate(study=study, owner=self.user, **wanted)
        except IntegrityError:
            raise RefusalProblem(409, "A study with this slug exists.", field="slug") from None
        return Response(StudySerializer(copied).data, status=201)


class StudyProgressView(ApiView):
    """How far a study is."""

    resource = "studies"

    @extend_schema(responses=StudyProgressSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read how far a study is: labels, the way of its annotators, and when it will be done at this pace."""
        study = _study(self, slug)
        progress = study_progress(study)
        pace = None if study.state == StudyState.DRAFT else asdict(study_pace(study, progress))
        found = asdict(progress) | {"state": study.state, "pace": pace, "people": asdict(study_funnel(study))}
        return Response(StudyProgressSerializer(found).data)


class StudyItemsView(ApiView):
    """Which items a study offers, and which come first."""

    resource = "studies"

    @extend_schema(request=StudyItemsSerializer, responses=StudyItemsChosenSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Choose items. A draft offers exactly these; none: what its rules say again.

        Of an open study, items with a priority come before all others, and new ones are added. All or nothing.
        """
        study = _study_to_edit(self, slug)
        rows = said(StudyItemsSerializer, request)["items"]
        if not rows:
            if study.state != StudyState.DRAFT:
                raise RefusalProblem(409, "Only a draft can forget its choice.", field="items")
            return Response(asdict(items_choose(study=study, rows=[])))
        with rows_on_disk("items", rows) as path:
            return Response(asdict(items_choose(study=study, rows=chosen_items_read(path))))


class StudyMoveOn(ApiView):
    """Let a study offer its items as the current version of its dataset has them."""

    resource = "studies"

    @extend_schema(request=None, responses=StudyMovedSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Move a study of yours on to the dataset's current version; once more changes nothing.

        An item that changed is offered anew; its labels stay with the item that they were given on.
        """
        study = _study_to_edit(self, slug)
        moved = study_move_on(study=study)
        return Response(asdict(moved) | {"dataset_version": study.dataset_version})


class EnrollmentsView(Listing):
    """List the annotators of a study, by pseudonym."""

    resource = "studies"
    serializer_class = EnrollmentSerializer
    narrows = {
        "stage": Narrow("stage", "Only at this stage.", tuple(Stage.values)),
        "suspended": Narrow("suspended_at__isnull", "`false`: only suspended annotators.", kind=bool),
    }

    def rows(self) -> QuerySet[Enrollment]:
        study = _study(self, self.kwargs["slug"])
        return Enrollment.objects.filter(study=study).select_related("annotator", "study")


class ReasonsToLookView(ApiView):
    """Annotators who stand out by how their answers were given."""

    resource = "studies"

    @extend_schema(responses=ReasonsToLookSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read the reasons to look at annotators' work, each with its evidence. A reason is no verdict."""
        study = _study(self, slug)
        signals = signals_of(study)
        people = Enrollment.objects.filter(study=study, annotator__in=signals.reasons).select_related(
            "annotator"
        )
        found = [
            {
                "annotator": person.pseudonym,
                "reasons": [
                    {
                        "signal": reason.kind.key,
                        "name": reason.kind.name,
                        "evidence": reason.evidence,
                        "adjusted_p": reason.adjusted,
                        "explanations": reason.kind.explains,
                    }
                    for reason in signals.reasons[person.annotator_id]
                ],
            }
            for person in people.order_by("pk")
        ]
        said = {"answers": signals.answers, "with_signals": signals.with_signals, "tests": signals.tests}
        return Response(ReasonsToLookSerializer(said | {"annotators": found}).data)


class InvitationsView(Listing):
    """List the invitations of a study; create one."""

    resource = "studies"
    serializer_class = InvitationSerializer
    narrows = {"valid": Narrow("revoked_at__isnull", "`true`: only those that aren't revoked.", kind=bool)}

    def rows(self) -> QuerySet[Invitation]:
        return _invitations(self).filter(study=_study_to_edit(self, self.kwargs["slug"]))

    @extend_schema(request=InvitationWriteSerializer, responses={201: InvitationSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Create a link into a study, for everybody who has it."""
        study = _study_to_edit(self, slug)
        made = invitation_create(study=study, **said(InvitationWriteSerializer, request))
        return Response(InvitationSerializer(made).data, status=201)


class InvitationRevoke(ApiView):
    """Revoke an invitation: it lets nobody in any more. Who is in stays in."""

    resource = "studies"

    @extend_schema(request=None, responses=InvitationSerializer)
    def post(self, request: Request, pk: int) -> Response:
        """Revoke an invitation; once more changes nothing."""
        invitation_revoke(invitation=get_object_or_404(_invitations(self), pk=pk))
        return Response(InvitationSerializer(_invitations(self).get(pk=pk)).data)


def _with_related(rows: QuerySet[Study]) -> QuerySet[Study]:
    return rows.select_related(
        *("dataset", "owner", "training_dataset", "qualification_dataset", "check_dataset"),
        "qualification_from",
    )


def _study(view: ApiView, slug: str) -> Study:
    """A study that the user may see."""
    return get_object_or_404(_with_related(studies_visible_to(view.user)), slug=slug)


def _study_to_edit(view: ApiView, slug: str) -> Study:
    """A study that the user may change."""
    return get_object_or_404(_with_related(studies_editable_by(view.user)), slug=slug)


def _invitations(view: ApiView) -> QuerySet[Invitation]:
    """Who has a link can join: links are for those who let people in."""
    return Invitation.objects.filter(study__in=studies_editable_by(view.user)).select_related("study")

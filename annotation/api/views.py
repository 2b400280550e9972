"""Datasets, items, labels, studies and invitations, for programs. Each write calls the service that the page calls."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Prefetch, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.base import ApiView, Listing, said
from annotation.api.rows import rows_on_disk
from annotation.api.serializers import (
    DatasetChangeSerializer,
    DatasetSerializer,
    DatasetWriteSerializer,
    ImportedSerializer,
    InvitationSerializer,
    InvitationWriteSerializer,
    ItemSerializer,
    ItemsWriteSerializer,
    LabelSerializer,
    LabelsImportedSerializer,
    LabelsWriteSerializer,
    StudyChangeSerializer,
    StudySerializer,
    StudyWriteSerializer,
)
from annotation.importers import read_generic, read_label_rows
from annotation.kinds import KINDS
from annotation.models import Dataset, Invitation, Item, ItemResponse, Label, Split, Study, StudyState
from annotation.selectors.datasets import (
    datasets_changeable_by,
    datasets_settled_by,
    datasets_visible_to,
    item_value_rules,
)
from annotation.selectors.overview import labels_visible_to, studies_visible_to
from annotation.services.criteria import criteria_set, criteria_sets
from annotation.services.datasets import ImportResult, dataset_import, dataset_update, labels_import
from annotation.services.studies import (
    invitation_create,
    invitation_revoke,
    study_close,
    study_create,
    study_open,
    study_pause,
    study_update,
)
from web.api.pages import Narrow
from web.api.problems import RefusalProblem

KIND = tuple(KINDS)


# --- datasets and items --------------------------------------------------------------------------------------------


class DatasetsView(Listing):
    """List datasets; import one."""

    resource = "datasets"
    serializer_class = DatasetSerializer
    narrows = {"split": Narrow("split", "Only of this split.", tuple(Split.values))}

    def rows(self) -> QuerySet[Dataset]:
        return datasets_visible_to(self.user).select_related("owner")

    @extend_schema(request=DatasetWriteSerializer, responses={(200, 201): ImportedSerializer})
    def post(self, request: Request) -> Response:
        """Import a dataset: all of it or nothing. The same again changes nothing and answers 200."""
        values = said(DatasetWriteSerializer, request)
        criteria = values.pop("criteria", None)
        if criteria is not None and criteria not in criteria_sets():
            raise RefusalProblem(400, f"Expected {', '.join(criteria_sets())}.", field="criteria")
        return _imported(request, self, values.pop("items"), criteria=criteria, **values)


class DatasetView(ApiView):
    """One dataset."""

    resource = "datasets"

    @extend_schema(responses=DatasetSerializer)
    def get(self, request: Request, name: str) -> Response:
        """Read a dataset."""
        rows = datasets_visible_to(self.user).select_related("owner")
        return Response(DatasetSerializer(get_object_or_404(rows, name=name)).data)

    @extend_schema(request=DatasetChangeSerializer, responses=DatasetSerializer)
    def patch(self, request: Request, name: str) -> Response:
        """Change what is said of a dataset of yours. Items and labels stay as they are."""
        get_object_or_404(datasets_visible_to(self.user), name=name)
        dataset = get_object_or_404(datasets_settled_by(self.user), name=name)
        values = said(DatasetChangeSerializer, request)
        now = {key: getattr(dataset, key) for key in ("title", "split", "licence")}
        dataset_update(dataset=dataset, **now | values)
        dataset.refresh_from_db()
        return Response(DatasetSerializer(dataset).data)


class ItemsView(Listing):
    """List the items of a dataset; add some."""

    resource = "datasets"
    serializer_class = ItemSerializer
    narrows = {
        "kind": Narrow("kind", "Only of this kind.", KIND),
        "category": Narrow("instruction__category", "Only of this category."),
        "subset": Narrow("instruction__subset", "Only of this subset, such as `Adversarial/Neighbor`."),
        "item": Narrow("external_id", "The item's id in its dataset."),
        "has_gold": Narrow("gold__isnull", "Only without gold answer (`true`) or with one.", kind=bool),
    }

    def rows(self) -> QuerySet[Item]:
        dataset = get_object_or_404(datasets_visible_to(self.user), name=self.kwargs["name"])
        return _items().filter(dataset=dataset)

    @extend_schema(request=ItemsWriteSerializer, responses=ImportedSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Add items to a dataset of yours, all or none. Those that it has already are left alone."""
        get_object_or_404(datasets_visible_to(self.user), name=name)
        get_object_or_404(datasets_settled_by(self.user), name=name)
        return _imported(request, self, said(ItemsWriteSerializer, request)["items"], name=name)


class ItemResource(ApiView):
    """One item."""

    resource = "datasets"

    @extend_schema(responses=ItemSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read an item."""
        rows = _items().filter(dataset__in=datasets_visible_to(self.user))
        return Response(ItemSerializer(get_object_or_404(rows, pk=pk)).data)


def _items() -> QuerySet[Item]:
    responses = Prefetch("item_responses", ItemResponse.objects.select_related("response"))
    return Item.objects.select_related("dataset", "instruction").prefetch_related(responses)


def _imported(
    request: Request, view: ApiView, rows: list[Any], *, criteria: str | None = None, **options: Any
) -> Response:
    with rows_on_disk("items", rows) as path:
        bundle = read_generic(path, criteria=() if criteria is None else criteria_set(criteria))
        if bundle.verdicts:
            raise RefusalProblem(400, "Import verdicts of judges as judgments.", field="items")
        result: ImportResult = dataset_import(bundle=bundle, owner=view.user, source="api", **options)
    names = ("items", "items_created", "labels", "labels_created")
    found = {"dataset": DatasetSerializer(result.dataset).data} | {
        name: getattr(result, name) for name in names
    }
    return Response(found, status=201 if result.created else 200)


# --- labels --------------------------------------------------------------------------------------------------------


class LabelsView(Listing):
    """List labels; import some."""

    resource = "labels"
    serializer_class = LabelSerializer
    narrows = {
        "dataset": Narrow("item__dataset__name", "Only on this dataset."),
        "study": Narrow("study__slug", "Only of this study."),
        "item": Narrow("item__external_id", "Only on items with this id."),
        "kind": Narrow("kind", "Only of this kind.", KIND),
        "since": Narrow("created_at__gte", "Only from this time on.", kind=datetime),
    }

    def rows(self) -> QuerySet[Label]:
        rows = labels_visible_to(None if self.user.is_administrator else self.user)
        return rows.select_related("item__dataset", "study", "annotator", "superseded_by")

    @extend_schema(request=LabelsWriteSerializer, responses=LabelsImportedSerializer)
    def post(self, request: Request) -> Response:
        """Import labels that were collected elsewhere, all or none, on items of a dataset of yours.

        They belong to no study. Labels that are stored already are left alone; one that contradicts refuses all.
        """
        values = said(LabelsWriteSerializer, request)
        rows = datasets_changeable_by(self.user)
        dataset = rows.filter(name=values["dataset"]).first()
        if dataset is None:
            raise RefusalProblem(400, "You have no dataset of this name.", field="dataset")
        with rows_on_disk("labels", values["labels"]) as path:
            labels = read_label_rows(path, item_value_rules(dataset.pk))
            created = labels_import(dataset=dataset, labels=labels)
        return Response({"dataset": dataset.name, "labels": len(labels), "labels_created": created})


class LabelView(ApiView):
    """One label."""

    resource = "labels"

    @extend_schema(responses=LabelSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Read a label."""
        rows = labels_visible_to(None if self.user.is_administrator else self.user)
        rows = rows.select_related("item__dataset", "study", "annotator", "superseded_by")
        return Response(LabelSerializer(get_object_or_404(rows, pk=pk)).data)


# --- studies and invitations ---------------------------------------------------------------------------------------


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
        return _studies(self)

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

    @extend_schema(responses=StudySerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read a study with its rules."""
        return Response(StudySerializer(_study(self, slug)).data)

    @extend_schema(request=StudyChangeSerializer, responses=StudySerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Change rules of a study. Some are fixed once it was open."""
        study = _study(self, slug)
        values = said(StudyChangeSerializer, request, context={"request": request}, partial=True)
        study_update(study=study, **values)
        return Response(StudySerializer(_study(self, slug)).data)


class StudyMove(ApiView):
    """A change of a study's state; the same again changes nothing."""

    resource = "studies"
    move: Any

    @extend_schema(request=None, responses=StudySerializer)
    def post(self, request: Request, slug: str) -> Response:
        study = _study(self, slug)
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


class InvitationsView(Listing):
    """List the invitations of a study; create one."""

    resource = "studies"
    serializer_class = InvitationSerializer

    def rows(self) -> QuerySet[Invitation]:
        return _invitations(self).filter(study=_study(self, self.kwargs["slug"]))

    @extend_schema(request=InvitationWriteSerializer, responses={201: InvitationSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Create a link into a study, for everybody who has it."""
        study = _study(self, slug)
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


def _studies(view: ApiView) -> QuerySet[Study]:
    return studies_visible_to(view.user).select_related(
        *("dataset", "owner", "training_dataset", "qualification_dataset", "check_dataset"),
        "qualification_from",
    )


def _study(view: ApiView, slug: str) -> Study:
    return get_object_or_404(_studies(view), slug=slug)


def _invitations(view: ApiView) -> QuerySet[Invitation]:
    return Invitation.objects.filter(study__in=studies_visible_to(view.user)).select_related("study")

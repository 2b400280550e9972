"""Datasets, items and labels, for programs. Each write calls the service that the page calls."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.access import HasScope, IsResearcherWhoDeletes
from annotation.api.base import ApiView, Listing, deleted, said
from annotation.api.rows import rows_on_disk
from annotation.api.serializers import (
    DatasetChangeSerializer,
    DatasetDetailSerializer,
    DatasetSerializer,
    DatasetVersionSerializer,
    DatasetWriteSerializer,
    ImportedSerializer,
    ItemSerializer,
    ItemsWriteSerializer,
    LabelSerializer,
    LabelsImportedSerializer,
    LabelsWriteSerializer,
    VersionChangesSerializer,
)
from annotation.forms.upload import DatasetDocumentationForm
from annotation.importers import ImportFileError, read_label_rows
from annotation.importers.errors import LeftOutRows
from annotation.importers.images import read_generic_with_images
from annotation.importers.mapping import TableMapping, mapping_of
from annotation.kinds import KINDS
from annotation.models import Dataset, DatasetVersion, Item, ItemResponse, Label, Split
from annotation.selectors.dataset_versions import item_changes, version_changes
from annotation.selectors.datasets import (
    datasets_editable_by,
    datasets_filled_by,
    datasets_owned_by,
    datasets_visible_to,
    item_value_rules,
    markable_texts,
    version_condition,
)
from annotation.selectors.overview import labels_visible_to
from annotation.services.criteria import criteria_add, criteria_set, criteria_sets
from annotation.services.dataset_parts import ImportResult
from annotation.services.datasets import (
    dataset_document,
    dataset_import,
    dataset_lock,
    dataset_update,
    labels_import,
)
from annotation.services.images import image_folder
from web.api.pages import Narrow
from web.api.problems import RefusalProblem
from web.deleting import row_delete

KIND = tuple(KINDS)


# --- datasets and items --------------------------------------------------------------------------------------------


class DatasetsView(Listing):
    """List datasets; import one."""

    resource = "datasets"
    serializer_class = DatasetSerializer
    narrows = {"split": Narrow("split", "Only of this split.", tuple(Split.values))}

    def rows(self) -> QuerySet[Dataset]:
        return datasets_visible_to(self.user).select_related("owner")

    @extend_schema(
        request=DatasetWriteSerializer, responses={200: ImportedSerializer, 201: ImportedSerializer}
    )
    def post(self, request: Request) -> Response:
        """Import a dataset: all of it or nothing. The same again changes nothing and answers 200."""
        values = said(DatasetWriteSerializer, request)
        criteria = values.pop("criteria", None)
        if criteria is not None and criteria not in criteria_sets():
            raise RefusalProblem(400, f"Expected {', '.join(criteria_sets())}.", field="criteria")
        mapping, skips = values.pop("mapping", None), values.pop("skip_bad_rows")
        return _imported(
            request, self, values.pop("items"), criteria=criteria, document=mapping, skips=skips, **values
        )


class DatasetView(ApiView):
    """One dataset."""

    resource = "datasets"
    permission_classes = [IsResearcherWhoDeletes, HasScope]

    @extend_schema(responses=DatasetDetailSerializer)
    def get(self, request: Request, name: str) -> Response:
        """Read a dataset."""
        rows = datasets_visible_to(self.user).select_related("owner")
        return Response(DatasetDetailSerializer(get_object_or_404(rows, name=name)).data)

    @extend_schema(request=DatasetChangeSerializer, responses=DatasetDetailSerializer)
    def patch(self, request: Request, name: str) -> Response:
        """Change what is said of a dataset of yours. Items and labels stay as they are."""
        dataset = get_object_or_404(datasets_owned_by(self.user), name=name)
        values = said(DatasetChangeSerializer, request)
        documentation, criteria = values.pop("documentation", None), values.pop("criteria", None)
        if criteria is not None and criteria not in criteria_sets():
            raise RefusalProblem(400, f"Expected {', '.join(criteria_sets())}.", field="criteria")
        with transaction.atomic():
            if values:
                now = {key: getattr(dataset, key) for key in ("title", "split", "licence")}
                dataset_update(dataset=dataset, **now | values)
            if documentation is not None:
                locked = dataset_lock(dataset_id=dataset.pk)
                dataset_document(dataset=locked, said=_documented(locked, documentation))
            if criteria is not None:
                criteria_add(dataset=dataset, name=criteria)
        dataset.refresh_from_db()
        return Response(DatasetDetailSerializer(dataset).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Delete a dataset with its items, for administrators: one without labels, judgments and studies."""
        return deleted(row_delete(get_object_or_404(datasets_visible_to(self.user), name=name)))


def _documented(dataset: Dataset, given: dict[str, str]) -> dict[str, str]:
    """What is said of a dataset with these changes, as the form of its page reads it; raises RefusalProblem."""
    form = DatasetDocumentationForm(dataset.documentation | given)
    if unknown := sorted(set(given) - set(form.fields)):
        raise RefusalProblem(400, f"Expected {', '.join(form.fields)}.", field=f"documentation.{unknown[0]}")
    for field, messages in form.errors.items():
        raise RefusalProblem(400, str(messages[0]), field=f"documentation.{field}")
    return dict(form.cleaned_data)


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
        return _items().filter(version_condition(), dataset=dataset)

    @extend_schema(request=ItemsWriteSerializer, responses=ImportedSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Add items to a dataset of yours, all or none. Those that it has already are left alone."""
        get_object_or_404(datasets_filled_by(self.user), name=name)
        return _imported(request, self, said(ItemsWriteSerializer, request)["items"], name=name)


class VersionsView(Listing):
    """List the versions of a dataset."""

    resource = "datasets"
    serializer_class = DatasetVersionSerializer
    narrows = {"since": Narrow("created_at__gte", "Only from this time on.", kind=datetime)}

    def rows(self) -> QuerySet[DatasetVersion]:
        dataset = get_object_or_404(datasets_visible_to(self.user), name=self.kwargs["name"])
        return DatasetVersion.objects.filter(dataset=dataset)


class ChangesView(ApiView):
    """What changed between two versions of a dataset."""

    resource = "datasets"

    @extend_schema(responses=VersionChangesSerializer)
    def get(self, request: Request, name: str, before: int, now: int) -> Response:
        """Compare two versions of a dataset: items added, removed and changed, the first 200 field by field."""
        dataset = get_object_or_404(datasets_visible_to(self.user), name=name)
        if not (1 <= before <= dataset.version and 1 <= now <= dataset.version):
            raise Http404
        reader = None if self.user.is_administrator else self.user
        found = asdict(version_changes(dataset, before, now, reader))
        items = item_changes(dataset, before, now, reader)
        return Response(VersionChangesSerializer({**found, "items": items}).data)


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
    request: Request,
    view: ApiView,
    rows: list[Any],
    *,
    criteria: str | None = None,
    document: dict[str, Any] | None = None,
    skips: bool = False,
    **options: Any,
) -> Response:
    left_out: list[dict[str, Any]] = []

    def keep(error: ImportFileError) -> None:
        left_out.append({"row": error.row, "field": error.field, "reason": error.message, "data": error.data})

    mapping = TableMapping() if document is None else mapping_of(document)
    if document is not None:
        options["mapping"] = mapping.document()
    with rows_on_disk("items", rows) as path:
        bundle = read_generic_with_images(
            path,
            image_folder(),
            criteria=() if criteria is None else criteria_set(criteria),
            mapping=mapping,
            faults=LeftOutRows(keep) if skips else None,
        )
        if bundle.verdicts:
            raise RefusalProblem(400, "Import verdicts of judges as judgments.", field="items")
        result: ImportResult = dataset_import(
            bundle=bundle, owner=view.user, source="api", rows_left_out=len(left_out), **options
        )
    names = ("items", "items_created", "labels", "labels_created", "items_changed", "items_removed")
    found = {"dataset": DatasetSerializer(result.dataset).data, "left_out": left_out}
    found |= {name: getattr(result, name) for name in names}
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
        rows = datasets_editable_by(self.user)
        dataset = rows.filter(name=values["dataset"]).first()
        if dataset is None:
            raise RefusalProblem(400, "You have no dataset of this name.", field="dataset")
        with rows_on_disk("labels", values["labels"]) as path:
            labels = read_label_rows(path, item_value_rules(dataset.pk), texts_of=markable_texts(dataset.pk))
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

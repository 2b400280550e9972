"""Items of a dataset with all that is known of them: listed by a filter, opened, noted on, sent back to people."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.vary import vary_on_headers

from annotation.domain.errors import ItemNoteError, StudyRuleError
from annotation.domain.pseudonyms import SHORT as SHORT_PSEUDONYM
from annotation.kinds import kind_of
from annotation.models import Dataset, Item, ItemNote, Study, StudyState
from annotation.selectors.datasets import datasets_offered_by, datasets_visible_to, items_of
from annotation.selectors.item_notes import note_get_for
from annotation.selectors.judged_items import dataset_categories, dataset_kinds, item_find
from annotation.selectors.overview import reader_of, studies_editable_by, studies_visible_to
from annotation.selectors.slices import dataset_parts
from annotation.services.audit import audit
from annotation.services.item_exports import items_table
from annotation.services.item_notes import MAX_NOTE, note_add, note_change, note_delete
from annotation.services.relabel import adjudication_request, study_again
from judges.forms.item_filters import (
    cell_figure_from,
    cell_query_of,
    item_filter_from,
    item_query_of,
    item_query_of_counted,
)
from judges.forms.judgment_filters import number_from, with_query
from judges.selectors.item_addresses import items_url
from judges.selectors.item_filter import CASES, HAS, OF_POSITIVE, SHORT, SORTS, TRUTHS, VERDICTS, ItemFilter
from judges.selectors.item_list import (
    TooManyError,
    case_counts,
    item_neighbours,
    item_order,
    item_page,
)
from judges.selectors.item_page import item_detail
from judges.selectors.judgment_page import item_part_rows
from judges.selectors.reading import judges_of_dataset
from metaeval.figures import FIGURES
from web.access import ResearcherRequest, researcher_action, researcher_page
from web.files import streamed
from web.tables import FORMATS, table_bytes

NONCE = re.compile(r"[0-9a-f]{16}")
DRAWER = "drawer-body"
EXPORTED = ("csv", "jsonl")
TOO_MANY = "Too many verdicts to compare at once. Select one judge or one category."


def _dataset(request: ResearcherRequest, name: str) -> Dataset:
    return get_object_or_404(datasets_visible_to(request.user), name=name)


def _item(request: ResearcherRequest, name: str, pk: int) -> Item:
    """An item of a dataset that they may see; else Http404."""
    item = item_find(_dataset(request, name).pk, pk)
    if item is None:
        raise Http404("There is no such item in this dataset.")
    return item


@never_cache
@vary_on_headers("HX-Request")
@researcher_page
def item_list(request: ResearcherRequest, name: str) -> HttpResponse:
    """The page, or the part of it that is opened beside a table."""
    dataset = _dataset(request, name)
    filters, study = item_filter_from(request.GET, dataset, request.user)
    cell = cell_figure_from(request.GET, filters.kind)
    chosen = item_query_of(filters, study) | cell_query_of(cell, request.GET.get("figure", ""))
    page, error = None, ""
    try:
        page = item_page(
            filters,
            after=number_from(request.GET.get("after", "")),
            before=number_from(request.GET.get("before", "")),
        )
    except TooManyError:
        error = TOO_MANY
    judges = list(judges_of_dataset(dataset).only("name"))
    query = urlencode(chosen, doseq=True)
    context: dict[str, Any] = {
        "dataset": dataset,
        "filters": filters,
        "study": study,
        "page": page,
        "error": error,
        "query": query,
        "here": with_query(reverse("metaeval:dataset-items", args=[name]), query),
        "about": _about(filters, study, [judge.name for judge in judges if judge.pk in filters.judge_ids]),
        **_cases(dataset, chosen, filters),
        "counts_url": with_query(reverse("metaeval:dataset-items-counts", args=[name]), query),
        "cell": cell,
    }
    if request.htmx and request.htmx.target == DRAWER:
        return render(request, "judges/item_list.html#drawer", context)
    kind = kind_of(filters.kind) if filters.kind else None
    studies = studies_visible_to(request.user).filter(dataset=dataset)
    context |= {
        "section": "datasets",
        "crumbs": [*_crumbs(dataset), ("Items", None)],
        "judges": judges,
        "categories": dataset_categories(dataset),
        "subsets": dataset_parts(dataset)["subsets"],
        "kinds": [(value, label) for value, label in dataset_kinds(dataset).items()],
        "studies": studies.order_by("title"),
        "adjudicated": _adjudicable(request, dataset, filters.kind).order_by("title"),
        "may_offer": datasets_offered_by(request.user).filter(pk=dataset.pk).exists(),
        "sorts": SORTS.items(),
        "counted": _pairs(item_query_of_counted(filters)),
        "kind_info": kind,
        "is_filtered": bool(set(chosen) - {"kind", "figure", "value", "n"}),
        "newer_url": _with(dataset, chosen, before=page.newer) if page and page.newer else "",
        "older_url": _with(dataset, chosen, after=page.older) if page and page.older else "",
        "nonce": secrets.token_hex(8),
        "send_url": with_query(reverse("metaeval:dataset-items-send", args=[name]), query),
        "export_urls": [
            (format, with_query(reverse("metaeval:dataset-items-export", args=[name, format]), query))
            for format in EXPORTED
        ],
    }
    return render(request, "judges/item_list.html", context)


@never_cache
@researcher_page
def item_list_counts(request: ResearcherRequest, name: str) -> HttpResponse:
    """How many items each case has, for the tabs of a list that is shown already."""
    dataset = _dataset(request, name)
    filters, study = item_filter_from(request.GET, dataset, request.user)
    cell = cell_figure_from(request.GET, filters.kind)
    chosen = item_query_of(filters, study) | cell_query_of(cell, request.GET.get("figure", ""))
    try:
        counts = case_counts(filters) if filters.kind else {}
    except TooManyError:
        counts = {}
    context = {"filters": filters, **_cases(dataset, chosen, filters, counts)}
    return render(request, "judges/item_list.html#cases", context)


def _cases(
    dataset: Dataset, chosen: dict[str, Any], filters: ItemFilter, counts: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The tabs of a list: a case, its words, its address, how many items it has where that was counted."""
    known = counts or {}
    words = {"": ("All items", "All")} | {case: (CASES[case], SHORT[case]) for case in CASES}
    return {
        "cases": [
            (case, *said, _with(dataset, chosen, case=case), known.get(case)) for case, said in words.items()
        ],
        "is_counted": counts is not None or not filters.kind,
    }


@researcher_action
def items_export(request: ResearcherRequest, name: str, format: str) -> HttpResponseBase:
    """The items that were ticked, or all that match, as a file in the generic format."""
    dataset = _dataset(request, name)
    filters, study = item_filter_from(request.GET, dataset, request.user)
    if format not in EXPORTED:
        raise Http404(f"There is no format {format}.")
    back = _with(dataset, item_query_of(filters, study))
    try:
        items = _selected(request, replace(filters, sort=next(iter(SORTS))))
    except TooManyError:
        messages.error(request, f"Nothing was exported. {TOO_MANY}")
        return redirect(back)
    except StudyRuleError as refusal:
        messages.error(request, f"Nothing was exported. {refusal.message}")
        return redirect(back)
    audit("items.exported", dataset, after={"format": format})
    table = items_table(items_of([dataset]), only=items)
    return streamed(table_bytes(table, format), f"{dataset.name}-items.{format}", FORMATS[format])


def _crumbs(dataset: Dataset) -> list[tuple[str, str | None]]:
    return [
        ("Datasets", reverse("annotation:dataset-list")),
        (dataset.title, reverse("annotation:dataset-detail", args=[dataset.name])),
    ]


def _with(dataset: Dataset, chosen: dict[str, Any], **changed: Any) -> str:
    """The address of the list with something else in its filter."""
    return items_url(dataset.name, **(chosen | changed))


def _about(filters: ItemFilter, study: Study | None, judges: Sequence[str]) -> list[str]:
    """What the list is of, in words: the judges, the slice, the cell of a confusion table."""
    several = f"{len(judges)} judges" if len(judges) > 3 else ", ".join(judges)
    found = [several, filters.category, filters.subset, "" if study is None else study.title]
    if filters.annotator:
        found.append(f"Annotator {filters.annotator[:SHORT_PSEUDONYM]}")
    found += [HAS[name] for name in filters.has]
    if filters.judged_by:
        n = len(filters.judged_by)
        found.append(f"Judged by {n:,} judge{'' if n == 1 else 's'}")
    if filters.system:
        found.append(f"{filters.system} and {filters.against}" if filters.against else filters.system)
    if filters.certainty_from is not None:
        found.append(f"Certainty of at least {filters.certainty_from:.1%}")
    if filters.certainty_below is not None:
        found.append(f"Certainty below {filters.certainty_below:.1%}")
    if filters.truth:
        answer = "known" if filters.answer is None else _side_words(filters, filters.answer)
        found.append(f"{TRUTHS[filters.truth]}: {answer}")
        side = f": {_side_words(filters, 1)}" if filters.verdict in OF_POSITIVE else ""
        found.append(VERDICTS.get(filters.verdict, "") + side)
    found.append(CASES.get(filters.case, ""))
    if filters.text:
        found.append(f"“{filters.text}”")
    return [part for part in found if part]


def _pairs(query: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Name and value of each parameter, those of a list one by one."""
    return [
        (name, one)
        for name, value in query.items()
        for one in (value if isinstance(value, list) else [value])
    ]


def _side_words(filters: ItemFilter, answer: int) -> str:
    """A side of a confusion table: which response, or yes or no of a part."""
    kind = kind_of(filters.kind)
    if kind.presented:
        return kind.summary({"": float(answer)})
    known = FIGURES.get(filters.kind)
    words = known.sides[answer - 1] if known and known.sides else ("Yes", "No")[answer - 1]
    return words if filters.mark is None else f"{words} (mark {filters.mark:g})"


@researcher_page
def item_detail_page(request: ResearcherRequest, name: str, pk: int) -> HttpResponse:
    item = _item(request, name, pk)
    return _item_page(request, _dataset(request, name), item.pk)


def _item_page(
    request: ResearcherRequest, dataset: Dataset, pk: int, *, error: str = "", written: str = ""
) -> HttpResponse:
    """The page of an item; `error` and `written` are of a note that was refused."""
    filters, study = item_filter_from(request.GET, dataset, request.user)
    query = urlencode(item_query_of(filters, study), doseq=True) if request.GET else ""
    above, below = item_neighbours(filters, pk)
    detail = item_detail(pk, reader=reader_of(request.user))

    def at(other: int | None) -> str:
        url = reverse("metaeval:dataset-item", args=[dataset.name, other]) if other else ""
        return with_query(url, query) if url else ""

    list_url = with_query(reverse("metaeval:dataset-items", args=[dataset.name]), query)
    context = {
        "section": "datasets",
        "crumbs": [*_crumbs(dataset), ("Items", list_url), (detail.item.external_id, None)],
        "dataset": dataset,
        "detail": detail,
        "item": detail.item,
        "parts": item_part_rows(detail.item, detail.people),
        "chosen_judges": filters.judge_ids,
        "query": query,
        "above_url": at(above),
        "below_url": at(below),
        "nonce": secrets.token_hex(8),
        "most_note": MAX_NOTE,
        "note_error": error,
        "written": written,
    }
    return render(request, "judges/item.html", context, status=422 if error else 200)


@researcher_action
def items_send(request: ResearcherRequest, name: str) -> HttpResponseBase:
    """Send items of the list to a new study, or to the adjudication of one of their studies."""
    dataset = _dataset(request, name)
    filters, study = item_filter_from(request.GET, dataset, request.user)
    back = with_query(
        reverse("metaeval:dataset-items", args=[name]), urlencode(item_query_of(filters, study), doseq=True)
    )
    try:
        items = _selected(request, filters)
        if request.POST.get("to") == "adjudication":
            return _adjudicate(request, dataset, filters.kind, items)
        if not datasets_offered_by(request.user).filter(pk=dataset.pk).exists():
            raise Http404("You can't give items of this dataset to annotators.")
        nonce = request.POST.get("nonce", "")
        if NONCE.fullmatch(nonce) is None:
            raise StudyRuleError("items", "This form is incomplete. Reload the page and try again.")
        made = study_again(
            dataset=dataset, kind=filters.kind, items=items, owner=request.user, nonce=nonce, like=study
        )
    except TooManyError:
        messages.error(request, f"Nothing was sent. {TOO_MANY}")
        return redirect(back)
    except StudyRuleError as refusal:
        messages.error(request, f"Nothing was sent. {refusal.message[:1].upper()}{refusal.message[1:]}")
        return redirect(back)
    n = made.study_items.count()
    these = "this item" if n == 1 else f"these {n:,} items"
    messages.success(request, f"Draft study created with exactly {these}. Check its rules, then open it.")
    return redirect("annotation:study-detail", made.slug)


def _selected(request: ResearcherRequest, filters: ItemFilter) -> list[int]:
    """The items that were ticked, or all that match; nothing but items of the filter's dataset and kind."""
    if request.POST.get("which") == "all":
        found = item_order(filters)
    else:
        ticked = {number for text in request.POST.getlist("item") if (number := number_from(text))}
        whole = item_order(ItemFilter(dataset_id=filters.dataset_id, kind=filters.kind))
        found = [pk for pk in whole if pk in ticked]
    if not found:
        raise StudyRuleError("items", "Select at least one item.")
    return found


def _adjudicable(request: ResearcherRequest, dataset: Dataset, kind: str) -> QuerySet[Study]:
    studies = studies_editable_by(request.user).filter(dataset=dataset, kind=kind)
    return studies.exclude(state=StudyState.DRAFT)


def _adjudicate(
    request: ResearcherRequest, dataset: Dataset, kind: str, items: Sequence[int]
) -> HttpResponseBase:
    slug = request.POST.get("study", "").replace("\x00", "")
    study = _adjudicable(request, dataset, kind).filter(slug=slug).first()
    if study is None:
        raise StudyRuleError("study", "You have no such study on this dataset.")
    sent, missing = adjudication_request(study=study, items=items, by=request.user)
    if not sent:
        raise StudyRuleError("study", f"{study.title} has none of these items.")
    left = f" {missing:,} of the selection aren't in this study." if missing else ""
    messages.success(request, f"Sent {sent:,} item{'' if sent == 1 else 's'} to adjudication.{left}")
    return redirect("annotation:study-adjudicate", study.slug)


@researcher_action
def item_note_add(request: ResearcherRequest, name: str, pk: int) -> HttpResponseBase:
    """Write a note; its form sent twice writes one."""
    item = _item(request, name, pk)
    text = request.POST.get("text", "")
    nonce = request.POST.get("nonce", "")
    try:
        if NONCE.fullmatch(nonce) is None:
            raise ItemNoteError("This form is incomplete. Reload the page and try again.")
        note_add(item=item, author=request.user, text=text, nonce=nonce)
    except ItemNoteError as refusal:
        return _item_page(request, _dataset(request, name), pk, error=str(refusal), written=text)
    return _to_notes(request, name, pk)


@researcher_action
def item_note_change(request: ResearcherRequest, name: str, pk: int, note: int) -> HttpResponseBase:
    """Change or delete a note of one's own."""
    _item(request, name, pk)
    try:
        found = note_get_for(request.user, note)
    except ItemNote.DoesNotExist:
        raise Http404("You have no such note.") from None
    if found.item_id != pk:
        raise Http404("You have no such note on this item.")
    if request.POST.get("action") == "delete":
        note_delete(note=found)
        return _to_notes(request, name, pk)
    try:
        note_change(note=found, text=request.POST.get("text", ""))
    except ItemNoteError as refusal:
        return _item_page(request, _dataset(request, name), pk, error=str(refusal))
    return _to_notes(request, name, pk)


def _to_notes(request: ResearcherRequest, name: str, pk: int) -> HttpResponseBase:
    url = reverse("metaeval:dataset-item", args=[name, pk])
    return redirect(f"{with_query(url, request.GET.urlencode())}#notes")

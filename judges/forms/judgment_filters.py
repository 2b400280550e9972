"""The filter of a list of judgments, as its address has it; and what the lists and pages of judgments show."""

from collections.abc import Container, Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from annotation.kinds import KINDS
from judges.models import Order, ParseStatus
from judges.selectors.judgment_list import JudgmentFilter, Place, judgment_neighbours, judgments_page
from judges.selectors.judgment_page import JudgmentDetail, part_rows

AGAINST = (
    ("people", "contradicts human annotators", "The verdict differs from the majority of human annotators."),
    ("gold", "contradicts gold", "The verdict differs from the gold answer."),
    ("itself", "contradicts itself", "The verdict differs between presentation orders."),
)
MOST_DIGITS = 18


def filter_from(query: QueryDict) -> JudgmentFilter:
    """Read the filter from an address; what cannot be read does not filter."""
    against = query.getlist("against")
    dataset = number_from(query.get("dataset", ""))
    order = query.get("order", "")
    return JudgmentFilter(
        judge_id=number_from(query.get("judge", "")),
        dataset_id=dataset,
        category=query.get("category", "") if dataset is not None else "",
        kind=_known(query.get("kind", ""), KINDS),
        status=_known(query.get("status", ""), ParseStatus.values),
        order=int(order) if order in ("0", "1") else None,
        external_id=query.get("q", "").replace("\x00", "").strip(),
        against_people="people" in against,
        against_gold="gold" in against,
        against_itself="itself" in against,
    )


def query_of(filters: JudgmentFilter) -> dict[str, Any]:
    """Undo `filter_from`: only what filters."""
    given: dict[str, Any] = {
        "judge": filters.judge_id,
        "dataset": filters.dataset_id,
        "category": filters.category,
        "kind": filters.kind,
        "status": filters.status,
        "order": filters.order,
        "q": filters.external_id,
        "against": [name for name, *_ in AGAINST if getattr(filters, f"against_{name}")],
    }
    return {name: value for name, value in given.items() if value not in (None, "", [])}


def number_from(text: str) -> int | None:
    """A primary key; None where it is none that a database could have."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS + 1 else None


def list_context(query: QueryDict, filters: JudgmentFilter, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What each list of judgments shows: a page of it, the filter, and what can be filtered by.

    Parameters
    ----------
    query : QueryDict
        Of the address: where the page begins.
    chosen : mapping
        As of `query_of`: what of the filter the addresses of other pages repeat.
    """
    page = judgments_page(filters, before=_place(query, "before"), after=_place(query, "after"))
    return {
        "page": page,
        "newer_url": _address(chosen, after=page.newer) if page.newer else "",
        "older_url": _address(chosen, before=page.older) if page.older else "",
        "query": urlencode(chosen, doseq=True),
        "is_filtered": bool(chosen),
        "is_first": not query.get("before") and not query.get("after"),
        "filters": filters,
        "statuses": ParseStatus.choices,
        "orders": Order.choices,
        "against": [(*entry, getattr(filters, f"against_{entry[0]}")) for entry in AGAINST],
    }


def detail_context(
    detail: JudgmentDetail, filters: JudgmentFilter, query: str, *, page: str, judge_page: str
) -> dict[str, Any]:
    """What each page of one judgment shows.

    Parameters
    ----------
    query : str
        The filter, as the address repeats it.
    page, judge_page : str
        Names of the pages of a judgment and of a judge.
    """
    above, below = judgment_neighbours(filters, detail.judgment)

    def at(other: int | None) -> str:
        return with_query(reverse(page, args=[other]), query) if other else ""

    return {
        "detail": detail,
        "judgment": detail.judgment,
        "judge_url": reverse(judge_page, args=[detail.judgment.judge_id]),
        "item": detail.item,
        "trace": detail.trace,
        "parts": part_rows(detail),
        "judgment_page": page,
        "query": query,
        "above_url": at(above),
        "below_url": at(below),
    }


def _place(query: QueryDict, name: str) -> Place | None:
    """Where a page of the list begins."""
    left, _, right = query.get(name, "").partition(".")
    item, pk = number_from(left), number_from(right)
    return None if item is None or pk is None else Place(item, pk)


def _address(query: Mapping[str, Any], **places: Place) -> str:
    """The address of the page that begins at a place."""
    shown = {name: f"{place.item_id}.{place.pk}" for name, place in places.items()}
    return f"?{urlencode({**query, **shown}, doseq=True)}"


def with_query(url: str, query: str) -> str:
    return f"{url}?{query}" if query else url


def _known(value: str, values: Container[str]) -> str:
    return value if value in values else ""

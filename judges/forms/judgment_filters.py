"""The filter of a list of judgments, as its address has it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from annotation.kinds import KINDS
from judges.models import ParseStatus
from judges.selectors.judgment_list import JudgmentFilter, Place

AGAINST = (
    ("people", "contradicts people", "Another verdict than most people's."),
    ("gold", "contradicts the gold", "Another verdict than the known right one."),
    ("itself", "contradicts itself", "Another verdict than in the other presentation order."),
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


def place_from(query: QueryDict, name: str) -> Place | None:
    """Where a page of the list begins."""
    left, _, right = query.get(name, "").partition(".")
    item, pk = number_from(left), number_from(right)
    return None if item is None or pk is None else Place(item, pk)


def address(query: Mapping[str, Any], **places: Place) -> str:
    """The address of the page that begins at a place."""
    shown = {name: f"{place.item_id}.{place.pk}" for name, place in places.items()}
    return f"?{urlencode({**query, **shown}, doseq=True)}"


def with_query(url: str, query: str) -> str:
    return f"{url}?{query}" if query else url


def _known(value: str, values: Container[str]) -> str:
    return value if value in values else ""

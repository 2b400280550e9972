"""What an item may be asked to have: labels, gold, judgments. The database decides it."""

from collections import Counter
from functools import partial

from django.db.models import Count, Exists, OuterRef, QuerySet

from annotation.models import Item
from annotation.selectors.judged_items import items_asked, items_found
from annotation.selectors.judging_labels import annotators_of_items, items_labelled
from judges.models import Judgment
from judges.selectors.item_filter import ItemFilter
from metaeval.stats.alternative_annotator import MIN_ITEMS


def with_conditions(
    items: QuerySet[Item], filters: ItemFilter, judgments: QuerySet[Judgment]
) -> QuerySet[Item]:
    """Items that have all that is asked for; `judgments` are those of the filter's judges."""
    labelled = partial(items_labelled, reader=filters.reader, study_id=filters.study_id)
    if filters.annotator_id is not None:
        items = labelled(items, annotator_id=filters.annotator_id)
    if filters.study is not None and {"asked", "complete"} & set(filters.has):
        items = items.filter(pk__in=items_asked(filters.study, complete="complete" in filters.has))
    if "gold" in filters.has:
        items = items.filter(gold__isnull=False)
    if "labels" in filters.has:
        items = labelled(items, least=2)
    elif "label" in filters.has:
        items = labelled(items)
    if "both_orders" in filters.has:
        items = items.filter(pk__in=_judged(filters, judgments, orders=2))
    elif "all_judges" in filters.has:
        items = items.filter(pk__in=_judged(filters, judgments))
    elif "judgment" in filters.has:
        items = items.filter(Exists(judgments.filter(item=OuterRef("pk"))))
    if "tested" in filters.has:
        items = items.filter(pk__in=_tested(filters, judgments))
    return items


def _judged(
    filters: ItemFilter, judgments: QuerySet[Judgment], *, orders: int = 1
) -> QuerySet[Judgment, int]:
    """The items that each judge judged, in so many orders."""
    wanted = max(1, len(filters.judge_ids))
    verdicts = Count("pk") if orders > 1 else Count("judge", distinct=True)
    found = judgments.order_by().values("item").annotate(n=verdicts)
    return found.filter(n__gte=wanted * orders).values_list("item", flat=True)


def _tested(filters: ItemFilter, judgments: QuerySet[Judgment]) -> set[int]:
    """The items of the alternative annotator test, as `metaeval.selection.replacement` counts them.

    Judged in both orders, or in one where most are; with two labels or more; of annotators who have enough of these.
    """
    items = items_found(dataset_id=filters.dataset_id, kind=filters.kind, study=filters.study)
    own = judgments.filter(item__in=items)
    once, both = set(_judged(filters, own)), set(_judged(filters, own, orders=2))
    judged = once if 2 * len(both) < len(once) else both
    shared = items_labelled(items, least=2, reader=filters.reader, study_id=filters.study_id)
    labelled = [
        (item, annotator)
        for item, annotator in annotators_of_items(shared, reader=filters.reader, study_id=filters.study_id)
        if item in judged
    ]
    n_items = Counter(annotator for _, annotator in labelled)
    return {item for item, annotator in labelled if n_items[annotator] >= MIN_ITEMS}

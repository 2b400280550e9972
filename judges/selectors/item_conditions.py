"""What an item may be asked to have: labels, gold, judgments, responses of a system, a certain verdict."""

from collections import Counter
from collections.abc import Collection
from functools import partial

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Length

from annotation.models import Item
from annotation.selectors.judged_items import items_asked, items_found, responses_of_item
from annotation.selectors.judging_labels import annotators_of_items, items_labelled
from judges.models import Judgment, ParseStatus
from judges.selectors.certainty import items_by_certainty
from judges.selectors.item_filter import ItemFilter
from metaeval.figures.groups import ADVERSARIAL
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
    if "sets" in filters.has:
        items = labelled(items, least=2, with_set=True)
    elif "set" in filters.has:
        items = labelled(items, with_set=True)
    if "both_orders" in filters.has:
        items = items.filter(pk__in=_judged(filters.judge_ids, judgments, orders=2))
    elif "all_judges" in filters.has:
        items = items.filter(pk__in=_judged(filters.judge_ids, judgments))
    elif "judgment" in filters.has:
        items = items.filter(Exists(judgments.filter(item=OuterRef("pk"))))
    if "verdict" in filters.has:
        items = items.filter(Exists(judgments.filter(item=OuterRef("pk"), status=ParseStatus.PARSED)))
    if filters.judged_by:
        by = Judgment.objects.filter(sample=0, judge_id__in=filters.judged_by)
        items = items.filter(pk__in=_judged(filters.judged_by, by.filter(item__in=items)))
    if "tested" in filters.has:
        items = items.filter(pk__in=_tested(filters, judgments))
    if filters.is_by_certainty:
        items = items.filter(pk__in=_certain(filters, judgments))
    return _with_responses(_in_parts(items, filters), filters)


def _in_parts(items: QuerySet[Item], filters: ItemFilter) -> QuerySet[Item]:
    """Those in a category, or in a subset, that was made to mislead judges or not (`metaeval.figures.groups`)."""
    if "category" in filters.has:
        items = items.exclude(instruction__category="")
    if {"subset", "adversarial", "other_subset"} & set(filters.has):
        items = items.exclude(instruction__subset="")
    made = Q(instruction__subset__istartswith=ADVERSARIAL)
    if "adversarial" in filters.has:
        items = items.filter(made)
    if "other_subset" in filters.has:
        items = items.exclude(made)
    return items


def _with_responses(items: QuerySet[Item], filters: ItemFilter) -> QuerySet[Item]:
    """Those whose responses are of the systems and of the lengths that are asked for."""
    own = responses_of_item()
    for system in filter(None, (filters.system, filters.against)):
        items = items.filter(Exists(own.filter(response__system=system)))
    if {"named", "lengths"} & set(filters.has):
        ends = [own.filter(position=place).annotate(size=Length("response__text")) for place in (0, 1)]
        for name, column in (("named", "response__system"), ("lengths", "size")):
            if name in filters.has:
                one, two = (Subquery(end.values(column)[:1]) for end in ends)
                items = items.alias(**{f"{name}_first": one}).exclude(**{f"{name}_first": two})
        if "named" in filters.has:
            items = items.filter(~Exists(own.filter(response__system="")))
    return items


def _certain(filters: ItemFilter, judgments: QuerySet[Judgment]) -> set[int]:
    """The items on which the one judge is so certain; none where several are asked for."""
    if len(filters.judge_ids) != 1:
        return set()
    items = items_found(dataset_id=filters.dataset_id, kind=filters.kind)
    return items_by_certainty(
        items,
        judgments.filter(item__in=items),
        filters.kind,
        at_least=filters.certainty_from,
        below=filters.certainty_below,
    )


def _judged(
    judges: Collection[int], judgments: QuerySet[Judgment], *, orders: int = 1
) -> QuerySet[Judgment, int]:
    """The items that each judge judged, in so many orders."""
    wanted = max(1, len(judges))
    verdicts = Count("pk") if orders > 1 else Count("judge", distinct=True)
    found = judgments.order_by().values("item").annotate(n=verdicts)
    return found.filter(n__gte=wanted * orders).values_list("item", flat=True)


def _tested(filters: ItemFilter, judgments: QuerySet[Judgment]) -> set[int]:
    """The items of the alternative annotator test, as `metaeval.selection.replacement` counts them.

    Judged in both orders, or in one where most are; with two labels or more; of annotators who have enough of these.
    """
    items = items_found(dataset_id=filters.dataset_id, kind=filters.kind, study=filters.study)
    own = judgments.filter(item__in=items)
    once, both = set(_judged(filters.judge_ids, own)), set(_judged(filters.judge_ids, own, orders=2))
    judged = once if 2 * len(both) < len(once) else both
    shared = items_labelled(items, least=2, reader=filters.reader, study_id=filters.study_id)
    labelled = [
        (item, annotator)
        for item, annotator in annotators_of_items(shared, reader=filters.reader, study_id=filters.study_id)
        if item in judged
    ]
    n_items = Counter(annotator for _, annotator in labelled)
    return {item for item, annotator in labelled if n_items[annotator] >= MIN_ITEMS}

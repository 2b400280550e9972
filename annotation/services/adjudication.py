"""Adjudication: an expert decides about an item on which people disagree."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from annotation.kinds import to_canonical, validate_value
from annotation.models import Adjudication, StudyItem, User
from annotation.selectors.shown import value_rules


def adjudicate(
    *,
    place: StudyItem,
    expert: User,
    shown_value: Mapping[str, Any],
    order: Sequence[int],
    note: str = "",
) -> Adjudication:
    """Record an expert's word, given in the order in which they saw the parts. The latest stands.

    Saying the same again changes nothing, so a form sent twice is one word. Raises `LabelValueError` when the
    value does not fit.
    """
    study = place.study
    checked = validate_value(shown_value, value_rules(study, place.item))
    value = to_canonical(study.kind, checked, order)
    with transaction.atomic():
        # One at a time for each item: each word supersedes the one before.
        StudyItem.objects.select_for_update(no_key=True).get(pk=place.pk)
        standing = Adjudication.objects.filter(
            study=study, item_id=place.item_id, superseded_by__isnull=True
        ).first()
        if standing and (standing.expert_id, standing.value, standing.note) == (expert.pk, value, note):
            return standing
        return Adjudication.objects.create(
            study=study,
            item_id=place.item_id,
            expert=expert,
            value=value,
            shown_order=list(order),
            note=note,
            supersedes=standing,
        )

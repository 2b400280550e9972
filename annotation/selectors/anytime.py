"""Agreement of people while labels arrive: an interval that stays valid however often one looks at the page.

An instruction counts when all of its items in the study have all of their labels, in the order in which instructions
were finished: what was counted once does not change with the next label.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from django.db.models import Count, Max

from annotation.models import Dataset, ItemRole, Study, StudyItem, StudyState, User
from annotation.selectors.overview import labels_visible_to, studies_visible_to
from metaeval.stats import ConfidenceSequence, Estimate, leave_one_out_contributions


class ItemPlace(NamedTuple):
    """An item of a study: its instruction, and how many labels it is to have."""

    instruction: int
    overlap: int


class PairLabel(NamedTuple):
    """A label of a pair that counts, with its place in the order in which labels came."""

    item: int
    annotator: int
    choice: float
    number: int


def places_of(study: Study) -> dict[int, ItemPlace]:
    """The items that a study is to have labels of. One query."""
    found = StudyItem.objects.filter(study=study, role=ItemRole.WORK, withdrawn_at=None)
    rows = found.values_list("item_id", "item__instruction_id", "overlap")
    return {item: ItemPlace(instruction, overlap) for item, instruction, overlap in rows}


def agreement_at_any_time(choices: Iterable[PairLabel], places: Mapping[int, ItemPlace]) -> Estimate | None:
    """Leave-one-out agreement of the instructions that are finished; None before there is one."""
    labels = [one for one in choices if one.item in places]
    given = Counter(one.item for one in labels)
    items = {item for item, place in places.items() if 2 <= place.overlap <= given[item]}
    wanted = Counter(place.instruction for place in places.values())
    done = Counter(places[item].instruction for item in items)
    finished = {instruction for instruction, n in done.items() if n == wanted[instruction]}
    labels = [one for one in labels if places[one.item].instruction in finished]
    if not labels:
        return None
    last: dict[int, int] = {}
    for one in labels:
        instruction = places[one.item].instruction
        last[instruction] = max(last.get(instruction, 0), one.number)
    item = np.array([one.item for one in labels])
    columns = item, np.array([one.annotator for one in labels]), np.array([one.choice for one in labels])
    agreement = leave_one_out_contributions(columns)
    cluster = np.array([places[one].instruction for one in np.unique(item).tolist()])
    order = np.argsort([last[instruction] for instruction in cluster.tolist()], kind="stable")
    # How large an instruction can be is known before anything is labelled.
    sequence = ConfidenceSequence(largest=max(wanted.values()))
    return sequence.update(agreement[order], clusters=cluster[order])


class ItemFinished(NamedTuple):
    """An item that studies ask for: the last of its labels once all are there, else whether they may still come."""

    last: int | None
    comes: bool


def items_finished(dataset: Dataset, kind: str, reader: User | None) -> dict[str, ItemFinished]:
    """By external id the items that studies which a reader may see ask for; drafts ask for nothing. Two queries."""
    studies = Study.objects.all() if reader is None else studies_visible_to(reader)
    studies = studies.filter(dataset=dataset, kind=kind).exclude(state=StudyState.DRAFT)
    asked = StudyItem.objects.filter(study__in=studies, role=ItemRole.WORK, withdrawn_at=None)
    rows = list(asked.values_list("study_id", "item_id", "item__external_id", "overlap", "study__state"))
    if not rows:
        return {}
    labels = labels_visible_to(reader).current().filter(study__in=studies, kind=kind).order_by()
    given = labels.values("study_id", "item_id").annotate(n=Count("pk"), last=Max("pk"))
    there = {(row["study_id"], row["item_id"]): (row["n"], row["last"]) for row in given}
    found: dict[str, ItemFinished] = {}
    for study_id, item_id, name, overlap, state in rows:
        n, last = there.get((study_id, item_id), (0, 0))
        one = ItemFinished(last if n >= overlap else None, state != StudyState.CLOSED)
        if (other := found.get(name)) is not None:
            # Of several studies all must be through with it; it comes only where each may still be.
            missing = [each for each in (one, other) if each.last is None]
            latest = max(one.last or 0, other.last or 0)
            one = ItemFinished(None if missing else latest, all(each.comes for each in missing))
        found[name] = one
    return found

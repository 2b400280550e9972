"""Agreement of people while labels arrive: an interval that stays valid however often one looks at the page.

An instruction counts when all of its items in the study have all of their labels, in the order in which instructions
were finished: what was counted once does not change with the next label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from annotation.models import ItemRole, Study, StudyItem
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

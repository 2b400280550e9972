"""Agreement of people while labels arrive: an interval that stays valid however often one looks at the page.

An instruction counts when all of its items in the study have all of their labels, in the order in which instructions
were finished: what was counted once does not change with the next label.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from django.db.models import Count, Max

from annotation.kinds import kind_of
from annotation.models import Criterion, Dataset, ItemRole, Study, StudyItem, StudyState, User
from annotation.selectors.instructions import instruction_clusters
from annotation.selectors.overview import labels_visible_to, studies_visible_to
from metaeval.figures.sample import Ratio
from metaeval.stats import ConfidenceSequence, Estimate


class ItemPlace(NamedTuple):
    """An item of a study: its instruction, how many labels it is to have, and how many parts a mean may count of it."""

    instruction: int
    overlap: int
    parts: int = 1


def places_of(study: Study) -> dict[int, ItemPlace]:
    """The items that a study is to have labels of. One query; of rubrics, and of kinds with aspects, two."""
    kind = kind_of(study.kind)
    found = StudyItem.objects.filter(study=study, role=ItemRole.WORK, withdrawn_at=None)
    columns = ["item_id", "item__instruction_id", "overlap"]
    parts = 1
    if kind.scale != "ranks" and kind.parts == "aspects":
        found = found.annotate(n_parts=Count("item__instruction__aspects"))
        columns.append("n_parts")
    elif kind.parts == "criteria":
        parts = Criterion.objects.filter(dataset_id=study.dataset_id).count()
    same = instruction_clusters(study.dataset, study.kind)
    rows = found.values_list(*columns)
    return {
        item: ItemPlace(same.get(instruction, instruction), overlap, *(own or [parts]))
        for item, instruction, overlap, *own in rows
    }


MOST_LOOKS = 40


class Look(NamedTuple):
    """A figure after so many instructions were finished, with an interval that is valid at all looks together."""

    n_instructions: int
    estimate: Estimate


def ratio_over_time(
    ratio: Ratio,
    bounds: tuple[float, float],
    items: Sequence[int],
    labels: Sequence[tuple[int, int]],
    places: Mapping[int, ItemPlace],
) -> tuple[Look, ...]:
    """A figure of people as instructions were finished, at most `MOST_LOOKS` times; empty before there is one.

    Parameters
    ----------
    ratio : Ratio
        What each item adds to the figure.
    bounds : (float, float)
        The range of the figure.
    items : sequence of int
        The items, in the order of the ratio.
    labels : sequence of (int, int)
        The item of each label, and the label's place in the order in which labels came.
    """
    given = Counter(item for item, _ in labels)
    wanted = Counter(place.instruction for place in places.values())
    done = Counter(place.instruction for item, place in places.items() if 2 <= place.overlap <= given[item])
    finished = {instruction for instruction, n in done.items() if n == wanted[instruction]}
    last: dict[int, int] = {}
    for item, number in labels:
        if item in places and (instruction := places[item].instruction) in finished:
            last[instruction] = max(last.get(instruction, 0), number)
    own = [row for row, item in enumerate(items) if item in places and places[item].instruction in finished]
    own.sort(key=lambda row: last[places[items[row]].instruction])
    top, size = (part.reshape(len(items), -1).sum(axis=1)[own] for part in (ratio.top, ratio.bottom))
    if not size.any():
        return ()
    cluster = np.array([places[items[row]].instruction for row in own])
    # How large an instruction can be is known before anything is labeled.
    most = Counter[int]()
    for place in places.values():
        most[place.instruction] += place.parts
    sizes = np.bincount(np.unique(cluster, return_inverse=True)[1], weights=size)
    sequence = ConfidenceSequence(bounds=bounds, largest=max(*most.values(), *sizes.tolist()))
    values = np.clip(np.where(size > 0, top / np.where(size > 0, size, 1.0), np.nan), *bounds)
    # An instruction is counted as a whole; its items lie together, since all are sorted by its last label.
    starts = np.flatnonzero(np.r_[True, cluster[1:] != cluster[:-1]])
    ends = np.r_[starts[1:], len(cluster)]
    looks = []
    start = 0
    for n in np.unique(np.linspace(1, len(ends), min(len(ends), MOST_LOOKS)).round().astype(int)).tolist():
        part = slice(start, int(ends[n - 1]))
        found = sequence.update(values[part], clusters=cluster[part], weights=size[part])
        start = int(ends[n - 1])
        looks.append(Look(n, found))
    return tuple(looks)


class ItemFinished(NamedTuple):
    """An item that studies ask for: the last of its labels once all are there, else whether they may still come."""

    last: int | None
    comes: bool


def items_finished(
    dataset: Dataset, kind: str, reader: User | None, study: Study | None = None
) -> dict[str, ItemFinished]:
    """By external id the items that studies which a reader may see ask for, or one of them; drafts ask for nothing.

    Two queries.
    """
    studies = Study.objects.all() if reader is None else studies_visible_to(reader)
    studies = studies.filter(dataset=dataset, kind=kind).exclude(state=StudyState.DRAFT)
    if study is not None:
        studies = studies.filter(pk=study.pk)
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

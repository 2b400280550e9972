"""What agreement of every kind is made of: labels as arrays, rows of people, and when figures are new."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from django.db.models import Count, Max, Q, Subquery
from numpy.typing import NDArray

from annotation.domain.pseudonyms import SHORT, pseudonym
from annotation.models import Intervention, Label, Study, WorkRole
from metaeval.stats import Estimate, Resamples, krippendorff_alpha, wilson_interval
from metaeval.stats.alpha import Level
from metaeval.stats.counts import read_labels
from metaeval.stats.estimate import no_estimate
from metaeval.stats.leave_one_out import leave_one_out_scores

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
# Primary key of an annotator to (short id, simulated?).
People: TypeAlias = dict[int, tuple[str, bool]]

# Below this many items with two labels, the page says that it is early.
FEW_ITEMS = 20
NO_PAIR = "no item has two labels"
ONE_VALUE = "all labels are the same"
NO_LABELS = "no labels"
NOT_SHARED = "no item shared with others"


@dataclass(frozen=True, slots=True)
class AnnotatorRow:
    """One annotator: their agreement with the others, on items that others labelled too."""

    annotator: int
    short_id: str
    is_simulated: bool
    labels: int
    seconds: float | None
    agreement: Estimate


@dataclass(frozen=True, slots=True)
class LabelStamp:
    """Identifies the labels of a study at a moment: new ones raise `latest`, set aside ones lower `counted`.

    As many may be taken back as are set aside of somebody else; `changed`, the latest time that labels were, tells.
    """

    count: int
    counted: int
    latest: int
    changed: int

    def __str__(self) -> str:
        return f"{self.count}-{self.counted}-{self.latest}-{self.changed}"


def label_stamp(study: Study) -> LabelStamp:
    """One query."""
    counted = Count("pk", filter=Q(is_surplus=False, is_set_aside=False, role=WorkRole.WORK))
    interventions = Intervention.objects.filter(enrollment__study=study, n_labels__gt=0).order_by("-pk")
    row = Label.objects.filter(study=study).aggregate(
        count=Count("pk"),
        counted=counted,
        latest=Max("pk"),
        changed=Max(Subquery(interventions.values("pk")[:1])),
    )
    return LabelStamp(row["count"], row["counted"], row["latest"] or 0, row["changed"] or 0)


def paired(slots: Floats) -> NDArray[np.bool_]:
    """Which items have two labels or more."""
    found: NDArray[np.bool_] = (~np.isnan(slots)).sum(axis=1) >= 2
    return found


def alpha_of(slots: Floats, resamples: Resamples, level: Level = "nominal") -> Estimate:
    where = paired(slots)
    values = slots[where]
    if not len(values):
        return no_estimate(NO_PAIR)
    if np.nanmin(values) == np.nanmax(values):
        return no_estimate(ONE_VALUE)
    if one_cluster(resamples, where):
        return krippendorff_alpha(slots, level=level, n_resamples=0)
    return krippendorff_alpha(slots, level=level, resamples=resamples)


def one_cluster(resamples: Resamples, where: NDArray[np.bool_]) -> bool:
    """Whether all of these items are of one instruction, which says nothing of others: no interval."""
    return resamples.codes is not None and len(np.unique(resamples.codes[where])) <= 1


def seconds_of(active_ms: int | None, supersedes: int | None) -> float:
    """Active time on an item, NaN where it is unknown. That of a change says nothing of how long the item took."""
    return float("nan") if active_ms is None or supersedes is not None else active_ms / 1000


def labels_read(study: Study, people: People, *columns: str) -> Iterator[tuple[Any, ...]]:
    """(item, instruction, category, annotator, seconds, *columns) of the labels that count, by item; fills `people` on
    the way. One query.
    """
    rows = Label.objects.current().filter(study=study, kind=study.kind)
    about = ("item_id", "item__instruction_id", "item__instruction__category", "annotator_id")
    person = ("annotator__public_id", "annotator__is_simulated")
    names = (*about, "active_ms", "supersedes_id", *person, *columns)
    found = rows.order_by("item__position", "item_id", "pk").values_list(*names)
    row: tuple[Any, ...]
    for row in found.iterator(chunk_size=5_000):
        item, instruction, category, annotator, ms, earlier, public_id, simulated, *more = row
        people[annotator] = (str(pseudonym(public_id, study=study.pk))[:SHORT], simulated)
        yield (item, instruction, category, annotator, seconds_of(ms, earlier), *more)


def median_known(seconds: Floats) -> float | None:
    known = seconds[~np.isnan(seconds)]
    return float(np.median(known)) if len(known) else None


def scores_of_labels(row: Integers, values: Floats, n_items: int) -> Floats:
    """Leave-one-out agreement of each label, whoever gave it; ``row`` is the item of each."""
    return leave_one_out_scores(read_labels((row, np.arange(len(row)), values), n_items))


def share_of(matches: Floats) -> Estimate:
    """Mean with Wilson's interval: one person's labels are on different items, hence taken as independent.

    A match may be a fraction (of several modes, of several criteria). No numbers between 0 and 1 vary more about their
    mean than zeros and ones do, so the interval is then wider than it need be, never narrower.
    """
    known = matches[~np.isnan(matches)]
    if not len(known):
        return no_estimate(NOT_SHARED)
    value = float(known.mean())
    low, high = wilson_interval(value, len(known))
    return Estimate(value, low, high, n=len(known), n_clusters=len(known), method="wilson")


def annotator_rows(
    annotator: Integers, seconds: Floats, people: People, agreement: Callable[[Integers], Estimate]
) -> tuple[AnnotatorRow, ...]:
    """A row a person, most labels first; ``agreement`` gets the indices of a person's labels."""
    keys, code = np.unique(annotator, return_inverse=True)
    order = np.argsort(code, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(code, minlength=len(keys)))[:-1]) if len(keys) else []
    rows = [
        AnnotatorRow(key, *people[key], len(mine), median_known(seconds[mine]), agreement(mine))
        for key, mine in zip(keys.tolist(), groups, strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: (-row.labels, row.short_id)))

"""Whether a judge agrees with people on newly labeled items as it did when its anchors were frozen."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

import numpy as np

from annotation.kinds import kind_of
from annotation.models import User
from annotation.selectors.overview import labels_visible_to
from judges.models import AnchorSet, Judgment, ParseStatus
from judges.selectors.anchors import InTime
from judges.selectors.items import judge_kind
from metaeval.stats import DriftMonitor, DriftState
from metaeval.stats.drift import Moved, attribute_drift

MARGIN = 0.05
"""A change of agreement that makes no difference in practice, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class NewLabels:
    """Agreement of a judge with people on items labeled before its anchors were frozen, and since.

    Attributes
    ----------
    before, since : float
        Mean agreement with a label, in [0, 1]; NaN without an item.
    n_before, n_since : int
        Items, by when their first label came.
    n_waiting : int
        Of those since, the ones labeled after the latest check: they count from the next one on.
    state : DriftState or None
        None without an item labeled before.
    moved : {"neither", "judge", "systems", "both", "open"}
        What the anchors and this say together.
    """

    before: float
    since: float
    n_before: int
    n_since: int
    n_waiting: int
    state: DriftState | None
    moved: Moved


def new_labels(found: InTime, *, reader: User | None = None) -> NewLabels:
    """Compare agreement on items labeled since anchors were frozen, grouped by the checks, with that on those before.

    An item's value is the mean agreement of the judge's verdicts with its labels; items of one instruction are one
    value. Two queries. `reader` is who looks: labels that they may not see take no part.
    """
    anchors = found.anchors
    values = _values(anchors, reader)
    frozen = anchors.created_at
    before = [value for first, value in values if first <= frozen]
    since = [(first, value) for first, value in values if first > frozen]
    checks = [check.sweep.created_at for check in found.looks if check.is_finished]
    waiting = [value for first, value in since if not checks or first > checks[-1]]
    state, alarm = None, None
    if before:
        monitor = DriftMonitor.of_values(before, margin=MARGIN)
        state = monitor.state
        for number, (begin, end) in enumerate(zip([frozen, *checks], checks, strict=False)):
            state = monitor.update([value for first, value in since if begin < first <= end])
            if alarm is None and state.moved:
                alarm = number
    return NewLabels(
        before=fmean(before) if before else np.nan,
        since=fmean(value for _, value in since) if since else np.nan,
        n_before=len(before),
        n_since=len(since),
        n_waiting=len(waiting),
        state=state,
        moved=_together(found, state, 0 if alarm is None else len(checks) - alarm),
    )


def _together(found: InTime, state: DriftState | None, looks_since: int) -> Moved:
    if found.state is None or state is None:
        return "open"
    return attribute_drift(found.state, state, looks_since=looks_since)


def _values(anchors: AnchorSet, reader: User | None) -> list[tuple[datetime, float]]:
    """(the first label of an instruction's items, how far the judge agrees with their labels), in order of time."""
    kind = kind_of(judge_kind(anchors.judge))
    said: dict[int, list[object]] = defaultdict(list)
    judgments = Judgment.objects.filter(judge=anchors.judge, item__dataset=anchors.dataset_id, sample=0)
    for item, status, choice, value in judgments.exclude(status=ParseStatus.FAILED).values_list(
        "item_id", "status", "choice", "value"
    ):
        said[item].append(kind.stored(choice, value) if status == ParseStatus.PARSED else None)
    labels = labels_visible_to(reader).current().filter(item__dataset=anchors.dataset_id, item__in=list(said))
    scores: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    first: dict[int, datetime] = {}
    rows = labels.order_by("created_at", "pk").values_list(
        "item__instruction_id", "item_id", "choice", "value", "created_at"
    )
    for instruction, item, choice, value, at in rows.iterator(2000):
        first.setdefault(instruction, at)
        label = kind.stored(choice, value)
        # An answer that cannot be read agrees with nobody.
        each = [0.0 if one is None else kind.score(one, label) for one in said[item]]  # type: ignore[arg-type]
        scores[instruction][item] += [score for score in each if score is not None]
    found: list[tuple[datetime, float]] = []
    for instruction, items in scores.items():
        means: Sequence[float] = [fmean(each) for each in items.values() if each]
        if means:
            found.append((first[instruction], fmean(means)))
    return found

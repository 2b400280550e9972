"""The anchors of a judge, their checks, and whether the judge has moved."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Prefetch, QuerySet

from annotation.kinds import kind_of
from judges.backends.answerers import Answerer, answerers_read
from judges.models import Anchor, AnchorSet, AnchorVerdict, Judge, ParseStatus, Sweep, SweepRun, SweepState
from judges.selectors.items import judge_kind
from metaeval.stats import DriftMonitor, DriftState, Estimate, RepeatNoise, mean_estimate, repeat_noise

Place = tuple[int, int]
"""An item and a presentation order."""
Said = tuple[str, int | None, Any]
"""Status, choice and value of a verdict."""


@dataclass(frozen=True, slots=True)
class AnchorCheck:
    """One check of anchors.

    Attributes
    ----------
    number : int
        From 1; of the repetitions at freezing and of the checks after them apart.
    changed : Estimate
        The share of anchors whose verdict is another one than the frozen one, by item; undefined where none has one.
    n_changed, n, n_failed : int
        Verdicts that are other ones, verdicts, and anchors that never had an answer.
    state : DriftState or None
        What was known after it; None of a repetition, and while it is not finished.
    n_done, n_total : int
        How far it is.
    """

    sweep: Sweep
    number: int
    is_repetition: bool
    changed: Estimate
    n_changed: int
    n: int
    n_failed: int
    n_done: int
    n_total: int
    cost: float
    answerers: tuple[Answerer, ...]
    state: DriftState | None = None

    @property
    def is_finished(self) -> bool:
        return self.sweep.state == SweepState.FINISHED

    @property
    def can_resume(self) -> bool:
        return self.sweep.state in (SweepState.PAUSED, SweepState.FAILED)


@dataclass(frozen=True, slots=True)
class InTime:
    """Anchors with their checks, the oldest first, and what they say of the judge.

    Attributes
    ----------
    noise : RepeatNoise or None
        From the repetitions at freezing; None until they are finished.
    reference : float
        The share of changed verdicts that is no move: the bound of the noise, or the tolerance. NaN until it is known.
    state : DriftState or None
        After the latest finished check; None before the first.
    alarm : float
        The e-value from which on the judge is said to have moved.
    """

    anchors: AnchorSet
    n_items: int
    n_anchors: int
    checks: tuple[AnchorCheck, ...]
    noise: RepeatNoise | None
    reference: float
    state: DriftState | None
    alarm: float

    @property
    def repetitions(self) -> tuple[AnchorCheck, ...]:
        return tuple(check for check in self.checks if check.is_repetition)

    @property
    def looks(self) -> tuple[AnchorCheck, ...]:
        """The checks after freezing."""
        return tuple(check for check in self.checks if not check.is_repetition)

    @property
    def moved(self) -> bool:
        return self.state is not None and self.state.moved

    @property
    def is_active(self) -> bool:
        return any(check.sweep.state in (SweepState.QUEUED, SweepState.RUNNING) for check in self.checks)

    @property
    def several(self) -> tuple[Answerer, ...]:
        """All models that answered, where they are several."""
        found = {one for check in self.checks for one in check.answerers}
        return tuple(sorted(found)) if len({(one.model, one.fingerprint) for one in found}) > 1 else ()


def anchor_sets(judge: Judge, dataset_ids: Collection[int]) -> QuerySet[AnchorSet]:
    """The anchors of a judge on these datasets, the newest first."""
    rows = AnchorSet.objects.filter(judge=judge, dataset__in=dataset_ids).select_related(
        "dataset", "judge", "created_by"
    )
    return rows.order_by("-pk")


def anchor_get(judge: Judge, pk: int) -> AnchorSet | None:
    """Anchors of this judge, if these are."""
    return AnchorSet.objects.filter(judge=judge, pk=pk).select_related("dataset", "judge").first()


def in_time(anchors: AnchorSet) -> InTime:
    """Read the checks of anchors and test, check by check, whether the judge has moved; four queries."""
    kind = judge_kind(anchors.judge)
    frozen: dict[Place, Said] = {
        (item, order): (status, choice, value)
        for item, order, status, choice, value in Anchor.objects.filter(anchors=anchors).values_list(
            "item_id", "order", "status", "choice", "value"
        )
    }
    places = sorted(frozen)
    runs = Prefetch("runs", queryset=SweepRun.objects.order_by("pk"))
    sweeps = list(anchors.checks.order_by("pk").prefetch_related(runs))
    said: dict[int, dict[Place, Said]] = defaultdict(dict)
    answered: dict[int, set[str]] = defaultdict(set)
    for sweep_id, item, order, status, choice, value, by in AnchorVerdict.objects.filter(
        sweep__anchors=anchors
    ).values_list("sweep_id", "item_id", "order", "status", "choice", "value", "answered_by"):
        said[sweep_id][item, order] = (status, choice, value)
        answered[sweep_id].add(by)
    changes = {
        sweep.pk: np.array([_changed(kind, frozen[place], said[sweep.pk].get(place)) for place in places])
        for sweep in sweeps
    }
    first, later = sweeps[: anchors.repeats], sweeps[anchors.repeats :]
    finished = [changes[sweep.pk] for sweep in first if sweep.state == SweepState.FINISHED]
    noise, monitor = None, None
    if len(finished) == anchors.repeats and not all(np.isnan(one).all() for one in finished):
        noise = repeat_noise(np.column_stack(finished))
        monitor = DriftMonitor.of_anchors(np.column_stack(finished), tolerance=anchors.tolerance)
    checks = [
        _check(sweep, number, True, changes[sweep.pk], places, said[sweep.pk], answered[sweep.pk], None)
        for number, sweep in enumerate(first, 1)
    ]
    latest: DriftState | None = None
    for number, sweep in enumerate(later, 1):
        state = None
        if monitor is not None and sweep.state == SweepState.FINISHED:
            state = latest = monitor.update(changes[sweep.pk])
        checks.append(
            _check(sweep, number, False, changes[sweep.pk], places, said[sweep.pk], answered[sweep.pk], state)
        )
    return InTime(
        anchors=anchors,
        n_items=len({item for item, _ in places}),
        n_anchors=len(places),
        checks=tuple(checks),
        noise=noise,
        reference=math.nan if monitor is None else monitor.reference[1],
        state=latest,
        alarm=math.nan if monitor is None else 1.0 / (1.0 - monitor.confidence),
    )


def judges_moved(judge_ids: Collection[int], dataset_ids: Collection[int]) -> list[InTime]:
    """The anchors in use, of these judges on these datasets, that say that the judge has moved."""
    rows = AnchorSet.objects.filter(judge__in=judge_ids, dataset__in=dataset_ids, retired_at=None)
    found = [in_time(row) for row in rows.select_related("judge", "dataset").order_by("pk")]
    return [one for one in found if one.moved]


def _check(
    sweep: Sweep,
    number: int,
    is_repetition: bool,
    changes: np.ndarray[Any, np.dtype[np.float64]],
    places: Sequence[Place],
    said: Mapping[Place, Said],
    answered: Collection[str],
    state: DriftState | None,
) -> AnchorCheck:
    known = ~np.isnan(changes)
    n = int(known.sum())
    if n:
        items = [item for item, _ in places]
        changed = mean_estimate(changes, clusters=items)
    else:
        changed = Estimate(math.nan, math.nan, math.nan, n=0, reason="no anchor has an answer")
    runs = list(sweep.runs.all())
    return AnchorCheck(
        sweep=sweep,
        number=number,
        is_repetition=is_repetition,
        changed=changed,
        n_changed=int(changes[known].sum()),
        n=n,
        n_failed=sum(status == ParseStatus.FAILED for status, _, _ in said.values()),
        n_done=sum(run.n_done for run in runs),
        n_total=sum(run.n_total for run in runs) or len(places),
        cost=sum(run.cost for run in runs),
        answerers=tuple(sorted({one for text in answered for one in answerers_read(text)})),
        state=state,
    )


def _changed(kind: str, frozen: Said, now: Said | None) -> float:
    """1 where the verdict is another one, 0 where it is the same, NaN where there is no answer."""
    if now is None or now[0] == ParseStatus.FAILED:
        return math.nan
    if frozen[0] != now[0]:
        return 1.0
    if now[0] != ParseStatus.PARSED:
        return 0.0
    return float(_numbers(kind, frozen) != _numbers(kind, now))


def _numbers(kind: str, said: Said) -> Mapping[str, float | None]:
    info = kind_of(kind)
    return info.numbers(info.stored(said[1], said[2]))

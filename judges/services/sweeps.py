"""Sweeps: made, started, paused, cancelled, resumed, deleted.

The workers find out from the database; the Celery messages only wake them up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotation.services.users import user_lock
from judges.models import (
    AnchorVerdict,
    Judge,
    ModelRequest,
    ParseStatus,
    Queue,
    RequestBatch,
    RequestState,
    RunRange,
    Sweep,
    SweepRun,
    SweepState,
)
from judges.selectors.estimate import budget_warnings, sweep_estimate
from judges.selectors.items import judge_kind
from judges.selectors.sweeps import worked_seconds
from judges.selectors.tallies import judgment_tallies, result_table, sweep_results
from judges.services.checks import sweep_check
from judges.services.pairings import judge_queue, pairings
from judges.services.sweep_settings import SweepSettings
from judges.services.sweep_states import ACTIVE, RESUMABLE, sweep_move
from judges.services.waking import wakeups_send
from web.deleting import row_delete

if TYPE_CHECKING:
    from annotation.models import Dataset, User

TRIED = 200
"""Items times orders that the estimate before a start is made from: somebody waits for it."""

SAME_CLICK = timedelta(minutes=1)
"""Within this time, the same content from the same person is the same form sent again."""


class SweepError(Exception):
    """A sweep cannot be started, resumed or deleted; `messages` say why, in plain words, one a reason."""

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = tuple(messages)
        super().__init__(" ".join(self.messages))


@dataclass(frozen=True, slots=True)
class Launch:
    """What came of starting or resuming a sweep.

    Attributes
    ----------
    changed : bool
        False when there was nothing to do: it was started (or resumed) already.
    warnings : tuple of str
        What an administrator should know before the figures come in.
    """

    sweep: Sweep
    changed: bool
    warnings: tuple[str, ...] = ()


@transaction.atomic
def sweep_create(
    *,
    name: str,
    judges: Iterable[Judge],
    datasets: Iterable[Dataset],
    created_by: User | None = None,
    **fields: Any,
) -> Sweep:
    """Make a draft of a sweep. Nothing is checked yet but its settings: a draft may be incomplete.

    Parameters
    ----------
    **fields
        Those of `SweepSettings`.

    Raises
    ------
    ValidationError
        A setting is not valid.
    """
    sweep = Sweep(name=name, created_by=created_by)
    SweepSettings(**fields).write(sweep)
    sweep.save()
    sweep.judges.set(judges)
    sweep.datasets.set(datasets)
    return sweep


@transaction.atomic
def draft_create(
    *, name: str, judges: Iterable[Judge], datasets: Iterable[Dataset], created_by: User, **fields: Any
) -> Sweep:
    """Make a draft, or return the one that the first of two clicks made a moment ago.

    Parameters
    ----------
    **fields
        Those of `SweepSettings`.

    Raises
    ------
    ValidationError
        A field is not valid.
    """
    judges, datasets = list(judges), list(datasets)
    settings = SweepSettings(**fields)
    # Two clicks of a person are taken one after the other, so that the second finds what the first made.
    user_lock(created_by)
    twins = Sweep.objects.filter(
        name=name, created_by=created_by, created_at__gt=timezone.now() - SAME_CLICK
    ).order_by("-pk")
    content = ({judge.pk for judge in judges}, {dataset.pk for dataset in datasets})
    for twin in twins:
        if settings == SweepSettings.of(twin) and content == (_keys(twin.judges), _keys(twin.datasets)):
            return twin
    return sweep_create(name=name, judges=judges, datasets=datasets, created_by=created_by, **fields)


@transaction.atomic
def draft_update(
    *, sweep: Sweep, name: str, judges: Iterable[Judge], datasets: Iterable[Dataset], **fields: Any
) -> Sweep:
    """Change a draft; of `SweepSettings`, the fields that are given.

    Raises
    ------
    SweepError
        It was launched in the meantime.
    ValidationError
        A field is not valid.
    """
    locked = Sweep.objects.select_for_update().get(pk=sweep.pk)
    if locked.state != SweepState.DRAFT:
        raise SweepError([f"'{locked}' was launched in the meantime, so it was not changed."])
    locked.name = name
    SweepSettings.of(locked).changed(**fields).write(locked)
    locked.save()
    locked.judges.set(judges)
    locked.datasets.set(datasets)
    return locked


def _keys(rows: object) -> set[int]:
    return set(rows.values_list("pk", flat=True))  # type: ignore[attr-defined]


def sweep_start(*, sweep: Sweep) -> Launch:
    """Queue a draft and wake the workers.

    Raises
    ------
    SweepError
        It cannot run as it is: no judge, no dataset, a private dataset and a remote endpoint, no key...
    """
    check = sweep_check(sweep=sweep)
    if check.errors:
        raise SweepError(check.errors)
    with transaction.atomic():
        changed = sweep_move(
            sweep_id=sweep.pk,
            sources=(SweepState.DRAFT,),
            target=SweepState.QUEUED,
            queued_at=timezone.now(),
            started_at=None,
            finished_at=None,
        )
        if changed:
            _runs_prepare(sweep)
            transaction.on_commit(workers_wake)
    sweep.refresh_from_db()
    return Launch(sweep, changed, (*check.warnings, *_over_budget(sweep)))


def _over_budget(sweep: Sweep) -> tuple[str, ...]:
    if sweep.budget is None and sweep.budget_tokens is None:
        return ()
    return budget_warnings(sweep, sweep_estimate(sweep, most_works=TRIED))


def sweep_pause(*, sweep: Sweep) -> bool:
    """Let a sweep rest. Workers notice within about a second, send nothing more and keep what still arrives.

    Returns False if it was not queued or running.
    """
    changed = sweep_move(
        sweep_id=sweep.pk, sources=ACTIVE, target=SweepState.PAUSED, message="Paused by hand."
    )
    sweep.refresh_from_db()
    return changed


def sweep_cancel(*, sweep: Sweep) -> bool:
    """Stop a sweep. Workers notice within about a second, send nothing more and keep what still arrives.

    Returns False if it was not queued, running or paused.
    """
    changed = sweep_move(
        sweep_id=sweep.pk,
        sources=(*ACTIVE, SweepState.PAUSED),
        target=SweepState.CANCELLED,
        finished_at=timezone.now(),
        message="Cancelled by hand.",
    )
    sweep.refresh_from_db()
    return changed


def sweep_resume(
    *,
    sweep: Sweep,
    budget: Decimal | None = None,
    budget_tokens: int | None = None,
    budget_minutes: int | None = None,
    retry_failed: bool = False,
) -> Launch:
    """Go on where a paused, cancelled or failed sweep stopped; what is stored is not asked again.

    Parameters
    ----------
    budget : Decimal, optional
        The new limit in US dollars over the whole sweep, what is spent already included.
    budget_tokens, budget_minutes : int, optional
        The same in tokens, and in minutes at work.
    retry_failed : bool
        Ask again for the judgments that failed. Also allowed for a finished sweep.

    Raises
    ------
    SweepError
        It cannot run as it is, or a budget is used up.
    """
    sweep.refresh_from_db()
    given = {"budget": budget, "budget_tokens": budget_tokens, "budget_minutes": budget_minutes}
    limits = {name: getattr(sweep, name) if value is None else value for name, value in given.items()}
    check = sweep_check(sweep=sweep)
    if errors := [*check.errors, *_used_up(sweep, limits)]:
        raise SweepError(errors)
    with transaction.atomic():
        allowed = (*RESUMABLE, SweepState.FINISHED) if retry_failed else RESUMABLE
        changed = sweep_move(
            sweep_id=sweep.pk,
            sources=allowed,
            target=SweepState.QUEUED,
            queued_at=timezone.now(),
            finished_at=None,
            message="",
            **limits,
        )
        if changed:
            if retry_failed:
                _failures_forget(sweep)
            _runs_prepare(sweep)
            transaction.on_commit(workers_wake)
    sweep.refresh_from_db()
    return Launch(sweep, changed, check.warnings)


def sweep_delete(*, sweep: Sweep) -> bool:
    """Delete a sweep that is not at work; False if it is gone already. Its judgments stay: they are the judges'.

    Raises
    ------
    SweepError
        It is queued or running, or a batch of it has not ended.
    """
    with transaction.atomic():
        state = Sweep.objects.select_for_update().filter(pk=sweep.pk).values_list("state", flat=True).first()
        if state in ACTIVE:
            raise SweepError([f"'{sweep}' is running: cancel it first."])
        if RequestBatch.objects.filter(run__sweep=sweep, ended_at=None).exists():
            # Its answers are on the vendor's bill, and would be asked for and paid again.
            raise SweepError(
                [f"'{sweep}' has a batch that has not ended: cancel the sweep, then delete it after its end."]
            )
        return row_delete(sweep)


def workers_wake() -> None:
    """Tell the workers to look: a message to each queue for which there is something to do."""
    rows = SweepRun.objects.filter(sweep__state__in=ACTIVE, finished_at=None, last_error="").order_by()
    queues = {queue or Queue.HTTP.value for queue in rows.values_list("queue", flat=True).distinct()}
    wakeups_send(sorted(queues))


def _used_up(sweep: Sweep, limits: dict[str, Any]) -> Iterable[str]:
    runs = list(SweepRun.objects.filter(sweep=sweep).values_list("cost", "n_tokens"))
    budget, tokens, minutes = limits["budget"], limits["budget_tokens"], limits["budget_minutes"]
    spent, used = sum(cost for cost, _ in runs), sum(n for _, n in runs)
    # A sum of prices is not exact in binary, and what is left may be too little for one request.
    if budget is not None and spent > 0 and spent >= float(budget) * (1 - 1e-9):
        yield f"The budget of ${budget} is spent (${spent:.2f}): resume with a larger one."
    if tokens is not None and used >= tokens:
        yield f"The budget of {tokens:,} tokens is used up ({used:,}): resume with a larger one."
    worked = worked_seconds(sweep, timezone.now()) / 60
    if minutes is not None and worked >= minutes:
        yield f"The budget of {minutes:,} minutes is used up ({worked:.1f}): resume with a larger one."


def _runs_prepare(sweep: Sweep) -> None:
    """Make the missing runs, one a judge and dataset that go together, and set all counters from what is stored."""
    sweep.refresh_from_db()
    judges = list(sweep.judges.prefetch_related("models__endpoint").order_by("name"))
    datasets = cast("list[Dataset]", list(sweep.datasets.order_by("pk")))
    pairs = {(judge.pk, dataset.pk) for judge, dataset in pairings(sweep, judges, datasets).pairs}
    # Judge by judge within a dataset, so that requests that two judges share are close together in time.
    SweepRun.objects.bulk_create(
        [
            SweepRun(sweep=sweep, judge=judge, dataset_id=dataset.pk)
            for dataset in datasets
            for judge in judges
            if (judge.pk, dataset.pk) in pairs
        ],
        ignore_conflicts=True,
    )
    rows = SweepRun.objects.filter(sweep=sweep).select_related("judge", "sweep")
    runs = list(rows.prefetch_related("judge__models__endpoint"))
    # A judge or dataset that was taken out of the sweep takes its run with it.
    gone = [run.pk for run in runs if (run.judge_id, run.dataset_id) not in pairs]
    SweepRun.objects.filter(pk__in=gone).delete()
    runs = [run for run in runs if run.pk not in gone]
    for run, tally in zip(runs, judgment_tallies(runs=runs), strict=True):
        first = run.started_at is None
        run.queue = judge_queue(run.judge)
        run.n_total, run.n_done = tally.n_total, tally.n_done
        run.n_unparsed, run.n_failed = tally.n_unparsed, tally.n_failed
        run.n_reused = tally.n_done if first else min(run.n_reused, tally.n_done)
        run.last_error = ""
        if tally.n_done < tally.n_total:
            run.finished_at = None
        run.n_started = 0
    names = [
        "n_started",
        "queue",
        "n_total",
        "n_done",
        "n_unparsed",
        "n_failed",
        "n_reused",
        "last_error",
        "finished_at",
    ]
    SweepRun.objects.bulk_update(runs, names)
    # What a worker still has of a run is no more its own; what it has sent is waited for.
    RunRange.objects.filter(run__sweep=sweep).delete()
    RunRange.objects.bulk_create([RunRange(run=run) for run in runs if run.finished_at is None])


def _failures_forget(sweep: Sweep) -> None:
    """Delete the failed results of a sweep and the failed requests of its judges' models."""
    judges = list(sweep.judges.prefetch_related("models"))
    AnchorVerdict.objects.filter(sweep=sweep, status=ParseStatus.FAILED).delete()
    datasets = list(sweep.datasets.values_list("pk", flat=True))
    by_kind: dict[str, list[Judge]] = defaultdict(list)
    for judge in judges if sweep.anchors_id is None else ():
        by_kind[judge_kind(judge)].append(judge)
    for kind, some in by_kind.items():
        theirs = {f"{result_table(kind).judge}__in": some}
        for rows in sweep_results(sweep=sweep, kind=kind, dataset_ids=datasets):
            rows.filter(**theirs, status=ParseStatus.FAILED).delete()
    models = {row.model for judge in judges for row in judge.models.all()}
    # By the condition of the index of failed requests, of which there are few.
    failed = ModelRequest.objects.exclude(error="").filter(state=RequestState.FAILED)
    failed.filter(Q(form__model__in=models) | Q(model__in=models)).delete()

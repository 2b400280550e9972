"""Sweeps: made, started, cancelled, resumed, deleted.

Every change of state is one conditional UPDATE, so that a double click, two tabs or a doubled message change
it once. The workers find out from the database; the Celery message only wakes them up.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from celery import current_app
from django.db import transaction
from django.utils import timezone

from judges.models import (
    Judge,
    Judgment,
    ModelRequest,
    Orders,
    ParseStatus,
    RequestState,
    Sweep,
    SweepRun,
    SweepState,
)
from judges.selectors.sweeps import judgment_tallies, orders_wanted
from judges.services.checks import sweep_check

if TYPE_CHECKING:
    from annotation.models import Dataset, User

logger = logging.getLogger(__name__)

ACTIVE = (SweepState.QUEUED, SweepState.RUNNING)
RESUMABLE = (SweepState.CANCELLED, SweepState.FAILED)


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
    orders: str = Orders.BOTH,
    budget: Decimal | None = None,
    created_by: User | None = None,
) -> Sweep:
    """Make a draft of a sweep. Nothing is checked yet: a draft may be incomplete."""
    sweep = Sweep.objects.create(name=name, orders=orders, budget=budget, created_by=created_by)
    sweep.judges.set(judges)
    sweep.datasets.set(datasets)
    return sweep


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
        changed = _move(sweep, (SweepState.DRAFT,), SweepState.QUEUED, started_at=None, finished_at=None)
        if changed:
            _runs_prepare(sweep)
            transaction.on_commit(workers_wake)
    sweep.refresh_from_db()
    return Launch(sweep, changed, check.warnings)


def sweep_cancel(*, sweep: Sweep) -> bool:
    """Stop a sweep. Workers notice within about a second, send nothing more and keep what still arrives.

    Returns False if it was not queued or running.
    """
    changed = _move(
        sweep, ACTIVE, SweepState.CANCELLED, finished_at=timezone.now(), message="Cancelled by hand."
    )
    sweep.refresh_from_db()
    return changed


def sweep_resume(*, sweep: Sweep, budget: Decimal | None = None, retry_failed: bool = False) -> Launch:
    """Go on where a cancelled or failed sweep stopped; what is stored is not asked again.

    Parameters
    ----------
    budget : Decimal, optional
        The new limit in US dollars over the whole sweep, what is spent already included.
    retry_failed : bool
        Ask again for the judgments that failed. Also allowed for a finished sweep.

    Raises
    ------
    SweepError
        It cannot run as it is, or the budget is spent.
    """
    check = sweep_check(sweep=sweep)
    errors = list(check.errors)
    limit = sweep.budget if budget is None else budget
    spent = sum(SweepRun.objects.filter(sweep=sweep).values_list("cost", flat=True))
    # A sum of prices is not exact in binary, and what is left may be too little for one request.
    if limit is not None and spent > 0 and spent >= float(limit) * (1 - 1e-9):
        errors.append(f"The budget of ${limit} is spent (${spent:.2f}): resume with a larger one.")
    if errors:
        raise SweepError(errors)
    with transaction.atomic():
        allowed = (*RESUMABLE, SweepState.FINISHED) if retry_failed else RESUMABLE
        changed = _move(sweep, allowed, SweepState.QUEUED, finished_at=None, message="", budget=limit)
        if changed:
            if retry_failed:
                _failures_forget(sweep)
            _runs_prepare(sweep)
            transaction.on_commit(workers_wake)
    sweep.refresh_from_db()
    return Launch(sweep, changed, check.warnings)


def sweep_delete(*, sweep: Sweep) -> None:
    """Delete a sweep that is not at work. Its judgments stay: they belong to the judges.

    Raises
    ------
    SweepError
        It is queued or running.
    """
    with transaction.atomic():
        locked = Sweep.objects.select_for_update().get(pk=sweep.pk)
        if locked.state in ACTIVE:
            raise SweepError([f"'{sweep}' is at work: cancel it first."])
        locked.delete()


def workers_wake() -> None:
    """Tell the workers to look. By name, so that services need not import the tasks above them."""
    try:
        current_app.send_task("judges.wake", retry=False, ignore_result=True)
    except Exception:
        # The broker is away. What is to be done stands in the database, and workers look there by themselves.
        logger.warning("The workers could not be woken up; they will look by themselves.", exc_info=True)


def _move(sweep: Sweep, states: Iterable[str], state: str, **fields: object) -> bool:
    """Change the state if it is one of `states` now; True for the one caller that did."""
    rows = Sweep.objects.filter(pk=sweep.pk, state__in=[str(each) for each in states])
    return bool(rows.update(state=state, **fields))


def _runs_prepare(sweep: Sweep) -> None:
    """Make the missing runs, one a judge and dataset, and set all counters from what is stored."""
    judges = list(sweep.judges.order_by("name"))
    datasets = list(sweep.datasets.order_by("pk").values_list("pk", flat=True))
    # Judge by judge within a dataset, so that requests that two judges share are close together in time.
    SweepRun.objects.bulk_create(
        [SweepRun(sweep=sweep, judge=judge, dataset_id=dataset) for dataset in datasets for judge in judges],
        ignore_conflicts=True,
    )
    # A judge or dataset that was taken out of the sweep takes its run with it.
    SweepRun.objects.filter(sweep=sweep).exclude(judge__in=judges, dataset__in=datasets).delete()
    runs = list(SweepRun.objects.filter(sweep=sweep).select_related("judge"))
    for run, tally in zip(runs, judgment_tallies(runs=runs, orders=sweep.orders), strict=True):
        first = run.started_at is None
        run.n_total, run.n_done = tally.n_total, tally.n_done
        run.n_unparsed, run.n_failed = tally.n_unparsed, tally.n_failed
        run.n_reused = tally.n_done if first else min(run.n_reused, tally.n_done)
        run.last_error = ""
        if tally.n_done < tally.n_total:
            run.finished_at = None
    SweepRun.objects.bulk_update(
        runs, ["n_total", "n_done", "n_unparsed", "n_failed", "n_reused", "last_error", "finished_at"]
    )


def _failures_forget(sweep: Sweep) -> None:
    """Delete the failed judgments of a sweep and the failed requests of its judges' models."""
    judges = list(sweep.judges.all())
    datasets = list(sweep.datasets.values_list("pk", flat=True))
    Judgment.objects.filter(
        judge__in=judges,
        item__dataset__in=datasets,
        order__in=orders_wanted(sweep.orders),
        sample=0,
        status=ParseStatus.FAILED,
    ).delete()
    ModelRequest.objects.filter(
        state=RequestState.FAILED, model__in={judge.model for judge in judges if judge.model}
    ).delete()

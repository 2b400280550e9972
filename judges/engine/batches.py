"""Batches in the database: claimed requests become one, within the sweep's budgets; its end sets free what is left.

What a batch has is a worker's no more: its `owner` is the batch, until that has ended. So a worker that is killed after
it made one loses nothing, and no lease is held for the day that it may take.
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import accumulate
from typing import Any

from django.db import transaction
from django.db.models import F, Sum
from django.utils import timezone

from judges.engine import store
from judges.engine.leases import sweep_limits, sweeps_spent
from judges.engine.request_store import BatchMade
from judges.models import (
    BatchState,
    BudgetReservation,
    ModelRequest,
    RequestBatch,
    RequestState,
    Sweep,
    SweepRun,
)
from judges.services.sweep_states import ACTIVE

RESERVED = timedelta(days=3)
"""How long a batch's part of a budget is kept from others without a sign of it: longer than a batch may take."""
TRIES = 3
"""Batches that a request may be in, after which what fails it counts as lasting."""


def batch_make(
    *,
    owner: str,
    run_id: int,
    sweep_id: int,
    endpoint_id: int,
    asked: Mapping[str, Any],
    requests: Sequence[tuple[str, float, float]],
    is_priced: bool,
) -> BatchMade:
    """Make a batch of requests that a worker has claimed: as many of the first ones as the budgets allow.

    Parameters
    ----------
    asked : mapping
        The model, as `ModelRef.to_dict`.
    requests : sequence of (hash, US dollars, tokens)
        What each is expected to take: it is reserved until the batch ends.
    """
    now, key = timezone.now(), f"{store.BATCH}{uuid.uuid4().hex}"
    with transaction.atomic():
        # One worker after the other: what all have reserved and what is spent never is more than the budget.
        sweep = Sweep.objects.select_for_update().get(pk=sweep_id)
        if sweep.state not in ACTIVE:
            return BatchMade()
        n, amounts = _affordable(sweep, requests, is_priced=is_priced)
        if not n:
            opened = RequestBatch.objects.filter(run__sweep=sweep, ended_at=None).values_list(
                "key", flat=True
            )
            return BatchMade(is_over_budget=True, waits=frozenset(opened))
        hashes = [each for each, _, _ in requests[:n]]
        held: set[str] = set()
        for start in range(0, n, store.CHUNK):
            chunk = hashes[start : start + store.CHUNK]
            rows = ModelRequest.objects.filter(hash__in=chunk, state=RequestState.CLAIMED)
            rows.filter(owner=owner).update(owner=key)
            held.update(rows.filter(owner=key).values_list("hash", flat=True))
        lost = frozenset(hashes) - held
        over = n < len(requests)
        if not held:
            return BatchMade(lost=lost, is_over_budget=over)
        RequestBatch.objects.create(
            key=key,
            run_id=run_id,
            endpoint_id=endpoint_id,
            asked=dict(asked),
            n_requests=len(held),
            look_at=now,
        )
        BudgetReservation.objects.bulk_create(
            BudgetReservation(
                sweep=sweep, owner=key, is_money=is_money, amount=amount, lease_until=now + RESERVED
            )
            for is_money, amount in amounts
        )
    waits = frozenset([key]) if over else frozenset()
    return BatchMade(key, frozenset(held), lost, is_over_budget=over, waits=waits)


def _affordable(
    sweep: Sweep, requests: Sequence[tuple[str, float, float]], *, is_priced: bool
) -> tuple[int, list[tuple[bool, float]]]:
    """Return how many of the first requests the budgets allow, and what to reserve of which."""
    amounts = {True: [cost for _, cost, _ in requests], False: [tokens for _, _, tokens in requests]}
    n, limited = len(requests), []
    for is_money, limit in zip((True, False), sweep_limits(sweep), strict=True):
        if limit is None or (is_money and not is_priced):
            continue
        limited.append(is_money)
        spent = sweeps_spent([sweep.pk]).get(sweep.pk, (0.0, 0.0))[0 if is_money else 1]
        rows = BudgetReservation.objects.filter(
            sweep=sweep, is_money=is_money, lease_until__gt=timezone.now()
        )
        # Sums of prices are not exact in binary: a budget for exactly n requests is one for n.
        slack = 1e-9 * max(limit, 1e-12)
        free = limit - spent - (rows.aggregate(sum=Sum("amount"))["sum"] or 0.0) + slack
        sums = accumulate(amounts[is_money][:n])
        n = sum(1 for total in sums if total <= free)
    return n, [(is_money, sum(amounts[is_money][:n])) for is_money in limited]


def batches_waiting(sweep_id: int) -> frozenset[str]:
    """Return the open batches of a sweep."""
    rows = RequestBatch.objects.filter(run__sweep_id=sweep_id, ended_at=None)
    return frozenset(rows.values_list("key", flat=True))


def batches_of_run(run_id: int) -> frozenset[str]:
    """Return all batches that were made for a run."""
    return frozenset(RequestBatch.objects.filter(run_id=run_id).values_list("key", flat=True))


def batch_end(batch: RequestBatch, *, errors: Mapping[str, str], was_sent: bool, message: str = "") -> None:
    """End a batch: what it has no answer to may be asked again, by itself in the next batch, or has failed for good.

    Parameters
    ----------
    errors : mapping
        Why, by hash, where the vendor said.
    was_sent : bool
        The vendor had the requests, so that this counts as a try.
    message : str
        Why all of it failed; its run stops then until the sweep is resumed.
    """
    with transaction.atomic():
        if not RequestBatch.objects.select_for_update().filter(pk=batch.pk, ended_at=None).exists():
            return
        left = ModelRequest.objects.filter(owner=batch.key, state=RequestState.CLAIMED)
        if was_sent:
            hopeless = left.filter(attempts__gte=TRIES - 1).values_list("hash", "attempts")
            store.refusals_save(
                [
                    (key, errors.get(key, "The batch ended without an answer."), attempts + 1)
                    for key, attempts in hopeless
                ]
            )
            left.update(owner="", attempts=F("attempts") + 1)
        else:
            left.filter(attempts=0).delete()
            left.update(owner="")
        BudgetReservation.objects.filter(owner=batch.key).delete()
        batch.ranges.clear()
        RequestBatch.objects.filter(pk=batch.pk).update(
            state=BatchState.ENDED, ended_at=timezone.now(), owner="", lease_until=None, error=message
        )
        if message:
            SweepRun.objects.filter(pk=batch.run_id, finished_at=None).update(last_error=message)

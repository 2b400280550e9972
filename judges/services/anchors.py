"""Anchors: frozen with a judge's verdicts, and asked again by hand or on a schedule.

A check is a sweep of one judge over the anchors: it runs in a worker, with a budget, and goes on where it stopped. Its
requests are new ones, whatever was answered before.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotation.domain.sampling import seeded_hash
from judges.models import Anchor, AnchorSet, Judge, Judgment, ParseStatus, Sweep, SweepState
from judges.services.checks import sweep_check
from judges.services.sweeps import SAME_CLICK, SweepError, sweep_start

if TYPE_CHECKING:
    from annotation.models import Dataset, User

FEWEST = 10
"""Anchors below which hardly any move would be seen."""
MOST = 2_000
CHUNK = 500

logger = logging.getLogger(__name__)


class AnchorError(Exception):
    """Anchors cannot be frozen or checked; the message says why."""


@transaction.atomic
def anchors_freeze(
    *,
    judge: Judge,
    dataset: Dataset,
    n: int = 100,
    seed: int = 0,
    repeats: int = 3,
    tolerance: float = 0.0,
    budget: Decimal | None = None,
    every_days: int | None = None,
    created_by: User | None = None,
) -> AnchorSet:
    """Draw anchors from what a judge has judged, freeze its verdicts, and ask it again `repeats` times at once.

    Items are drawn with a fixed seed, from each subset and verdict in proportion. Where the judge has anchors of the
    dataset in use, these are returned as they are: a second click freezes nothing.

    Raises
    ------
    AnchorError
        The judge has judged too few items, or cannot be run.
    ValidationError
        A setting is not allowed.
    """
    # One after the other, so that the second of two finds what the first made.
    Judge.objects.select_for_update().get(pk=judge.pk)
    in_use = AnchorSet.objects.filter(judge=judge, dataset=dataset, retired_at=None).first()
    if in_use is not None:
        return in_use
    if not FEWEST <= n <= MOST:
        raise ValidationError({"n": f"Expected {FEWEST} to {MOST:,} items."})
    drawn = _drawn(judge, dataset, n, seed)
    if len(drawn) < FEWEST:
        raise AnchorError(
            f"'{judge}' has judged {len(drawn)} items of '{dataset}': anchors need at least {FEWEST}."
        )
    anchors = AnchorSet(
        judge=judge,
        dataset=dataset,
        seed=seed,
        repeats=repeats,
        tolerance=tolerance,
        budget=budget,
        every_days=every_days,
        created_by=created_by,
    )
    anchors.full_clean(exclude=["created_by"])
    anchors.save()
    Anchor.objects.bulk_create(
        [
            Anchor(
                anchors=anchors,
                item_id=row.item_id,
                order=row.order,
                status=row.status,
                choice=row.choice,
                value=row.value,
            )
            for rows in drawn
            for row in rows
        ],
        batch_size=CHUNK,
    )
    for number in range(repeats):
        _check_start(anchors, f"Repetition {number + 1} of {anchors}", created_by)
    return anchors


def anchors_check(*, anchors: AnchorSet, user: User | None = None) -> Sweep:
    """Ask the anchors again; where a check is not finished, or was asked for a moment ago, that one is returned.

    Raises
    ------
    AnchorError
        The anchors are no longer in use, or the judge cannot be run.
    """
    with transaction.atomic():
        locked = AnchorSet.objects.select_for_update().get(pk=anchors.pk)
        if locked.retired_at is not None:
            raise AnchorError("These anchors are no longer in use.")
        latest = locked.checks.order_by("-pk").first()
        unfinished = (
            locked.checks.exclude(state__in=(SweepState.FINISHED, SweepState.CANCELLED))
            .order_by("pk")
            .first()
        )
        if unfinished is not None:
            return unfinished
        is_check = locked.checks.count() > locked.repeats
        if latest is not None and is_check and latest.created_at > timezone.now() - SAME_CLICK:
            return latest
        return _check_start(locked, f"Check of {locked}", user)


def anchors_update(*, anchors: AnchorSet, every_days: int | None, budget: Decimal | None) -> None:
    """Change when the anchors are asked again, and what each check may cost.

    Raises
    ------
    ValidationError
        A value is not allowed.
    """
    with transaction.atomic():
        locked = AnchorSet.objects.select_for_update().get(pk=anchors.pk)
        locked.every_days, locked.budget = every_days, budget
        locked.full_clean(exclude=["created_by"])
        locked.save(update_fields=["every_days", "budget"])


def anchors_retire(*, anchors: AnchorSet) -> bool:
    """Take anchors out of use, with what was found; others can be frozen then. False if they were out of use."""
    with transaction.atomic():
        rows = AnchorSet.objects.filter(pk=anchors.pk, retired_at=None)
        return bool(rows.update(retired_at=timezone.now()))


def anchors_check_due(*, now: datetime | None = None) -> list[Sweep]:
    """Start the checks that are due; called by every worker now and then, and by `manage.py check_anchors`."""
    now = now or timezone.now()
    started = []
    for anchors in AnchorSet.objects.filter(retired_at=None, every_days__isnull=False).order_by("pk"):
        try:
            sweep = _check_if_due(anchors.pk, now)
        except AnchorError as error:
            logger.warning("The anchors %s could not be checked: %s", anchors.pk, error)
        else:
            if sweep is not None:
                started.append(sweep)
    return started


@transaction.atomic
def _check_if_due(pk: int, now: datetime) -> Sweep | None:
    anchors = AnchorSet.objects.select_for_update().get(pk=pk)
    latest = anchors.checks.order_by("-created_at", "-pk").first()
    if anchors.retired_at is not None or anchors.every_days is None or latest is None:
        return None
    if latest.created_at > now - timedelta(days=anchors.every_days):
        return None
    if anchors.checks.exclude(state__in=(SweepState.FINISHED, SweepState.CANCELLED)).exists():
        return None  # somebody has to see why it stopped before more is spent
    return _check_start(anchors, f"Check of {anchors}", None)


def _check_start(anchors: AnchorSet, name: str, user: User | None) -> Sweep:
    sweep = Sweep.objects.create(
        name=name[:200],
        anchors=anchors,
        budget=anchors.budget,
        # A judge that is no longer understood has moved: that is to be found out, not to be stopped at.
        stop_unparsed=None,
        created_by=user,
    )
    sweep.judges.set([anchors.judge])
    sweep.datasets.set([anchors.dataset])
    if errors := sweep_check(sweep=sweep).errors:
        raise AnchorError(" ".join(errors))
    try:
        return sweep_start(sweep=sweep).sweep
    except SweepError as error:
        raise AnchorError(str(error)) from None


def _drawn(judge: Judge, dataset: Dataset, n: int, seed: int) -> list[list[Judgment]]:
    """Return the judgments of `n` items, in proportion to the strata of subset and verdict."""
    rows = (
        Judgment.objects.filter(judge=judge, item__dataset=dataset, sample=0)
        .exclude(status=ParseStatus.FAILED)
        .select_related("item__instruction")
        .only(
            *("item", "order", "status", "choice", "value"),
            *("item__external_id", "item__kind", "item__instruction__subset"),
        )
        .order_by("item_id", "order")
    )
    by_item: dict[int, list[Judgment]] = defaultdict(list)
    for row in rows.iterator(chunk_size=2_000):
        by_item[row.item_id].append(row)
    strata: dict[tuple[str, str], list[list[Judgment]]] = defaultdict(list)
    for found in by_item.values():
        said = "/".join(f"{one.order}{one.status}{one.choice}" for one in found)
        strata[found[0].item.instruction.subset, said].append(found)
    shares = proportional({key: len(items) for key, items in strata.items()}, n)
    drawn = []
    for key, items in sorted(strata.items()):
        items.sort(
            key=lambda found: (seeded_hash(seed, found[0].item.external_id, "anchors"), found[0].item_id)
        )
        drawn += items[: shares[key]]
    return drawn


def proportional(sizes: Mapping[tuple[str, str], int], n: int) -> dict[tuple[str, str], int]:
    """Return how many of `n` are drawn from each stratum: in proportion, by the largest remainders.

    >>> proportional({("a", ""): 6, ("b", ""): 3, ("c", ""): 1}, 5)
    {('a', ''): 3, ('b', ''): 2, ('c', ''): 0}
    """
    total = sum(sizes.values())
    n = min(n, total)
    exact = {key: n * size / total for key, size in sizes.items()}
    shares = {key: int(part) for key, part in exact.items()}
    left = n - sum(shares.values())
    for key in _by_remainder(exact)[:left]:
        shares[key] += 1
    return shares


def _by_remainder(exact: Mapping[tuple[str, str], float]) -> list[tuple[str, str]]:
    return sorted(exact, key=lambda key: (-(exact[key] % 1), key))

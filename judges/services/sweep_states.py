"""The states of sweeps, and the account of the time at work.

Every change of state is one conditional change of a locked row, so that a double click, two tabs or a doubled message
change it once.
"""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone

from judges.models import Sweep, SweepState
from judges.selectors.sweeps import worked_seconds

ACTIVE = (SweepState.QUEUED, SweepState.RUNNING)
RESUMABLE = (SweepState.PAUSED, SweepState.CANCELLED, SweepState.FAILED)


def sweep_move(*, sweep_id: int, sources: Iterable[str], target: str, **fields: Any) -> bool:
    """Change the state if it is one of `sources` now; True for the one caller that did.

    Whatever way leads out of RUNNING, the time at work is added to what there was before.
    """
    now = timezone.now()
    with transaction.atomic():
        rows = Sweep.objects.filter(pk=sweep_id, state__in=[str(state) for state in sources])
        row = rows.select_for_update().first()
        if row is None:
            return False
        worked = worked_seconds(row, now)
        resumed = now if target == SweepState.RUNNING else None
        rows.update(state=target, worked_seconds=worked, resumed_at=resumed, **fields)
    return True


def sweep_stop(*, sweep_id: int, state: str, message: str) -> bool:
    """End an active sweep; False if it was not active any more."""
    return sweep_move(
        sweep_id=sweep_id, sources=ACTIVE, target=state, message=message, finished_at=timezone.now()
    )

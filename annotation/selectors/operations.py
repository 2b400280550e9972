"""What operators watch of annotation: open leases, studies, webhooks. A handful of short reads."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q
from django.utils import timezone

from annotation.models import Assignment, AssignmentState, Study, StudyState
from annotation.models.webhooks import Delivery, DeliveryState


@dataclass(frozen=True, slots=True)
class LeasesState:
    """Leases that are open now, and those among them that ran out and weren't given back yet."""

    n_open: int
    n_overdue: int


@dataclass(frozen=True, slots=True)
class DeliveriesState:
    """Messages to webhooks: waiting and failed, and since when the oldest of those waiting has been due."""

    n_waiting: int
    n_failed: int
    due_since: datetime | None


def leases_state(*, now: datetime | None = None) -> LeasesState:
    """Return the open leases; one query, answered by an index that holds open leases alone."""
    is_overdue = Q(expires_at__lt=now or timezone.now())
    counts = Assignment.objects.filter(state=AssignmentState.OPEN).aggregate(
        n_open=Count("pk"), n_overdue=Count("pk", filter=is_overdue)
    )
    return LeasesState(**counts)


def study_states() -> dict[str, int]:
    """Return how many studies are in each state; one query."""
    rows = Study.objects.order_by().values_list("state").annotate(n=Count("pk"))
    return dict.fromkeys(StudyState.values, 0) | dict(rows)


def deliveries_state(*, now: datetime | None = None) -> DeliveriesState:
    """Return what is to be sent to webhooks, and what couldn't be; one query."""
    now = now or timezone.now()
    is_waiting = Q(state=DeliveryState.WAITING)
    counts = Delivery.objects.filter(state__in=[DeliveryState.WAITING, DeliveryState.FAILED]).aggregate(
        n_waiting=Count("pk", filter=is_waiting),
        n_failed=Count("pk", filter=Q(state=DeliveryState.FAILED)),
        due_since=Min("next_at", filter=is_waiting & Q(next_at__lte=now)),
    )
    return DeliveriesState(**counts)

"""A budget holds whatever the number of workers, and what was sent without an answer counts as spent."""

import threading
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from judges.backends.errors import TransientBackendError
from judges.backends.openai import OpenAIBackend
from judges.backends.wire import WireRequest
from judges.engine import leases
from judges.engine.meters import Meter
from judges.models import BudgetReservation, RunRange, SweepRun, Worker
from judges.strategies.types import Answer
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run_instant, sweep_make
from tests.races import all_at_once
from tests.services import free_port

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

WORKERS = 4


def spent(sweep) -> float:
    return sum(SweepRun.objects.filter(sweep=sweep).values_list("cost", flat=True))


class Bill:
    """What the vendor counts: every request that reached it, whatever became of it here."""

    def __init__(self, price: float) -> None:
        self.price, self.n, self._lock = price, 0, threading.Lock()

    def answer(self, wire: WireRequest) -> Answer:
        with self._lock:
            self.n += 1
        return Answer("A", cost=self.price, prompt_tokens=10)

    @property
    def total(self) -> float:
        return self.n * self.price


@pytest.mark.parametrize("budget", ["1.00", "0.25"])
def test_four_workers_do_not_spend_more_than_the_budget(budget):
    bill = Bill(0.02)
    endpoint = endpoint_make(price_input=Decimal(1000), price_output=Decimal(1000), max_concurrency=8)
    judges = [judge_make(endpoint, f"model-{n}") for n in range(WORKERS)]
    sweep = sweep_make(judges, dataset_make(pairs=40), budget=Decimal(budget))
    all_at_once(lambda _: run_instant(bill.answer), range(WORKERS))
    sweep.refresh_from_db()
    assert sweep.state == "paused"
    assert f"budget of ${budget} is reached" in sweep.message
    assert bill.total <= float(budget) + 1e-9
    assert bill.total >= float(budget) - WORKERS * bill.price  # and it is not left lying either
    assert spent(sweep) == pytest.approx(bill.total)
    assert not BudgetReservation.objects.exists()


def half_spent_sweep():
    """The first request of its first judge may cost more than is left; the second judge's cost 2 cents each."""
    endpoint = endpoint_make(price_input=Decimal(1000), price_output=Decimal(1000), max_concurrency=8)
    judges = [judge_make(endpoint, f"model-{n}") for n in range(2)]
    sweep = sweep_make(judges, dataset_make(pairs=40), budget=Decimal("1.00"))
    known = SweepRun.objects.get(sweep=sweep, judge=judges[1])
    SweepRun.objects.filter(pk=known.pk).update(n_requests=30, cost=0.6)
    return sweep, known


def test_a_judge_that_is_not_affordable_leaves_the_rest_to_one_that_is():
    sweep, _ = half_spent_sweep()
    bill = Bill(0.02)
    run_instant(bill.answer)
    sweep.refresh_from_db()
    assert sweep.state == "paused"
    assert "budget of $1.00 is reached: $1.0000 is spent" in sweep.message
    assert bill.n == 20
    assert not BudgetReservation.objects.exists()


def test_a_judge_that_is_not_affordable_does_not_stop_one_that_another_worker_has():
    sweep, known = half_spent_sweep()
    Worker.objects.create(name="other", lease_until=timezone.now() + timedelta(minutes=1))
    held = RunRange.objects.filter(run=known)
    held.update(owner="other")
    bill = Bill(0.02)
    run_instant(bill.answer)
    sweep.refresh_from_db()
    assert sweep.state == "running"
    assert bill.n == 0
    assert not RunRange.objects.filter(run__sweep=sweep).exclude(owner="other").exclude(owner="").exists()
    held.update(owner="")
    run_instant(bill.answer)
    sweep.refresh_from_db()
    assert (sweep.state, bill.n) == ("paused", 20)


def test_requests_that_time_out_count_as_spent():
    bill = Bill(0.1)

    def respond(wire):
        answer = bill.answer(wire)
        if bill.n > 1:  # the first shows what a request costs
            raise TransientBackendError("no answer within 1 s.", was_sent=True)
        return answer

    endpoint = endpoint_make(price_input=Decimal(1000), max_concurrency=1)
    sweep = sweep_make([judge_make(endpoint)], dataset_make(pairs=40), budget=Decimal("1.00"))
    run_instant(respond)
    assert bill.n > 2
    assert bill.total <= 1.0 + 1e-9
    assert spent(sweep) == pytest.approx(bill.total)


def test_requests_that_were_refused_do_not():
    def respond(wire):
        raise TransientBackendError("connection refused.")

    endpoint = endpoint_make(price_input=Decimal(1000), max_concurrency=1)
    sweep = sweep_make([judge_make(endpoint)], dataset_make(pairs=3), budget=Decimal("1.00"))
    run_instant(respond)
    assert spent(sweep) == 0.0


def test_a_killed_workers_reservation_holds_others_up_only_while_its_lease_lasts():
    endpoint = endpoint_make(price_input=Decimal(1000))
    sweep = sweep_make([judge_make(endpoint)], dataset_make(pairs=2), budget=Decimal("1.00"))
    BudgetReservation.objects.create(
        sweep=sweep,
        owner="killed",
        is_money=True,
        amount=1.0,
        lease_until=timezone.now() - timedelta(seconds=1),
    )
    run_instant(Bill(0.1).answer)
    sweep.refresh_from_db()
    assert sweep.state == "finished"


def test_a_server_that_is_not_there_was_sent_nothing():
    backend = OpenAIBackend(base_url=f"http://127.0.0.1:{free_port()}/v1")
    try:
        backend.submit(0, WireRequest(kind="chat", model="m", messages=(("user", "?"),)))
        ((_, error),) = backend.drain(30.0)
    finally:
        backend.close()
    assert isinstance(error, TransientBackendError)
    assert not error.was_sent


def test_what_sums_are_off_by_is_not_reserved():
    """Workers that kept it each waited for the others' to be given back, and a spent sweep never ended."""
    sweep = sweep_make([judge_make(endpoint_make(), "m")], dataset_make(pairs=2), budget=Decimal("66.80"))
    model, price = ("endpoint", "m"), 0.0501
    meter = Meter(sweep.pk, is_money=True, limit=66.8)
    for _ in range(41):
        batch = 0.0
        for _ in range(32):
            meter.sent(model, price)
            meter.ended(model, price)
            meter.add(model, price, 501)
            batch += price
        meter.wrote(batch, 0)
    assert 0.0 < meter.used - meter.written < 1e-9
    leases.budget_reserve(meter=meter, owner="one", lease=20.0, more=0.0, at_once=0)
    assert not BudgetReservation.objects.exists()
    # An answer that does not stand in the database yet is.
    meter.add(model, price, 501)
    leases.budget_reserve(meter=meter, owner="one", lease=20.0, more=0.0, at_once=0)
    assert BudgetReservation.objects.get().amount == pytest.approx(price)

"""Budgets in tokens and minutes, limits a minute, pauses, priorities, judges that cannot be read."""

import time
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.errors import TransientBackendError
from judges.backends.instant import InstantBackend
from judges.backends.mock_server import running_mock_server
from judges.backends.wire import WireRequest
from judges.engine import leases
from judges.engine.meters import BURST_SECONDS, Bucket, Pace
from judges.engine.works import InFlightRequest, Transport
from judges.models import Judgment, Sweep, SweepRun
from judges.selectors.sweeps import sweep_progress
from judges.services.sweeps import SweepError, sweep_cancel, sweep_pause, sweep_resume
from judges.strategies.types import Answer, Decoding
from tests.annotation.factories import dataset_make
from tests.judges.props import (
    QUICK,
    endpoint_make,
    judge_make,
    run,
    run_instant,
    sweep_make,
    wait_for,
    workers_together,
)

database = pytest.mark.django_db(transaction=True)


def test_a_bucket_never_gives_more_than_a_minute_allows():
    bucket, now, taken = Bucket(600), 1000.0, []
    while now < 1120.0:
        while not bucket.due(now):
            bucket.take(1.0)
            taken.append(now)
        now += 0.013
    for start in taken:
        in_a_minute = sum(start <= moment < start + 60 for moment in taken)
        assert in_a_minute <= 600 * (1 + BURST_SECONDS / 60) + 1
    assert len(taken) >= 0.98 * 1200


def test_concurrency_adapts_to_a_server_that_is_overloaded_without_saying_so():
    transport = Transport(name="t", backend=InstantBackend(capacity=16), options=QUICK)

    def failed(error, now):
        request = InFlightRequest("h", WireRequest("chat", "m", ()), transport)
        transport.failed(request, error, now)
        return transport.bound.now

    late = TransientBackendError("no answer within 20 s", was_sent=True)
    assert failed(late, 100.0) == 8
    assert failed(TransientBackendError("busy", status=503), 100.0) == 8  # sent together with the first
    assert failed(TransientBackendError("busy", status=503), 101.0) == 4
    for now in range(200, 220):
        failed(late, float(now))
    assert transport.bound.now == 1
    # What never reached it, and an error of the server's own, say nothing of its load.
    transport.bound.now = 16.0
    failed(TransientBackendError("connection refused"), 300.0)
    assert failed(TransientBackendError("bug", status=500), 301.0) == 16
    transport.bound.now = 4.0
    for _ in range(100):
        transport.answered()
    assert 12 < transport.bound.now <= 16


@given(st.lists(st.floats(1, 500), min_size=1, max_size=50))
def test_tokens_are_paid_back_before_the_next_request(amounts):
    bucket, now, total = Bucket(6000), 0.0, 0.0
    for amount in amounts:
        now += bucket.due(now)
        assert total <= now * 100 + BURST_SECONDS * 100 + 1e-6
        bucket.take(amount)
        total += amount


def test_the_estimate_of_tokens_learns_from_the_answers():
    pace = Pace(tokens=60_000)
    wire = WireRequest("chat", "m", (("user", "x" * 400),), Decoding(max_tokens=1000))
    estimate = pace.sent(wire)
    assert estimate == 100 + 1000
    assert pace.due(0.0) == pytest.approx(1.1)
    pace.answered(wire, estimate, Answer("A", prompt_tokens=120, completion_tokens=10))
    assert pace.due(0.0) == pytest.approx(0.13)
    assert pace.estimate(wire) == pytest.approx(100 + 10)
    assert pace.estimate(WireRequest("embed", "m", (), text="x" * 40)) == 10
    pace.share(0.5)
    assert pace.due(0.0) == pytest.approx(0.26)


def test_several_workers_take_equal_parts_of_an_endpoint():
    transport = Transport(name="x", backend=InstantBackend(capacity=9), options=QUICK, pace=Pace(requests=60))
    transport.share(2)
    assert (transport.ceiling, transport.pace.requests.share) == (4, 0.5)
    transport.share(100)
    assert transport.ceiling == 1
    transport.share(1)
    assert transport.ceiling == 9


@database
def test_requests_a_minute_are_kept_to():
    sent = []

    def respond(wire):
        sent.append(time.monotonic())
        return "A"

    sweep = sweep_make([judge_make(endpoint_make(requests_per_minute=1200))], dataset_make(pairs=15))
    run_instant(respond)
    assert sweep_progress(sweep.pk).state == "finished"
    # 20 a second: 30 requests take no less than one and a half seconds, and no half second sees many more than ten.
    assert sent[-1] - sent[0] > 1.2
    assert max(sum(start <= each < start + 0.5 for each in sent) for start in sent) <= 13


@database
def test_tokens_a_minute_are_kept_to():
    sent = []

    def respond(wire):
        sent.append(time.monotonic())
        return Answer("A", prompt_tokens=90, completion_tokens=10)

    judge = judge_make(endpoint_make(tokens_per_minute=60_000))  # 1,000 a second: ten requests
    sweep = sweep_make([judge], dataset_make(pairs=8))
    run_instant(respond)
    assert sweep_progress(sweep.pk).n_tokens == 1600
    assert sent[-1] - sent[0] > 1.2


@pytest.mark.long
@database
@pytest.mark.both_databases
def test_two_workers_share_the_concurrency_of_an_endpoint():
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url, max_concurrency=8)
        judges = [judge_make(endpoint, "mock-slow-100", prompt=f"{name}.v1") for name in ("vanilla", "rules")]
        sweep = sweep_make(judges, dataset_make(pairs=80))
        with workers_together(2) as workers:
            wait_for(
                lambda: len(set(SweepRun.objects.exclude(owner="").values_list("owner", flat=True))) == 2
            )
            assert leases.sessions_sharing(endpoint_ids=[endpoint.pk]) == {endpoint.pk: 2}
            time.sleep(1.0)  # both have looked since
            before, started = server.stats()["requests"], time.monotonic()
            wait_for(lambda: time.monotonic() > started + 1.0)
            n_sent, seconds = server.stats()["requests"] - before, time.monotonic() - started
            outputs = [worker.communicate(timeout=120)[0] for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0], outputs
        # Eight at a time, of a tenth of a second each; it would be twice as many if each took them all.
        assert n_sent / seconds < 100
        assert server.stats()["repeated"] == 0
    assert sweep_progress(sweep.pk).state == "finished"


@database
def test_a_budget_in_tokens_stops_the_sweep_and_a_larger_one_goes_on():
    sent = []

    def respond(wire):
        sent.append(wire)
        return Answer("A", prompt_tokens=90, completion_tokens=10)

    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=20), budget_tokens=1000)
    run_instant(respond)
    sweep.refresh_from_db()
    assert (sweep.state, len(sent)) == ("paused", 10)
    assert "budget of 1,000 tokens is reached: 1,000 are used" in sweep.message
    assert sweep_progress(sweep.pk).n_tokens == 1000
    with pytest.raises(SweepError, match=r"1,000 tokens is used up .*resume with a larger one"):
        sweep_resume(sweep=sweep)
    assert sweep_resume(sweep=sweep, budget_tokens=10_000).changed
    run_instant(respond)
    assert (sweep_progress(sweep.pk).state, len(sent)) == ("finished", 40)


@database
def test_the_first_of_two_budgets_that_is_reached_stops_the_sweep():
    def respond(wire):
        return Answer("A", prompt_tokens=100, cost=0.5)

    endpoint = endpoint_make(price_input=Decimal("10"))
    sweep = sweep_make(
        [judge_make(endpoint)], dataset_make(pairs=9), budget=Decimal("2.00"), budget_tokens=1500
    )
    run_instant(respond)
    sweep.refresh_from_db()
    assert "budget of $2.00" in sweep.message
    sweep_resume(sweep=sweep, budget=Decimal("100"))
    run_instant(respond)
    sweep.refresh_from_db()
    assert "1,500 tokens" in sweep.message
    assert sweep_progress(sweep.pk).n_requests == 15


@database
def test_a_budget_in_minutes_counts_the_time_at_work_alone():
    sweep = sweep_make(
        [judge_make(endpoint_make(max_concurrency=1))], dataset_make(pairs=50), budget_minutes=1
    )
    Sweep.objects.update(worked_seconds=58)

    def respond(wire):
        time.sleep(0.05)
        return "A"

    run(backends=lambda *_: InstantBackend(respond, capacity=1))
    sweep.refresh_from_db()
    assert sweep.state == "paused"
    assert "budget of 1 min is used up" in sweep.message.replace("1 minute ", "1 minutes ")
    assert sweep.worked_seconds >= 60
    assert sweep.resumed_at is None
    done = sweep_progress(sweep.pk).n_done
    assert 0 < done < 100
    with pytest.raises(SweepError, match="used up"):
        sweep_resume(sweep=sweep)
    assert sweep_resume(sweep=sweep, budget_minutes=5).changed
    run_instant("A")
    assert sweep_progress(sweep.pk).state == "finished"


@database
@pytest.mark.both_databases
def test_pausing_sends_nothing_more_and_resuming_goes_on():
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, max_concurrency=4), "mock-slow-50")
        sweep = sweep_make([judge], dataset_make(pairs=60))
        started = time.monotonic()
        sent_before = []

        def pause():
            if not sent_before and Judgment.objects.count() >= 8:
                assert sweep_pause(sweep=Sweep.objects.get(pk=sweep.pk))
                assert not sweep_pause(sweep=Sweep.objects.get(pk=sweep.pk))
                sent_before.append(server.stats()["requests"])

        run(on_tick=pause)
        took = time.monotonic() - started
        progress = sweep_progress(sweep.pk)
        assert (progress.state, progress.is_paused, progress.is_active) == ("paused", True, False)
        assert 0 < progress.worked_seconds <= took
        sent = server.stats()["requests"]
        assert sent == Judgment.objects.count() <= sent_before[0] + 4
        run()
        assert server.stats()["requests"] == sent
        sweep.refresh_from_db()
        assert sweep_resume(sweep=sweep).changed
        run()
        assert server.stats()["repeated"] == 0
    assert (sweep_progress(sweep.pk).state, sweep_progress(sweep.pk).n_done) == ("finished", 120)
    assert sweep_progress(sweep.pk).worked_seconds > progress.worked_seconds


@database
def test_every_way_out_of_work_counts_the_time():
    for leave in (sweep_pause, sweep_cancel):
        sweep = sweep_make(
            [judge_make(strategy="random", params={"seed": 1})], dataset_make(pairs=1), start=True
        )
        Sweep.objects.filter(pk=sweep.pk).update(
            state="running", resumed_at=timezone.now() - timedelta(seconds=100), worked_seconds=20
        )
        assert leave(sweep=sweep)
        assert 120 <= sweep.worked_seconds < 220
        assert sweep.resumed_at is None
        SweepRun.objects.all().delete()
        Sweep.objects.all().delete()
        Judgment.objects.all().delete()
        sweep.judges.model.objects.all().delete()


@database
def test_a_sweep_of_a_higher_priority_goes_first():
    order = []

    def respond(wire):
        order.append(wire.model)
        return "A"

    endpoint = endpoint_make()
    dataset = dataset_make(pairs=2)
    for model, priority in (("low", -1), ("middle", 0), ("high", 5)):
        sweep_make([judge_make(endpoint, model)], dataset, priority=priority)
    run_instant(respond)
    assert list(dict.fromkeys(order)) == ["high", "middle", "low"]


@database
def test_a_sweep_of_a_higher_priority_overtakes_one_at_work():
    order = []
    endpoint = endpoint_make(max_concurrency=2)
    dataset = dataset_make(pairs=60)
    urgent = judge_make(endpoint, "urgent")
    late = []

    def respond(wire):
        order.append(wire.model)
        if len(order) == 20:
            late.append(sweep_make([urgent], dataset, priority=1))
        time.sleep(0.005)
        return "A"

    sweep_make([judge_make(endpoint, "usual")], dataset)
    run(backends=lambda *_: InstantBackend(respond, capacity=2))
    assert len(order) == 240
    first = order.index("urgent")
    assert first < 60
    last = len(order) - order[::-1].index("urgent")
    assert order[first:last].count("usual") < 30


@database
def test_a_judge_that_mostly_cannot_be_read_stops_and_the_others_go_on():
    dataset = dataset_make(pairs=100)
    bad, good = judge_make(endpoint_make(), "mumbler"), judge_make(endpoint_make(), "clear")
    sweep = sweep_make([bad, good], dataset)

    def respond(wire):
        return "I would rather not say.\nReally." if wire.model == "mumbler" else "A"

    run_instant(respond, options=replace(QUICK, group_size=4))
    progress = sweep_progress(sweep.pk)
    first, second = progress.runs
    assert (first.state, second.state, second.n_done) == ("stopped", "finished", 200)
    assert first.last_error.startswith("More than half of the first ")
    assert "could not be read, for example: 'I would rather not say. Really.'" in first.last_error
    assert 20 <= first.n_done < 80
    assert first.n_unparsed == first.n_done
    assert progress.state == "failed"
    # What was answered is kept; it goes on when it is resumed, and then never stops where that is switched off.
    Sweep.objects.update(stop_unparsed=None)
    assert sweep_resume(sweep=Sweep.objects.get(pk=sweep.pk)).changed
    run_instant(respond)
    assert sweep_progress(sweep.pk).n_unparsed == 200


@database
def test_a_judge_that_is_read_often_enough_goes_on():
    answers = iter(range(10_000))

    def respond(wire):
        return "No idea." if next(answers) % 5 == 0 else "A"

    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=50))
    run_instant(respond)
    assert (sweep_progress(sweep.pk).state, sweep_progress(sweep.pk).n_unparsed) == ("finished", 20)


@database
def test_a_dear_model_beside_a_cheap_one_is_not_taken_for_as_cheap():
    """Requests of each model are expected to cost what those of that model did."""
    endpoints = [endpoint_make(f"http://127.0.0.1:{port}/v1", price_input=1) for port in (9, 10)]
    members = {str(k): judge_make(endpoint, "m") for k, endpoint in enumerate(endpoints)}
    sweep = sweep_make(
        [judge_make(strategy="jury", members=members)], dataset_make(pairs=20), budget=Decimal(3)
    )
    prices = {endpoints[0].pk: 0.001, endpoints[1].pk: 1.0}

    def backend(endpoint, model):
        answer = Answer("A", prompt_tokens=9, completion_tokens=1, cost=prices[endpoint.pk])
        return InstantBackend(lambda _: answer, capacity=8, name=endpoint.name)

    run(backends=backend)
    progress = sweep_progress(sweep.pk)
    assert (progress.state, "budget of $3.00 is reached" in progress.message) == ("paused", True)
    assert 2.0 < progress.cost <= 3.0

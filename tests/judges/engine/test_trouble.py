"""Servers that are down, slow, rude or broken; private data; budgets."""

import re
import time
from dataclasses import replace
from decimal import Decimal

import pytest

from annotation.models import Dataset
from judges.backends.errors import EndpointError, PermanentBackendError, TransientBackendError
from judges.backends.instant import InstantBackend
from judges.backends.mock_server import running_mock_server
from judges.engine.works import Transport
from judges.models import Endpoint, Judgment, ModelRequest, Sweep, SweepRun, SweepState
from judges.selectors.sweeps import sweep_progress
from judges.services.sweeps import SweepError, sweep_resume
from judges.strategies.types import Answer
from tests.annotation.factories import dataset_make
from tests.judges.props import QUICK, endpoint_make, judge_make, run, run_instant, sweep_make

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_server_that_is_down_ends_the_sweep_and_resuming_finishes_it(silent_port):
    judge = judge_make(endpoint_make(f"http://127.0.0.1:{silent_port}/v1", name="far-away"))
    sweep = sweep_make([judge, judge_make()], dataset_make(pairs=5))
    run()
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert "'far-away' cannot be reached" in sweep.message
    assert f"http://127.0.0.1:{silent_port}" in sweep.message
    # The judge without a model was not held up, and nobody is blamed for the server.
    assert Judgment.objects.filter(status="parsed").count() == 10
    assert not Judgment.objects.filter(status="failed").exists()
    assert not SweepRun.objects.exclude(owner="").exists()

    with running_mock_server(port=silent_port) as server:
        assert sweep_resume(sweep=sweep).changed
        run()
        assert server.stats()["requests"] == server.stats()["distinct"] == 10
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.message) == ("finished", 20, "")


@pytest.mark.parametrize("model", ["mock-html", "mock-null", "mock-no-choices", "mock-drop", "mock-500"])
def test_a_server_that_misbehaves_ends_the_sweep(model):
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, name="odd"), model)
        sweep = sweep_make([judge], dataset_make(pairs=5))
        run()
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert "The endpoint 'odd'" in sweep.message
    assert "resume the sweep" in sweep.message
    assert not Judgment.objects.exists()
    assert not ModelRequest.objects.filter(state="done").exists()


@pytest.mark.parametrize(("model", "what"), [("mock-401", "access was refused"), ("no-such-model", "404")])
def test_a_wrong_key_or_model_ends_the_sweep_at_once(model, what):
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, max_concurrency=2), model)
        sweep = sweep_make([judge], dataset_make(pairs=20))
        run()
        assert server.stats()["requests"] <= 4
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert what in sweep.message


def test_passing_failures_are_tried_again():
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url), "mock-500-once")
        sweep = sweep_make([judge], dataset_make(pairs=4))
        run()
        assert server.stats()["by_status"] == {"200": 8, "500": 8}
    assert sweep_progress(sweep.pk).n_done == 8
    assert set(ModelRequest.objects.values_list("attempts", flat=True)) == {2}


def test_retry_after_is_honoured():
    sent: list[float] = []

    def respond(wire):
        sent.append(time.monotonic())
        if len(sent) == 1:
            return TransientBackendError("slow down", status=429, retry_after=0.4)
        return "A"

    judge = judge_make(endpoint_make(max_concurrency=1))
    sweep = sweep_make([judge], dataset_make(pairs=3), orders="original")
    run(backends=lambda *_: InstantBackend(respond, capacity=1))
    assert len(sent) == 4
    assert sent[1] - sent[0] >= 0.4
    assert sweep_progress(sweep.pk).n_done == 3


def test_a_pause_of_nothing_is_no_reason_to_come_back_at_once(monkeypatch):
    """As of a server whose clock is behind ours, and that says until when."""
    pauses = []
    failed = Transport.failed

    def noted(self, request, error, now):
        failed(self, request, error, now)
        pauses.append(self.paused_until - now)

    monkeypatch.setattr(Transport, "failed", noted)
    refusals = [TransientBackendError("slow down", status=429, retry_after=0.0)] * 5
    sweep = sweep_make([judge_make(endpoint_make(max_concurrency=1))], dataset_make(pairs=2))
    run_instant(lambda _: refusals.pop() if refusals else "A")
    assert len(pauses) == 5
    assert all(seconds >= QUICK.backoff / 8 for seconds in pauses)
    assert pauses[-1] > pauses[0]
    assert sweep_progress(sweep.pk).state == "finished"


def test_too_many_requests_slow_down_and_finish():
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, max_concurrency=8), "mock-429")
        sweep = sweep_make([judge], dataset_make(pairs=10))
        run()
        assert server.stats()["by_status"] == {"200": 20, "429": 20}
    assert sweep_progress(sweep.pk).state == "finished"


def test_a_server_that_only_ever_says_to_slow_down_ends_the_sweep(monkeypatch):
    pauses = []
    failed = Transport.failed

    def counted(self, request, error, now):
        failed(self, request, error, now)
        pauses.append(self.n_pauses)

    monkeypatch.setattr(Transport, "failed", counted)

    def respond(wire):
        return TransientBackendError("slow down", status=429)

    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=50))
    run_instant(respond, options=replace(QUICK, max_pauses=6))
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert "slow down" in sweep.message
    # Fewer pauses than there are requests: they are the endpoint's, not each request's own.
    assert max(pauses) <= 6 + 2


def test_a_pause_of_an_hour_is_an_endpoint_out_of_service():
    judge = judge_make(endpoint_make())
    sweep = sweep_make([judge], dataset_make(pairs=3))
    run_instant(lambda wire: TransientBackendError("quota", status=429, retry_after=3600.0))
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert "a pause of 3600 s" in sweep.message


def test_a_bad_prompt_fails_alone():
    dataset = dataset_make(pairs=6)
    long = dataset.items.get(position=3).responses.first()
    long.text = "x" * 5000
    long.save()
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url), "mock-400-long-4000")
        sweep = sweep_make([judge], dataset)
        run()
        assert server.stats()["requests"] == 12
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 12, 2)
    assert progress.errors[0].count == 2
    assert "maximum context length" in progress.errors[0].message
    assert set(Judgment.objects.filter(status="failed").values_list("item__position", flat=True)) == {3}


def test_failed_judgments_are_asked_again_on_request():
    refuse = True

    def respond(wire):
        return PermanentBackendError("refused", status=400) if refuse and "number 2" in str(wire) else "B"

    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=4))
    run_instant(respond)
    assert sweep_progress(sweep.pk).n_failed == 2
    refuse = False
    assert not sweep_resume(sweep=Sweep.objects.get(pk=sweep.pk)).changed
    assert sweep_resume(sweep=sweep, retry_failed=True).changed
    run_instant(respond)
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_failed, progress.errors) == ("finished", 8, 0, ())


def test_failures_that_a_sweep_would_not_ask_again_are_left_alone():
    judge, dataset = judge_make(endpoint_make()), dataset_make(pairs=2)
    sweep_make([judge], dataset)
    run_instant(lambda wire: PermanentBackendError("refused", status=400))
    one_order = sweep_make([judge], dataset, orders="original")
    run_instant()
    assert sweep_resume(sweep=one_order, retry_failed=True).changed
    run_instant("B")
    assert list(Judgment.objects.order_by("order").values_list("status", flat=True)) == [
        *["parsed"] * 2,
        *["failed"] * 2,
    ]


def test_one_request_that_breaks_the_server_fails_alone():
    def respond(wire):
        return TransientBackendError("boom", status=500) if "number 2" in str(wire) else "A"

    judge = judge_make(endpoint_make(max_concurrency=1))
    sweep = sweep_make([judge], dataset_make(pairs=4))
    run_instant(respond)
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 8, 2)
    assert progress.errors[0].message == "boom"


def test_an_endpoint_that_refuses_everything_ends_the_sweep():
    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=40))
    run_instant(lambda wire: PermanentBackendError("unknown field", status=400))
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert "refuses every request: unknown field" in sweep.message


class RefusesFirst(InstantBackend):
    """As a server that checks lengths before it computes: refusals come at once, answers after them."""

    def drain(self, timeout):
        arrived = super().drain(timeout)
        refused = [each for each in arrived if not isinstance(each[1], Answer)]
        self._finished = [each for each in arrived if isinstance(each[1], Answer)] if refused else []
        return refused or arrived


def test_an_endpoint_that_refuses_many_before_its_first_answer_is_not_given_up():
    """Long items that stand together, as in LLMBar's first subset on a model of 1,024 tokens."""

    def respond(wire):
        number = int(re.search(r"number (\d+)", str(wire))[1])
        return "A" if number in (7, 60) else PermanentBackendError("too long", status=400)

    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=80))
    run(backends=lambda *_: RefusesFirst(respond, capacity=64, name="test"))
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 160, 156)


def test_an_endpoint_that_refuses_everything_is_asked_no_more_than_was_on_its_way():
    asked = 0

    def respond(wire):
        nonlocal asked
        asked += 1
        return PermanentBackendError("unknown field", status=400)

    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=20))
    run(backends=lambda *_: InstantBackend(respond, capacity=30, name="test"))
    sweep.refresh_from_db()
    assert (sweep.state, asked) == ("failed", 30)


def test_what_arrived_is_kept_when_the_endpoint_fails():
    answered = 0

    def respond(wire):
        nonlocal answered
        answered += 1
        return "A" if answered <= 10 else EndpointError("no quota", status=402)

    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=20))
    run_instant(respond)
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert "no quota" in sweep.message
    assert Judgment.objects.filter(status="parsed").count() == 10
    assert ModelRequest.objects.filter(state="done").count() == 10


def test_a_mistake_in_a_strategy_costs_one_item(monkeypatch, caplog):
    import judges.strategies.pairwise as question

    read = question.read_choice

    def broken(text, **options):
        if text == "B":
            raise ZeroDivisionError("a mistake")
        return read(text, **options)

    monkeypatch.setattr(question, "read_choice", broken)
    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=3), orders="original")
    run_instant(lambda wire: "B" if "number 1" in str(wire) else "A")
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 3, 1)
    assert "ZeroDivisionError: a mistake" in progress.errors[0].message
    (record,) = [one for one in caplog.records if "Strategy failed" in one.message]
    assert (record.sweep, record.run) == (sweep.pk, sweep.runs.get().pk)


def test_a_private_dataset_never_reaches_a_remote_endpoint():
    private = dataset_make(pairs=2, split="private")
    remote = judge_make(endpoint_make(is_local=False, name="vendor"))
    sweep = sweep_make([remote], private, start=False)
    with pytest.raises(SweepError, match=r"is private.*remote endpoint 'vendor'.*never leave the site"):
        sweep_make([remote], private)
    # And again in the engine, if the dataset became private after the sweep was started.
    Dataset.objects.filter(pk=private.pk).update(split="public")
    sweep = sweep_make([remote], private)
    Dataset.objects.filter(pk=private.pk).update(split="private")
    run_instant(lambda wire: pytest.fail("sent"))
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert "never leave the site" in sweep.message
    assert not ModelRequest.objects.exists()


def test_a_dataset_that_becomes_private_meanwhile_is_not_sent_on():
    dataset = dataset_make(pairs=200)
    remote = judge_make(endpoint_make(is_local=False, max_concurrency=1))
    sweep = sweep_make([remote], dataset)

    def respond(wire):
        Dataset.objects.filter(pk=dataset.pk).update(split="private")
        time.sleep(0.01)
        return "A"

    run(backends=lambda *_: InstantBackend(respond, capacity=1))
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert "private" in sweep.message
    assert ModelRequest.objects.filter(state="done").count() < 50


def test_a_local_endpoint_may_see_private_items():
    sweep = sweep_make([judge_make(endpoint_make(is_local=True))], dataset_make(pairs=2, split="private"))
    run_instant()
    assert sweep_progress(sweep.pk).state == "finished"


def test_the_budget_stops_the_sweep_and_a_larger_one_goes_on():
    endpoint = endpoint_make(price_input=Decimal("1000"))
    sweep = sweep_make([judge_make(endpoint)], dataset_make(pairs=20), budget=Decimal("1.00"))
    n_sent = 0

    def respond(wire):
        nonlocal n_sent
        n_sent += 1
        return Answer("A", cost=0.1)

    run_instant(respond)
    sweep.refresh_from_db()
    assert sweep.state == "paused"
    assert "budget of $1.00 is reached" in sweep.message
    assert n_sent == 10
    assert sweep_progress(sweep.pk).cost == pytest.approx(1.0)
    with pytest.raises(SweepError, match="resume with a larger one"):
        sweep_resume(sweep=sweep)
    assert sweep_resume(sweep=sweep, budget=Decimal("10.00")).changed
    run_instant(respond)
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, n_sent) == ("finished", 40, 40)
    assert progress.cost == pytest.approx(4.0)


def test_a_judge_whose_endpoint_moved_is_refused():
    judge = judge_make(endpoint_make())
    sweep = sweep_make([judge], dataset_make(pairs=1))
    Endpoint.objects.update(base_url="http://127.0.0.1:10/v1")
    run_instant(lambda wire: pytest.fail("sent"))
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert "new address" in sweep.message


def test_a_second_endpoint_that_is_down_stops_the_runs_that_nobody_has_yet():
    well, down = endpoint_make(), endpoint_make("http://127.0.0.1:10/v1")
    members = {"well": judge_make(well, "m"), "down": judge_make(down, "m")}
    sweep = sweep_make(
        [judge_make(strategy="jury", members=members)], dataset_make(pairs=20), dataset_make(pairs=20)
    )
    asked = []

    def backend(endpoint, model):
        def respond(wire):
            asked.append(endpoint.pk)
            return TransientBackendError("connection refused") if endpoint == down else "A"

        return InstantBackend(respond, capacity=2, name=endpoint.name)

    run(backends=backend)
    progress = sweep_progress(sweep.pk)
    assert progress.state == "failed"
    assert progress.message.count("cannot be reached") == 1
    assert all("connection refused" in each.last_error for each in sweep.runs.all())
    assert sweep.runs.filter(started_at=None).count() == 1


def test_a_broken_model_stops_its_own_judges_and_no_others():
    """On one endpoint: what fails is the model, not the server, which answers for the others."""
    dataset = dataset_make(pairs=6)
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url)
        broken = [judge_make(endpoint, "mock-500", strategy=each) for each in ("vanilla", "rules")]
        unknown = judge_make(endpoint, "no-such-model")
        well = [judge_make(endpoint, "mock-longer", strategy=each) for each in ("vanilla", "cot", "rules")]
        sweep = sweep_make([*broken, unknown, *well], dataset)
        run()
    sweep.refresh_from_db()
    assert sweep.state == SweepState.FAILED
    for run_row in sweep.runs.select_related("judge"):
        if run_row.judge in well:
            assert run_row.finished_at is not None, run_row.judge
        else:
            assert run_row.last_error or run_row.n_failed, run_row.judge
    assert Judgment.objects.filter(judge__in=well, status="parsed").count() == 3 * 2 * dataset.items.count()

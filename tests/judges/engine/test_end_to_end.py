"""Whole sweeps against the mock server."""

import gc

import pytest
from django.db.models import Q

from judges.backends.mock_answers import THOUGHT
from judges.backends.mock_server import running_mock_server
from judges.engine import garbage
from judges.models import Generation, Judgment, ModelRequest
from judges.selectors.judges import judge_answerers
from judges.selectors.sweeps import sweep_progress
from judges.selectors.trace import judgment_trace
from judges.services.judges import heuristic_judges_ensure
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run, run_instant, sweep_make

pytestmark = [pytest.mark.django_db(transaction=True)]


def choices(judge, order):
    rows = Judgment.objects.filter(judge=judge, order=order).order_by("item__position")
    return list(rows.values_list("choice", flat=True))


@pytest.mark.both_databases
def test_both_orders_are_stored_canonically():
    dataset = dataset_make(pairs=6)
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url)
        first, longer = judge_make(endpoint, "mock-first"), judge_make(endpoint, "mock-second")
        sweep = sweep_make([first, longer], dataset)
        run()
        assert server.stats()["requests"] == 24
    sweep.refresh_from_db()
    assert (sweep.state, sweep.message) == ("finished", "")
    assert choices(first, 0) == [1] * 6
    assert choices(first, 1) == [2] * 6
    assert choices(longer, 0) == [2] * 6
    progress = sweep_progress(sweep.pk)
    assert (progress.n_total, progress.n_done, progress.n_requests, progress.n_failed) == (24, 24, 24, 0)
    judgment = Judgment.objects.filter(judge=first, order=1).first()
    assert judgment.value == {"choice": 2}
    assert judgment.raw_text == "A"
    assert judgment.requests == 1
    assert judgment.latency_ms > 0


@pytest.mark.both_databases
def test_a_second_sweep_sends_nothing_and_counts_what_it_reuses():
    dataset = dataset_make(pairs=3)
    judge = judge_make(endpoint_make())
    sweep_make([judge], dataset)
    run_instant()
    sweep = sweep_make([judge], dataset)
    run_instant(respond=lambda wire: pytest.fail("sent again"))
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_reused, progress.n_requests) == ("finished", 6, 6, 0)


def test_original_order_only():
    judge = judge_make(endpoint_make())
    sweep = sweep_make([judge], dataset_make(pairs=3), orders="original")
    run_instant()
    assert set(Judgment.objects.values_list("order", flat=True)) == {0}
    assert sweep_progress(sweep.pk).n_total == 3


def test_judges_without_a_model_need_no_request():
    longest, shortest, always_a, *_ = heuristic_judges_ensure()
    sweep = sweep_make([longest, shortest, always_a], dataset_make(pairs=700))
    run()
    assert not ModelRequest.objects.exists()
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done) == ("finished", 4200)
    assert choices(always_a, 0)[:2] == [1, 1]
    assert choices(always_a, 1)[:2] == [2, 2]


def test_an_unreadable_answer_is_kept_with_its_text():
    judge = judge_make(endpoint_make())
    sweep = sweep_make([judge], dataset_make(pairs=1), orders="original")
    run_instant("No idea, \x00 honestly \ud800.")
    judgment = Judgment.objects.get()
    assert (judgment.status, judgment.choice) == ("unparsed", None)
    assert judgment.raw_text.startswith("No idea, ")
    assert judgment.value["reason"]
    assert sweep_progress(sweep.pk).n_unparsed == 1


@pytest.mark.both_databases
def test_a_request_that_two_judges_share_is_sent_once():
    dataset = dataset_make(pairs=5)
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url)
        # The strategies differ by name only once they are given the same prompt.
        vanilla = judge_make(endpoint, "mock-longer", strategy="vanilla", prompt="vanilla.v1")
        rules = judge_make(endpoint, "mock-longer", strategy="rules", prompt="vanilla.v1")
        sweep = sweep_make([vanilla, rules], dataset)
        run()
        assert server.stats()["requests"] == server.stats()["distinct"] == 10
    progress = sweep_progress(sweep.pk)
    assert (progress.n_requests, progress.n_shared, progress.n_done) == (10, 10, 20)
    assert choices(vanilla, 0) == choices(rules, 0)


@pytest.mark.both_databases
def test_several_datasets_and_endpoints_at_once():
    datasets = [dataset_make(pairs=4), dataset_make(pairs=2)]
    with running_mock_server() as one, running_mock_server() as two:
        judges = [
            judge_make(endpoint_make(one.url, max_concurrency=2), "mock-slow-20"),
            judge_make(endpoint_make(two.url, max_concurrency=2), "mock-slow-20"),
            judge_make(),
        ]
        sweep = sweep_make(judges, *datasets)
        run()
        # The smaller dataset's pairs read like the first ones of the larger: their requests are the same.
        assert one.stats()["requests"] == two.stats()["requests"] == 8
        assert one.stats()["most_in_flight"] == 2
    assert sweep_progress(sweep.pk).n_done == 36


@pytest.mark.both_databases
def test_items_that_came_in_meanwhile_are_judged_on_resuming():
    dataset = dataset_make(pairs=2)
    judge = judge_make(endpoint_make())
    sweep_make([judge], dataset)
    run_instant()
    other = dataset_make(pairs=1)
    other.items.update(dataset=dataset, external_id="late", position=9)
    sweep = sweep_make([judge], dataset)
    run_instant()
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_total, progress.n_done, progress.n_reused) == ("finished", 6, 6, 4)


def frozen_in_session() -> int:
    """The least number of frozen objects while a session asks."""

    def respond(wire):
        frozen.append(gc.get_freeze_count())
        return "A"

    frozen: list[int] = []
    sweep_make([judge_make(endpoint_make())], dataset_make(pairs=1))
    run_instant(respond=respond)
    return min(frozen)


@pytest.fixture
def collector():
    """The garbage collector as Python starts with it, and then as the tests have it."""
    was, before = gc.get_freeze_count(), gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700)
    yield
    gc.set_threshold(*before)
    if was:
        gc.freeze()


def test_what_was_in_memory_before_is_left_alone_by_the_garbage_collector_during_a_session_only(collector):
    assert frozen_in_session() > 10_000
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold()[0] == 700


def test_what_a_web_process_has_frozen_stays_so_after_a_session_of_its_worker(collector, monkeypatch):
    """Else the first wake-up would bring back collections of 160 ms in the middle of requests."""
    monkeypatch.setattr(garbage, "is_for_good", False)
    garbage.freeze_for_good()
    before = gc.get_freeze_count()
    assert frozen_in_session() <= before
    # Some of them may have gone.
    assert gc.get_freeze_count() > before * 0.9
    assert gc.get_threshold()[0] == garbage.OF_REQUESTS


def test_what_is_frozen_for_good_during_a_session_stays_so_after_it(collector, monkeypatch):
    """The worker's first session begins while the web process gets ready."""
    monkeypatch.setattr(garbage, "is_for_good", False)
    with garbage.present_frozen():
        garbage.freeze_for_good()
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold()[0] == garbage.OF_REQUESTS


@pytest.mark.parametrize("model", ["mock-thinking", "mock-thinking-aloud"])
@pytest.mark.parametrize("structured", ["none", "vllm", "json_schema"])
def test_a_thought_is_kept_beside_the_verdict_that_is_read_without_it(model, structured):
    dataset = dataset_make(pairs=2)
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url, structured=structured)
        thinking, longer = judge_make(endpoint, model), judge_make(endpoint, "mock-longer")
        sweep_make([thinking, longer], dataset)
        run()
    for judgment in Judgment.objects.filter(judge=thinking):
        assert judgment.thought == THOUGHT
        assert "Output" not in judgment.raw_text
        said = 2 if "B" in judgment.raw_text else 1
        assert judgment.choice == (said if judgment.order == 0 else 3 - said)
        trace = judgment_trace(judgment)
        assert trace.verdict.thought == THOUGHT
        assert trace.requests[0].heard.thought == THOUGHT
    assert set(Judgment.objects.filter(judge=longer).values_list("thought", flat=True)) == {""}


def test_tokens_of_thought_are_kept_and_paid():
    dataset = dataset_make(pairs=1)
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url, price_output=10)
        thinking = judge_make(endpoint, "mock-reasoner", decoding={"reasoning_effort": "low"})
        plain = judge_make(endpoint, "mock-longer")
        sweep_make([thinking, plain], dataset)
        run()
    for judgment in Judgment.objects.filter(judge=thinking):
        assert (judgment.status, judgment.reasoning_tokens, judgment.completion_tokens) == ("parsed", 64, 65)
        assert judgment.cost == pytest.approx(65 * 10 / 1e6)
        assert judgment_trace(judgment).requests[0].answer.reasoning_tokens == 64
    assert set(Judgment.objects.filter(judge=plain).values_list("reasoning_tokens", flat=True)) == {None}


def test_what_a_contestant_thought_is_no_part_of_its_response():
    dataset = dataset_make(pairs=1)
    with running_mock_server() as server:
        contestant = judge_make(endpoint_make(server.url), "mock-thinking-aloud", strategy="generate")
        sweep_make([contestant], dataset)
        run()
    generation = Generation.objects.get()
    assert (generation.status, generation.thought) == ("parsed", THOUGHT)
    assert generation.text
    assert "think" not in generation.text


@pytest.mark.both_databases
def test_the_model_that_the_server_says_answered_is_kept_with_every_result():
    dataset, later = dataset_make(pairs=2), dataset_make(pairs=4)
    with running_mock_server() as server:
        server.behind["mock-judge"] = ("mock-longer", "fp_1")
        endpoint = endpoint_make(server.url)
        judge = judge_make(endpoint, "mock-judge")
        contestant = judge_make(endpoint, "mock-judge", strategy="generate")
        sweep_make([judge, contestant], dataset)
        run()
        server.behind["mock-judge"] = ("mock-first", "fp_2")
        sweep_make([judge], later)
        run()
    # The later dataset begins with the same two pairs: their answers were there, and keep the model that gave them.
    first, second = "mock-judge\tmock-longer\tfp_1", "mock-judge\tmock-first\tfp_2"
    kept = Judgment.objects.order_by("item__dataset", "item__position", "order")
    assert list(kept.values_list("answered_by", flat=True)) == [first] * 8 + [second] * 4
    assert not kept.filter(Q(prompt_tokens=None) | Q(completion_tokens=None)).exists()
    assert set(Generation.objects.values_list("answered_by", flat=True)) == {first}
    answer = judgment_trace(kept.last()).requests[0].answer
    assert (answer.model, answer.system_fingerprint) == ("mock-first", "fp_2")
    (uses,) = judge_answerers([judge.pk], [dataset.pk, later.pk]).values()
    assert [(str(use.answerer), use.n) for use in uses] == [
        ("mock-longer (fp_1)", 8),
        ("mock-first (fp_2)", 4),
    ]

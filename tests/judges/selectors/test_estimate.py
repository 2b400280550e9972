"""The dry run: what it promises is what the engine then sends."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from judges.backends.mock_server import running_mock_server
from judges.models import Judgment, ModelRequest, SweepRun
from judges.selectors.estimate import sweep_estimate
from judges.selectors.history import CHARACTERS_PER_TOKEN, model_history
from judges.services.sweeps import sweep_start
from judges.strategies.types import Answer
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run, run_instant, sweep_make

pytestmark = pytest.mark.django_db


def sent(sweep):
    return sum(SweepRun.objects.filter(sweep=sweep).values_list("n_requests", flat=True))


@pytest.mark.parametrize(
    "strategies", [("vanilla",), ("vanilla", "swap", "rules"), ("metrics", "metrics_reference")]
)
def test_it_counts_the_requests_that_are_then_sent(strategies):
    endpoint = endpoint_make()
    judges = [judge_make(endpoint, strategy=strategy) for strategy in strategies]
    sweep = sweep_make(judges, dataset_make(pairs=5), start=False)
    before = ModelRequest.objects.count()
    estimate = sweep_estimate(sweep)
    assert ModelRequest.objects.count() == before
    assert not Judgment.objects.exists()

    sweep_start(sweep=sweep)
    run_instant("A")  # whatever is shown first, as the stand-ins do
    assert estimate.n_requests == sent(sweep)
    assert estimate.n_works == Judgment.objects.count() == 10 * len(judges)
    assert not estimate.is_sampled


def test_every_sample_of_a_judge_is_counted():
    endpoint = endpoint_make()
    sampling = {"samples": 3, "decoding": {"temperature": 1.0, "seed": 1}}
    judges = [
        judge_make(endpoint, decoding={"temperature": 1.0, "seed": 1}),
        judge_make(endpoint, **sampling),
    ]
    sweep = sweep_make(judges, dataset_make(pairs=5), start=False)
    estimate = sweep_estimate(sweep)
    sweep_start(sweep=sweep)
    run_instant("A")
    # Sample 0 asks what the judge without samples asks.
    assert estimate.n_requests == sent(sweep) == 10 * 3
    assert estimate.n_shared == 10
    votes = (
        Judgment.objects.filter(judge=judges[1], order=1).values_list("value__votes", "probability").first()
    )
    assert votes == ({"0": 2, "1": 2, "2": 2}, 0.0)


def test_what_is_judged_or_stored_already_costs_nothing():
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url, price_input=1, price_output=1)
        dataset, judge = dataset_make(pairs=3), judge_make(endpoint, model="mock-first")
        sweep_make([judge], dataset)
        run()
        again = sweep_estimate(sweep_make([judge], dataset, start=False))
        assert (again.n_works, again.n_requests, again.cost) == (0, 0, 0.0)

        # Another judge with the same requests: swap compares as vanilla does, and then settles contradictions.
        swap = sweep_make([judge_make(endpoint, model="mock-first", strategy="swap")], dataset, start=False)
        estimate = sweep_estimate(swap)
        assert (estimate.n_works, estimate.n_requests, estimate.n_shared) == (6, 3, 15)
        assert estimate.cost > 0
        sweep_start(sweep=swap)
        run()
        assert sent(swap) == 3


def test_a_large_sweep_is_tried_on_a_sample():
    endpoint = endpoint_make()
    sweep = sweep_make([judge_make(endpoint)], dataset_make(pairs=40), start=False)
    estimate = sweep_estimate(sweep, most_works=10)
    assert estimate.is_sampled
    assert (estimate.n_works, estimate.n_requests) == (80, 80)


def test_only_the_texts_of_the_sample_are_read():
    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=60), start=False)
    with CaptureQueriesContext(connection) as asked:
        sweep_estimate(sweep, most_works=10)
    read = [query["sql"] for query in asked if '"text"' in query["sql"]]
    named = [match.split(",") for sql in read for match in re.findall(r"IN \(([\d, ]+)\)", sql)]
    assert len(named) == len(read) > 0
    # Five items of sixty, with two responses each.
    assert max(map(len, named)) <= 10


def test_tokens_and_money_follow_what_the_model_needed_before():
    endpoint = endpoint_make(price_input=2, price_output=10, max_concurrency=4)
    judge = judge_make(endpoint, model="m")
    first = sweep_make([judge], dataset_make(pairs=4), start=False)
    guess = sweep_estimate(first)
    assert guess.is_guessed
    assert guess.seconds is None
    assert model_history("m").characters_per_token == CHARACTERS_PER_TOKEN

    sweep_start(sweep=first)
    run_instant(lambda wire: Answer("A", prompt_tokens=100, completion_tokens=7, latency_ms=500.0))
    known = sweep_estimate(sweep_make([judge], dataset_make(pairs=4), start=False))
    assert not known.is_guessed
    assert known.completion_tokens == 8 * 7
    assert known.prompt_tokens == pytest.approx(800, rel=0.05)
    assert known.cost == pytest.approx((known.prompt_tokens * 2 + 56 * 10) / 1e6, rel=0.01)
    assert known.seconds == pytest.approx(8 * 0.5 / 4)


def test_prices_of_single_models_come_first_and_missing_ones_are_named():
    priced = endpoint_make(name="priced", prices={"m": [5, 5]})
    free = endpoint_make(name="free")
    dataset = dataset_make(pairs=2)
    estimate = sweep_estimate(
        sweep_make([judge_make(priced, model="m"), judge_make(free)], dataset, start=False)
    )
    assert estimate.unpriced == ("free",)
    first = next(run for run in estimate.runs if run.cost)
    assert first.cost == pytest.approx((first.prompt_tokens + first.completion_tokens) * 5 / 1e6)


def test_judges_without_a_model_cost_nothing():
    estimate = sweep_estimate(sweep_make([judge_make()], dataset_make(pairs=2), start=False))
    assert (estimate.n_works, estimate.n_requests, estimate.cost) == (4, 0, 0.0)


def test_it_does_not_query_for_every_work(django_assert_max_num_queries):
    endpoint = endpoint_make()
    judges = [judge_make(endpoint, strategy=strategy) for strategy in ("vanilla", "metrics", "swap")]
    sweep = sweep_make(judges, dataset_make(pairs=60), start=False)
    with django_assert_max_num_queries(45):
        sweep_estimate(sweep)


def test_what_will_fail_before_any_model_is_asked_is_counted():
    judge = judge_make(endpoint_make(), model="mock-first")
    composite = judge_make(name="Some only", strategy="composite", members={"Brainstorm": judge})
    sweep = sweep_make([composite, judge], dataset_make(pairs=5), start=False)
    plain, only = sorted(sweep_estimate(sweep).runs, key=lambda run: run.n_refused)
    assert (plain.n_refused, plain.refusal) == (0, "")
    assert (only.judge, only.n_refused, only.n_works) == ("Some only", 4, 10)
    assert "'Rewrite', and the composite has no member for it" in only.refusal

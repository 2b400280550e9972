"""The strategies through the engine and a real server: what is sent once, and what is stored."""

import pytest

from judges.backends.mock_server import running_mock_server
from judges.models import Judgment
from judges.selectors.sweeps import sweep_progress
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run, sweep_make
from tests.judges.strategies.test_sharing import EIGHT

pytestmark = pytest.mark.django_db(transaction=True)

PAIRS = 4


def stored(judge, order):
    rows = Judgment.objects.filter(judge=judge, order=order).order_by("item__position")
    return list(rows.values_list("status", "choice"))


def test_eight_strategies_in_one_sweep_share_their_steps():
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url)
        # What is shown first is preferred, so that every pair is settled by synthesis.
        judges = {name: judge_make(endpoint, "mock-first", strategy=name) for name in EIGHT}
        sweep = sweep_make(list(judges.values()), dataset_make(pairs=PAIRS))
        run()
        assert server.stats()["requests"] == server.stats()["distinct"] == 16 * PAIRS
    assert sweep_progress(sweep.pk).n_failed == 0
    assert not Judgment.objects.exclude(status="parsed").exists()
    assert stored(judges["vanilla"], 1) == [("parsed", 2)] * PAIRS
    # The last question shows the pair as it is stored, so its first response wins.
    assert stored(judges["swap"], 0) == stored(judges["swap_cot"], 0) == [("parsed", 1)] * PAIRS


def test_debates_and_probabilities_are_stored():
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url)
        debate = judge_make(endpoint, "mock-second", strategy="debate", params={"decision": "majority"})
        likely = judge_make(endpoint, "mock-first-0.9", params={"probabilities": True})
        both = judge_make(
            endpoint, "mock-first-0.9", params={"probabilities": True, "both_orders": True}, allow_tie=True
        )
        sweep_make([debate, likely, both], dataset_make(pairs=PAIRS))
        run()
    assert stored(debate, 0) == [("parsed", 2)] * PAIRS
    said = Judgment.objects.filter(judge=debate, order=1).first()
    assert set(said.value["votes"].values()) == {1}
    assert said.requests == 6
    for order, probability in ((0, 0.9), (1, 0.1)):
        row = Judgment.objects.filter(judge=likely, order=order).first()
        assert row.choice == order + 1
        assert row.probability == pytest.approx(probability)
    row = Judgment.objects.filter(judge=both, order=0).first()
    assert (row.requests, row.choice, row.probability) == (2, 0, pytest.approx(0.5))

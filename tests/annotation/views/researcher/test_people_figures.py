"""Figures of people, from their answers: no database."""

from typing import Any

import numpy as np
import pytest

from annotation.selectors.annotator_figures import (
    AnnotatorAnswer,
    fast_answers,
    figures_compute,
    longest_run,
    run_is_long,
)


def answer(annotator: int = 1, item: int = 1, **fields: Any) -> AnnotatorAnswer:
    rules: dict[str, Any] = {
        "role": "work",
        "value": {"choice": 1},
        "shown": "1",
        "seconds": 20.0,
        "pasted": 0,
        "counts": True,
        "is_surplus": False,
        "is_set_aside": False,
        "check_score": None,
    }
    return AnnotatorAnswer(annotator, item, **(rules | fields))


def figures(kind: str, *answers: AnnotatorAnswer):
    return figures_compute(kind, answers).people[1]


class TestFigures:
    def test_nothing_is_none_never_zero(self):
        everybody = figures_compute("pairwise", []).everybody
        assert everybody.seconds is None
        assert everybody.checks is None
        assert everybody.consistency is None
        assert everybody.first is None
        assert everybody.fast is None
        assert everybody.run is None

    def test_an_unknown_time_is_no_time(self):
        found = figures("pairwise", answer(seconds=float("nan")))
        assert found.seconds is None
        assert found.fast is None
        assert found.timed == 0

    def test_shares_as_shown(self):
        found = figures("pairwise", *[answer(item=k, shown=s) for k, s in enumerate("1120")])
        assert (found.first, found.tie, found.second) == (0.5, 0.25, 0.25)
        other = figures("rubric", answer(value={"ratings": {"a": 1}}, shown='{"a": 1}'))
        assert other.first is None

    def test_checks_are_means_with_their_interval(self):
        scores = [1.0, 1.0, 0.5, 0.0]
        found = figures(
            "rubric",
            *[answer(item=k, role="check", check_score=s, counts=False) for k, s in enumerate(scores)],
        )
        assert found.checks.value == 0.625
        assert found.checks.n == 4
        assert 0 < found.checks.low < 0.625 < found.checks.high < 1
        assert found.labels == 0

    def test_repeats_are_compared_with_the_first_answer(self):
        first = [answer(item=k, value={"choice": 1}) for k in range(3)]
        again = [answer(item=k, role="repeat", value={"choice": c}) for k, c in enumerate([1, 2, 1])]
        found = figures("pairwise", *first, *again)
        assert found.consistency.n == 3
        assert found.consistency.value == pytest.approx(2 / 3)

    def test_a_repeat_of_a_ranking_compares_the_order(self):
        one = answer(value={"ranks": {"0": 1, "1": 3, "2": 3}}, shown="a")
        same = answer(role="repeat", value={"ranks": {"0": 1, "1": 2, "2": 2}}, shown="b")
        assert figures("answer_ranking", one, same).consistency.value == 1

    def test_counted_surplus_and_set_aside(self):
        found = figures(
            "pairwise",
            answer(),
            answer(item=2, counts=False, is_surplus=True),
            answer(item=3, counts=False, is_set_aside=True),
        )
        assert (found.labels, found.surplus, found.set_aside) == (1, 1, 1)

    def test_runs(self):
        assert longest_run([]) is None
        assert longest_run(["1"]) == 1
        assert longest_run(list("1222211")) == 4

    def test_a_run_is_long_when_chance_would_hardly_make_it(self):
        assert not run_is_long(4, 100, 0.5)  # too few to speak of
        assert not run_is_long(8, 100, 0.5)
        assert run_is_long(14, 100, 0.5)
        assert not run_is_long(14, 100, 0.9)
        assert not run_is_long(100, 100, 1.0)  # everybody says the same
        assert not run_is_long(100, 100, None)

    def test_fast_is_below_a_share_of_the_item_s_median_and_the_floor(self):
        item = np.array([1, 1, 1, 1, 2, 2, 3])
        seconds = np.array([20.0, 20.0, 20.0, 5.0, 1.5, 3.0, np.nan])
        assert fast_answers(item, seconds).tolist()[:6] == [0, 0, 0, 1, 1, 1]
        assert np.isnan(fast_answers(item, seconds)[6])
        # A quick item has its own median, and the floor keeps.
        quick = fast_answers(np.full(4, 1), np.array([3.0, 3.0, 2.5, 1.9]))
        assert quick.tolist() == [0, 0, 0, 1]

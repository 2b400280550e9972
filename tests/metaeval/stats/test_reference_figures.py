"""Published figures, from the real data: to every digit printed."""

import json
from pathlib import Path

import numpy as np
import pytest

from metaeval.stats import (
    accuracy,
    accuracy_contributions,
    hedging_contributions,
    hedging_rate,
    krippendorff_alpha,
    leave_one_out_agreement,
    longer_preference_share,
    macro_mean,
    positional_agreement,
    positional_agreement_contributions,
    preference_share,
    rating_verdicts,
)
from tests.metaeval.stats import oracle

LLMBAR = json.loads(
    (Path(__file__).parents[3] / "fixtures" / "statistics" / "llmbar.json").read_text(encoding="utf-8")
)
ADVERSARIAL = oracle.SUBSETS[1:]


def printed(estimate):
    return float(f"{100 * estimate.value:.1f}")


class TestAlpacaEval:
    def test_people(self, alpaca):
        assert alpaca.labels.shape == (648, 4)
        estimate = leave_one_out_agreement(alpaca.labels)
        assert 100 * estimate.value == pytest.approx(65.66358024691358, abs=1e-11)
        published = leave_one_out_agreement(alpaca.labels, tie_break="alpaca_eval")
        assert 100 * published.value == pytest.approx(65.66358024691358, abs=1e-11)

    def test_always_the_longer_output(self, alpaca):
        longest = np.where(alpaca.length_1 > alpaca.length_2, 1, 2)
        assert np.count_nonzero(alpaca.length_1 == alpaca.length_2) == 17
        exact = leave_one_out_agreement(alpaca.labels, longest)
        assert 100 * exact.value == pytest.approx(59.567901234567906, abs=1e-11)
        published = leave_one_out_agreement(alpaca.labels, longest, tie_break="alpaca_eval")
        assert 100 * published.value == pytest.approx(62.19135802469136, abs=1e-11)

    def test_an_always_2_judge_looks_eleven_points_better_than_it_is(self, alpaca):
        always_2 = np.full(648, 2)
        exact = leave_one_out_agreement(alpaca.labels, always_2).value
        published = leave_one_out_agreement(alpaca.labels, always_2, tie_break="alpaca_eval").value
        assert 100 * (published - exact) == pytest.approx(11, abs=0.5)

    def test_shares(self, alpaca):
        longer = longer_preference_share(
            alpaca.labels[:, 0], alpaca.length_1, alpaca.length_2, min_difference=30
        )
        assert longer.value == pytest.approx(0.6359550561797753, abs=1e-12)
        assert preference_share(alpaca.labels).value == pytest.approx(0.5177469135802469, abs=1e-12)

    def test_against_the_oracle(self, alpaca):
        assert leave_one_out_agreement(alpaca.labels).value == pytest.approx(
            oracle.leave_one_out(alpaca.labels.tolist()), abs=1e-14
        )

    def test_alpha_of_these_labels(self, alpaca):
        sample = alpaca.labels[:60]
        expected = oracle.alpha(sample.tolist(), lambda a, b: float(a != b))
        assert krippendorff_alpha(sample).value == pytest.approx(expected)


class TestLlmbar:
    def test_every_cell(self, llmbar):
        for row in LLMBAR["rows"]:
            stored = llmbar[row["judge"], row["strategy"]]
            name = f"{row['judge']} {row['strategy']}"
            if row["strategy"].startswith("Rating"):
                verdicts = rating_verdicts(stored.score_1, stored.score_2)
                correct = accuracy_contributions(verdicts, stored.gold, hedge=0.5, unparsed="hedge")
                second = 1 - hedging_contributions(verdicts, unparsed="hedge")
                figures = {"accuracy": correct, "different": second}
            else:
                correct = accuracy_contributions(stored.verdicts, stored.gold)
                second = positional_agreement_contributions(stored.verdicts, unparsed_agree=True)
                figures = {"accuracy": correct, "agreement": second}
            for figure, contributions in figures.items():
                assert self.cells(contributions, stored.subsets) == row[figure], f"{name}, {figure}"

    @staticmethod
    def cells(contributions, subsets):
        options = {"n_resamples": 0}
        found = {
            subset: printed(macro_mean(contributions, subsets, among=[subset], **options))
            for subset in oracle.SUBSETS
        }
        found["Adversarial"] = printed(macro_mean(contributions, subsets, among=ADVERSARIAL, **options))
        found["Average"] = printed(macro_mean(contributions, subsets, **options))
        return found

    def test_the_estimators_agree_with_their_contributions(self, llmbar):
        stored = llmbar["GPT-4", "Metrics_Reference"]
        natural = stored.subsets == "Natural"
        assert printed(accuracy(stored.verdicts, stored.gold, where=natural)) == 96.0
        agreement = positional_agreement(stored.verdicts, unparsed_agree=True, where=natural)
        assert printed(agreement) == 96.0
        assert agreement.n == 100

    def test_the_table_is_what_the_oracle_counts(self, shared_data):
        counted = oracle.llmbar_rows(shared_data / "llmbar" / "judgments.csv")
        assert len(LLMBAR["rows"]) == len(counted) == 27
        for row in LLMBAR["rows"]:
            for figure in {"accuracy", "agreement", "different"} & row.keys():
                exact = counted[row["judge"], row["strategy"]][figure]
                assert {name: float(f"{float(value):.1f}") for name, value in exact.items()} == row[figure]

    @pytest.mark.parametrize("row", LLMBAR["hedging"], ids=lambda row: row["strategy"])
    def test_hedging(self, llmbar, row):
        stored = llmbar[row["judge"], row["strategy"]]
        verdicts = rating_verdicts(stored.score_1, stored.score_2)
        for subset, expected in row["hedging"].items():
            assert printed(hedging_rate(verdicts, where=stored.subsets == subset)) == expected

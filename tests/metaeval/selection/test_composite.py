"""Composites: another judge for each category."""

import numpy as np
import pytest

from metaeval.selection import COMPOSITE, Constraints, choose
from metaeval.selection.evidence import requirements_of
from metaeval.selection.held_out import cross_validate
from metaeval.selection.objective import Draws, Objective
from metaeval.selection.table import table_build
from tests.metaeval.selection.build import dataset, judges

NAN = float("nan")


class TestComposite:
    def test_worth_it_where_judges_know_different_things(self):
        rng = np.random.default_rng(12)
        category = np.repeat(["x", "y"], 60)
        chance = {"a": np.where(category == "x", 0.95, 0.6), "b": np.where(category == "x", 0.6, 0.95)}
        one = dataset(
            {key: np.where(rng.random((120, 2)) < chance[key][:, None], 1.0, 2.0) for key in chance},
            categories=category,
        )
        found = choose([one], judges("a", "b"))
        assert found.composite.parts == {"x": "a", "y": "b"}
        assert found.composite.worth_it
        assert found.chosen == COMPOSITE
        assert found.composite.gain.low > 0.1
        assert found.naive == found.composite.naive
        assert found.held_out.value == pytest.approx(found.composite.held_out.value, abs=0.02)
        assert found.verdict == "open"  # of the single judges

    @pytest.mark.parametrize(("seed", "worth_it"), [(24, True), (10, False)])
    def test_a_note_where_parts_of_the_data_decide_otherwise(self, seed, worth_it):
        # Two specialists on few instructions.
        rng = np.random.default_rng(seed)
        category = np.where(rng.random(60) < 0.5, "x", "y")
        chance = {"a": np.where(category == "x", 0.9, 0.65), "b": np.where(category == "y", 0.95, 0.65)}
        verdicts = {key: np.where(rng.random((60, 2)) < chance[key][:, None], 1.0, 2.0) for key in chance}
        found = choose([dataset(verdicts, categories=category)], judges("a", "b"))
        assert found.composite.worth_it == worth_it
        note = next(note for note in found.notes if "mixture" in note)
        assert f"composites reach {100 * found.composite.held_out.value:.1f}%" in note
        single = found.composite.held_out.value - found.composite.gain.value
        assert f"single judges {100 * single:.1f}%" in note
        assert single <= found.held_out.value <= found.composite.held_out.value

    def test_small_categories_ask_the_best_judge(self):
        category = np.repeat(["x", "y", "z", ""], [30, 20, 9, 5])
        right = np.ones(64)
        wrong_on_z = np.where(category == "z", 2.0, 1.0)
        one = dataset({"a": wrong_on_z, "b": np.where(category == "x", 2.0, right)}, categories=category)
        found = choose([one], judges("a", "b"))
        assert set(found.composite.parts) == {"x", "y"}
        assert found.composite.naive == pytest.approx(55 / 64)

    def test_tried_without_a_fold_where_it_cannot_be_on_all_data(self):
        # Judges know different things. On all data "b" is just beyond the limit of unparsed answers; without the
        # fold with most of these it is not, so there the composite is open to the procedure and must be tried.
        n = 150
        category = np.where(np.arange(n) % 2 == 0, "x", "y")
        a, b = np.where(category == "x", 1.0, 2.0), np.where(category == "y", 1.0, 2.0)
        a[:16:2] = 2.0
        b[[0, 2, 4, 6]] = NAN
        one = dataset({"a": a, "b": b}, categories=category)
        table, _ = table_build([one], judges("a", "b"))
        requirements = requirements_of(Constraints(max_unparsed=0.026), judges("a", "b"), table, [True])
        rng = np.random.default_rng(21)
        fields = {"n_folds": 5, "n_repeats": 5, "rng": rng, "with_composite": True}
        objective = Objective(table, Draws(table.n_clusters, 0), 0.95)
        by_hand = cross_validate(objective, requirements, **fields)
        assert by_hand.composite_used > 0
        found = choose([one], judges("a", "b"), Constraints(max_unparsed=0.026), n_resamples=0)
        assert (found.verdict, found.composite) == ("single", None)
        assert found.held_out.value == pytest.approx(objective.mean(by_hand.procedure), abs=0.05)
        assert found.held_out.value > found.naive + 0.1

    def test_of_judges_that_are_as_good_in_a_category_the_best_of_all_is_asked(self):
        category = np.repeat(["x", "y"], 20)
        better = np.where(np.arange(40) < 5, 2.0, 1.0)  # wrong on five of x
        worse = np.where(np.arange(40) < 10, 2.0, 1.0)  # wrong on ten of x; on y all are right
        one = dataset({"worse": worse, "better": better}, categories=category)
        found = choose([one], judges("worse", "better"))
        assert found.composite.parts == {"x": "better", "y": "better"}
        assert found.composite.gain.value == 0.0

    def test_none_with_one_category_or_one_judge(self):
        one = dataset({"a": [1, 2] * 20, "b": [2, 1] * 20}, categories=np.full(40, "x"))
        assert choose([one], judges("a", "b")).composite is None
        two = dataset({"a": [1, 2] * 20}, categories=np.repeat(["x", "y"], 20))
        assert choose([two], judges("a")).composite is None

"""Figures of graded preferences: by hand, turned round, without grades, and from rows."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.importers import read_generic
from annotation.models import Dataset, Item, Label, Study
from annotation.selectors.agreement import agreement_so_far
from judges.models import BackendKind, Judgment
from judges.services.judgments import bundle_import
from metaeval.figures import FIGURES
from metaeval.figures.graded import has_strength
from metaeval.figures.grades import judge_grades, label_grades
from metaeval.figures.measures import judge_measures, people_measures
from metaeval.inputs import SCORE_DIFFERENCES, Options
from metaeval.selectors.inputs import inputs_read
from tests.annotation.factories import annotator_make, dataset_make, study_make
from tests.metaeval.reports.arrays import content_build, inputs_make
from tests.metaeval.reports.arrays import judge_make as answers_make
from tests.metaeval.rows import judge_make

NAN = np.nan
GRADED = [figure.name for figure in FIGURES["pairwise"].judges if figure.table == "Graded preferences"]
OF_PEOPLE = [figure.name for figure in FIGURES["pairwise"].people if figure.table == "Graded preferences"]
PLAIN = Options(n_resamples=0)


def graded_inputs(labels, *, verdicts=None, grades=None, scale="grade"):
    """`labels` are (item, annotator, grade); a judge with these verdicts and grades, (n_items, n_orders)."""
    rows = np.array(labels, dtype=float).reshape(-1, 3)
    side = np.select([rows[:, 2] > 0, rows[:, 2] < 0], [1.0, 2.0], 0.0)
    n = int(rows[:, 0].max()) + 1
    judges = ()
    if verdicts is not None:
        said = None if grades is None else np.asarray(grades, dtype=float)
        judges = (replace(answers_make("j", verdicts), grades=said, grade_scale=scale),)
    found = inputs_make(lengths=np.ones((n, 2)), labels=np.column_stack([rows[:, :2], side]), judges=judges)
    return replace(found, labels=replace(found.labels, grades=rows[:, 2]))


def values(found, of="judges"):
    """By figure, its value, or else why there is none."""
    sample = FIGURES["pairwise"].sample(found, PLAIN)
    if of == "people":
        measures = people_measures(FIGURES["pairwise"].only(*OF_PEOPLE), sample)
    else:
        measures = judge_measures(FIGURES["pairwise"].only(*GRADED), sample.judges[0])
    shown = {name: one["overall"] for name, one in measures.items()}
    return {
        name: one["reason"] if one["value"] is None else pytest.approx(one["value"])
        for name, one in shown.items()
    }


class TestByHand:
    # Grades of item 0: 3, 1; item 1: -2, 0; item 2: 1, 1.
    LABELS = ((0, 0, 3), (0, 1, 1), (1, 0, -2), (1, 1, 0), (2, 0, 1), (2, 1, 1))

    def test_among_people(self):
        found = values(graded_inputs(self.LABELS), "people")
        # Distances |3 - 1|, |-2 - 0| and 0, twice each.
        assert found["grade_distance"] == 4 / 3
        # "Slightly": labels 1, 1 and 1, and the others' sides are 1, 1, 1. "Better" is one label, beside a tie.
        assert found["agreement_slightly"] == 1.0
        assert found["agreement_better"] == 0.0
        assert found["agreement_much"] == 1.0

    def test_beside_a_judge(self):
        # Mean grades 2, -1, 1; the judge's are 1, -3 and 2 over its orders.
        verdicts, grades = [[1, 1], [2, 2], [1, 0]], [[1, 1], [-3, -3], [3, 1]]
        found = values(graded_inputs(self.LABELS, verdicts=verdicts, grades=grades))
        assert found["grade_distance"] == (1 + 2 + 1) / 3
        assert found["grade_spearman"] == 0.5
        assert found["grade_pearson"] == np.corrcoef([2, -1, 1], [1, -3, 2])[0, 1]
        # Labels "slightly": of item 0 met twice, of item 2 in one of two orders each.
        assert found["agreement_slightly"] == (1 + 0.5 + 0.5) / 3
        assert found["agreement_better"] == 1.0
        assert found["agreement_much"] == 1.0
        assert found["graded_win_rate"] == np.mean([4 / 6, 0, 5 / 6])

    def test_what_is_unparsed_meets_nothing_unless_it_is_left_out(self):
        inputs = graded_inputs(self.LABELS, verdicts=[[1, NAN], [2, 2], [1, 1]], grades=np.ones((3, 2)))
        name = "agreement_much"
        for unparsed, expected in (("wrong", 0.5), ("omit", 1.0)):
            sample = FIGURES["pairwise"].sample(inputs, Options(n_resamples=0, unparsed=unparsed))
            found = judge_measures(FIGURES["pairwise"].only(name), sample.judges[0])
            assert found[name]["overall"]["value"] == expected


@given(
    labels=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(-3, 3)),
        min_size=8,
        unique_by=lambda row: row[:2],
    ),
    said=st.lists(st.integers(-3, 3), min_size=6, max_size=6),
)
def test_nothing_changes_when_all_responses_change_places(labels, said):
    grades = np.array(said, dtype=float)[:, np.newaxis]
    verdicts = np.select([grades > 0, grades < 0], [1.0, 2.0], 0.0)
    turned = np.select([grades < 0, grades > 0], [1.0, 2.0], 0.0)
    labels = [*labels, (5, 9, 1)]
    rows = [(item, who, -grade) for item, who, grade in labels]
    here = graded_inputs(labels, verdicts=verdicts, grades=grades)
    there = graded_inputs(rows, verdicts=turned, grades=-grades)
    assert values(here, "people") == values(there, "people")
    one, two = values(here), values(there)
    wins = one.pop("graded_win_rate"), two.pop("graded_win_rate")
    assert one == two
    assert wins[0].expected + wins[1].expected == pytest.approx(1.0)


def test_the_strength_of_a_number_is_the_nearest_word():
    grades = np.array([0.0, 0.2, -1.4, 1.5, -2.4, 2.5, -3.0, NAN])
    found = [has_strength(grades, word).tolist() for word in ("slightly", "better", "much")]
    assert np.array(found).sum(axis=0).tolist() == [0, 1, 1, 1, 1, 1, 1, 0]
    assert [row.index(True) for row in found] == [1, 3, 5]


class TestUndefined:
    LABELS = TestByHand.LABELS

    def test_a_judge_without_grades(self):
        found = values(graded_inputs(self.LABELS, verdicts=[[1], [2], [1]]))
        none = "the judge's verdicts have no grade"
        for name in ("grade_spearman", "grade_pearson", "grade_distance", "graded_win_rate"):
            assert found[name] == none
        assert found["agreement_slightly"] == 1.0

    def test_differences_of_scores_are_ordered_and_not_measured(self):
        found = values(
            graded_inputs(
                self.LABELS, verdicts=[[1], [2], [1]], grades=[[40], [-70], [10]], scale=SCORE_DIFFERENCES
            )
        )
        assert found["grade_spearman"] == 1.0
        assert found["grade_distance"] == found["graded_win_rate"]
        assert "on a scale of their own" in found["grade_distance"]

    def test_labels_without_grades_beside_a_judge_with_numbers(self):
        found = graded_inputs(self.LABELS, verdicts=[[1], [2], [1]], grades=[[1.38], [-1], [3]])
        found = replace(found, labels=replace(found.labels, grades=None))
        assert set(values(found, "people").values()) == {"no label has a grade"}
        of_judge = values(found)
        assert of_judge.pop("graded_win_rate") == (1.38 - 1 + 3 + 9) / 18
        assert set(of_judge.values()) == {"no label has a grade"}

    def test_a_word_that_nobody_said(self):
        found = graded_inputs([(0, 0, 3), (0, 1, 1)], verdicts=[[1]], grades=[[2]])
        assert values(found)["agreement_better"] == "no label says “better” where it can be compared"
        assert values(found)["grade_spearman"].startswith("fewer than")

    def test_inputs_without_a_grade_have_no_such_figure_and_the_hash_that_they_had(self):
        found = graded_inputs(self.LABELS, verdicts=[[1, 1], [2, 2], [1, 1]])
        without = replace(found, labels=replace(found.labels, grades=None))
        made = content_build(without, PLAIN)
        assert not {*OF_PEOPLE} & {*made["people"]["measures"]}
        assert not {*GRADED} & {*made["judges"][0]["measures"]}
        # As it was before there were grades.
        assert without.hash(PLAIN) == "5fb611c46237e988b550e681280829185116c492997e257815b9ebe07c032bf5"
        assert found.hash(PLAIN) != without.hash(PLAIN)
        assert found.parts()["labels"] != without.parts()["labels"]


class TestGradesOfRows:
    def test_a_tie_has_a_grade_where_people_are_asked_for_it(self):
        values = [{"choice": 2, "strength": "slightly"}, None, None, None]
        found = label_grades(np.array([2.0, 0.0, 1.0, 0.0]), values, ["five", "five", "five", "three"])
        assert found is not None
        np.testing.assert_equal(found, [-1.0, 0.0, NAN, NAN])
        assert label_grades(np.array([0.0]), [None], ["five"]) is None

    def test_a_judge_is_read_in_one_way(self):
        verdicts, chances = np.array([[1.0], [0.0], [2.0], [NAN]]), np.array([[0.9], [0.5], [0.1], [0.5]])
        words = [(0, 0, {"choice": 1, "strength": "much", "scores": [8, 2]})]
        found, scale = judge_grades(verdicts, chances, words)
        np.testing.assert_equal(found, [[3.0], [0.0], [NAN], [NAN]])
        # A number at the end of the scale is the choice alone.
        found, _ = judge_grades(verdicts, chances, [(0, 0, {"choice": 1, "grade": 1.38})])
        np.testing.assert_equal(found, [[1.38], [0.0], [-3.0], [NAN]])
        found, _ = judge_grades(verdicts, chances, [])
        np.testing.assert_allclose(found, [[2.4], [0.0], [-2.4], [NAN]])
        scores = [(0, 0, {"choice": 1, "scores": [8, 2]}), (1, 0, {"choice": 0, "scores": [None, 2]})]
        found, scale = judge_grades(verdicts, None, scores)
        np.testing.assert_equal(found, [[6.0], [NAN], [NAN], [NAN]])
        assert scale == SCORE_DIFFERENCES
        assert judge_grades(verdicts, None, []) == (None, "grade")


@pytest.mark.django_db
class TestFromRows:
    def rows(self, dataset, study: Study | None, said):
        """Labels: `said[k]` are the values of item k."""
        for item, row in zip(dataset.items.order_by("position"), said, strict=True):
            for value in row:
                Label.objects.create(
                    item=item, annotator=annotator_make(), study=study, kind="pairwise", value=value,
                    choice=value["choice"],
                )  # fmt: skip

    def judged(self, dataset, name, said, **fields):
        judge = judge_make(name, **fields)
        for item, (value, chance) in zip(dataset.items.order_by("position"), said, strict=True):
            Judgment.objects.create(
                judge=judge, item=item, order=0, status="parsed", choice=value["choice"], value=value,
                probability=chance,
            )  # fmt: skip

    def test_labels_and_judges_of_every_form(self):
        dataset = dataset_make(pairs=3)
        five, three = study_make(dataset=dataset, preference_points=5), study_make(dataset=dataset)
        much, slightly = {"choice": 1, "strength": "much"}, {"choice": 2, "strength": "slightly"}
        self.rows(dataset, five, [[much], [slightly], [{"choice": 0}]])
        self.rows(dataset, three, [[{"choice": 0}], [{"choice": 1}], []])
        self.rows(dataset, None, [[{"choice": 1, "grade": 1.38}], [], []])
        self.judged(dataset, "arena", [(much, None), (slightly, None), ({"choice": 0}, None)])
        self.judged(dataset, "chances", [({"choice": 1}, 0.75), ({"choice": 2}, 0.25), ({"choice": 1}, 1.0)])
        self.judged(dataset, "plain", [({"choice": 1}, None)] * 3)
        self.judged(dataset, "rates", [({"choice": 1, "scores": [9, 4]}, None)] * 3)
        found = inputs_read(dataset=dataset)
        assert found.labels.grades is not None
        np.testing.assert_equal(found.labels.grades, [3.0, NAN, 1.38, -1.0, NAN, 0.0])
        judges = {judge.name: judge for judge in found.judges}
        assert [judges[name].grade_scale for name in ("arena", "rates")] == ["grade", "scores"]
        grades = {name: judge.grades for name, judge in judges.items()}
        np.testing.assert_equal(grades["arena"][:, 0], [3.0, -1.0, 0.0])
        np.testing.assert_equal(grades["chances"][:, 0], [1.5, -1.5, 3.0])
        np.testing.assert_equal(grades["rates"][:, 0], [5.0, 5.0, 5.0])
        assert grades["plain"] is None
        made = content_build(found, Options(n_resamples=50))
        assert made["people"]["measures"]["agreement_much"]["overall"]["n"] == 1
        assert {*GRADED} <= {*made["judges"][0]["measures"]}

    def test_without_graded_labels_the_strengths_of_a_judge_say_nothing(self):
        dataset = dataset_make(pairs=1)
        self.rows(dataset, None, [[{"choice": 1}, {"choice": 1}]])
        self.judged(dataset, "arena", [({"choice": 1, "strength": "much"}, None)])
        plain = inputs_read(dataset=dataset)
        assert plain.labels.grades is None
        assert all(judge.grades is None for judge in plain.judges)
        Judgment.objects.update(value={"choice": 1})
        assert plain.hash(PLAIN) == inputs_read(dataset=dataset).hash(PLAIN)

    def test_the_page_of_a_study_shows_alpha_as_labels_come(self):
        dataset = dataset_make(pairs=2)
        five, three = study_make(dataset=dataset, preference_points=5), study_make(dataset=dataset)
        much, slightly = {"choice": 1, "strength": "much"}, {"choice": 1, "strength": "slightly"}
        self.rows(dataset, five, [[much, slightly], [{"choice": 2, "strength": "much"}, {"choice": 0}]])
        self.rows(dataset, three, [[{"choice": 1}, {"choice": 1}], [{"choice": 0}, {"choice": 2}]])
        assert agreement_so_far(five).measures["graded_alpha"]["overall"]["value"] is not None
        assert "graded_alpha" not in agreement_so_far(three).measures

    def test_imported_numbers_count_without_labels(self):
        dataset = dataset_make(pairs=2)
        said = [({"choice": 1, "grade": 1.38}, 0.73), ({"choice": 2}, None)]
        self.judged(dataset, "weighted", said, backend=BackendKind.IMPORTED)
        (judge,) = (one for one in inputs_read(dataset=dataset).judges if not one.baseline)
        np.testing.assert_equal(judge.grades[:, 0], [1.38, -3.0])
        assert Item.objects.filter(dataset=dataset).count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize("model", ["NullModel", "FuseChat-Qwen-2.5-7B-Instruct", "Qwen-14B-Chat"])
def test_alpaca_evals_preferences_give_the_published_win_rate(shared_data: Path, tmp_path, model) -> None:
    """Its leaderboard's win rate is the mean of continuous preferences for the second output, the model's."""
    folder = shared_data / "alpaca_eval"
    with (folder / "model_preferences.csv").open() as file:
        preferences = {row["index"]: row for row in csv.DictReader(file) if row["model"] == model}
    with (folder / "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv").open() as file:
        published = next(row for row in csv.DictReader(file) if row[""] == model)
    # The form of the authors' annotations.json, of which the table has no texts.
    rows = [
        {
            "instruction": f"Instruction {index}",
            "output_1": "Of the baseline.",
            "generator_1": "gpt4_1106_preview",
            "dataset": row["dataset"],
            "output_2": f"Of {model}.",
            "generator_2": model,
            "annotator": "weighted_alpaca_eval_gpt4_turbo",
            "preference": float(row["preference"]),
        }
        for index, row in preferences.items()
    ]
    (tmp_path / "annotations.json").write_text(json.dumps(rows))
    bundle_import(bundle=read_generic(tmp_path / "annotations.json"), name="ae", source="generic")
    found = inputs_read(dataset=Dataset.objects.get(name="ae"))
    report = content_build(found, PLAIN)
    measures = next(row for row in report["judges"] if not row["baseline"])["measures"]
    win_rate = 100 * (1 - measures["graded_win_rate"]["overall"]["value"])
    assert win_rate == pytest.approx(float(published["win_rate"]), abs=1e-6)
    discrete = 100 * (1 - measures["expected_win_rate"]["overall"]["value"])
    assert discrete == pytest.approx(float(published["discrete_win_rate"]), abs=1e-6)

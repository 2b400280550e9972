"""From a long frame to what the functions take, and nothing that is guessed on the way."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval import selection, stats
from metaeval.stats import InvalidInputError, LabelTable, code_labels

CODING = {"A": 1, "B": 2, "tie": 0}
N = 30
_RNG = np.random.default_rng(4)
TRUTH = _RNG.integers(1, 3, N)


def said(right):
    return np.where(_RNG.random(N) < right, TRUTH, 3 - TRUTH)


def long_frame():
    """People's labels and judges' verdicts in both orders, as a table of labels is exported; rows in no order."""
    names = {1: "A", 2: "B"}
    rows = [
        {"item": f"q{k:02}", "person": person, "label": names[value], "cluster": f"c{k // 2}"}
        for person in ("ann", "ben", "cem")
        for k, value in enumerate(said(0.85))
    ]
    rows += [
        {"item": f"q{k:02}", "judge": judge, "order": order, "label": names[value]}
        for judge, right in (("gpt", 0.9), ("longest", 0.55))
        for order in (1, 2)
        for k, value in enumerate(said(right))
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=3)


FRAME = long_frame()
TABLE = LabelTable.from_long(FRAME, coding=CODING)


def test_every_row_is_in_its_place():
    """Against pandas' own pivot tables."""
    people = FRAME[FRAME["person"].notna()].assign(value=lambda rows: rows["label"].map(CODING))
    wide = people.pivot(index="item", columns="person", values="value")
    assert np.array_equal(TABLE.labels, wide.to_numpy())
    assert (TABLE.items.tolist(), TABLE.people.tolist()) == (wide.index.tolist(), wide.columns.tolist())
    for judge in TABLE.judges:
        mine = FRAME[FRAME["judge"] == judge].assign(value=lambda rows: rows["label"].map(CODING))
        assert np.array_equal(
            TABLE.verdicts[judge], mine.pivot(index="item", columns="order", values="value").to_numpy()
        )
    assert TABLE.clusters.tolist() == people.groupby("item")["cluster"].first().tolist()
    assert TABLE.coding == CODING


def test_from_a_file_to_a_choice_in_five_lines(tmp_path):
    FRAME.to_csv(tmp_path / "labels.csv", index=False)
    table = LabelTable.from_long(pd.read_csv(tmp_path / "labels.csv"), coding=CODING)
    people = stats.leave_one_out_agreement(table.labels, clusters=table.clusters)
    gaps = {
        judge: stats.leave_one_out_difference(table.labels, verdicts, clusters=table.clusters)
        for judge, verdicts in table.verdicts.items()
    }
    scores = {
        judge: stats.leave_one_out_contributions(table.labels, verdicts)
        for judge, verdicts in table.verdicts.items()
    }
    comparison = selection.compare(scores, resamples=stats.Resamples(table.clusters))
    dataset = selection.JudgedDataset.from_table("Pairs", table)
    choice = selection.choose([dataset], [selection.Candidate(name, name) for name in table.judges])
    assert people.n == N
    assert gaps["gpt"].value > 0 > gaps["longest"].value
    assert comparison.leader == choice.leader == "gpt"
    assert choice.standing("gpt").objective.value == pytest.approx(
        stats.leave_one_out_agreement(table.labels, table.verdicts["gpt"]).value
    )


def test_labels_one_by_one_are_the_same_labels():
    """Also where some item has no label of a person, which keeps its row."""
    frame = FRAME[~((FRAME["item"] == "q07") & FRAME["person"].notna())].copy()
    frame.loc[frame["item"] == "q07", "cluster"] = "c3"
    table = LabelTable.from_long(frame, coding=CODING)
    assert np.isnan(table.labels[7]).all()
    for function in (stats.leave_one_out_agreement, stats.leave_one_out_difference):
        verdicts = table.verdicts["gpt"]
        assert function(table.long, verdicts) == function(table.labels, verdicts)


def test_frames_of_any_kind_are_the_same_table():
    columns = {
        name: column.tolist() for name, column in FRAME.astype(object).where(FRAME.notna(), None).items()
    }
    for other in (
        columns,
        pl.DataFrame(columns),
        FRAME.convert_dtypes(),
        FRAME.astype({"label": "category"}),
    ):
        table = LabelTable.from_long(other, coding=CODING)
        assert np.array_equal(table.labels, TABLE.labels)
        assert table.verdicts.keys() == TABLE.verdicts.keys()
        assert all(np.array_equal(table.verdicts[name], TABLE.verdicts[name]) for name in TABLE.judges)


def test_published_labels_from_the_authors_file(shared_data):
    """AlpacaEval's cross-annotations, first four labels: people 65.66358%, the longer output exactly 59.567901%."""
    frame = pd.read_json(shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json")
    frame["pair"] = frame.groupby(["instruction", "output_1", "output_2"]).ngroup()
    frame = frame[frame.groupby("pair").cumcount() < 4]
    pairs = frame.drop_duplicates("pair").drop(columns="annotator_index").assign(judge="longer")
    longer = np.where(pairs["output_1"].str.len() > pairs["output_2"].str.len(), 1, 2)
    table = LabelTable.from_long(
        pd.concat([frame, pairs.assign(preference=longer)]),
        item="pair",
        person="annotator_index",
        label="preference",
        cluster="instruction",
    )
    people = stats.leave_one_out_agreement(table.labels, clusters=table.clusters)
    judge = stats.leave_one_out_agreement(table.labels, table.verdicts["longer"], clusters=table.clusters)
    assert (table.labels.shape, table.coding) == ((648, 16), None)
    assert (people.value, judge.value) == pytest.approx((0.6566358, 0.59567901), abs=5e-8)


def test_columns_by_other_names_and_of_the_items():
    frame = pd.DataFrame(
        {
            "question": [1, 1, 2, 2],
            "who": ["ann", "ben", "ann", "ben"],
            "rating": [4, 5, 2, None],
            "weight": [2.0, None, 1.0, 1.0],
            "gold": [None, 5, None, None],
            "kind": ["x", "x", "y", None],
        }
    )
    table = LabelTable.from_long(frame, item="question", person="who", label="rating", category="kind")
    assert np.array_equal(table.labels, [[4, 5], [2, math.nan]], equal_nan=True)
    assert (table.coding, table.judges) == (None, ())
    assert table.weights.tolist() == [2, 1]
    assert np.array_equal(table.gold, [5, math.nan], equal_nan=True)
    assert table.categories.tolist() == ["x", "y"]
    assert table.clusters.tolist() == [1, 2]  # each item by itself


def test_an_item_may_be_of_no_category_and_a_column_of_nothing_is_none():
    frame = pd.DataFrame(
        {"item": ["a", "b"], "person": ["x", "x"], "label": [1, 2], "category": ["qa", None]}
    )
    assert LabelTable.from_long(frame).categories.tolist() == ["qa", ""]
    nothing = LabelTable.from_long(frame.assign(category=None, weight=np.nan, cluster=None))
    assert (nothing.categories, nothing.weights, nothing.clusters.tolist()) == (None, None, ["a", "b"])
    with pytest.raises(InvalidInputError, match="column 'weight', row 1: item 'b' has none"):
        LabelTable.from_long(frame.assign(weight=[1.0, None]))


def changed(row, **values):
    frame = FRAME.reset_index(drop=True).astype(object)
    for name, value in values.items():
        frame.loc[row, name] = value
    return frame


ROWS = FRAME.reset_index(drop=True)
OF_PEOPLE, OF_JUDGES = (ROWS.index[ROWS[name].notna()].tolist() for name in ("person", "judge"))
ONE, JUDGED = OF_PEOPLE[5], OF_JUDGES[5]
SAME_ITEM = {
    "item": ROWS["item"][OF_PEOPLE[0]],
    "person": ROWS["person"][OF_PEOPLE[0]],
    "cluster": ROWS["cluster"][OF_PEOPLE[0]],
}
SAME_JUDGMENT = {name: ROWS[name][OF_JUDGES[0]] for name in ("item", "judge", "order")}
WRONG = {
    "a text that is not in the coding": (
        changed(ONE, label="C"),
        rf"column 'label', row {ONE}: 'C' is not in the coding",
    ),
    "no item": (changed(ONE, item=None), rf"column 'item', row {ONE}: nothing is there"),
    "nobody": (changed(ONE, person=None), rf"column 'person', row {ONE}: nothing says whose"),
    "a person and a judge": (
        changed(ONE, judge="gpt"),
        rf"column 'judge', row {ONE}: there is a 'person' too",
    ),
    "a person twice": (
        changed(ONE, **SAME_ITEM),
        rf"column 'person', row {ONE}: '{SAME_ITEM['person']}' has a label on item .* already, in row {OF_PEOPLE[0]}",
    ),
    "a judge twice": (
        changed(JUDGED, **SAME_JUDGMENT),
        rf"column 'judge', row {JUDGED}: .* has a verdict on item .* already, in row {OF_JUDGES[0]}",
    ),
    "another order": (changed(JUDGED, order=3), rf"column 'order', row {JUDGED}: expected 1 or 2, found 3"),
    "no order": (changed(JUDGED, order=None), rf"column 'order', row {JUDGED}: expected 1 or 2"),
    "two clusters": (changed(ONE, cluster="zz"), r"column 'cluster', row \d+: item 'q\d\d' has another one"),
    "ids that look the same": (changed(ONE, item=7), "column 'item': expected ids of one type"),
    "no column": (ROWS.drop(columns="label"), "has no column 'label'; it has 'item', 'person'"),
    "nobody's column": (ROWS.drop(columns=["person", "judge"]), "neither a column 'person' nor 'judge'"),
    "two columns of a name": (pd.concat([ROWS, ROWS["item"]], axis=1), "two columns 'item'"),
    "no rows": (ROWS[:0], "has no rows"),
    "no frame": (np.ones((3, 3)), "expected a frame"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_meant_is_refused_by_column_and_row(what):
    frame, message = WRONG[what]
    with pytest.raises(InvalidInputError, match=message):
        LabelTable.from_long(frame, coding=CODING)


def test_texts_are_never_coded_by_guess():
    with pytest.raises(
        InvalidInputError, match=r"column 'label', row 0: .* state coding=.*There are 'A', 'B'"
    ):
        LabelTable.from_long(FRAME)
    with pytest.raises(InvalidInputError, match="code_labels turns names into numbers"):
        stats.krippendorff_alpha([["A", "B"]])
    with pytest.raises(InvalidInputError, match="no column 'group'"):
        LabelTable.from_long(FRAME, coding=CODING, cluster="group")


def test_what_a_judge_was_not_asked_is_not_taken_for_unparsed():
    frame = ROWS.drop(index=JUDGED)
    row = ROWS.loc[JUDGED]
    with pytest.raises(
        InvalidInputError, match=rf"'{row['judge']}' has no verdict on '{row['item']}' in order"
    ):
        LabelTable.from_long(frame, coding=CODING)
    omitted = LabelTable.from_long(frame, coding=CODING, unjudged="omit")
    left = TABLE.items != row["item"]
    assert np.array_equal(omitted.items, TABLE.items[left])
    assert np.array_equal(omitted.labels, TABLE.labels[left])
    assert np.array_equal(omitted.clusters, TABLE.clusters[left])
    kept = LabelTable.from_long(frame, coding=CODING, unjudged="keep")
    assert kept.judged[row["judge"]].sum() == 2 * N - 1
    candidates = [selection.Candidate(name, name) for name in kept.judges]
    options = {"n_resamples": 10, "n_repeats": 1}
    found = selection.choose([selection.JudgedDataset.from_table("Pairs", kept)], candidates, **options)
    assert found.standing(row["judge"]).unparsed.value == 0


def test_gold_answers_of_a_table_decide():
    gold = dict(zip(TABLE.items.tolist(), TRUTH.tolist(), strict=True))
    frame = ROWS.assign(gold=[{1: "A", 2: "B"}[gold[item]] for item in ROWS["item"]])
    table = LabelTable.from_long(frame, coding=CODING)
    assert table.gold.tolist() == TRUTH.tolist()
    found = selection.choose(
        [selection.JudgedDataset.from_table("Pairs", table, role="gold")],
        [selection.Candidate("gpt", "GPT")],
        n_resamples=10,
        n_repeats=1,
    )
    assert found.standing("gpt").objective.value == stats.accuracy(table.verdicts["gpt"], TRUTH).value
    with pytest.raises(InvalidInputError, match="'Pairs': the table has no gold answers"):
        selection.JudgedDataset.from_table("Pairs", TABLE, role="gold")
    judges = LabelTable.from_long(frame[frame["judge"].notna()], coding=CODING)
    with pytest.raises(InvalidInputError, match="'Pairs': the table has no labels of people"):
        selection.JudgedDataset.from_table("Pairs", judges)


class TestCoding:
    def test_levels_are_counted_from_one(self):
        assert code_labels(pd.Series(["good", None, "poor"]), ["poor", "good"]).tolist()[::2] == [2, 1]
        assert code_labels(pd.DataFrame({"a": ["A"], "b": ["tie"]}), CODING).tolist() == [[1, 0]]
        assert code_labels(pl.Series(["A", None]), CODING)[0] == 1

    def test_a_label_may_say_nothing(self):
        assert np.isnan(code_labels(["refused"], {"refused": math.nan, "A": 1})).all()

    def test_what_is_no_coding_is_refused(self):
        for wrong in ("AB", {}, [], ["a", "a"], {"a": "1"}, {"a": math.inf}, {"a": True}, 3):
            with pytest.raises(InvalidInputError, match="coding"):
                code_labels(["a"], wrong)
        with pytest.raises(
            InvalidInputError, match=r"labels: 'C' at 1, 0 is not in the coding 'A', 'B', 'tie'"
        ):
            code_labels([["A"], ["C"]], CODING)

    @given(st.lists(st.sampled_from(["A", "B", "tie", None]), max_size=9))
    def test_it_is_looking_up(self, labels):
        expected = [math.nan if label is None else CODING[label] for label in labels]
        assert np.array_equal(code_labels(labels, CODING), expected, equal_nan=True)

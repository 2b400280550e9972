"""TOWER's tables and its figure: by hand, against `metaeval.stats`, on InFoBench's file."""

import json
from dataclasses import replace

import numpy as np
import pytest

from judges.strategies.types import AspectView
from metaeval.inputs import Options
from metaeval.papers.data import PaperData
from metaeval.papers.tables import MissingPart
from metaeval.papers.tower import tower_parts
from metaeval.stats import aspect_levels, follow_rate_by_level, tower_score
from tests.metaeval.kinds import KindItem, inputs, judge, labelled
from tests.metaeval.reports.arrays import inputs_make

OPTIONS = Options(n_resamples=0)
# A root with two requirements that depend on it, the second with one of its own.
TREE = tuple(AspectView(key, key, parent) for key, parent in (("a", ""), ("b", "a"), ("c", "a"), ("d", "c")))
FLAT = tuple(AspectView(key, key, "") for key in "abcd")


def tables(systems=None, **kinds):
    named = {}
    for made in kinds.values():
        for name, system in zip(made.items.external_id, systems or (), strict=False):
            named[name] = (system,)
    return {part.name: part for part in tower_parts(PaperData("d", "D", kinds, OPTIONS, systems=named))}


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def ranks(*numbers):
    return {"ranks": dict(zip("abcd", numbers, strict=True))}


def answers(word):
    """y, n or ? for each requirement."""
    return {
        "answers": dict(zip("abcd", ({"y": True, "n": False, "?": None}[sign] for sign in word), strict=True))
    }


@pytest.fixture
def orders():
    """Two instructions, three annotators; a ranking that two of them give, the tree, and one with ties."""
    items = [KindItem(f"x{k}", f"i{k}", aspects=TREE) for k in range(2)]
    labels = [(k, 0, ranks(1, 2, 3, 4)) for k in range(2)] + [(k, 1, ranks(1, 3, 2, 4)) for k in range(2)]
    labels.append((0, 2, ranks(4, 3, 2, 1)))
    judges = [
        judge("my scores", {0: ranks(1, 1, 1, 2)}),
        judge("my ranking", {0: ranks(1, 2, 3, 4), 1: ranks(2, 1, 3, 4)}),
    ]
    return inputs("importance", items, labels, judges)


def test_importance_by_hand(orders):
    found = tables(importance=orders)
    table = found["t1"]
    assert table.columns == ("", "Annotator 1", "Annotator 2", "Annotator 3", "Avg")
    rows = {row[0]: row[1:] for row in texts(table)}
    # One exchange of neighbors: 1 - 6 * 2 / 60 = 0.8; annotator 3 is the reverse of 1, and of 2 with that exchange.
    assert rows["Human annotators"] == ["−0.10", "0.00", "−0.90", "−0.33"]
    assert rows["Standard DRFR"] == ["–"] * 4
    # With 1 2 3 4: 1 and 0.8, mean 0.9; with 1 3 2 4: 0.8 and 1 - 6 * (1 + 4 + 1) / 60 = 0.4; reverse: -1.
    assert rows["my ranking"] == ["0.90", "0.60", "−1.00", "0.17"]
    # The tree's levels 1 2 2 3 rank 1 2.5 2.5 4: with 1 2 3 4 r = 4.5 / sqrt(5 * 4.5).
    assert rows["Tree of the dataset"] == ["0.95", "0.95", "−0.95", "0.32"]
    assert any("my scores has an order of 1 of 2 instructions" in note for note in table.notes)


def test_the_printed_formula_by_hand(orders):
    rows = {row[0]: row[1:] for row in texts(tables(importance=orders)["t1-printed-formula"])}
    # Equal weights are in the order in which they are stated: 1 2 3 4.
    assert rows["Standard DRFR"] == ["1.00", "0.80", "−1.00", "0.27"]


def test_paper_rows_of_our_strategies(orders):
    strategies = ("importance_tree", "importance_ranking")
    judges = tuple(
        replace(one, strategy=strategy) for one, strategy in zip(orders.judges, strategies, strict=True)
    )
    rows = texts(tables(importance=replace(orders, judges=judges))["t1"])
    assert [row[0] for row in rows] == [
        "Human annotators",
        "Standard DRFR",
        "Ranking",
        "Tree-Based",
        "Tree of the dataset",
    ]


@pytest.fixture
def followed():
    """Three responses of two models; two annotators of the first."""
    items = [KindItem(f"x{k}", f"i{k}", aspects=TREE) for k in range(3)]
    labels = [
        (0, 0, answers("ynny")),
        (0, 1, answers("yyyy")),
        (1, 0, answers("nyyy")),
        (2, 0, answers("ynn?")),
    ]
    return inputs("checklist", items, labels, [judge("GPT-4", {0: answers("yynn"), 2: answers("yyyy")})])


def test_drfr_and_tower_by_hand(followed):
    found = tables(("one", "one", "two"), checklist=followed)
    # Weights 1, 1/2, 1/2, 1/3: 7/3. Model one pooled: (3 + 3) / 8 = 75%; weights of x0 (4/3 + 7/3) / 2 = 11/6,
    # of x1 4/3: 19/6 of 14/3 = 67.86%. Model two: 1 of 4; 3/7 = 42.86%.
    table = found["t2-human-annotators"]
    assert table.columns == ("Model", "DRFR", "TOWER", "Difference")
    assert texts(table) == [["one", "75.00", "67.86", "−7.14"], ["two", "25.00", "42.86", "+17.86"]]
    # By instruction x0 3/4 and x1 3/4; 11/14 and 4/7, mean 67.86: the same, as both have one tree.
    assert texts(found["t2-human-annotators-mean-of-instructions"])[0] == ["one", "75.00", "67.86", "−7.14"]
    # The judge answered one of model one's: yes to a and b, 3/2 of 7/3. It puts two first.
    assert texts(found["t2-gpt-4"]) == [
        ["two", "100.00", "100.00", "+0.00"],
        ["one", "50.00", "64.29", "+14.29"],
    ]


def test_the_preference_test_by_hand():
    """Where DRFR prefers one response and TOWER the other: whom the majority of labels follows."""
    # Weights 1, 1/2, 1/2, 1/3. "ynnn" is 1/4 and 3/7, "nyyn" is 2/4 and 3/7 - "nynn" 1/4 and 1.5/7, "nnyy" 2/4, 2.5/7.
    said = {"one": ["ynnn", "ynnn", "ynnn", "yyyy", "ynnn"], "two": ["nnyy", "nnyy", "nnyy", "nnnn", "nnyy"]}
    items = [KindItem(f"{who}{k}", f"i{k}", aspects=TREE) for who in said for k in range(5)]
    checks = {who: [answers(word) for words in said.values() for word in words] for who in ("GPT-4",)}
    checklist = inputs("checklist", items, (), [judge("GPT-4", dict(enumerate(checks["GPT-4"])))])
    # Pair 0: two of three with TOWER (the first); 1: all with DRFR; 2: divided; 3: the metrics agree; 4: no label.
    labels = [(0, 0, 1), (0, 1, 1), (0, 2, 2), (1, 0, 2), (2, 0, 1), (2, 1, 2), (3, 0, 1)]
    pairs = inputs_make(lengths=np.ones((6, 2)), cluster=[*[f"i{k}" for k in range(5)], "i0"], labels=labels)
    systems = {f"{who}{k}": (who,) for who in said for k in range(5)}
    systems |= {f"i{k}": ("one", "two") for k in range(5)} | {"i5": ("one", "three")}
    made = {"checklist": checklist, "pairwise": pairs}
    found = {part.name: part for part in tower_parts(PaperData("d", "D", made, OPTIONS, systems=systems))}
    table = found["preference-test"]
    assert texts(table) == [["GPT-4", "4", "3", "1", "1", "50.0", "9.5", "90.5"]]
    # The other way round the same pair is with TOWER still.
    turned = {name: own[::-1] for name, own in systems.items()}
    again = {part.name: part for part in tower_parts(PaperData("d", "D", made, OPTIONS, systems=turned))}
    assert texts(again["preference-test"])[0][2:5] == ["3", "1", "1"]
    nobody = {
        "checklist": checklist,
        "pairwise": replace(pairs, labels=labelled(pairs, np.zeros(7, bool)).labels),
    }
    left = {part.name: part for part in tower_parts(PaperData("d", "D", nobody, OPTIONS, systems=systems))}
    assert isinstance(left["preference-test"], MissingPart)
    other = {part.name: part for part in tower_parts(PaperData("d", "D", made, OPTIONS))}
    assert "same instruction, same systems" in other["preference-test"].reason


def test_levels_by_hand(followed):
    table = tables(("one", "one", "two"), checklist=followed)["f2-human-annotators"]
    assert table.columns == ("Level", "one", "two")
    # Level 1: of x0 1, of x1 0. Level 2: x0 (0 + 2) / 2 = 1 of 2, x1 2 of 2. Level 3: x0 1, x1 1.
    assert texts(table) == [["1", "50.0", "100.0"], ["2", "75.0", "0.0"], ["3", "100.0", "0.0"]]


def test_the_picture_of_levels_has_a_panel_a_model(followed):
    """Figure 2: the levels of a model side by side, as the paper has them."""
    picture = tables(("one", "one", "two"), checklist=followed)["f2-human-annotators-panels"]
    assert [column.label for column in picture.columns] == ["Model", "Level", "Requirements followed"]
    assert picture.rows == (
        ("one", "1", 0.5),
        ("one", "2", 0.75),
        ("one", "3", 1.0),
        ("two", "1", 1.0),
        ("two", "2", 0.0),
        ("two", "3", 0.0),
    )
    assert [panel["title"] for panel in picture.spec["concat"]] == ["one", "two"]
    heights = [[bar["height"] for bar in panel["data"]["values"]] for panel in picture.spec["concat"]]
    assert heights == [[0.5, 0.75, 1.0], [1.0, 0.0, 0.0]]
    assert {
        tuple(panel["layer"][0]["encoding"]["y"]["scale"]["domain"]) for panel in picture.spec["concat"]
    } == {(0.0, 1.0)}


def test_the_numbers_are_those_of_the_library():
    rng = np.random.default_rng(1)
    items = [KindItem(f"x{k}", f"i{k}", aspects=TREE) for k in range(30)]
    said = {k: answers("".join(rng.choice(list("yn?"), 4))) for k in range(30)}
    found = tables(["m"] * 30, checklist=inputs("checklist", items, (), [judge("j", said)]))
    flat = [
        {True: 1.0, False: 0.0, None: np.nan}[value]
        for own in said.values()
        for value in own["answers"].values()
    ]
    item = np.repeat(np.arange(30), 4)
    level = np.tile(list(aspect_levels({one.key: one.parent for one in TREE}).values()), 30)
    rates = follow_rate_by_level(flat, item, level, n_resamples=0)
    assert [row[1].value for row in found["f2-j"].rows] == pytest.approx(
        [100 * r.value for r in rates.values()]
    )
    pooled = 100 * tower_score(flat, item, level, average="micro", n_resamples=0).value
    mean = 100 * tower_score(flat, item, level, n_resamples=0).value
    assert found["t2-j"].rows[0][2].value == pytest.approx(pooled)
    assert found["t2-j-mean-of-instructions"].rows[0][2].value == pytest.approx(mean)


def test_what_the_data_lacks_is_said(orders, followed):
    nothing = tables()
    assert all(isinstance(part, MissingPart) for part in nothing.values())
    assert set(nothing) == {"t1", "t2", "f2", "preference-test"}
    unranked = tables(importance=labelled(orders, np.zeros(5, dtype=bool)))
    assert "Nobody" in unranked["t1"].reason
    # Without trees there is DRFR alone, and no zero difference.
    items = [KindItem("x0", "i0", aspects=FLAT)]
    flat = tables(checklist=inputs("checklist", items, [(0, 0, answers("yyyn"))]))
    assert texts(flat["t2-human-annotators"]) == [["All responses", "75.00", "–", "–"]]
    assert "depends on another" in flat["t2-human-annotators"].notes[0]
    assert "depends on another" in flat["f2"].reason
    # A judge that says nothing of a model has a dash there.
    part = tables(("one", "two", "two"), checklist=followed)["t2-gpt-4"]
    assert [row[0] for row in texts(part)] == ["two", "one"]


def test_many_annotators_are_cut_and_that_is_said():
    items = [KindItem(f"x{k}", f"i{k}", aspects=FLAT) for k in range(2)]
    labels = [(0, who, ranks(1, 2, 3, 4)) for who in range(14)] + [
        (1, who, ranks(1, 2, 3, 4)) for who in (12, 13)
    ]
    table = tables(importance=inputs("importance", items, labels))["t1"]
    assert len(table.columns) == 14
    assert table.columns[-3:] == ("Annotator 13", "Annotator 14", "Avg")
    assert any("12 annotators with most rankings; Avg is of all 14" in note for note in table.notes)


def test_infobench(shared_data):
    """The published file: DRFR 87.60% over questions, 87.98% as the mean over instructions; it has no trees."""
    text = (shared_data / "infobench" / "gpt4_eval.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    items, said = [], {}
    for k, row in enumerate(rows):
        keys = [f"q{n}" for n in range(len(row["decomposed_questions"]))]
        items.append(KindItem(f"x{k}", f"i{k}", aspects=tuple(AspectView(key, key, "") for key in keys)))
        said[k] = {"answers": dict(zip(keys, row["eval"], strict=True))}
    found = tables(
        ["gpt4"] * len(rows), checklist=inputs("checklist", items, (), [judge("GPT-4 judge", said)])
    )
    assert texts(found["t2-gpt-4-judge"]) == [["gpt4", "87.60", "–", "–"]]
    assert texts(found["t2-gpt-4-judge-mean-of-instructions"]) == [["gpt4", "87.98", "–", "–"]]
    assert isinstance(found["f2"], MissingPart)

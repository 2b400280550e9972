"""A choice in words, tables and a picture: from choices made by hand, no database and no statistics."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from metaeval.inputs import Inputs, Items, JudgeAnswers, Labels
from metaeval.reports.promotion import summary_lines
from metaeval.reports.report import canonical_json
from metaeval.reports.selection import verdict as sections
from metaeval.reports.selection import words
from metaeval.reports.selection.inputs import Criteria, Part, SelectionInputs, dataset_inputs
from metaeval.reports.selection.markdown import selection_markdown
from metaeval.reports.selection.report import SelectionReport, ViolationEntry, selection_report_of
from metaeval.reports.selection.tables import decision_pictures, selection_table
from metaeval.reports.selection.verdict import selection_verdict
from metaeval.selection.types import (
    COMPOSITE,
    Candidate,
    CompositeFinding,
    Constraints,
    Selection,
    Settling,
    Standing,
    Violation,
)
from metaeval.stats import Estimate, PairedDifference
from metaeval.stats.alternative_annotator import AlternativeAnnotatorTest

NAN = math.nan
KEYS = {"Ada": "a" * 64, "Bea": "b" * 64, "Cy": "c" * 64, "longest": "f" * 64}


def estimate(value, spread=0.02, **fields):
    return Estimate(
        value, value - spread, value + spread, n=100, n_clusters=100, method="percentile", **fields
    )


def gap(value, spread=0.02):
    return PairedDifference(value, value - spread, value + spread, 100, 100, "t", None, 0.9)


def standing(name, value, *, cost=0.002, **fields):
    nothing = Estimate(NAN, NAN, NAN, n=0, reason="not measured")
    return Standing(
        key=KEYS[name],
        objective=estimate(value),
        scores={"farm": estimate(value)},
        positional_agreement=estimate(0.9),
        unparsed=estimate(0.01, 0.005),
        cost_per_1000=nothing if cost is None else Estimate(1000 * cost, NAN, NAN, n=100, reason="one price"),
        seconds=nothing,
        **({"chosen_share": 0.5} | fields),
    )


def judge(name):
    blank = np.full((2, 2), np.nan)
    never = np.zeros((2, 2), bool)
    return JudgeAnswers(
        name, KEYS[name], "openai", "model", "vanilla", blank[:, :, np.newaxis], never, never, never, blank, blank,
        baseline=name == "longest",
    )  # fmt: skip


def inputs(*, parts=(("farm", "people", 1.0),), constraints=None, simulated=False):
    unnamed = (("",), ("",))
    gold, lengths = np.array([[1.0], [np.nan]]), np.zeros((2, 2), int)
    items = Items(
        ("p0", "p1"), ("0", "1"), ("", ""), ("", ""), unnamed, gold, lengths, unnamed, np.zeros(2, bool)
    )
    labels = Labels(
        np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([[1.0], [2.0], [0.0]]), np.full(3, simulated)
    )
    about = {"name": "farm", "title": "The farm", "version": 1, "licence": "MIT"}
    judges = tuple(judge(name) for name in KEYS)
    declared = tuple(Part(*part) for part in parts)
    read = tuple(
        dataset_inputs(
            part,
            Inputs(
                "pairwise", part.dataset, {"dataset": about | {"name": part.dataset}}, items, labels, judges
            ),
            ("one", f"two-{part.dataset}"),
        )
        for part in declared
    )
    candidates = tuple(Candidate(key, name, is_baseline=name == "longest") for name, key in KEYS.items())
    criteria = Criteria(declared, constraints or Constraints())
    return SelectionInputs({"name": "Sweep", "orders": "both"}, read, candidates, criteria)


def selection(**fields):
    given = {
        "verdict": "clear",
        "winner": KEYS["Ada"],
        "leader": KEYS["Ada"],
        "standings": (
            standing("Ada", 0.80, in_confidence_set=True, on_front=True),
            standing("Bea", 0.70, cost=0.001, behind=gap(0.10), on_front=True),
            standing("Cy", 0.65, cost=None, behind=gap(0.15)),
            standing("longest", 0.60, cost=0.0, behind=gap(0.20), chosen_share=NAN),
        ),
        "held_out": estimate(0.78),
        "naive": 0.80,
        "optimism": gap(0.02, 0.01),
        "confidence_set": (KEYS["Ada"],),
        "confidence": 0.95,
        "front": (KEYS["Bea"], KEYS["Ada"]),
        "n_folds": 5,
        "n_repeats": 5,
        "chosen": KEYS["Ada"],
    }
    return Selection(**(given | fields))


def report(given=None, **fields):
    return selection_report_of(given or inputs(), selection(**fields), inputs_hash="0" * 64)


def said(found):
    verdict = selection_verdict(found)
    return " ".join((verdict.headline, *verdict.sentences, *verdict.cautions))


def test_a_clear_winner():
    found = report()
    assert selection_verdict(found).label == "Clear winner"
    text = said(found)
    for fact in ("Ada is significantly better", "80.0% [78.0, 82.0]", "78.0% [76.0, 80.0]", "50%"):
        assert fact in text
    assert re.search(r"Bea\b.* 10\.0 points \[8\.0, 12\.0\]", text)


def test_no_clear_winner_names_the_set_and_the_cheapest_of_it():
    found = report(verdict="open", winner=None, confidence_set=(KEYS["Ada"], KEYS["Bea"]))
    text = said(found)
    assert "Bea is not significantly different from Ada" in text
    assert "The best eligible judge is one of these 2 with 95% confidence." in text
    assert "Of these, Bea costs least: $1.00 per 1,000 judgments, 50% less than Ada." in text
    assert selection_table(found).rows[0].status == "leads"


def test_one_left():
    broken = Violation("max_cost_per_1000", 1.5, 2.0)
    ada, *rest = selection().standings
    given = inputs(constraints=Constraints(max_cost_per_1000=1.5))
    found = report(
        given, verdict="single", winner=KEYS["Bea"], leader=KEYS["Bea"],
        standings=(rest[0], replace(ada, violations=(broken,)), *rest[1:]),
    )  # fmt: skip
    assert "Bea is the only eligible judge" in said(found)
    assert "at most $1.50 per 1,000 judgments (rules out 1)" in said(found)
    row = next(row for row in selection_table(found).rows if row.judge.name == "Ada")
    assert (row.status, row.violations) == ("violates", ("1,000 judgments cost $2.00, more than $1.50",))


def test_none_satisfies_says_how_near_the_best_was():
    broken = Violation("open_weights", 1.0, NAN)
    standings = tuple(
        one if one.key == KEYS["longest"] else replace(one, violations=(broken,))
        for one in selection().standings
    )
    given = inputs(constraints=Constraints(open_weights=True))
    nothing = Estimate(NAN, NAN, NAN, n=0, reason="no judge satisfies the constraints")
    found = report(
        given, verdict="none", winner=None, leader=None, standings=standings, held_out=nothing, naive=NAN,
        optimism=None, confidence_set=(), front=(), chosen=None,
    )  # fmt: skip
    text = said(found)
    assert "No judge satisfies the constraints" in text
    assert "Ada, is not eligible: it is not known whether its weights are open." in text
    assert sections.held_out_words(found) == [
        "There is no held-out estimate: no judge satisfies the constraints."
    ]
    assert "There is no held-out" in selection_markdown(found)


@pytest.mark.parametrize(
    ("violation", "expected"),
    [
        (Violation("open_weights", 1, 0.0), "its weights are not open"),
        (Violation("local", 1, NAN), "it is not known where its models run"),
        (Violation("max_cost_per_1000", 5, 7.9), "1,000 judgments cost $7.90, more than $5.00"),
        (Violation("max_seconds", 2, 2.5), "a judgment takes 2.5 s, more than 2.0 s"),
        (
            Violation("min_positional_agreement", 0.9, 0.85),
            "its positional agreement is 85%, less than 90%",
        ),
        (Violation("min_accuracy", 0.8, 0.755, "traps"), "its accuracy on traps is 75.5%, less than 80%"),
        (
            Violation("min_accuracy", 0.8, NAN, "traps"),
            "its accuracy on traps is not known (at least 80% required)",
        ),
        (Violation("max_unparsed", 0.01, 0.03), "3% of its answers were unparsed, more than 1%"),
    ],
)
def test_what_is_not_satisfied(violation, expected):
    value = None if math.isnan(violation.value) else violation.value
    row = ViolationEntry(violation.name, violation.limit, value, violation.dataset)
    assert words.violation_words(row) == expected


def test_cautions():
    assert "100% of the labels of The farm come from simulated annotators" in said(
        report(inputs(simulated=True))
    )
    standings = selection().standings
    behind = (*standings[:3], replace(standings[3], behind=gap(0.01)))
    assert "Ada is not significantly different from the baseline longest (no LLM)" in said(
        report(standings=behind)
    )
    unread = (replace(standings[0], unparsed=estimate(0.2)), *standings[1:])
    assert "20.0% of the answers of Ada were unparsed." in said(report(standings=unread))
    part = (standings[0], replace(standings[1], is_ranked=False), *standings[2:])
    assert "Not ranked, because they judged a part of the items only: Bea." in said(report(standings=part))


def test_held_out_for_who_is_no_statistician():
    text = " ".join(sections.held_out_words(report()))
    assert "In-sample, on the items it was chosen on, the judge reaches 80.0%." in text
    assert "5 folds of instructions, repeated 5 times" in text
    assert "The held-out estimate is 78.0% [76.0, 80.0] agreement with human annotators." in text
    assert "Optimism (selection bias): 2.0 points [1.0, 3.0]." in text
    small = " ".join(sections.held_out_words(report(optimism=gap(0.001))))
    assert "negligible" in small
    higher = " ".join(sections.held_out_words(report(optimism=gap(-0.02))))
    assert "Optimism (selection bias): −2.0 points" in higher


def composite(gain, *, worth_it, parts=None):
    parts = parts or {"Code": KEYS["Ada"], "Maths": KEYS["Bea"]}
    return CompositeFinding(parts, 0.83, estimate(0.80), gap(gain), worth_it)


def test_composites():
    def text(**fields):
        return " ".join(sections.composite_words(report(**fields)))

    assert "A composite needs two judges" in text()
    assert "so there is nothing to combine" in text(verdict="none")
    assert "reaches 83.0% in-sample and 80.0% [78.0, 82.0] held-out" in text(
        composite=composite(0.03, worth_it=True)
    )
    assert "a composite is worth it" in text(composite=composite(0.03, worth_it=True), chosen=COMPOSITE)
    small = text(composite=composite(0.01, worth_it=False))
    assert "a gain of 1.0 point [−1.0, 3.0] over the best single judge: not significant" in small
    assert "a change of −1.0 point" in text(composite=composite(-0.01, worth_it=False))
    same = {"Code": KEYS["Ada"], "Maths": KEYS["Ada"]}
    assert "Ada does best in every category" in text(composite=composite(0.0, worth_it=False, parts=same))


def replacing(passed):
    return AlternativeAnnotatorTest(
        passed, 0.75, estimate(0.8), (), 4, 3, 0.2, 0.05, 0.5, "benjamini_yekutieli", "t", None
    )


def test_may_it_replace_a_person():
    yes = sections.replaces_words(report(replaces={"farm": replacing(True)}), "farm")
    assert "Ada is shown to be less than epsilon (0.2) worse than at least half of these annotators" in yes
    assert "3 of 4 annotators won, 2 needed" in yes
    assert "judged by what was chosen without its fold" in yes
    assert "Epsilon is 0.2, the authors' advice for experts" in yes
    no = sections.replaces_words(report(replaces={"farm": replacing(False)}), "farm")
    assert "It is not shown that Ada is less than epsilon (0.2) worse" in no
    assert "That doesn't show that it is worse." in no
    *judges, rule = selection().standings
    level = report(standings=(*judges, replace(rule, behind=gap(0.01))), replaces={"farm": replacing(True)})
    assert sections.replaces_words(level, "farm").endswith("it is not recommended as a replacement.")
    assert "not tested" in sections.replaces_words(report(), "farm")


def test_what_would_settle_it():
    found = report(settling=(Settling(KEYS["Bea"], 0.02, "farm", 100, 1500, 0.8),))
    text = sections.settling_words(found, found.settling[0])
    assert "about 1,500 instructions of The farm detect it with 80% power" in text
    assert "about 1,400 more are needed" in text
    found = report(settling=(Settling(KEYS["Bea"], 0.0, "farm", 100, 0, 0.8),))
    assert "use the cheaper one" in sections.settling_words(found, found.settling[0])
    found = report(settling=(Settling(KEYS["Bea"], 0.02, "farm", 100, 150, 0.8, together=True),))
    assert "together with those of the other datasets" in sections.settling_words(found, found.settling[0])


def test_the_objective_has_a_name():
    both = inputs(parts=(("farm", "people", 1.0), ("traps", "gold", 1.0)))
    assert words.objective_words(report(both)).startswith("mean of")
    shown = inputs(parts=(("farm", "people", 0.0), ("traps", "gold", 1.0)))
    assert words.objective_words(report(shown)) == "accuracy against gold answers"
    # A dataset that alone decides needs no column of its own: its score is the objective.
    assert [row.name for row in selection_table(report(shown)).datasets] == ["farm"]
    assert [row.name for row in selection_table(report(both)).datasets] == ["farm", "traps"]


def test_the_content_is_plain_json_and_says_what_two_datasets_share():
    found = report(
        inputs(parts=(("farm", "people", 1.0), ("traps", "gold", 0.0))), replaces={"farm": replacing(True)}
    )
    written = found.as_json()
    assert json.loads(canonical_json(written)) == json.loads(json.dumps(written))
    assert SelectionReport.read(json.loads(json.dumps(written))) == found
    farm, _ = found.datasets
    assert (farm.n_instructions, farm.n_instructions_shared, farm.n_annotators) == (2, 1, 2)
    assert found.standing(KEYS["Cy"]).cost_per_1000 == {
        "value": None, "low": None, "high": None, "n": 0, "reason": "not measured"
    }  # fmt: skip
    assert found.replaces["farm"]["advantage_probability"]["value"] == 0.8


def test_with_too_many_people_nobody_is_kept_apart(monkeypatch):
    monkeypatch.setattr("metaeval.reports.selection.inputs.MOST_CELLS", 3)
    given = inputs()
    assert given.parts[0].judged.labels.tolist() == [[1.0, 2.0], [0.0, pytest.approx(NAN, nan_ok=True)]]
    found = report(given, replaces={"farm": replacing(True)})
    assert found.replaces == {}
    assert any("too many annotators" in note for note in found.notes)


def test_the_picture_has_the_front_and_keeps_what_is_free_apart():
    forest, picture = decision_pictures(report())
    assert {row[0] for row in forest.rows} == {"Ada", "Bea", "Cy", "longest"}
    series = {row[0]: row[2] for row in picture.rows}
    front = "On the Pareto front"
    assert series == {"Ada": front, "Bea": front, "longest": "Baseline (no LLM)"}
    assert "Not shown, because their cost is unknown: Cy." in picture.description
    costs = {row[0]: row[3] for row in picture.rows}
    assert costs["longest"] == 0
    scales = [
        layer["encoding"]["x"]["scale"] for layer in picture.spec["layer"] if "x" in layer.get("encoding", {})
    ]
    assert {scale["type"] for scale in scales} == {"symlog"}, "zero has no logarithm"
    steps = next(layer for layer in picture.spec["layer"] if layer["mark"]["type"] == "line")
    assert [point["x"] for point in steps["data"]["values"]] == sorted([costs["Ada"], costs["Bea"]])


def test_no_picture_where_costs_do_not_differ():
    same = tuple(replace(one, cost_per_1000=estimate(2.0)) for one in selection().standings)
    assert [picture.name for picture in decision_pictures(report(standings=same))] == ["forest-plot"]
    unknown = tuple(standing(name, 0.7, cost=None) for name in KEYS)
    assert [picture.name for picture in decision_pictures(report(standings=unknown))] == ["forest-plot"]


def test_markdown_means_nothing_by_names():
    text = selection_markdown(
        report(settling=(Settling(KEYS["Bea"], 0.02, "farm", 100, 1500, 0.8),), notes=("A <b> note",))
    )
    assert text.startswith("# Judge selection: Sweep\n")
    assert "| Ada | chosen |" in text
    assert "## Sample size needed" in text
    assert "A \\<b\\> note" in text


def test_a_stored_choice_in_short():
    broken = {"name": "max_cost_per_1000", "limit": 5.0, "value": 7.9, "dataset": ""}
    lines = dict(
        summary_lines(report().as_json() | {"promoted": {"judge": KEYS["Ada"], "violations": [broken]}})
    )
    assert lines["Datasets"] == "The farm: agreement with human annotators, weight 1"
    assert lines["Constraints"] == "none"
    assert lines["Held-out estimate"] == "78.0% [76.0, 80.0], of the procedure that chose Ada"
    assert lines["Promoted although"] == "1,000 judgments cost $7.90, more than $5.00"

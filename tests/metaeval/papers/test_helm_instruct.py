"""HELM Instruct's tables and figures: by hand, against the registry, on Newsroom's ratings."""

import json
from dataclasses import replace

import numpy as np
import pytest
from django.core.management import call_command
from scipy.stats import pearsonr

from annotation.selectors.datasets import dataset_get
from metaeval.figures import FIGURES
from metaeval.figures.measures import judge_measures
from metaeval.inputs import Options
from metaeval.papers.data import PaperData
from metaeval.papers.helm_instruct import helm_instruct_parts
from metaeval.papers.tables import MissingPart, PaperTable
from metaeval.services.papers import paper_make
from tests.annotation.factories import annotator_make, study_make, user_make
from tests.annotation.kinds import kind_dataset_make, kind_label_make
from tests.metaeval.kinds import KindItem, inputs, judge, kind_labels, value_of

OPTIONS = Options(n_resamples=0)


def rated(clear, true=3):
    return {"ratings": {"clear": clear, "true": true}}


def tables(inputs_made, systems=None, n=None, examples=None):
    names = inputs_made.items.external_id
    data = PaperData(
        "d",
        "D",
        {"rubric": inputs_made},
        OPTIONS,
        systems={} if systems is None else {name: (one,) for name, one in zip(names, systems, strict=True)},
        examples=examples or {},
    )
    return {part.name: part for part in helm_instruct_parts(data)}


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


@pytest.fixture
def crowd():
    """Four items of two scenarios, by two models; two studies and a judge."""
    items = [KindItem(f"x{k}", f"i{k // 2}", category="Chat" if k < 2 else "Code") for k in range(4)]
    # Study one: two annotators of x0 (1 and 3, mean 2), one of the others. Study two: one annotator.
    labels = [(0, 0, rated(1)), (0, 1, rated(3)), (1, 0, rated(3)), (2, 0, rated(4)), (3, 1, rated(5))]
    labels += [(k, 2, rated(value, 4)) for k, value in enumerate((1, 3, 2, 4))]
    made = inputs(
        "rubric",
        items,
        labels,
        [judge("GPT-4", {k: rated(value, 5) for k, value in enumerate((2, 4, 3, 5))})],
        criteria=("clear", "true"),
    )
    order = np.argsort([row[0] for row in labels], kind="stable")
    study = ["mturk"] * 5 + ["scale"] * 4
    return replace(made, labels=replace(made.labels, group=tuple(study[k] for k in order)))


def test_correlation_matrices_by_hand(crowd):
    found = tables(crowd, ["a", "b", "a", "b"])
    # Deviations: mturk 2 3 4 5 (mean 3.5), scale 1 3 2 4 (2.5): r = 4 / sqrt(5 * 5) = 0.8; the judge's 2 4 3 5 are
    # those of scale plus one.
    table = found["t4-clear"]
    assert table.columns == ("", "mturk", "scale", "GPT-4")
    assert texts(table) == [
        ["mturk", "1.00", "0.80", "0.80"],
        ["scale", "0.80", "1.00", "1.00"],
        ["GPT-4", "0.80", "1.00", "1.00"],
    ]
    # Everyone rates truth with one number: there is no correlation, and the note says why.
    assert texts(found["t4-true"])[0] == ["mturk", "–", "–", "–"]
    assert any("No correlation of mturk and scale" in note for note in found["t4-true"].notes)
    # Inside Chat 2 3 against 1 3: two items are too few for a correlation.
    assert texts(found["t4-clear-mean-of-scenarios"])[0][2] == "–"


def test_scenario_level_by_hand(crowd):
    found = tables(crowd, ["a", "b", "a", "b"])
    # Four groups of one item each: the same as by item. Of two scenarios alone there is no correlation.
    assert texts(found["scenario-level-clear"])[0] == ["mturk", "1.00", "0.80", "0.80"]
    assert "scenario and model (4)" in found["scenario-level-clear"].caption
    alone = tables(crowd)["scenario-level"]
    assert isinstance(alone, MissingPart)
    assert "which takes three or more" in alone.reason


def test_means_and_deviations_by_hand(crowd):
    table = tables(crowd)["t5"]
    assert table.spans == (("mturk", 2), ("scale", 2), ("GPT-4", 2))
    # Of 2 3 4 5 and of 1 3 2 4: sqrt(5 / 3) = 1.29.
    assert texts(table)[:2] == [
        ["Clear", "3.50", "1.29", "2.50", "1.29", "3.50", "1.29"],
        ["True", "3.00", "0.00", "4.00", "0.00", "5.00", "0.00"],
    ]
    assert any("varies less" in note for note in table.notes)


def test_bars_by_hand(crowd):
    found = tables(crowd, ["a", "b", "a", "a"])
    # Model a: Chat x0, Code x2 and x3. mturk: (2 + (4 + 5) / 2) / 2 = 3.25, scale (1 + (2 + 4) / 2) / 2 = 2.
    table = found["f3-clear"]
    assert texts(table) == [["a", "3.25", "2.00", "3.00"], ["b", "3.00", "3.00", "4.00"]]
    assert [[cell.best for cell in row[1:]] for row in table.rows] == [
        [True, False, False],
        [False, True, True],
    ]
    # Bar groups: clear a, b, b; true three draws. Settings: b has answered Chat alone, where 2 < 3, 1 < 3, 2 < 4.
    assert texts(found["f3-highest"]) == [["a", "4", "0"], ["b", "5", "3"]]


def test_composition(crowd):
    long = "Write a function that " + "sorts and " * 20
    examples = {("Code", ""): long, ("Chat", "x"): "Say hi.\nNow.", ("Chat", "y"): "Say no."}
    chat, code, total = texts(tables(crowd, examples=examples)["t2"])
    assert chat == ["Chat", "Say hi. Now.", "1", "2", "5"]
    assert (code[0], code[2:]) == ("Code", ["1", "2", "4"])
    assert len(code[1]) <= 80
    assert code[1].endswith("…")
    assert long.startswith(code[1][:-1].rstrip())
    assert total == ["Total", "", "2", "4", "9"]


def test_what_the_data_lacks_is_said(crowd):
    labels = replace(crowd.labels, group=())
    alone = tables(replace(crowd, labels=labels, judges=()))
    assert "only Human annotators" in alone["t4"].reason
    assert isinstance(alone["f3"], MissingPart)
    assert "fewer than two systems" in alone["f3"].reason
    assert alone["t5"].spans == (("Human annotators", 2),)
    empty = tables(inputs("rubric", [KindItem("x", "i")], criteria=("clear",)))
    assert {name for name, part in empty.items() if isinstance(part, PaperTable)} == {"t2"}
    assert all("Nobody has rated" in empty[name].reason for name in ("t4", "t5", "f3", "scenario-level"))


def test_one_group_of_people_is_what_reports_say(crowd):
    """The cell of a judge and all people is the registry's Pearson of the judge."""
    made = replace(crowd, labels=replace(crowd.labels, group=()))
    sample = FIGURES["rubric"].sample(made, OPTIONS)
    report = judge_measures(FIGURES["rubric"], sample.judges[0])["pearson"]["criterion"]["clear"]
    assert tables(made)["t4-clear"].rows[0][2].value == pytest.approx(report["value"])


def test_newsroom(shared_data):
    """Its three ratings of an item as rater groups: 420 summaries by four criteria, against numpy and scipy."""
    content = json.loads((shared_data / "newsroom" / "newsroom.labels.json").read_text())["instances"]
    criteria = tuple(content[0]["annotations"])
    given = np.array(
        [[row["annotations"][name]["individual_human_scores"] for name in criteria] for row in content], float
    )
    items = [KindItem(str(row["id"]), str(row["id"])) for row in content]
    labels = [
        (k, rater, {"ratings": dict(zip(criteria, given[k, :, rater], strict=True))})
        for k in range(len(items))
        for rater in range(3)
    ]
    made = inputs("rubric", items, labels, criteria=criteria)
    study = tuple(f"rater-{rater + 1}" for _ in items for rater in range(3))
    found = tables(replace(made, labels=replace(made.labels, group=study)))
    for place, name in enumerate(criteria):
        rows = found[f"t4-{name.lower()}"].rows
        for one in range(3):
            assert rows[one][one + 1].value == pytest.approx(1)
            for other in range(one):
                expected = pearsonr(given[:, place, one], given[:, place, other]).statistic
                assert rows[one][other + 1].value == pytest.approx(expected)
        cells = found["t5"].rows[place][1:]
        values = [cell.value for cell in cells]
        assert values[::2] == pytest.approx(given[:, place].mean(axis=0).tolist())
        assert values[1::2] == pytest.approx(given[:, place].std(axis=0, ddof=1).tolist())
    pooled = given.transpose(2, 1, 0).reshape(3, -1)
    assert found["t4-overall"].rows[0][2].value == pytest.approx(pearsonr(pooled[0], pooled[1]).statistic)
    assert isinstance(found["f3"], MissingPart)
    assert isinstance(found["scenario-level"], MissingPart)


@pytest.mark.django_db
def test_each_study_is_a_rater_group():
    """Two crowds and imported labels; what a reader may not see is no group."""
    dataset = kind_dataset_make("rubric", items=4)
    items, owner = list(dataset.items.order_by("position")), user_make()
    for slug, shift in (("crowd-a", 0), ("crowd-b", 1)):
        study = study_make(dataset=dataset, kind="rubric", slug=slug, owner=owner)
        person = annotator_make()
        for k, item in enumerate(items):
            kind_label_make(study, item, value_of("rubric", k, shift), annotator=person)
    kind_labels(dataset, "rubric", (2,))
    made = paper_make(paper="helm-instruct", dataset=dataset)
    table = next(one for one in made.tables if one.name == "t4-clear")
    assert table.columns == ("", "crowd-a", "crowd-b", "Imported labels")
    alone = paper_make(paper="helm-instruct", dataset=dataset, study=study)
    assert next(one.reason for one in alone.missing if one.name == "t4").startswith(
        "It compares rater groups"
    )
    seen = paper_make(paper="helm-instruct", dataset=dataset, reader=user_make())
    assert not any("crowd" in column for one in seen.tables for column in one.flat_columns)


@pytest.mark.django_db
def test_imported_labels_name_their_rater_group(tmp_path):
    """Before a slash in the annotator's name, as ratings of several crowds come in one file."""
    rows = [
        {
            "id": f"x{k}",
            "kind": "rubric",
            "instruction": f"Write {k}.",
            "responses": ["Text."],
            "labels": [
                {"annotator": name, "value": {"ratings": {"clarity": rating}}}
                for name, rating in (
                    ("mturk/ann", 1 + k),
                    ("mturk/ben", 3 + k),
                    ("scale/ann", 4 - k),
                    ("cas", 2),
                )
            ],
        }
        for k in range(3)
    ]
    options = {str(k): str(k) for k in range(1, 6)}
    rows.insert(0, {"criteria": [{"key": "clarity", "question": "Is it clear?", "options": options}]})
    file = tmp_path / "crowds.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    call_command("import_dataset", "generic", str(file), name="crowds", verbosity=0)
    made = paper_make(paper="helm-instruct", dataset=dataset_get("crowds"))
    table = next(one for one in made.tables if one.name == "t4-clarity")
    assert table.columns == ("", "mturk", "scale", "Imported labels")
    assert texts(table)[0] == ["mturk", "1.00", "−1.00", "–"]

"""HREF's tables and figures: on rows of our own with systems, categories and costs, and on AlpacaEval's data."""

import csv
import json
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
from django.core.management import call_command

from annotation.models import ItemResponse, Response
from judges.models import Judge
from metaeval.inputs import Options
from metaeval.papers.href_rows import short_category
from metaeval.papers.href_systems import baselines_of
from metaeval.reports.errors import ReportError
from metaeval.services.papers import paper_make
from metaeval.services.preference_files import paper_of_preferences
from metaeval.services.reports import report_build
from tests.annotation.factories import dataset_make
from tests.metaeval.rows import judge_make, judgments_make, labels_make

N, SYSTEMS = 12, ("alpha", "beta", "gamma")
RNG = np.random.default_rng(5)
LABELS = RNG.integers(0, 3, (3 * N, 4)).tolist()
VERDICTS = {
    name: RNG.choice([0, 1, 2, 1, 2], (3 * N, 2)).tolist()
    for name in ("With guideline", "Plain", "With human")
}
SPECIFICATIONS = {
    "With guideline": {"guidelines": "Prefer it.", "use_reference": True, "reference_system": "gpt"},
    "With human": {"use_reference": True},
}
VERDICTS["Plain"][0] = [None, 1]


def test_baselines_are_the_fewest_systems_that_stand_in_every_pair():
    assert baselines_of({}) == []
    assert baselines_of({"1": ("a", "base"), "2": ("base", "b"), "3": ("c", "base")}) == ["base"]
    assert sorted(baselines_of({"1": ("a", "x"), "2": ("b", "x"), "3": ("a", "y"), "4": ("c", "y")})) == [
        "x",
        "y",
    ]
    assert baselines_of({"1": ("a", "b"), "2": ("b", "c"), "3": ("c", "a"), "4": ("d", "e")}) == []
    names = [
        "Brainstorm",
        "Open QA",
        "Closed QA",
        "Extract",
        "Generation",
        "Rewrite",
        "Summarization",
        "Classify",
    ]
    names += ["Fact Checking or Attributed QA", "Multi-Document Synthesis", "Reasoning Over Numerical Data"]
    assert " ".join(map(short_category, names)) == "Brn OQA CQA Ext Gen Rew Sum Cls FC MDS RND"


@pytest.fixture
def study():
    """Three systems beside a baseline on twelve instructions; four labels a pair; three prompts of one model."""
    return study_of(LABELS)


def study_of(labels):
    dataset = dataset_make(pairs=3 * N, per_instruction=3, name="href", gold=False)
    for item in dataset.items.order_by("position"):
        pair = [SYSTEMS[item.position % 3], "base"]
        for link in ItemResponse.objects.filter(item=item):
            name = pair[link.position] if item.position % 2 else pair[1 - link.position]
            text = "x" * (10 + 3 * item.position if name != "base" else 40)
            Response.objects.filter(pk=link.response_id).update(system=name, text=text)
    if labels:
        labels_make(dataset=dataset, choices=labels)
    for name, cost in (("With guideline", 0.004), ("Plain", 0.001), ("With human", 0.002)):
        judge = judge_make(name)
        judge.spec |= SPECIFICATIONS.get(name, {})
        judge.save()
        judgments_make(judge=judge, dataset=dataset, choices=VERDICTS[name], cost=cost)
    return dataset


def parts_of(dataset, **options):
    return made_by_name(paper_make(paper="href", dataset=dataset, options=Options(**options)))


def made_by_name(made):
    return SimpleNamespace(
        tables={table.name: table for table in made.tables},
        pictures={picture.name: picture for picture in made.pictures},
        missing={part.name: part.words for part in made.missing},
    )


def rows_of(table):
    return {row[0].text: [cell.value for cell in row[1:]] for row in table.rows}


@pytest.mark.django_db
def test_agreement_by_category_is_that_of_the_report(study):
    table = parts_of(study).tables["t2-agreement"]
    assert table.columns == ("Method", "Brn", "Rew", "Average")
    rows = rows_of(table)
    report = report_build(dataset=study, n_resamples=0)
    names = {"Brn": "Brainstorm", "Rew": "Rewrite"}
    expected = {judge.name: judge.measures["agreement"] for judge in report.judges}
    expected["Human annotators"] = report.people.measures["leave_one_out"]
    labelled = {
        "With human": "With human, with reference",
        "With guideline": "With guideline, with reference",
    }
    for name, measure in expected.items():
        found = rows[labelled.get(name, name)]
        for place, short in enumerate(("Brn", "Rew")):
            assert found[place] == pytest.approx(100 * measure["category"][names[short]]["value"])
        assert found[2] == pytest.approx(100 * measure["overall"]["value"])
    # The best of each category is marked, and put together it is the composite: no method is better in any column.
    methods = [row for row in table.rows if row[0].text not in ("Human annotators", "Best per category")]
    composite = rows["Best per category"]
    for column in (1, 2, 3):
        best = max(row[column].value for row in methods)
        assert {row[column].value for row in methods if row[column].best} == {best}
    assert composite[:2] == [max(row[column].value for row in methods) for column in (1, 2)]
    sizes = [
        sum(study.items.filter(instruction__category=name).count() for name in [names[s]])
        for s in ("Brn", "Rew")
    ]
    assert composite[2] == pytest.approx(np.average(composite[:2], weights=sizes))
    assert any("optimistic" in note and "held-out" in note for note in table.notes)
    assert not any(cell.best for row in table.rows[-2:] for cell in row)


@pytest.mark.django_db
def test_win_rates_are_wins_plus_half_of_the_ties_with_ranks(study):
    found = parts_of(study)
    table = found.tables["t5-win-rates"]
    # "Plain" has an unparsed verdict but all three judged every pair; the one that agrees best ranks systems.
    judge = next(name for name in VERDICTS if f"verdicts of {name}:" in table.caption)
    wins, by_category = defaultdict(list), defaultdict(list)
    for item in study.items.order_by("position").select_related("instruction"):
        first = SYSTEMS[item.position % 3] if item.position % 2 else "base"
        said = [choice for choice in VERDICTS[judge][item.position] if choice is not None]
        credit = np.mean([0.5 if choice == 0 else (choice == 1) == (first != "base") for choice in said])
        wins[SYSTEMS[item.position % 3]].append(credit)
        by_category[SYSTEMS[item.position % 3], item.instruction.category].append(credit)
    controlled = found.tables["length-controlled"]
    assert {row[0].text: row[2].value for row in controlled.rows} == pytest.approx(
        {name: 100 * np.mean(wins[name]) for name in SYSTEMS}
    )
    length = {SYSTEMS[place]: np.mean([10 + 3 * (3 * k + place) for k in range(N)]) for place in range(3)}
    assert {row[0].text: row[5].value for row in controlled.rows} == {
        name: round(value) for name, value in length.items()
    }
    assert "estimated from the other systems" in controlled.notes[0]
    rows = rows_of(table)
    assert table.columns == ("System", "Total", "Brn", "Rew")
    assert list(rows) == sorted(SYSTEMS, key=lambda name: -np.mean(wins[name]))
    for name in SYSTEMS:
        assert rows[name][0] == pytest.approx(100 * np.mean(wins[name]))
        assert rows[name][1] == pytest.approx(100 * np.mean(by_category[name, "Brainstorm"]))
    assert [row[1].text.rpartition(" ")[2] for row in table.rows] == ["(1)", "(2)", "(3)"]
    prompts = found.tables["t6-prompts"]
    assert [row[1].text for row in prompts.rows if row[0].text == "With guideline"] == ["yes"]
    assert prompts.rows[0][4].value == pytest.approx(1)
    assert prompts.rows[0][0].text == judge
    assert found.pictures["f6-p-values"].rows[0][0] == "Mean"


@pytest.mark.django_db
def test_figures_of_lengths_references_and_costs(study):
    found = parts_of(study)
    report = report_build(dataset=study, n_resamples=0)
    # Three prompts of one model, of which each reads another reference: a bar each in the group of the model.
    read = {
        "Without reference": "Plain",
        "With reference": "With human",
        "With reference by gpt": "With guideline",
    }
    bars = found.pictures["f7-length-bias"].rows
    assert len({row[:2] for row in bars}) == len(bars) == 4
    bias = {"Human annotators" if row[0] == "Human annotators" else read[row[1]]: row[2] for row in bars}
    for judge in report.judges:
        if not judge.baseline:
            assert bias[judge.name] == pytest.approx(judge.overall("length_bias")["value"])
    assert bias["Human annotators"] == pytest.approx(
        report.people.measures["length_bias"]["overall"]["value"]
    )
    lengths = found.pictures["f2-length-differences"]
    assert sum(row[2] for row in lengths.rows) == 3 * N
    assert "minus that of base" in lengths.description
    assert (lengths.rows[0][0], lengths.rows[-1][1]) == (10 - 40, 10 + 3 * (3 * N - 1) - 40)
    assert {row[1] for row in found.pictures["f3-references"].rows} == {"gpt", "human-written"}
    assert rows_of(found.tables["cost"]) == {
        "Plain": pytest.approx([1.0, 1.0]),
        "With human, with reference": pytest.approx([2.0, 2.0]),
        "With guideline, with reference": pytest.approx([4.0, 4.0]),
    }
    assert set(found.missing) == {"f4", "f8"}
    composition = rows_of(found.tables["t4-composition"])
    assert composition == {"Brainstorm": [6, 18], "Rewrite": [6, 18], "Total": [12, 36]}


@pytest.mark.django_db
def test_two_baselines_and_a_person(study):
    half = study.items.filter(instruction__external_id__in=[f"i{k}" for k in range(6)])
    Response.objects.filter(items__in=half, system="base").update(system="human")
    found = parts_of(study)
    assert set(found.missing) == set()
    points = found.pictures["f8-two-baselines"].rows
    assert {row[1] for row in points} == {"base", "human"}
    shares = {row[0].partition(",")[0]: row[2] for row in found.pictures["f4-model-against-human"].rows}
    credits = []
    for item in half.order_by("position"):
        said = VERDICTS["With human"][item.position]
        first = "model" if item.position % 2 else "human"
        credits.append(
            np.mean([0.5 if choice == 0 else (choice == 1) == (first == "model") for choice in said])
        )
    assert shares["With human"] == pytest.approx(np.mean(credits))


@pytest.mark.django_db
def test_a_random_draw_among_modes_on_request(study):
    exact, drawn = (parts_of(study, tie_break=how).tables["t2-agreement"] for how in ("expected", "random"))
    assert any("--convention random" in note for note in exact.notes)
    assert not any("--convention random" in note for note in drawn.notes)
    assert rows_of(exact)["Human annotators"] != rows_of(drawn)["Human annotators"]


@pytest.fixture
def round_robin():
    """Every two of three systems on four instructions: no system stands in every pair; two judges."""
    dataset = dataset_make(pairs=12, per_instruction=3, name="robin", gold=False)
    pairs = [("one", "two"), ("two", "three"), ("three", "one")]
    for item in dataset.items.order_by("position"):
        for link in ItemResponse.objects.filter(item=item):
            name = pairs[item.position % 3][link.position]
            text = "x" * (10 + item.position + 5 * link.position)
            Response.objects.filter(pk=link.response_id).update(system=name, text=text)
    labels_make(dataset=dataset, choices=[(1, 1, 2)] * 12)
    judgments_make(judge=judge_make("First"), dataset=dataset, choices=[(1, 1)] * 12)
    last = [(1, 1), (0, 0), (2, 2)] * 3 + [(1, 1), (1, 1), (2, 2)]
    judgments_make(judge=judge_make("Other"), dataset=dataset, choices=last)
    return dataset


@pytest.mark.django_db
def test_a_baseline_may_be_named_where_no_system_stands_in_every_pair(round_robin):
    assert "--baseline" in parts_of(round_robin).missing["t5"]
    found = made_by_name(paper_make(paper="href", dataset=round_robin, baselines=("two",)))
    rows = rows_of(found.tables["t5-win-rates"])
    # Against "two", "First" prefers "one" (the first) always and "three" (the second) never.
    assert "against two" in found.tables["t5-win-rates"].caption
    assert {name: row[0] for name, row in rows.items()} == {"one": 100.0, "three": 0.0}
    assert "minus that of two" in found.pictures["f2-length-differences"].description
    # one - two is -5 in pairs 0, 3, ...; three - two is 5 in pairs 1, 4, ...: eight pairs, half of them positive.
    assert sum(row[2] for row in found.pictures["f2-length-differences"].rows) == 8
    assert "50.0% are positive" in found.pictures["f2-length-differences"].description
    assert "4 instructions" in found.pictures["f6-p-values"].description


@pytest.mark.django_db
def test_two_named_baselines_have_the_agreement_under_each(round_robin):
    found = made_by_name(paper_make(paper="href", dataset=round_robin, baselines=("two", "one")))
    points = {(row[0], row[1]): row[2] for row in found.pictures["f8-two-baselines"].rows}
    # Labels 1, 1, 2 have the modes {1, 2}, {1, 2} and {1}: a verdict of 1 scores (1/2 + 1/2 + 1) / 3.
    assert points["First", "two"] == points["First", "one"] == pytest.approx(2 / 3)
    # "Other" beside two: 1 in four pairs (2/3), and in the other four three ties (0) and one more 1.
    assert points["Other", "two"] == pytest.approx((4 * 2 / 3 + 2 / 3) / 8)
    # Beside one: 1 in four pairs, 2 in four: (1/2 + 1/2) / 3.
    assert points["Other", "one"] == pytest.approx((4 * 2 / 3 + 4 / 3) / 8)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("baselines", "words"),
    [(("tow",), "did you mean two"), (("two", "one", "three"), "two at most"), (("two", "two"), "twice")],
)
def test_a_baseline_that_is_none_is_refused(round_robin, baselines, words):
    with pytest.raises(ReportError, match=words):
        paper_make(paper="href", dataset=round_robin, baselines=baselines)
    with pytest.raises(ReportError, match="HREF alone"):
        paper_make(paper="llmbar", dataset=round_robin, baselines=("two",))


@pytest.mark.django_db
def test_the_agreement_of_prompts_may_come_from_another_dataset():
    """Table 6: win rates of systems on one dataset, agreement with people on another, as in the paper."""
    study = study_of(())
    other = dataset_make(pairs=2, name="labeled", gold=False)
    labels_make(dataset=other, choices=[(1, 1, 1, 1)] * 2)
    said = {"With guideline": (1, 1), "Plain": (1, 2), "With human": (2, 2)}
    for judge in Judge.objects.filter(name__in=said):
        judgments_make(judge=judge, dataset=other, choices=[said[judge.name]] * 2)
    lacking = parts_of(study).tables["t6-prompts"]
    assert {row[3].text for row in lacking.rows} == {"–"}
    assert "--agreement" in lacking.notes[0]
    made = paper_make(paper="href", dataset=study, agreement=other)
    found = made_by_name(made)
    table = found.tables["t6-prompts"]
    # The one that agrees best there ranks the systems here.
    assert table.rows[0][0].text == "With guideline"
    assert {row[0].text: row[3].text for row in table.rows} == {
        "With guideline": "100.0",
        "Plain": "50.0",
        "With human": "0.0",
    }
    assert other.title in table.caption
    assert set(made.hashes) == {"pairwise", "agreement"}
    assert "verdicts of With guideline" in found.tables["t5-win-rates"].caption


def test_preferences_without_texts_have_what_they_carry_and_say_what_they_lack(tmp_path):
    """Composition, lengths, win rates and p-values need no texts; every other object of the paper is listed."""
    file = tmp_path / "preferences.csv"
    lines = ["model,index,dataset,preference,len_baseline,len_model"]
    lines += [
        f"{m},{k},{'ab'[k % 2]},{1 + (k + j) % 3 / 2},10,{10 + k}"
        for j, m in enumerate("xyz")
        for k in range(6)
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = made_by_name(paper_of_preferences(file))
    assert set(found.tables) == {"t4-composition", "t5-win-rates", "length-controlled"}
    assert set(found.missing) == {"t2", "t6", "f3", "f4", "f8", "cost"}
    assert rows_of(found.tables["t4-composition"]) == {"a": [3, 9], "b": [3, 9], "Total": [6, 18]}
    lengths = found.pictures["f2-length-differences"]
    assert (lengths.rows[0][0], lengths.rows[-1][1], sum(row[2] for row in lengths.rows)) == (0, 5, 18)


@pytest.mark.django_db
def test_two_judges_that_read_the_same_reference_have_a_bar_each(study):
    """Figures 3 and 7 group bars by model: the second of two prompts of one model would hide the first."""
    judge = judge_make("With human, shorter")
    judge.spec |= {"use_reference": True}
    judge.save()
    judgments_make(judge=judge, dataset=study, choices=VERDICTS["Plain"])
    found = parts_of(study)
    for name, n in (("f3-references", 3), ("f7-length-bias", 5)):
        bars = [row[:2] for row in found.pictures[name].rows]
        assert len(set(bars)) == len(bars) == n, name
        assert ("With human, shorter", bars[-1][1]) in bars, name


@pytest.mark.django_db
def test_p_values_of_systems_that_share_no_instruction_are_missing(study):
    judge = Judge.objects.get(name="Plain")
    for item in study.items.order_by("position"):
        if item.position % 3 != item.position // 3 % 3:  # one system for each instruction
            judge.judgments.filter(item=item).delete()
    made = paper_make(paper="href", dataset=study, judges=["Plain"])
    found = made_by_name(made)
    assert "f6-p-values" not in found.pictures
    assert "share" in found.missing["f6"]


@pytest.mark.slow
@pytest.mark.django_db
def test_pandalms_five_systems(shared_data, tmp_path):
    """Two judges on every two of five systems: win rates beside one of them, by hand from the file."""
    folder = shared_data / "pandalm"
    call_command("import_dataset", "pandalm", str(folder), "--name", "pandalm", verbosity=0)
    output = tmp_path / "href"
    call_command(
        "report", "pandalm", paper="href", baseline=["llama-7b", "bloom-7b"], output=output, verbosity=0
    )
    with (output / "t5-win-rates.csv").open(encoding="utf-8", newline="") as file:
        found = {row["System"]: float(row["Total"]) for row in csv.DictReader(file)}
    items = {row["idx"]: row for row in json.loads((folder / "testset-v1.json").read_text("utf-8"))}
    # Every verdict of this judge could be read, so it ranks the systems.
    verdicts = json.loads((folder / "pandalm-7b-testset-v1.json").read_text("utf-8"))
    credits = defaultdict(lambda: defaultdict(list))
    for row in verdicts:
        item = items[row["idx"]]
        pair, said = item["cmp_key"].split("_"), str(row["pandalm_result"])
        assert said in {"0", "1", "2"}
        if "llama-7b" in pair:
            other = pair[0] if pair[1] == "llama-7b" else pair[1]
            credit = 0.5 if said == "0" else float(pair[int(said) - 1] == other)
            credits[other][item["instruction"], item["input"]].append(credit)
    by_hand = {name: 100 * np.mean([np.mean(own) for own in rows.values()]) for name, rows in credits.items()}
    assert len(by_hand) == 4
    assert found == pytest.approx(by_hand)
    prompts = (output / "t6-prompts.md").read_text(encoding="utf-8")
    assert "gpt-3.5-turbo" in prompts
    assert "pandalm-7b" in prompts
    assert {path.name for path in output.glob("f*.csv")} >= {"f6-p-values.csv", "f8-two-baselines.csv"}


@pytest.mark.slow
@pytest.mark.django_db
def test_alpaca_evals_people(shared_data, tmp_path):
    human = shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
    call_command(
        "import_dataset",
        "alpaca-human",
        str(human),
        "--name",
        "alpaca",
        "--labels-per-item",
        "4",
        verbosity=0,
    )
    folder = tmp_path / "href"
    call_command("report", "alpaca", paper="href", output=folder, verbosity=0)
    with (folder / "t2-agreement.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["Method"]: row for row in csv.DictReader(file)}
    assert float(rows["Human annotators"]["Average"]) == pytest.approx(65.66358, abs=1e-5)
    assert float(rows["longest"]["Average"]) == pytest.approx(59.567901, abs=1e-6)
    subsets = ["selfinstruct", "alpaca", "koala", "oasst", "helpful_base", "vicuna"]
    assert list(rows["longest"]) == ["Method", *subsets, "Average"]
    readme = (folder / "README.md").read_text(encoding="utf-8").partition("## Not in this data")[2]
    for word in ("Tables 5 and 7", "Table 6", "Figure 3", "Figure 4", "Figure 6", "Figure 8", "Cost"):
        assert word in readme, word
    assert (folder / "f2-length-differences.svg").exists()

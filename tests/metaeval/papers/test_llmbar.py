"""LLMBar's tables from stored verdicts: every cell that is printed and that the data carries."""

import csv
import json
from pathlib import Path

import pytest
from django.core.management import call_command

pytestmark = [pytest.mark.django_db]
FIXTURE = Path(__file__).parents[3] / "fixtures" / "statistics" / "llmbar.json"
HEADS = {
    "Natural": "Natural",
    "Neighbor": "Adversarial: Neighbor",
    "GPTInst": "Adversarial: GPTInst",
    "GPTOut": "Adversarial: GPTOut",
    "Manual": "Adversarial: Manual",
    "Adversarial": "Adversarial: Average",
    "Average": "Average",
}
METHODS = {
    "Vanilla_NoRules": "Vanilla",
    "Vanilla": "Vanilla*",
    "CoT": "CoT*",
    "Swap": "Swap*",
    "Swap_CoT": "Swap+CoT*",
    "Metrics": "Metrics*",
    "Reference": "Reference*",
    "Metrics_Reference": "Metrics+Reference*",
}


def table(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rounded(value):
    return float(f"{float(value):.1f}")


@pytest.fixture
def folder(shared_data, tmp_path):
    llmbar = shared_data / "llmbar"
    call_command("import_dataset", "llmbar", str(llmbar / "Dataset" / "LLMBar"), name="llmbar", verbosity=0)
    call_command("import_judgments", "llmbar", str(llmbar / "judgments.csv"), dataset="llmbar", verbosity=0)
    call_command("report", "llmbar", paper="llmbar", output=tmp_path / "llmbar", verbosity=0)
    return tmp_path / "llmbar"


def assert_hedging_and_ratings(folder, printed):
    hedging = {row["Strategy"]: row for row in table(folder, "t10-hedging")}
    for row in printed["hedging"]:
        method = {"Rating_NoRules": "Vanilla", "Rating": "Vanilla*"}[row["strategy"]]
        found = hedging[method]
        for subset, value in row["hedging"].items():
            assert rounded(found[subset]) == value, (method, subset)
    ratings = {row["Strategy"]: row for row in table(folder, "t11-ratings-gpt-4")}
    assert list(ratings) == ["Vanilla", "Vanilla*", "Metrics*", "Reference*", "Metrics+Reference*"]
    stored = [row for row in printed["rows"] if row["judge"] == "GPT-4" and "Rating" in row["strategy"]]
    assert len(stored) == 5
    for row in stored:
        name = row["strategy"].removeprefix("Rating").removeprefix("_") or "Vanilla"
        found = ratings[METHODS["Vanilla_NoRules" if name == "NoRules" else name]]
        for subset, head in HEADS.items():
            assert rounded(found[f"{head} Acc."]) == row["accuracy"][subset], (name, subset)
            # The paper's own rounding of one minus the hedging rate.
            assert float(found[f"{head} Dif."]) == pytest.approx(row["different"][subset], abs=0.11), (
                name,
                subset,
            )


def assert_shots(folder, printed):
    found = {row["Strategy"]: row for row in table(folder, "t13-shots")}
    shots = {
        "Vanilla": "Vanilla*, 0 shots",
        "Vanilla_1shot": "Vanilla*, 1 shot",
        "Vanilla_2shot": "Vanilla*, 2 shots",
    }
    assert list(found) == [f"{judge}: {name}" for judge in ("GPT-4", "ChatGPT") for name in shots.values()]
    for row in printed["rows"]:
        if row["strategy"] in shots:
            own = found[f"{row['judge']}: {shots[row['strategy']]}"]
            for subset, head in HEADS.items():
                assert rounded(own[f"{head} Acc."]) == row["accuracy"][subset]
                assert rounded(own[f"{head} Agr."]) == row["agreement"][subset]
    # As printed: 83.7/91.8, 82.5/90.9, 82.2/92.3.
    average = [
        [rounded(found[f"GPT-4: {name}"][f"Average {word}"]) for word in ("Acc.", "Agr.")]
        for name in shots.values()
    ]
    assert average == [[83.7, 91.8], [82.5, 90.9], [82.2, 92.3]]


def assert_figures(folder):
    two = {(row["Judge"], row["Set"]): float(row["Accuracy"]) for row in table(folder, "f5-two-strategies")}
    assert round(100 * two["GPT-4, Metrics+Reference*", "Adversarial: Average"], 1) == 82.8
    assert round(100 * two["GPT-4, Vanilla", "Natural"], 1) == 93.5
    means = {row["Set"]: float(row["Mean accuracy"]) for row in table(folder, "f4-mean-accuracy")}
    assert list(means) == ["Natural", "Adversarial: Average"]
    for name, mean in means.items():
        own = [value for (_, where), value in two.items() if where == name]
        assert len(own) == 4
        assert mean == pytest.approx(sum(own) / 4)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for word in (
        "Table 3",
        "Table 6",
        "Table 7",
        "Table 8",
        "Table 9",
        "Table 12",
        "Table 14",
        "Expert agreement",
    ):
        assert word in readme.split("## Not in this data")[1], word
    for model in ("t2-gpt-4", "t5-chatgpt"):
        assert "ChatEval" in (folder / f"{model}.md").read_text(encoding="utf-8").splitlines()[-1]


@pytest.mark.slow
def test_every_printed_cell(folder):
    printed = json.loads(FIXTURE.read_text(encoding="utf-8"))
    composition = {row["Subset"]: int(float(row["Pairs"])) for row in table(folder, "t1-composition")}
    assert composition == {
        "Natural": 100, "Adversarial": 319, "Neighbor": 134, "GPTInst": 92, "GPTOut": 47, "Manual": 46, "Total": 419,
    }  # fmt: skip
    assert_hedging_and_ratings(folder, printed)
    assert_shots(folder, printed)
    assert_figures(folder)
    for judge, name in (("GPT-4", "t2-gpt-4"), ("ChatGPT", "t5-chatgpt")):
        rows = {row["Strategy"]: row for row in table(folder, name)}
        assert list(rows) == list(METHODS.values())
        stored = [row for row in printed["rows"] if row["judge"] == judge and row["strategy"] in METHODS]
        assert len(stored) == len(METHODS)
        for row in stored:
            found = rows[METHODS[row["strategy"]]]
            for subset, head in HEADS.items():
                assert rounded(found[f"{head} Acc."]) == row["accuracy"][subset], (row["strategy"], subset)
                assert rounded(found[f"{head} Agr."]) == row["agreement"][subset], (row["strategy"], subset)

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


@pytest.mark.slow
def test_every_printed_cell(folder):
    printed = json.loads(FIXTURE.read_text(encoding="utf-8"))
    composition = {row["Subset"]: int(float(row["Pairs"])) for row in table(folder, "t1-composition")}
    assert composition == {
        "Natural": 100, "Adversarial": 319, "Neighbor": 134, "GPTInst": 92, "GPTOut": 47, "Manual": 46, "Total": 419,
    }  # fmt: skip
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

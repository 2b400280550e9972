"""The published data sets as they are: counts, and the places where they surprise."""

from collections import Counter
from pathlib import Path

import pytest

from annotation.importers import read_alpaca_human, read_llmbar, read_llmbar_judgments, read_pandalm

HUMAN = "alpaca_eval/alpaca_farm_human_crossannotations.json"


def test_llmbar(shared_data: Path) -> None:
    bundle = read_llmbar(shared_data / "llmbar" / "Dataset" / "LLMBar")
    subsets = {instruction.key: instruction.subset for instruction in bundle.instructions}
    assert Counter(subsets[item.instruction] for item in bundle.items) == {
        "Natural": 100,
        "Adversarial/Neighbor": 134,
        "Adversarial/GPTInst": 92,
        "Adversarial/GPTOut": 47,
        "Adversarial/Manual": 46,
    }
    items = {item.external_id: item for item in bundle.items}
    assert len(items) == 419
    assert items["Adversarial/Neighbor/12"].origin.row == 13
    assert Counter(item.gold["choice"] for item in bundle.items if item.gold) == {1: 206, 2: 213}
    assert (
        read_llmbar(shared_data / "llmbar" / "Dataset" / "LLMBar" / "Natural").items[3].external_id
        == "Natural/3"
    )


@pytest.mark.parametrize(("keep", "n_labels"), [(None, 2596), (4, 2592), (1, 648)])
def test_alpaca_human(shared_data: Path, keep: int | None, n_labels: int) -> None:
    bundle = read_alpaca_human(shared_data / HUMAN, labels_per_item=keep)
    assert (len(bundle.items), len(bundle.labels), len(bundle.instructions)) == (648, n_labels, 605)
    rows = [item.origin.row for item in bundle.items]
    assert rows == sorted(rows)
    assert max(Counter(label.item for label in bundle.labels).values()) == (keep or 6)
    assert len({label.annotator for label in bundle.labels}) <= 16
    assert {item.gold for item in bundle.items} == {None}


def test_labels_per_item_has_to_be_positive(shared_data: Path) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        read_alpaca_human(shared_data / HUMAN, labels_per_item=0)


def test_pandalm(shared_data: Path) -> None:
    bundle = read_pandalm(shared_data / "pandalm")
    assert (len(bundle.items), len(bundle.labels), len(bundle.instructions)) == (999, 2997, 170)
    assert Counter(label.annotator for label in bundle.labels) == {"1": 999, "2": 999, "3": 999}
    assert {label.value["choice"] for label in bundle.labels} == {0, 1, 2}
    assert Counter((verdict.judge, verdict.status) for verdict in bundle.verdicts) == {
        ("gpt-3.5-turbo", "parsed"): 974,
        ("gpt-3.5-turbo", "unparsed"): 25,
        ("pandalm-7b", "parsed"): 999,
    }
    unparsed = Counter(v.raw.partition("\n")[0] for v in bundle.verdicts if v.status == "unparsed")
    assert unparsed == {"garbage": 25}
    ties = [v for v in bundle.verdicts if v.raw.partition("\n")[0] == "Tie"]
    assert [v.value for v in ties] == [{"choice": 0}] * 38
    assert {response.system for response in bundle.responses} == {
        "bloom-7b",
        "cerebras-gpt-6.7B",
        "llama-7b",
        "opt-7b",
        "pythia-6.9b",
    }
    assert "True" in {response.text for response in bundle.responses}  # a boolean in the file


def test_llmbar_judgments(shared_data: Path) -> None:
    items = read_llmbar(shared_data / "llmbar" / "Dataset" / "LLMBar").items
    gold = {item.external_id: item.gold["choice"] if item.gold else None for item in items}
    verdicts = read_llmbar_judgments(shared_data / "llmbar" / "judgments.csv", gold)
    assert len(verdicts) == 2 * 11_313
    assert len({verdict.judge for verdict in verdicts}) == 27
    assert Counter(verdict.order for verdict in verdicts) == {0: 11_313, 1: 11_313}
    assert sum(verdict.status == "unparsed" for verdict in verdicts) == 33

    # ChatGPT, rating without rules: the published hedging rates (%), as printed.
    hedges: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for verdict in verdicts:
        if verdict.judge == "ChatGPT / Rating_NoRules" and verdict.order == 0:
            subset = verdict.item.rpartition("/")[0].rpartition("/")[2]
            sizes[subset] += 1
            hedges[subset] += bool(verdict.value and verdict.value.get("choice") == 0)
    rates = {subset: round(100 * hedges[subset] / sizes[subset], 1) for subset in sizes}
    assert rates == {"Natural": 42.0, "Neighbor": 53.7, "GPTInst": 45.7, "GPTOut": 44.7, "Manual": 41.3}

    # GPT-4, metrics and reference, on the natural subset: accuracy 96.0, positional agreement 96.0.
    natural = {
        (verdict.item, verdict.order): verdict.value["choice"] if verdict.value else None
        for verdict in verdicts
        if verdict.judge == "GPT-4 / Metrics_Reference" and verdict.item.startswith("Natural/")
    }
    assert sum(choice == gold[item] for (item, _), choice in natural.items()) / len(natural) == 0.96
    assert sum(natural[f"Natural/{n}", 0] == natural[f"Natural/{n}", 1] for n in range(100)) == 96

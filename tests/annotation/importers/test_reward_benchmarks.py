"""RewardBench 1 and 2 and RM-Bench: sections, several right completions, nine pairs of styles."""

from collections import Counter
from pathlib import Path

from annotation.importers.rewardbench import SECTIONS, read_rewardbench
from annotation.importers.rewardbench2 import read_rewardbench2
from annotation.importers.rmbench import read_rmbench
from tests.annotation.importers.benchmarks import (
    best_of_four,
    messages,
    preference,
    styled,
    write_json,
    write_lines,
)


def test_rewardbench(tmp_path: Path) -> None:
    rows = [
        preference(),
        preference("math-prm", 4, prompt=messages("Hello.", "Hi.", "Two plus two?"), rejected_model=None),
        preference("mt-bench-easy", 3),
    ]
    bundle = read_rewardbench(write_lines(tmp_path / "filtered.jsonl", *rows))
    assert [(item.external_id, item.gold) for item in bundle.items] == [
        ("mt-bench-hard/3", {"choice": 1}),
        ("math-prm/4", {"choice": 1}),
        ("mt-bench-easy/3", {"choice": 1}),
    ]
    assert [one.subset for one in bundle.instructions] == [
        "Chat Hard/mt-bench-hard",
        "Reasoning/math-prm",
        "Chat/mt-bench-easy",
    ]
    assert (bundle.instructions[1].text, len(bundle.instructions[1].conversation)) == ("Two plus two?", 2)
    assert [(one.system, one.text) for one in bundle.responses[:2]] == [
        ("model-x", "The Po."),
        ("model-y", "The Alps."),
    ]
    assert Counter(map(len, SECTIONS.values())) == {5: 2, 6: 1, 7: 1}


def test_rewardbench_2(tmp_path: Path) -> None:
    ties = best_of_four(
        "tied:0", chosen=["Red.", "Blue."], rejected=["Rome."], num_correct=2, num_incorrect=1, subset="Ties"
    )
    bundle = read_rewardbench2(write_json(tmp_path / "test.json", [best_of_four(), ties | {"models": ["m"]}]))
    assert [(item.kind, item.gold) for item in bundle.items] == [
        ("answer_ranking", {"ranks": {"0": 1, "1": 2, "2": 2, "3": 2}}),
        ("answer_ranking", {"ranks": {"0": 1, "1": 1, "2": 2}}),
    ]
    assert [one.system for one in bundle.responses] == ["m1", "m2", "m3", "m4", "", "", ""]
    assert bundle.items[1].metadata["num_correct"] == 2
    assert [one.subset for one in bundle.instructions] == ["Factuality", "Ties"]


def test_rm_bench(tmp_path: Path) -> None:
    write_json(tmp_path / "math_filtered.json", [styled()])
    assert len(read_rmbench(tmp_path).items) == 9
    write_json(tmp_path / "total_dataset.json", [styled(), styled(6, "chat")])
    bundle = read_rmbench(tmp_path)
    subset_of = {one.key: one.subset for one in bundle.instructions}
    assert Counter(subset_of[item.instruction] for item in bundle.items) == {
        f"{domain}/{level}": 3 for domain in ("math", "chat") for level in ("hard", "normal", "easy")
    }
    texts = {(one.instruction, one.key): one.text for one in bundle.responses}
    hard = next(item for item in bundle.items if item.external_id == "5/concise-markdown")
    assert [texts[hard.instruction, key] for key in hard.responses] == ["Four.", "It is **five**."]
    assert subset_of[hard.instruction] == "math/hard"

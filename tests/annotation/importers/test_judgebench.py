"""JudgeBench's pairs and outputs: labels, categories, both orders, failed judgments, scores."""

from pathlib import Path

from annotation.importers import read_judgebench
from tests.annotation.importers.benchmarks import judged, judgment, objective_pair, write_lines


def test_pairs(tmp_path: Path) -> None:
    sources = ["mmlu-pro-computer science", "livebench-reasoning", "livebench-math", "livecodebench", "ours"]
    rows = [objective_pair(f"p{n}", "B>A", source=source) for n, source in enumerate(sources)]
    bundle = read_judgebench(write_lines(tmp_path / "pairs.jsonl", objective_pair("p9"), *rows))
    assert [(one.subset, one.category) for one in bundle.instructions[1:]] == [
        ("mmlu-pro-computer science", "Knowledge"),
        ("livebench-reasoning", "Reasoning"),
        ("livebench-math", "Math"),
        ("livecodebench", "Coding"),
        ("ours", ""),
    ]
    assert [item.gold for item in bundle.items] == [{"choice": 1}, *[{"choice": 2}] * 5]
    assert {one.system for one in bundle.responses} == {"model-x"}
    assert bundle.items[0].metadata == {"original_id": "12"}


def test_the_second_judgment_is_turned(tmp_path: Path) -> None:
    rows = [
        judged(objective_pair("p1"), judgment("A>B"), judgment("B>A")),
        judged(objective_pair("p2"), judgment("A>>B"), judgment("A>B")),
        judged(objective_pair("p3"), judgment("A=B"), None),
        judged(objective_pair("p4"), None, judgment(None)),
    ]
    name = "dataset=judgebench,response_model=x,judge_name=arena_hard,judge_model=judge_m.jsonl"
    bundle = read_judgebench(write_lines(tmp_path / name, *rows))
    assert [(one.item, one.order, one.value, one.status) for one in bundle.verdicts] == [
        ("p1", 0, {"choice": 1}, "parsed"),
        ("p1", 1, {"choice": 1}, "parsed"),
        ("p2", 0, {"choice": 1}, "parsed"),
        ("p2", 1, {"choice": 2}, "parsed"),
        ("p3", 0, {"choice": 0}, "parsed"),
        ("p3", 1, None, "unparsed"),
        ("p4", 0, None, "unparsed"),
        ("p4", 1, None, "unparsed"),
    ]
    # A row of which both judgments failed belongs to the same judge.
    assert {(one.judge, one.strategy) for one in bundle.verdicts} == {("arena_hard / judge_m", "arena_hard")}
    assert bundle.verdicts[0].raw == "[[A>B]]"


def test_scores_are_of_the_responses_as_listed(tmp_path: Path) -> None:
    row = judged(
        objective_pair(), judgment("A>B", [7.5, 2.0]), judgment("B>A", [2.0, 7.5]), judge="reward_model"
    )
    bundle = read_judgebench(write_lines(tmp_path / "scores.jsonl", row))
    assert [one.value for one in bundle.verdicts] == [{"choice": 1, "scores": [7.5, 2.0]}] * 2
    assert bundle.verdicts[0].judge == "reward_model / judge/m"


def test_pairs_and_outputs_of_one_folder(tmp_path: Path) -> None:
    write_lines(tmp_path / "data" / "pairs.jsonl", objective_pair("p1"), objective_pair("p2"))
    for judge in ("a", "b"):
        row = judged(objective_pair("p1"), judgment("A>B"), judge=judge)
        write_lines(tmp_path / "outputs" / f"{judge}.jsonl", row)
    bundle = read_judgebench(tmp_path)
    assert len(bundle.items) == 2
    assert [one.judge for one in bundle.verdicts] == ["a / judge/m", "b / judge/m"]

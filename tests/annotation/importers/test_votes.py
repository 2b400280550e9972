"""Votes between models: winner codes, orientation, turns, who is a person and who a judge."""

from collections import Counter
from pathlib import Path

import pytest

from annotation.importers import ImportFileError, read_chatbot_arena, read_mtbench
from tests.annotation.importers.benchmarks import battle, messages, turned, vote, write_json, write_lines


def test_winner_codes_and_orientation(tmp_path: Path) -> None:
    codes = ["model_a", "model_b", "tie", "tie (bothbad)"]
    rows = [vote(code, f"expert_{n}") for n, code in enumerate(codes)]
    file = write_json(tmp_path / "human.json", rows)
    same = read_mtbench(file)
    assert [label.value for label in same.labels] == [
        {"choice": 1},
        {"choice": 2},
        {"choice": 0},
        {"choice": 0, "both_bad": True},
    ]
    # The same votes with the models the other way are the same labels of the same item.
    other = read_mtbench(write_json(tmp_path / "turned.json", [turned(row) for row in rows]))
    assert [(one.item, one.value) for one in other.labels] == [(one.item, one.value) for one in same.labels]
    assert [(one.system, one.text) for one in other.responses] == [("ant", "Four."), ("bee", "Five.")]
    assert same.items[0].external_id == "111/ant/bee/1"


def test_the_first_turn_is_texts_and_the_second_the_conversation(tmp_path: Path) -> None:
    bundle = read_mtbench(write_json(tmp_path / "human.json", [vote(), vote(turn=2)]))
    first, second = bundle.instructions
    assert (first.text, first.category, first.subset, second.subset) == (
        "Two plus two?",
        "Math",
        "Turn 1",
        "Turn 2",
    )
    texts = [(one.text, [turn["text"] for turn in one.messages]) for one in bundle.responses]
    assert texts[:2] == [("Four.", []), ("Five.", [])]
    assert texts[2] == (
        "Assistant: Four.\n\nUser: And five?\n\nAssistant: Nine.",
        ["Four.", "And five?", "Nine."],
    )


def test_people_and_judges(tmp_path: Path) -> None:
    said = [
        vote(judge="expert_1"),
        vote("model_b", judge="author_2"),
        vote("tie", judge="expert_1"),
        vote("tie (inconsistent)", judge="gpt4_pair"),
        turned(vote("model_a", judge=["gpt-4", "pair-v2"])),
    ]
    folder = tmp_path / "data"
    write_json(folder / "human.json", said[:3])
    write_lines(folder / "gpt4_pair.jsonl", *said[3:])
    bundle = read_mtbench(folder)
    # A second vote of a person is counted as a vote, as in the authors' count.
    assert {label.annotator: label.value["choice"] for label in bundle.labels} == {
        "expert_1": 1,
        "author_2": 2,
        "expert_1#2": 0,
    }
    assert [(one.judge, one.value, one.raw) for one in bundle.verdicts] == [
        ("gpt4_pair", {"choice": 0}, "tie (inconsistent)"),
        ("gpt-4 / pair-v2", {"choice": 1}, ""),
    ]
    assert len(bundle.items) == 1


def test_arena_keeps_the_order_that_was_shown(tmp_path: Path) -> None:
    several = battle(
        "tie (bothbad)",
        question_id="q-2",
        turn=2,
        conversation_a=messages("Hi.", "Hello.", "More?", "No."),
        conversation_b=messages("Hi.", "Good day.", "More?", "Yes."),
    )
    bundle = read_chatbot_arena(write_lines(tmp_path / "arena.jsonl", battle(), several))
    assert [item.external_id for item in bundle.items] == ["q-1", "q-2"]
    assert [one.system for one in bundle.responses[:2]] == ["zebra", "ant"]
    assert [label.value for label in bundle.labels] == [{"choice": 2}, {"choice": 0, "both_bad": True}]
    assert len(bundle.responses[2].messages) == 3
    assert bundle.instructions[0].category == "English"
    # What one user said is never taken for what another did.
    assert Counter(label.annotator for label in bundle.labels) == {"arena_user_7": 2}
    assert set(bundle.items[0].metadata) == {"anony", "tstamp", "toxic_chat_tag"}


@pytest.mark.service
def test_votes_in_parquet_as_the_hub_has_them(tmp_path: Path) -> None:
    parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    (tmp_path / "data").mkdir()
    (tmp_path / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n")
    people = pyarrow.Table.from_pylist([vote(), vote("model_b", "expert_2", 2)])
    parquet.write_table(people, tmp_path / "data" / "human-00000-of-00001.parquet")
    judge = pyarrow.Table.from_pylist([vote("tie", "gpt4_pair")])
    parquet.write_table(judge, tmp_path / "data" / "gpt4_pair-00000-of-00001.parquet")
    bundle = read_mtbench(tmp_path)
    assert (len(bundle.items), len(bundle.labels), len(bundle.verdicts)) == (2, 2, 1)


def test_a_turn_that_the_conversation_does_not_have(tmp_path: Path) -> None:
    file = write_json(tmp_path / "human.json", [vote(), vote(turn=3)])
    with pytest.raises(ImportFileError, match="row 2, field conversation_a: expected 3 turns"):
        read_mtbench(file)

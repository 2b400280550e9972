"""Malformed files of each benchmark: refused whole, with the row, the field and what was expected."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from annotation.importers import (
    ImportFileError,
    read_alternative_annotators,
    read_chatbot_arena,
    read_healthbench,
    read_href_pairs,
    read_judge_bench_nlp,
    read_judgebench,
    read_mtbench,
    read_rewardbench,
    read_rewardbench2,
    read_rmbench,
    read_summeval,
)
from annotation.importers.errors import MAX_ERRORS, RefusedFileError
from tests.annotation.importers.benchmarks import (
    Row,
    battle,
    best_of_four,
    instance,
    judged,
    judgment,
    messages,
    met,
    metric,
    objective_pair,
    preference,
    preferred,
    rubric_prompt,
    schema,
    styled,
    summary,
    vote,
)
from tests.cases import over


class Malformed(NamedTuple):
    """A file of two rows, of which the second is wrong where `row` is 2, or a whole document."""

    name: str
    read: Callable[[Path], object]
    content: list[Row] | Row | str
    row: int | None
    field: str | None
    words: str
    file: str = "rows.json"


def rows(read: Callable[[Path], object], good: Row, **wrong: tuple[Row, str | None, str]) -> list[Malformed]:
    """Each a file whose second row is the good one with some fields changed."""
    return [
        Malformed(f"{read.__name__}: {name}", read, [good, good | changes], 2, field, words)
        for name, (changes, field, words) in wrong.items()
    ]


def without(row: Row, field: str) -> Row:
    return {name: value for name, value in row.items() if name != field}


NO_FILES = [
    Malformed(f"{read.__name__}: {name}", read, content, row, field, words)
    for read in (
        read_mtbench,
        read_judgebench,
        read_rewardbench,
        read_rmbench,
        read_href_pairs,
        read_summeval,
    )
    for name, content, row, field, words in (
        ("empty", "", None, None, "the file is empty"),
        ("cut off", '[{"id": 1', None, None, "expected JSON"),
        ("no objects", "[7]", 1, None, "expected a JSON object"),
        ("NaN", '[{"id": NaN}]', 1, "id", "NaN"),
    )
]
VOTES = [
    case
    for read, good in ((read_mtbench, vote()), (read_chatbot_arena, battle()))
    for case in rows(
        read,
        good,
        winner=({"question_id": 112, "winner": "A"}, "winner", "tie (bothbad)"),
        no_winner=({"question_id": 112, "winner": None}, "winner", "missing or empty"),
        list_as_winner=({"question_id": 112, "winner": ["model_a"]}, "winner", "found ['model_a']"),
        no_turn=({"question_id": 112, "turn": 0}, "turn", "found 0"),
        too_few_turns=({"turn": 7}, "conversation_a", "expected 7 turns"),
        roles=(
            {"conversation_b": messages("Hi.", "Hello.")[::-1]},
            "conversation_b",
            "found assistant, user",
        ),
        text_as_conversation=({"conversation_b": "Hi."}, "conversation_b", "expected a list"),
        other_question=(
            {"conversation_b": messages("Bye?", "Yes.", "So?", "No.")},
            "conversation_b",
            "expected the question of conversation_a",
        ),
        no_content=(
            {"conversation_a": [{"role": "user"}]},
            "conversation_a[0].content",
            "expected text, found none",
        ),
        no_model=({"question_id": 112, "model_a": " "}, "model_a", "expected a name"),
        no_judge=({"question_id": 112, "judge": None}, "judge", "missing"),
    )
]
VOTES += rows(
    read_mtbench,
    vote(),
    three_names=({"judge": ["a", "b", "c"]}, "judge", "a model and a prompt"),
)
VOTES += rows(read_chatbot_arena, battle(), same_question=({}, "question_id", "also in row 1"))
PAIRS = [
    *rows(
        read_judgebench,
        objective_pair(),
        label=({"pair_id": "p2", "label": "A=B"}, "label", "expected A>B or B>A, found 'A=B'"),
        no_source=({"pair_id": "p2", "source": ""}, "source", "expected text"),
        other_gold=({"label": "B>A"}, "gold", "as in row 1"),
        other_texts=({"response_A": "Another."}, "pair_id", "the same texts as in row 1"),
        three_judgments=(
            judged({"pair_id": "p2"}, None, None, None),
            "judgments",
            "one in each order, found 3",
        ),
        decision=(
            judged({"pair_id": "p2"}, judgment("first")),
            "judgments[0].decision",
            "expected A>B, B>A, A=B or B=A or null, found 'first'",
        ),
        scores=(
            judged({"pair_id": "p2"}, judgment("A>B", [1.0])),
            "judgments[0].judgment.scores",
            "2 numbers",
        ),
        no_judge=(without(judged({"pair_id": "p2"}, None), "judge_name"), "judge_name", "missing"),
    ),
    *rows(
        read_rewardbench,
        preference(),
        subset=(
            {"subset": "ours"},
            "subset",
            "a subset of RewardBench such as alpacaeval-easy, found 'ours'",
        ),
        same=({}, "id", "also in row 1"),
        no_response=({"id": 4, "rejected": None}, "rejected", "missing"),
        prompt=({"id": 4, "prompt": messages("Hi.", "Hello.")}, "prompt", "end with one of the user"),
    ),
    *rows(
        read_rewardbench2,
        best_of_four(),
        none_chosen=({"id": "8", "chosen": []}, "chosen", "at least one completion"),
        count=(
            {"id": "8", "num_incorrect": 2},
            "num_incorrect",
            "expected 3, how many rejected there are, found 2",
        ),
        number_as_text=({"id": "8", "rejected": ["Rome.", 7]}, "rejected[1].text", "expected text, found 7"),
        same=({}, "id", "also in row 1"),
    ),
    *rows(
        read_rmbench,
        styled(),
        domain=({"id": 6, "domain": "law"}, "domain", "expected chat, code, math"),
        two_styles=({"id": 6, "chosen": ["a", "b"]}, "chosen", "expected three responses (concise, detailed"),
        no_prompt=({"id": 6, "prompt": ""}, "prompt", "expected text"),
        same=({}, "id", "also in row 1"),
    ),
    *rows(
        read_href_pairs,
        preferred(1, 2),
        preference=({"annotations": [1, 3]}, "annotations[1].choice", "expected 0, 1 or 2, found 3"),
        none=({"annotations": []}, "annotations", "at least one preference"),
        names=({"annotaters": ["ann"]}, "annotaters", "expected 2 names, one a preference, found 1"),
        no_category=({"category": None}, "category", "missing"),
    ),
    *rows(
        read_summeval,
        summary(),
        points=(summary("M2", (6,)), "expert_annotations[0].coherence", "expected 1, 2, 3, 4 or 5, found 6"),
        dimension=(
            {"model_id": "M2", "turker_annotations": [{"tone": 3}]},
            "turker_annotations[0].tone",
            "unknown field",
        ),
        same=({}, "id", "also in row 1"),
    ),
    *rows(
        read_healthbench,
        rubric_prompt(),
        points=(
            {"prompt_id": "h2", "rubrics": [{"criterion": "Good.", "points": 0}]},
            "rubrics[0].points",
            "a number other than 0, found 0",
        ),
        no_rubric=({"prompt_id": "h2", "rubrics": []}, "rubrics", "at least one criterion"),
        same=({}, "prompt_id", "also in row 1"),
        label=(met(True) | {"binary_labels": ["yes"]}, "binary_labels[0].label", "expected true or false"),
        physicians=(
            met(True) | {"anonymized_physician_ids": []},
            "anonymized_physician_ids",
            "one a label, found 0",
        ),
    ),
]
GOOD = instance(1, "One.", Fluency=[4])
SCHEMAS = [
    Malformed(f"judge-bench-nlp: {name}", read_judge_bench_nlp, content, row, field, words)
    for name, content, row, field, words in (
        ("a list", [GOOD], None, None, "expected an object with annotations"),
        ("no metrics", schema(GOOD, metrics=[]), 0, "annotations", "at least one metric"),
        ("no instances", schema(metrics=[metric("Fluency")]), 0, "instances", "at least one instance"),
        (
            "continuous",
            schema(GOOD, metrics=[metric("Fluency") | {"category": "continuous"}]),
            0,
            "annotations[0].category",
            "expected graded or categorical, found 'continuous'.",
        ),
        (
            "no range",
            schema(GOOD, metrics=[metric("Fluency", worst=5)]),
            0,
            "annotations[0].best",
            "two different whole numbers",
        ),
        (
            "one label",
            schema(GOOD, metrics=[metric("a", labels=["x"])]),
            0,
            "annotations[0].labels_list",
            "two labels",
        ),
        (
            "two levels",
            schema(GOOD, metrics=[metric("Fluency", best=3), metric("Tone", labels=["kind", "rude"])]),
            0,
            "annotations",
            "'Fluency' is graded and 'Tone' is not",
        ),
        (
            "a score",
            schema(GOOD, instance(2, "Two.", Fluency=[4, 6]), metrics=[metric("Fluency")]),
            2,
            "annotations.Fluency.individual_human_scores[1]",
            "expected 1 to 5, found 6",
        ),
        (
            "a label",
            schema(instance(1, "One.", Tone=["blue"]), metrics=[metric("Tone", labels=["kind", "rude"])]),
            1,
            "annotations.Tone.individual_human_scores[0]",
            "expected kind or rude, found 'blue'",
        ),
        ("same id", schema(GOOD, GOOD, metrics=[metric("Fluency")]), 2, "id", "also in row 1"),
        ("an instance", schema(GOOD, 7, metrics=[metric("Fluency")]), 2, "instance", "expected an object"),  # type: ignore[arg-type]
    )
]
TWO_FILES = [
    Malformed(
        f"alternative-annotators: {name}",
        lambda path: read_alternative_annotators(path.parent),
        content,
        row,
        field,
        words,
        "human_annotations.json",
    )
    for name, content, row, field, words in (
        ("a list", [{"w1": {}}], None, None, "expected an object of annotators"),
        ("nobody", {}, None, None, "expected an object of annotators"),
        ("no annotations", {"w1": {"a": "x"}, "w2": ["x"]}, 2, "w2", "expected an object of instances"),
        ("a value", {"w1": {"a": "x", "b": ["x"]}}, 1, "b", "expected text or a number, found ['x']"),
        (
            "free text",
            {"w1": {str(n): f"text {n}" for n in range(201)}},
            1,
            None,
            "free text has no categories",
        ),
        ("key twice", '{"w1": {"a": "x", "a": "y"}}', None, "w1", "twice in one object"),
        ("another file", {"w1": {"a": "x"}}, None, None, "expected a folder with one file"),
    )
]
TWO_FILES[-1] = TWO_FILES[-1]._replace(file="humans.json")
CASES = [*NO_FILES, *VOTES, *PAIRS, *SCHEMAS, *TWO_FILES]


@over(CASES, name=lambda case: case.name)
def test_a_malformed_file_is_refused_with_row_field_and_expectation(case: Malformed) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / case.file
        file.write_text(case.content if isinstance(case.content, str) else json.dumps(case.content))
        with pytest.raises(ImportFileError) as caught:
            case.read(file)
    assert (caught.value.row, caught.value.field) == (case.row, case.field), str(caught.value)
    assert case.words in str(caught.value), str(caught.value)


def test_the_table_is_as_long_as_it_says() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


MANY: list[tuple[Callable[[Path], object], Row]] = [
    (read_mtbench, vote("?")),
    (read_chatbot_arena, battle("?")),
    (read_judgebench, objective_pair(label="?")),
    (read_rewardbench, preference("?")),
    (read_rewardbench2, best_of_four(chosen=[])),
    (read_rmbench, styled(domain="?")),
    (read_href_pairs, preferred(9)),
    (read_summeval, summary(experts=(9,))),
    (read_healthbench, rubric_prompt(rubrics=[])),
]


@over(MANY, name=lambda case: case[0].__name__)
def test_the_first_20_wrong_rows_are_listed(read: Callable[[Path], object], wrong: Row) -> None:
    numbered = (
        [{**wrong, name: f"{n}"} for n in range(30) for name in ("id",)] if "id" in wrong else [wrong] * 30
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        file.write_text(json.dumps(numbered))
        with pytest.raises(RefusedFileError) as caught:
            read(file)
    assert [one.row for one in caught.value.errors] == list(range(1, MAX_ERRORS + 1))

"""Mapping files: anybody's columns, nested too, and the words in them, of tables and of annotation tools."""

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from annotation.importers import DatasetBundle, ImportFileError
from annotation.peers.argilla import read_argilla
from annotation.peers.label_studio import read_label_studio
from annotation.peers.mapped_rows import read_tables
from annotation.peers.mapping import mapping_file_read
from tests.annotation.importers.benchmarks import Row, messages, write_json, write_lines
from tests.cases import over

# Votes in a form of nobody's: nested conversations, words for who won, a number where it is a tie.
VOTE = {
    "topic": {"name": "sums"},
    "a": {"turns": messages("Two plus two?", "Four.")},
    "b": {"turns": messages("Two plus two?", "Five.")},
    "winner": "left",
    "person": "ann",
    "seconds": 12,
}
MAPPING: dict[str, Any] = {
    "columns": {
        "topic.name": "category",
        "a.turns[0].content": "instruction",
        "a.turns[1].content": "response_1",
        "b.turns[1].content": "response_2",
        "winner": "preference",
        "person": "annotator",
    },
    "values": {"winner": {"left": 1, "right": 2, "0": 0, "neither": {"choice": 0, "both_bad": True}}},
    "constants": {"kind": "pairwise", "subset": "votes"},
    "others": "metadata",
}


def read(folder: Path, rows: list[Row], mapping: Any, name: str = "votes.jsonl") -> DatasetBundle:
    file = write_lines(folder / name, *rows)
    return read_tables(
        [file], file, "generic", mapping_file_read(write_json(folder / "mapping.json", mapping))
    )


def test_nested_columns_and_words(tmp_path):
    rows = [
        VOTE,
        VOTE | {"person": "ben", "winner": 0},
        VOTE | {"person": "cem", "winner": "neither"},
        VOTE | {"person": "dan", "winner": None},
    ]
    bundle = read(tmp_path, rows, MAPPING)
    item = bundle.items[0]
    assert len(bundle.items) == 1
    assert [response.text for response in bundle.responses] == ["Four.", "Five."]
    instruction = bundle.instructions[0]
    assert (instruction.text, instruction.category, instruction.subset) == ("Two plus two?", "sums", "votes")
    assert [(label.annotator, label.value) for label in bundle.labels] == [
        ("ann", {"choice": 1}),
        ("ben", {"choice": 0}),
        ("cem", {"choice": 0, "both_bad": True}),
    ]
    assert item.metadata == {"seconds": 12}


@pytest.mark.service
def test_the_same_of_csv_and_parquet(tmp_path):
    import pyarrow
    import pyarrow.parquet as parquet

    mapping = mapping_file_read(
        write_json(
            tmp_path / "mapping.json",
            {
                "columns": {"q": "instruction", "x": "response_1", "y": "response_2", "won": "gold"},
                "values": {"won": {"x": 1, "y": 2, "1.5": 0}},
                "others": "-",
            },
        )
    )
    csv = tmp_path / "pairs.csv"
    csv.write_text("q,x,y,won,note\nTwo?,2,3,x,a\nOne?,2,1,1.5,b\n")
    table = tmp_path / "pairs.parquet"
    columns = {
        "q": ["Two?", "One?"],
        "x": ["2", "2"],
        "y": ["3", "1"],
        "won": ["x", "1.5"],
        "note": ["a", "b"],
    }
    parquet.write_table(pyarrow.table(columns), table)
    for file in (csv, table):
        bundle = read_tables([file], file, "generic", mapping)
        assert [item.gold for item in bundle.items] == [{"choice": 1}, {"choice": 0}]
        assert [item.metadata for item in bundle.items] == [{}, {}]


def test_criteria_of_all_rows(tmp_path):
    criterion = {
        "key": "clarity",
        "question": "Is it clear?",
        "options": {str(point): f"{point}" for point in range(1, 6)},
    }
    bundle = read(
        tmp_path,
        [{"q": "One?", "text": "1", "rated": "good", "by": "ann"}],
        {
            "columns": {"q": "instruction", "text": "response_1", "by": "annotator", "rated": "label"},
            "values": {"rated": {"good": {"ratings": {"clarity": 4}}}},
            "constants": {"kind": "rubric", "criteria": [criterion]},
        },
    )
    assert bundle.labels[0].value == {"ratings": {"clarity": 4}}


class Refused(NamedTuple):
    name: str
    mapping: Any
    row: Row
    field: str | None
    words: str
    of_mapping: bool = True


def changed(**parts: Any) -> dict[str, Any]:
    return MAPPING | parts


COLUMNS = MAPPING["columns"]
WRONG = [
    Refused("no object", [], VOTE, None, "expected an object"),
    Refused("another part", changed(column={}), VOTE, "column", "did you mean 'columns'?"),
    Refused(
        "no field", changed(columns={"a": "instructon"}), VOTE, "columns.a", "did you mean 'instruction'?"
    ),
    Refused(
        "one field twice",
        changed(columns={"a": "context", "b": "context"}),
        VOTE,
        "columns.b",
        "is it already",
    ),
    Refused(
        "no path", changed(columns={"a[x]": "context"}), VOTE, "columns.a[x]", "expected a column, or a path"
    ),
    Refused("field that is no text", changed(columns={"a": 1}), VOTE, "columns.a", "expected text, found 1"),
    Refused("constant that is no field", changed(constants={"kin": 1}), VOTE, "constants.kin", "is no field"),
    Refused(
        "constant of a column",
        changed(constants={"category": "x"}),
        VOTE,
        "constants.category",
        "is a column's already",
    ),
    Refused(
        "values that are a list", changed(values={"winner": []}), VOTE, "values.winner", "expected an object"
    ),
    Refused("others", changed(others="keep"), VOTE, "others", "expected metadata or -"),
    Refused(
        "a word that isn't mapped",
        MAPPING,
        VOTE | {"winner": "up"},
        "winner",
        "expected left, right, 0 or neither as in the mapping",
        False,
    ),
    Refused(
        "a column that isn't mapped",
        {name: part for name, part in MAPPING.items() if name != "others"},
        VOTE,
        "seconds",
        "the mapping doesn't say what this is",
        False,
    ),
    Refused(
        "nothing at the path",
        changed(columns={**COLUMNS, "a.turns[0].content": "context", "a.turns[9].content": "instruction"}),
        VOTE,
        "a.turns[9].content",
        "the field is missing or empty",
        False,
    ),
    Refused(
        "no text at the path",
        MAPPING,
        VOTE | {"topic": {"name": 3}},
        "topic.name",
        "expected text, found 3",
        False,
    ),
]


@over(WRONG, name=lambda case: case.name)
def test_a_wrong_mapping_or_row_is_refused(case: Refused) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.raises(ImportFileError) as caught:
        read(Path(folder), [case.row], case.mapping)
    assert caught.value.field == case.field, str(caught.value)
    assert Path(caught.value.file).name == ("mapping.json" if case.of_mapping else "votes.jsonl")
    assert case.words in str(caught.value), str(caught.value)


def test_a_mapping_that_is_no_json(tmp_path):
    file = tmp_path / "mapping.json"
    file.write_text("{columns: ")
    with pytest.raises(ImportFileError, match="JSON"):
        mapping_file_read(file)


def test_argilla_with_fields_and_questions_of_its_own(tmp_path):
    record = {
        "id": "r-1",
        "fields": {"prompt": "Two plus two?", "left": "Four.", "right": "Five."},
        "metadata": {"batch": 3},
        "responses": {
            "better": [{"value": "A", "user_id": "ann"}, {"value": "same", "user_id": "ben"}],
            "how sure": [{"value": 4, "user_id": "ann"}],
        },
    }
    mapping = mapping_file_read(
        write_json(
            tmp_path / "mapping.json",
            {
                "columns": {
                    "id": "id",
                    "prompt": "instruction",
                    "left": "response_1",
                    "right": "response_2",
                    "batch": "metadata",
                },
                "questions": {"better": "choice", "how sure": "-"},
                "values": {"better": {"A": 1, "B": 2, "same": 0}},
            },
        )
    )
    bundle = read_argilla(write_json(tmp_path / "records.json", [record]), mapping)
    assert (bundle.items[0].external_id, bundle.items[0].metadata) == ("r-1", {"batch": 3})
    assert [(one.annotator, one.value) for one in bundle.labels] == [
        ("ann", {"choice": 1}),
        ("ben", {"choice": 0}),
    ]
    wrong = json.loads(json.dumps(record).replace('"same"', '"none"'))
    with pytest.raises(ImportFileError, match="row 1, field better: expected A, B or same as in the mapping"):
        read_argilla(write_json(tmp_path / "wrong.json", [wrong]), mapping)


def test_label_studio_with_data_and_controls_of_its_own(tmp_path):
    def answered(who: int, *results: Row) -> Row:
        return {"completed_by": who, "result": [{"to_name": "text", **one} for one in results]}

    def choice(name: str, word: str) -> Row:
        return {"from_name": name, "type": "choices", "value": {"choices": [word]}}

    task = {
        "id": 7,
        "data": {"article": "A long one.", "summary": "Short.", "source": "wire"},
        "annotations": [
            answered(
                1,
                {"from_name": "stars", "type": "rating", "value": {"rating": 5}},
                choice("tone", "warm"),
                choice("seen", "yes"),
            ),
            answered(2, choice("tone", "cold")),
        ],
    }
    criterion = {"question": "?", "options": {str(point): f"{point}" for point in range(1, 6)}}
    mapping = mapping_file_read(
        write_json(
            tmp_path / "mapping.json",
            {
                "columns": {"article": "context", "summary": "response_1", "source": "-"},
                "constants": {
                    "kind": "rubric",
                    "instruction": "Summarize the article.",
                    "criteria": [criterion | {"key": key} for key in ("overall", "tone")],
                },
                "questions": {"stars": "overall", "seen": "-"},
                "values": {"tone": {"warm": 4, "cold": 2}},
            },
        )
    )
    bundle = read_label_studio(write_json(tmp_path / "tasks.json", [task]), mapping)
    assert [(one.annotator, one.value) for one in bundle.labels] == [
        ("1", {"ratings": {"overall": 5, "tone": 4}}),
        ("2", {"ratings": {"tone": 2}}),
    ]


def test_label_studio_pairs_by_choices_of_words(tmp_path):
    def task(word: str) -> Row:
        result = {
            "from_name": "best",
            "to_name": "q",
            "type": "choices",
            "value": {"choices": [word]},
        }
        return {
            "data": {"q": "One?", "m1": "1", "m2": "2"},
            "annotations": [{"completed_by": 3, "result": [result]}],
        }

    mapping = mapping_file_read(
        write_json(
            tmp_path / "mapping.json",
            {
                "columns": {"q": "instruction", "m1": "response_1", "m2": "response_2"},
                "questions": {"best": "choice"},
                "values": {"best": {"first": 1, "second": 2, "equal": 0}},
            },
        )
    )
    tasks = [task(word) for word in ("first", "second", "equal")]
    for place, one in enumerate(tasks):
        one["data"]["q"] = f"{place}?"
    bundle = read_label_studio(write_json(tmp_path / "tasks.json", tasks), mapping)
    assert [label.value for label in bundle.labels] == [{"choice": 1}, {"choice": 2}, {"choice": 0}]

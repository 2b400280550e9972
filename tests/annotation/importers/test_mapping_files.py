"""Mapping files: anybody's columns, nested too, and the words in them, of tables and of annotation tools."""

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from annotation.importers import DatasetBundle, ImportFileError, read_generic
from annotation.importers.mapping import mapping_file_read, mapping_of
from annotation.peers.argilla import read_argilla
from annotation.peers.label_studio import read_label_studio
from tests.annotation.importers.benchmarks import Row, messages, write_json, write_lines
from tests.cases import over

ROOT = Path(__file__).parents[3]
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
        "winner": {
            "field": "preference",
            "values": {"left": 1, "right": 2, "0": 0, "neither": {"choice": 0, "both_bad": True}},
        },
        "person": "annotator",
    },
    "kind": "pairwise",
    "constants": {"subset": "votes"},
    "others": "metadata",
}


def read(folder: Path, rows: list[Row], mapping: Any, name: str = "votes.jsonl") -> DatasetBundle:
    file = write_lines(folder / name, *rows)
    return read_generic(file, mapping=mapping_file_read(write_json(folder / "mapping.json", mapping)))


def test_yaml_says_the_same_as_json(tmp_path):
    """Numbers as words may be numbers in YAML, where JSON has only text."""
    text = yaml.safe_dump(MAPPING).replace("'0':", "0:")
    assert "\n      0: 0\n" in text
    for name in ("mapping.yaml", "mapping.yml", "mapping"):
        (tmp_path / name).write_text(text)
        assert mapping_file_read(tmp_path / name) == mapping_file_read(
            write_json(tmp_path / "mapping.json", MAPPING)
        )


def test_the_examples_of_the_documentation_are_read(tmp_path):
    section = (ROOT / "docs" / "data-format.md").read_text().partition("### Mapping files\n")[2]
    examples = re.findall(r"^```yaml\n(.*?)^```$", section.partition("\n### ")[0], re.M | re.S)
    assert len(examples) == 2
    for text in examples:
        (tmp_path / "mapping.yaml").write_text(text)
        assert mapping_file_read(tmp_path / "mapping.yaml").columns
    row = {
        "messages": messages("Two plus two?", "Four."),
        "first": {"text": "Four."},
        "second": {"text": "Five."},
        "winner": "a>>b",
        "rater": "ann",
        "seconds": 12,
        "note": "x",
    }
    bundle = read(tmp_path, [row], yaml.safe_load(examples[0]))
    assert [label.value for label in bundle.labels] == [{"choice": 1, "strength": "much"}]
    assert (bundle.instructions[0].subset, bundle.items[0].metadata) == ("round 1", {"seconds": 12})


def test_all_of_it_comes_back_from_its_document():
    said = MAPPING | {
        "criteria": [{"key": "k"}],
        "categories": {"list": ["a"]},
        "questions": {"better": {"field": "choice", "values": {"a": 1}}, "comment": "-"},
    }
    mapping = mapping_of(said)
    assert mapping_of(json.loads(json.dumps(mapping.document()))) == mapping
    assert set(mapping.document()) == {"format", *said}
    assert mapping_of(replace(mapping, others="-").document()).others == "-"


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

    mapping = mapping_of(
        {
            "columns": {
                "q": "instruction",
                "x": "response_1",
                "y": "response_2",
                "won": {"field": "gold", "values": {"x": 1, "y": 2, "1.5": 0}},
            },
            "others": "-",
        }
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
        bundle = read_generic(file, mapping=mapping)
        assert [item.gold for item in bundle.items] == [{"choice": 1}, {"choice": 0}]
        assert [item.metadata for item in bundle.items] == [{}, {}]


def test_a_path_leads_into_json_text_of_a_csv_cell(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text('talk,x,y,id\n"[{""role"": ""user"", ""content"": ""Two?""}]",2,3,a\n')
    columns = {"talk[0].content": "instruction", "x": "response_1", "y": "response_2"}
    bundle = read_generic(file, mapping=mapping_of({"columns": columns}))
    assert (bundle.instructions[0].text, bundle.items[0].external_id) == ("Two?", "a")


def test_a_column_that_is_called_as_a_path_comes_first(tmp_path):
    row = {"a.b": "Two?", "a": {"b": "Three?"}, "response_1": "2", "response_2": "3"}
    said = {"columns": {"a.b": "instruction", "a": "-"}}
    assert read(tmp_path, [row], said).instructions[0].text == "Two?"


def test_others_are_left_out_or_kept_whatever_they_are_called(tmp_path):
    row = {"q": "Two?", "x": "2", "y": "3", "id": "a", "explanation": "It is."}
    columns = {"q": "instruction", "x": "response_1", "y": "response_2"}
    with pytest.raises(ImportFileError, match="field z: unknown field"):
        read(tmp_path, [row | {"z": 1}], {"columns": columns})
    assert read(tmp_path, [row], {"columns": columns}).items[0].external_id == "a"
    out = read(tmp_path, [row, row | {"q": "Three?", "late": 1}], {"columns": columns, "others": "-"}).items
    assert [(one.external_id != "a", one.explanation, one.metadata) for one in out] == [(True, "", {})] * 2
    (kept,) = read(tmp_path, [row], {"columns": columns, "others": "metadata"}).items
    assert (kept.explanation, kept.metadata) == ("", {"id": "a", "explanation": "It is."})


def test_a_column_called_metadata_is_the_metadata_unless_it_is_kept_in_it(tmp_path):
    row = {"instruction": "Two?", "response_1": "2", "response_2": "3", "metadata": {"batch": 3}}
    whole = mapping_of({"columns": {"metadata": "metadata"}})
    kept = mapping_of({"columns": {"metadata": "metadata."}})
    file = write_lines(tmp_path / "pairs.jsonl", row)
    for mapping, found in ((whole, {"batch": 3}), (kept, {"metadata": {"batch": 3}})):
        for one in (mapping, mapping_of(mapping.document())):
            assert read_generic(file, mapping=one).items[0].metadata == found


def test_whose_labels_they_are_may_be_the_same_for_all_rows(tmp_path):
    rows = [{"q": f"{n}?", "x": "1", "y": "2", "won": won} for n, won in enumerate(["A", " a", "b", None])]
    won = {"field": "label", "values": {"A": 1, "B": 2}}
    columns = {"q": "instruction", "x": "response_1", "y": "response_2", "won": won}
    bundle = read(tmp_path, rows, {"columns": columns, "constants": {"annotator": "ann"}})
    assert [(one.annotator, one.value["choice"]) for one in bundle.labels] == [
        ("ann", 1),
        ("ann", 1),
        ("ann", 2),
    ]


def test_a_class_that_is_a_number_is_a_word(tmp_path):
    """As Hugging Face has class labels; beside gaps they have a point."""
    won = {"field": "gold", "values": {"0": 1, "1": 2}}
    columns = {"q": "instruction", "x": "response_1", "y": "response_2", "won": won}
    rows = [{"q": f"{n}?", "x": "1", "y": "2", "won": won} for n, won in enumerate([0, 1.0, None])]
    bundle = read(tmp_path, rows, {"columns": columns})
    assert [one.gold for one in bundle.items] == [{"choice": 1}, {"choice": 2}, None]
    with pytest.raises(
        ImportFileError, match="row 1, field won: expected 0 or 1 as in the mapping, found -1"
    ):
        read(tmp_path, [rows[0] | {"won": -1}], {"columns": columns})


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
            "columns": {
                "q": "instruction",
                "text": "response_1",
                "by": "annotator",
                "rated": {"field": "label", "values": {"good": {"ratings": {"clarity": 4}}}},
            },
            "kind": "rubric",
            "criteria": [criterion],
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
    Refused("another part", changed(column={}), VOTE, "column", "did you mean 'columns'"),
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
        "what is no path",
        changed(columns={"a[x]": "context"}),
        VOTE,
        "a[x]",
        "there is no such column",
        False,
    ),
    Refused(
        "a path into nothing",
        changed(columns={"c.x": "context"}),
        VOTE,
        "c.x",
        "there is no such column; found topic, a, b",
        False,
    ),
    Refused(
        "field that is no text", changed(columns={"a": 1}), VOTE, "columns.a", "expected a field, found 1"
    ),
    Refused("constant that is no field", changed(constants={"kin": 1}), VOTE, "constants.kin", "is no field"),
    Refused(
        "constant of a column",
        changed(constants={"category": "x"}),
        VOTE,
        "columns.topic.name",
        "'constants' is it already",
    ),
    Refused(
        "constant of a member",
        changed(constants={"kind": "pairwise"}),
        VOTE,
        "constants.kind",
        "expected it as a member of its own",
    ),
    Refused(
        "constant of a column that isn't named",
        {name: part for name, part in MAPPING.items() if name != "others"},
        VOTE | {"subset": "mine"},
        "subset",
        "expected subset among the mapping's constants alone",
        False,
    ),
    Refused("constants that are a list", changed(constants=[1]), VOTE, "constants", "expected an object"),
    Refused("questions that are a list", changed(questions=["a"]), VOTE, "questions", "expected an object"),
    Refused(
        "question that is nothing", changed(questions={"a": ""}), VOTE, "questions.a", "expected a field"
    ),
    Refused(
        "values that are a list",
        changed(columns={"winner": {"field": "gold", "values": [1]}}),
        VOTE,
        "columns.winner",
        "expected an object of at most 200 words",
    ),
    Refused(
        "one word twice",
        changed(columns={"winner": {"field": "gold", "values": {"A": 1, "a": 2}}}),
        VOTE,
        "columns.winner",
        "expected each word once whatever its case, found 'a' again",
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
        "unknown field",
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


def test_a_file_that_is_neither_json_nor_yaml_nor_small(tmp_path):
    for name, content, words in (
        ("mapping.json", b"{columns: ", "expected JSON; at line 1, column 2"),
        ("mapping.yaml", b"columns: [", "expected YAML or JSON: not YAML"),
        ("mapping.yaml", b"columns: {a: \xff}", "expected YAML or JSON: 'utf-8' codec"),
        ("mapping.yaml", b"# " + b"x" * 2**20, "expected at most 1 MiB"),
        ("mapping.yaml", b"", "the file is empty"),
        ("mapping.yaml", b"columns:\n  a: 2024-01-01", "expected text, a number"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ImportFileError, match=words) as caught:
            mapping_file_read(tmp_path / name)
        assert Path(caught.value.file).name == name
    with pytest.raises(ImportFileError, match="there is none of this name"):
        mapping_file_read(tmp_path / "none.yaml")


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
    columns = {"prompt": "instruction", "left": "response_1", "right": "response_2", "batch": "metadata"}
    better = {"field": "choice", "values": {"A": 1, "B": 2, "same": 0}}
    said = {"columns": columns, "questions": {"better": better, "how sure": "-"}}
    mapping = mapping_of(said)
    bundle = read_argilla(write_json(tmp_path / "records.json", [record]), mapping)
    assert (bundle.items[0].external_id, bundle.items[0].metadata) == ("r-1", {"batch": 3})
    assert [(one.annotator, one.value) for one in bundle.labels] == [
        ("ann", {"choice": 1}),
        ("ben", {"choice": 0}),
    ]
    wrong = json.loads(json.dumps(record).replace('"same"', '"none"'))
    place = r"row 1, field responses\.better\[1\]\.value"
    with pytest.raises(ImportFileError, match=f"{place}: expected a, b or same as in the mapping"):
        read_argilla(write_json(tmp_path / "wrong.json", [wrong]), mapping)
    # Whatever becomes of other fields, a record keeps its name unless the mapping gives it another.
    records = write_json(tmp_path / "records.json", [record])
    short = {name: field for name, field in columns.items() if name != "batch"}
    no_text = json.loads(json.dumps(record).replace('"Two plus two?"', "4"))
    with pytest.raises(ImportFileError, match="row 1, field prompt: expected text, found 4"):
        read_argilla(write_json(tmp_path / "wrong.json", [no_text]), mapping)
    with pytest.raises(ImportFileError, match="row 1, field batch: the mapping doesn't say what this is"):
        read_argilla(records, mapping_of(said | {"columns": short}))
    (item,) = read_argilla(records, mapping_of(said | {"columns": short, "others": "-"})).items
    assert (item.external_id, item.metadata) == ("r-1", {})
    (item,) = read_argilla(records, mapping_of(said | {"columns": columns | {"id": "metadata"}})).items
    assert (item.external_id != "r-1", item.metadata) == (True, {"batch": 3, "id": "r-1"})


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
    mapping = mapping_of(
        {
            "kind": "rubric",
            "columns": {"article": "context", "summary": "response_1", "source": "-"},
            "constants": {"instruction": "Summarize the article."},
            "criteria": [criterion | {"key": key} for key in ("overall", "tone")],
            "questions": {
                "stars": "overall",
                "seen": "-",
                "tone": {"field": "tone", "values": {"warm": 4, "cold": 2}},
            },
        }
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

    mapping = mapping_of(
        {
            "columns": {"q": "instruction", "m1": "response_1", "m2": "response_2"},
            "questions": {"best": {"field": "choice", "values": {"first": 1, "second": 2, "equal": 0}}},
        }
    )
    tasks = [task(word) for word in ("first", "second", "equal")]
    for place, one in enumerate(tasks):
        one["data"]["q"] = f"{place}?"
    bundle = read_label_studio(write_json(tmp_path / "tasks.json", tasks), mapping)
    assert [label.value for label in bundle.labels] == [{"choice": 1}, {"choice": 2}, {"choice": 0}]

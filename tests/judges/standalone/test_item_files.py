"""Items read row by row are those of the file read whole, and memory does not grow with them."""

import json
import tracemalloc

import pytest

from annotation.importers import ImportFileError
from judges.standalone.item_files import ItemFile, items_open
from judges.standalone.items import items_of_file
from judges.standalone.main import main
from judges.standalone.verdicts import DoneVerdicts
from tests.judges.standalone.files import pairs_write, rows_of, rows_write

PAIR = {"instruction": "Say hello.", "responses": ["Hello.", "Hi."]}
CRITERIA = [
    {"key": key, "question": "Is it so?", "options": {str(k): f"level {k}" for k in range(1, 6)}}
    for key in ("clear", "brief")
]
ROWS = [
    {"criteria": CRITERIA[:1]},
    {"id": "p1", **PAIR, "gold": 1, "labels": [{"annotator": "ann", "value": 1}]},
    PAIR,
    PAIR,
    {**PAIR, "responses": ["A.", "B."]},
    PAIR,
    {"kind": "rubric", "instruction": "Go.", "responses": ["Gone."], "instruction_id": "go"},
    {"kind": "rubric", "instruction": "Go.", "responses": ["Going."], "instruction_id": "go"},
    {"criteria": CRITERIA[1:]},
    {"kind": "instructions", "instruction": "Nobody answered this."},
    {
        "kind": "checklist",
        "instruction": "Go.",
        "responses": ["x"],
        "aspects": [{"key": "a", "text": "It goes."}],
    },
]


def as_values(view):
    return {name: getattr(view, name) for name in view.__slots__ if name != "item_id"}


@pytest.mark.parametrize("kind", ["pairwise", "rubric", "checklist", "importance"])
def test_row_by_row_and_whole_are_the_same(tmp_path, kind):
    path = rows_write(tmp_path / "items.jsonl", ROWS)
    whole, n_others = items_of_file(path, kind)
    items = ItemFile(path, kind)
    for _ in range(2):
        assert [as_values(view) for view in items] == [as_values(view) for view in whole]
    assert (len(items), items.n_others) == (len(whole), n_others)
    assert len({view.item_id for view in items}) == len(whole)
    assert [view.external_id for view in ItemFile(path, kind, limit=2)] == [
        view.external_id for view in whole[:2]
    ]


def test_a_csv_with_other_names_is_read_by_its_mapping(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("Question,A,B\nSay hello.,Hello.,Hi.\nSay bye.,Bye.,So long.\n")
    mapping = {"Question": "instruction", "A": "response_1", "B": "response_2"}
    with items_open(path, "pairwise", mapping=mapping) as items:
        assert isinstance(items.views, ItemFile)
        assert [view.responses for view in items.views] == [("Hello.", "Hi."), ("Bye.", "So long.")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [{"id": "x", **PAIR}, {"id": "y", **PAIR}, {"id": "x", **PAIR}],
            "row 3, field id: expected a unique id",
        ),
        (
            [{**PAIR, "instruction_id": "i"}, {**PAIR, "instruction_id": "i", "instruction": "Else."}],
            "row 2, field instruction: expected the same as in row 1",
        ),
        ([PAIR, {**PAIR, "kind": "poem"}, {"responses": ["a", "b"]}], "2 errors"),
        ([{"criteria": CRITERIA}], "expected at least one item"),
    ],
)
def test_what_is_wrong_is_refused_as_in_the_whole_file(tmp_path, rows, said):
    path = rows_write(tmp_path / "items.jsonl", rows)
    with pytest.raises(ImportFileError) as whole:
        items_of_file(path, "pairwise")
    with pytest.raises(ImportFileError) as one_by_one:
        ItemFile(path, "pairwise")
    assert str(one_by_one.value) == str(whole.value)
    assert said in str(whole.value)


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "annotation.importers.tables.HEAD", 10
    )  # rows that are kept to see what the columns are
    path = pairs_write(tmp_path / "pairs.jsonl", 1500, context="x" * 8000)
    ItemFile(pairs_write(tmp_path / "few.jsonl", 2), "pairwise")  # what is imported and kept
    tracemalloc.start()
    n = sum(1 for _ in ItemFile(path, "pairwise"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == 1500
    assert peak < path.stat().st_size / 2


def test_a_file_of_any_size_is_read_where_no_row_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("annotation.importers.files.MAX_TABLE", 5_000)
    path = pairs_write(tmp_path / "pairs.jsonl", 100)
    with pytest.raises(ImportFileError, match="when decoded"):
        items_of_file(path, "pairwise")
    assert len(ItemFile(path, "pairwise")) == 100
    with pytest.raises(ImportFileError, match="when decoded"):
        ItemFile(pairs_write(tmp_path / "large.jsonl", 1, context="x" * 6_000), "pairwise")


def test_several_rows_of_one_item_are_read_whole(tmp_path):
    rows = [{**PAIR, "who": name, "better": 1} for name in ("ann", "ben")]
    path = rows_write(tmp_path / "labels.jsonl", rows)
    with items_open(path, "pairwise", mapping={"who": "annotator", "better": "label"}) as items:
        assert not isinstance(items.views, ItemFile)
        assert len(items.views) == 1


def test_done_verdicts_know_their_keys_and_texts():
    assert ("a", 0, 0) not in DoneVerdicts()
    done = DoneVerdicts([7, 3, 9], [1, 2, 3])
    assert len(done) == 3
    assert done.repeated() is None
    assert DoneVerdicts([7, 3, 9, 3, 7], [0] * 5).repeated() == 3


def test_a_second_verdict_in_the_output_is_named(tmp_path, capsys):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 2), tmp_path / "out.jsonl"
    given = ["judge", str(items), "--strategy", "longest", "--out", str(out), "--quiet"]
    assert main(given) == 0
    rows = rows_of(out)
    out.write_text("".join(f"{json.dumps(row)}\n" for row in [*rows, rows[1]]))
    assert main(given) == 3
    assert f"row 5, field item: a second verdict on {rows[1]['item']!r}" in capsys.readouterr().err.replace(
        '"', "'"
    )

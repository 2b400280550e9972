"""Files that are refused: each with the file, the row, the field and what was expected."""

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import ImportFileError, read_generic
from annotation.importers.errors import errors_of

PAIR: dict[str, Any] = {"id": "x", "instruction": "Say hello.", "responses": ["hello", "bye"]}
HEADER = "id,instruction,response_1,response_2,gold,annotator:ann,judge:j\n"


def pair(**changes: Any) -> str:
    return json.dumps(PAIR | changes) + "\n"


def asked(key: str, text: str = "Be brief.", **more: Any) -> dict[str, Any]:
    return {"key": key, "text": text, **more}


CRITERION = {"key": "c", "question": "Clear?", "options": {str(n): f"level {n}" for n in range(1, 6)}}
RUBRIC: dict[str, Any] = {"kind": "rubric", "responses": ["one"], "criteria": [CRITERION]}
IMPORTANCE: dict[str, Any] = {"kind": "importance", "responses": [], "aspects": [asked("a"), asked("b")]}

# name: (content, row, field, words of the message)
JSONL = {
    "no file content": ("", None, None, "empty"),
    "only blank lines": ("\n\n", None, None, "at least one item"),
    "only criteria": (json.dumps({"criteria": [CRITERION]}), None, None, "at least one item"),
    "not JSON": (pair() + '{"id": "y",}', 2, None, "column 12"),
    "cut off": (pair() + pair(id="y")[:-5], 2, None, "expected JSON"),
    "a list": ("[1, 2]", 1, None, "expected a JSON object"),
    "latin-1": (
        pair().encode() + '{"id": "é"}'.encode("latin-1"),
        2,
        None,
        "expected UTF-8 text, found the byte 0xe9",
    ),
    "utf-16": (pair().encode("utf-16"), None, None, "found UTF-16"),
    "NUL byte": (pair() + '{"id": "a\x00"}', 2, None, "expected JSON"),
    "NUL escape": (pair(instruction="a\x00b"), 1, "instruction", "the character NUL"),
    "surrogate": (
        '{"id": "x", "instruction": "\\ud800", "responses": ["a", "b"]}',
        1,
        "instruction",
        "lone surrogate",
    ),
    "NaN": (pair(gold=float("nan")), 1, "gold", "NaN"),
    "infinity": (pair(metadata={"a": 1}).replace("1}", "1e999}"), 1, "metadata.a", "too large"),
    "endless number": (pair(gold=7).replace("7", "7" * 5000), 1, "gold", "too large"),
    "deep nesting": ("[" * 100_000, 1, None, "more than 32 levels of nesting"),
    "nested metadata": (
        pair(metadata={"a": json.loads("[" * 40 + "]" * 40)}),
        1,
        "metadata.a" + "[0]" * 30,
        "32 levels",
    ),
    "key twice": ('{"id": "a", "id": "b"}', 1, None, "twice"),
    "typo": (pair(instuction="x"), 1, "instuction", "did you mean 'instruction'?"),
    "kind that is a list": (pair(kind=["pairwise"]), 1, "kind", "expected pairwise"),
    "kind that is an object": (pair(kind={"pairwise": 1}), 1, "kind", "expected pairwise"),
    "no id": (pair(id=None), 1, "id", "missing or empty"),
    "blank id": (pair(id="  "), 1, "id", "expected a name"),
    "id of two lines": (pair(id="a\nb"), 1, "id", "on one line"),
    "id is a list": (pair(id=["a"]), 1, "id", "expected text"),
    "id too long": (pair(id="i" * 201), 1, "id", "at most 200 characters, found 201"),
    "id twice": (pair() + "\n" + pair(instruction="Other"), 3, "id", "also in row 1"),
    "id twice, number and text": (pair(id=1) + pair(id="1"), 2, "id", "also in row 1"),
    "no instruction": (pair(instruction=""), 1, "instruction", "expected text"),
    "instruction is a number": (pair(instruction=7), 1, "instruction", "expected text, found 7"),
    "instruction id says another thing": (
        pair(instruction_id="i") + pair(id="y", instruction_id="i", context="new"),
        2,
        "context",
        "the same as in row 1",
    ),
    "instruction id with other aspects": (
        pair(**IMPORTANCE, instruction_id="i") + pair(id="y", instruction_id="i"),
        2,
        "aspects",
        "the same aspects as in row 1",
    ),
    "unknown kind": (pair(kind="pair"), 1, "kind", "pairwise, rubric"),
    "category too long": (pair(category="c" * 101), 1, "category", "at most 100"),
    "subset is no path": (pair(subset="Adversarial//Neighbor"), 1, "subset", "a path"),
    "one response": (
        pair(responses=["a"]),
        1,
        "responses",
        "expected 2 for an item of kind pairwise, found 1",
    ),
    "three responses": (pair(responses=["a", "b", "c"]), 1, "responses", "found 3"),
    "responses as text": (pair(responses="ab"), 1, "responses", "expected a list"),
    "response without text": (pair(responses=["a", {"system": "m"}]), 1, "responses[1].text", "missing"),
    "response with a typo": (pair(responses=["a", {"txt": "m"}]), 1, "responses[1].txt", "unknown field"),
    "system too long": (
        pair(responses=["a", {"text": "", "system": "s" * 201}]),
        1,
        "responses[1].system",
        "at most 200",
    ),
    "conversation as text": (pair(conversation="Hello."), 1, "conversation", "expected a list"),
    "conversation of texts": (pair(conversation=["Hello."]), 1, "conversation[0]", "expected an object"),
    "turn without role": (pair(conversation=[{"text": "a"}]), 1, "conversation[0].role", "missing"),
    "turn of somebody else": (
        pair(conversation=[{"role": "user", "text": "a"}, {"role": "narrator", "text": "b"}]),
        1,
        "conversation[1].role",
        "expected system, user, assistant or tool, found 'narrator'",
    ),
    "turn without text": (
        pair(conversation=[{"role": "user", "text": " "}]),
        1,
        "conversation[0].text",
        "expected text",
    ),
    "turn with a typo": (
        pair(conversation=[{"role": "user", "txt": "a"}]),
        1,
        "conversation[0].txt",
        "unknown field",
    ),
    "text and messages": (
        pair(responses=["a", {"text": "b", "messages": [{"role": "assistant", "text": "b"}]}]),
        1,
        "responses[1].messages",
        "either text or messages",
    ),
    "messages of the user alone": (
        pair(responses=["a", {"messages": [{"role": "user", "text": "b"}]}]),
        1,
        "responses[1].messages",
        "at least one message of the assistant",
    ),
    "no messages": (pair(responses=["a", {"messages": []}]), 1, "responses[1].messages", "of the assistant"),
    "message is a text": (
        pair(responses=["a", {"messages": ["b"]}]),
        1,
        "responses[1].messages[0]",
        "expected an object",
    ),
    "explanation is a list": (pair(explanation=["a"]), 1, "explanation", "expected text"),
    "strength of a tie": (pair(gold={"choice": 0, "strength": "much"}), 1, "gold.strength", "a tie is none"),
    "unknown strength": (
        pair(gold={"choice": 1, "strength": 2}),
        1,
        "gold.strength",
        "slightly, better or much",
    ),
    "both bad and a preference": (
        pair(gold={"choice": 1, "both_bad": True}),
        1,
        "gold.both_bad",
        "goes with a tie alone",
    ),
    "instruction id with another conversation": (
        pair(instruction_id="i")
        + pair(id="y", instruction_id="i", conversation=[{"role": "user", "text": "a"}]),
        2,
        "conversation",
        "the same as in row 1",
    ),
    "both forms": (pair(response_1="a", response_2="b"), 1, "responses", "either"),
    "gold out of range": (pair(gold=3), 1, "gold", "expected 0, 1 or 2, found 3"),
    "gold as text": (pair(gold="1"), 1, "gold", "expected 0, 1 or 2, found '1'"),
    "gold as a boolean": (pair(gold=True), 1, "gold", "found True"),
    "gold as a half": (pair(gold=1.5), 1, "gold", "found 1.5"),
    "gold object": (pair(gold={"choice": 9}), 1, "gold.choice", "found 9"),
    "gold of another kind": (pair(gold={"ratings": {}}), 1, "gold.choice", "is missing"),
    "label out of range": (
        pair(labels=[{"annotator": "a", "value": 1}, {"annotator": "b", "value": -1}]),
        1,
        "labels[1].value",
        "found -1",
    ),
    "label without value": (pair(labels=[{"annotator": "a"}]), 1, "labels[0].value", "missing"),
    "label without annotator": (pair(labels=[{"value": 1}]), 1, "labels[0].annotator", "missing"),
    "two labels of one": (
        pair(labels=[{"annotator": "a", "value": 1}] * 2),
        1,
        "labels[1].value",
        "expected one label",
    ),
    "simulated as text": (
        pair(labels=[{"annotator": "a", "value": 1, "simulated": "no"}]),
        1,
        "labels[0].simulated",
        "true or false",
    ),
    "label is a number": (pair(labels=[1]), 1, "labels[0]", "expected an object"),
    "verdict out of range": (pair(verdicts=[{"judge": "j", "value": 5}]), 1, "verdicts[0].value", "found 5"),
    "verdict without value": (pair(verdicts=[{"judge": "j"}]), 1, "verdicts[0].value", "or null"),
    "verdict in order 2": (
        pair(verdicts=[{"judge": "j", "value": 1, "order": 2}]),
        1,
        "verdicts[0].order",
        "expected 0 or 1",
    ),
    "verdict twice": (
        pair(verdicts=[{"judge": "j", "value": 1}] * 2),
        1,
        "verdicts[1].value",
        "expected one verdict",
    ),
    "scores": (
        pair(verdicts=[{"judge": "j", "value": 1, "scores": [1]}]),
        1,
        "verdicts[0].scores",
        "a list of 2 numbers",
    ),
    "score as text": (
        pair(verdicts=[{"judge": "j", "value": 1, "scores": [1, "2"]}]),
        1,
        "verdicts[0].scores",
        "found '2'",
    ),
    "metadata is a list": (pair(metadata=[]), 1, "metadata", "expected an object"),
    "rubric without criteria": (pair(kind="rubric", responses=["a"]), 1, "criteria", "found none"),
    "rating out of range": (
        pair(**RUBRIC, gold={"ratings": {"c": 6}}),
        1,
        "gold.ratings.c",
        "expected 1 to 5, found 6",
    ),
    "rating of nothing": (pair(**RUBRIC, gold={"ratings": {}}), 1, "gold.ratings", "at least one"),
    "rating of another": (pair(**RUBRIC, gold={"ratings": {"d": 1}}), 1, "gold.ratings.d", "unknown name"),
    "rating as a number": (pair(**RUBRIC, gold=4), 1, "gold", "expected an object {'ratings': ...}"),
    "criterion changes": (
        pair(**RUBRIC) + pair(**RUBRIC | {"id": "y", "criteria": [CRITERION | {"question": "New?"}]}),
        2,
        "criteria",
        "the same as in row 1",
    ),
    "criterion with a bad key": (
        pair(**RUBRIC | {"criteria": [CRITERION | {"key": "a b"}]}),
        1,
        "criteria[0].key",
        "letters",
    ),
    "criterion without options": (
        pair(**RUBRIC | {"criteria": [CRITERION | {"options": {"1": "a"}}]}),
        1,
        "criteria[0].options.2",
        "missing",
    ),
    "no aspects": (pair(kind="importance", responses=[]), 1, "aspects", "at least one aspect"),
    "aspect twice": (
        pair(**IMPORTANCE | {"aspects": [asked("a"), asked("a")]}),
        1,
        "aspects[1].key",
        "twice",
    ),
    "parent after child": (
        pair(**IMPORTANCE | {"aspects": [asked("a", parent="b"), asked("b")]}),
        1,
        "aspects[0].parent",
        "listed before it",
    ),
    "rank missing": (pair(**IMPORTANCE, gold={"ranks": {"a": 1}}), 1, "gold.ranks.b", "missing"),
    "rank of zero": (
        pair(**IMPORTANCE, gold={"ranks": {"a": 0, "b": 1}}),
        1,
        "gold.ranks.a",
        "a rank of 1 to 2",
    ),
    "answer as text": (
        pair(kind="checklist", responses=["r"], aspects=[asked("a")], gold={"answers": {"a": "perhaps"}}),
        1,
        "gold.answers.a",
        "true, false or null",
    ),
    "rank of a third of two": (
        pair(kind="answer_ranking", gold={"ranks": {"0": 1, "1": 2, "2": 3}}),
        1,
        "gold.ranks.2",
        "unknown name",
    ),
}

CSV = {
    "only a header": (HEADER, None, None, "at least one item"),
    "no header": ("x,Say hello,hello,bye\n", 1, "x", "unknown column"),
    "missing column": ("id,response_1,response_2\nx,a,b\n", 1, "instruction", "the column is missing"),
    "column twice": ("id,id,instruction\n", 1, "id", "found it twice"),
    "column without a name": ("id,,instruction\n", 1, None, "column 2"),
    "too few fields": (HEADER + "x,Say,a,b,1,1\n", 2, None, "expected 7 fields as in the header, found 6"),
    "too many fields": (HEADER + "x,Say,a,b,1,1,1\n" + "y,Say,a,b,1,1,1,1\n", 3, None, "found 8"),
    "open quote": (HEADER + 'x,Say,"a,b,1,1,1\n', 2, None, "expected CSV"),
    "broken quote": (HEADER + 'x,Say,"a"c,b,1,1,1\n', 2, None, "expected CSV"),
    "NUL": (HEADER + "x,Say,a\x00,b,1,1,1\n", 2, "response_1", "NUL"),
    "gold out of range": (HEADER + "x,Say,a,b,3,1,1\n", 2, "gold", "found 3"),
    "gold in words": (HEADER + "x,Say,a,b,first,1,1\n", 2, "gold", "found 'first'"),
    "label out of range": (
        HEADER + '"x","Say\nhi",a,b,1,1,1\ny,Say,a,b,1,12,1\n',
        3,
        "annotator:ann",
        "found 12",
    ),
    "verdict out of range": (HEADER + "x,Say,a,b,1,1,A\n", 2, "judge:j", "found 'A'"),
    "gap in the responses": (
        "id,instruction,response_1,response_3\nx,Say,a,b\n",
        2,
        "response_3",
        "without a gap",
    ),
    "system without response": ("id,instruction,system_1\nx,Say,m\n", 2, "system_1", "response_1 beside it"),
    "raw without verdict": (
        "id,instruction,response_1,response_2,judge:j:raw\nx,S,a,b,text\n",
        2,
        "judge:j:raw",
        "beside it",
    ),
    "raw beside nothing": (
        "id,instruction,response_1,response_2,judge:j,judge:j:raw\nx,S,a,b,,text\n",
        2,
        "judge:j",
        "unparsed",
    ),
    "annotator without a name": ("id,instruction,annotator:\nx,Say,1\n", 1, "annotator:", "unknown column"),
    "metadata is no JSON": (
        "id,instruction,response_1,response_2,metadata\nx,S,a,b,{\n",
        2,
        "metadata",
        "JSON",
    ),
}


@pytest.mark.parametrize("name", JSONL)
def test_refused_jsonl(tmp_path: Path, name: str) -> None:
    refuse(tmp_path / "data.jsonl", *JSONL[name])


@pytest.mark.parametrize("name", CSV)
def test_refused_csv(tmp_path: Path, name: str) -> None:
    refuse(tmp_path / "data.csv", *CSV[name])


def refuse(file: Path, content: str | bytes, row: int | None, field: str | None, words: str) -> None:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ImportFileError) as caught:
        read_generic(file)
    error = caught.value
    assert (error.file, error.row, error.field) == (str(file), row, field), str(error)
    assert words in str(error)
    assert str(file) in str(error)
    assert len(error.message) < 500
    assert all(str(one).isprintable() for one in errors_of(error))

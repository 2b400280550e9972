"""Files that are none of what they are sent as, of every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.annotation.importers.benchmarks import (
    battle,
    best_of_four,
    instance,
    judged,
    judgment,
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
from tests.judges.malformed_tables import (
    DEEP,
    IMAGES,
    MAPPINGS,
    MEBIBYTE,
    TABLES,
    Make,
    MalformedFile,
    bomb,
    lines,
    packed,
    pair,
)


def folder(head: str, **more: bytes | str) -> Make:
    return lambda: packed({"README.md": f"---\n{head}\n---\n", "data.jsonl": lines(pair()), **more})


FOLDERS = (
    MalformedFile("no data", "huggingface", "a.zip", lambda: packed({"README.md": "x"}), "", "found none"),
    MalformedFile("card deep", "huggingface", "a.zip", folder("a: " + "[" * 20_000), "", "levels of lists"),
    MalformedFile(
        "card that doubles",
        "huggingface",
        "a.zip",
        folder(
            "\n".join(
                [
                    "a0: &a0 [x, x, x, x, x, x, x, x, x]",
                    *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)),
                ]
            )
        ),
        "",
        "once aliases are written out",
    ),
    MalformedFile(
        "card leads out",
        "huggingface",
        "a.zip",
        folder("configs:\n- config_name: a\n  data_files: ../../*.jsonl"),
        "row 1, field configs[0].data_files.path",
        "a path in the folder",
    ),
    MalformedFile(
        "tag of Python",
        "huggingface",
        "a.zip",
        folder("a: !!python/object/apply:os.system ['true']"),
        "",
        "could not determine a constructor",
    ),
    MalformedFile(
        "mapping of no field",
        "huggingface",
        "a.zip",
        folder("a: b", **{"touchstone.yaml": "columns: {id: colour}"}),
        "field columns.id",
        "'colour' is no field",
    ),
    MalformedFile(
        "Arrow that is none",
        "huggingface",
        "a.zip",
        lambda: packed({"state.json": '{"_data_files": [{"filename": "a.arrow"}]}', "a.arrow": b"\xff" * 99}),
        "",
        "cannot be read as Arrow",
    ),
    MalformedFile(
        "file of a state leads out",
        "huggingface",
        "a.zip",
        lambda: packed({"state.json": '{"_data_files": [{"filename": "../a.arrow"}]}'}),
        "field _data_files[0].filename",
        "expected a file beside state.json",
    ),
)
TASK: dict[str, Any] = {
    "id": 1,
    "data": {"id": "a", "kind": "pairwise", "instruction": "i", "response_1": "x", "response_2": "y"},
    "annotations": [
        {
            "completed_by": 1,
            "result": [{"from_name": "choice", "type": "pairwise", "value": {"selected": "left"}}],
        }
    ],
}
RECORD: dict[str, Any] = {
    "id": "a",
    "fields": {"instruction": "i", "response_1": "x", "response_2": "y"},
    "metadata": {"kind": "pairwise"},
    "responses": {"choice": [{"value": "response_1", "user_id": "u"}]},
}


def answered(**value: Any) -> str:
    result = [{"from_name": "choice", "type": "pairwise", "value": value}]
    return json.dumps([TASK | {"annotations": [{"completed_by": 1, "result": result}]}])


def project(config: object, state: object = None) -> Make:
    said = {} if state is None else {"annotation_output/ann/user_state.json": json.dumps(state)}
    data = {"config.yaml": config if isinstance(config, str) else yaml.safe_dump(config)}
    return lambda: packed({**data, "rows.json": '{"id": "1", "text": ["x", "y"]}', **said})


SCHEMES = [
    {
        "annotation_type": "pairwise",
        "name": "choice",
        "mode": "binary",
        "items_key": "text",
        "description": "d",
    }
]
CONFIG = {"data_files": ["rows.json"], "annotation_schemes": SCHEMES}
TOOLS = (
    MalformedFile("no JSON", "label-studio", "a.json", "[", "", "expected JSON"),
    MalformedFile("a task that is none", "label-studio", "a.json", "[7]", "row 1", "expected a JSON object"),
    MalformedFile(
        "annotations that are none",
        "label-studio",
        "a.json",
        json.dumps([TASK | {"annotations": {}}]),
        "row 1, field annotations",
        "expected a list",
    ),
    MalformedFile(
        "no side",
        "label-studio",
        "a.json",
        answered(selected="middle"),
        "row 1, field annotations[0].result[0].value",
        "expected left or right",
    ),
    MalformedFile(
        "data deep",
        "label-studio",
        "a.json",
        json.dumps([TASK | {"data": TASK["data"] | {"metadata": DEEP}}]),
        "row 1, field metadata",
        "more than 32 levels of nesting",
    ),
    MalformedFile(
        "unknown choice",
        "argilla",
        "a.json",
        json.dumps([RECORD | {"responses": {"choice": [{"value": "both", "user_id": "u"}]}}]),
        "row 1, field responses.choice[0].value",
        "expected response_1",
    ),
    MalformedFile(
        "nobody's response",
        "argilla",
        "a.json",
        json.dumps([RECORD | {"responses": {"choice": [{"value": "tie"}]}}]),
        "row 1, field responses.choice[0].user_id",
        "missing",
    ),
    MalformedFile(
        "endless number",
        "argilla",
        "a.json",
        json.dumps([RECORD]).replace('"tie"', "1").replace('"a"', "9" * 4000),
        "row 1, field id",
        "too large",
    ),
    MalformedFile(
        "no configuration", "potato", "a.zip", lambda: packed({"rows.json": "{}"}), "", "found none"
    ),
    MalformedFile(
        "configuration deep",
        "potato",
        "a.zip",
        project("annotation_schemes: " + "[" * 20_000),
        "",
        "levels of lists",
    ),
    MalformedFile(
        "data elsewhere",
        "potato",
        "a.zip",
        project(CONFIG | {"data_files": ["../../etc/passwd"]}),
        "row 1, field data_files[0]",
        "leads out",
    ),
    MalformedFile(
        "path of 5,000 characters",
        "potato",
        "a.zip",
        project(CONFIG | {"task_dir": "d" * 5000}),
        "row 1, field task_dir",
        "expected a path",
    ),
    MalformedFile(
        "half a surrogate pair",
        "potato",
        "a.zip",
        project('annotation_schemes:\n- description: "\\ud800"\n'),
        "",
        "line 2",
    ),
    MalformedFile(
        "side of no name",
        "potato",
        "a.zip",
        project(
            CONFIG,
            {
                "user_id": "ann",
                "instance_id_to_label_to_value": {"1": [[{"schema": "choice", "name": "selection"}, "C"]]},
            },
        ),
        "row 1, field choice",
        "expected A, B or tie",
    ),
    MalformedFile(
        "endless number on a scale",
        "potato",
        "a.zip",
        project(
            CONFIG,
            {
                "user_id": "ann",
                "instance_id_to_label_to_value": {
                    "1": [[{"schema": "choice", "name": "scale_value"}, 10**299]]
                },
            },
        ),
        "row 1, field choice",
        "expected a number",
    ),
)


def attributes(**of: Any) -> list[dict[str, Any]]:
    return [{"key": key.replace("__", "."), "value": value} for key, value in of.items()]


def otlp(**changes: Any) -> str:
    span = {
        "traceId": "t",
        "startTimeUnixNano": "1764000000000000000",
        "attributes": attributes(
            gen_ai__operation__name={"stringValue": "chat"}, gen_ai__input__messages={"stringValue": "["}
        ),
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span | changes]}]}]})


GENERATION = {
    "id": "o",
    "type": "GENERATION",
    "startTime": "2026-11-24T09:30:00Z",
    "input": "q",
    "output": "a",
}
TRACES = (
    MalformedFile("no archive", "inspect", "a.eval", b"\0" * 100, "", "which is a zip archive"),
    MalformedFile("bomb", "inspect", "a.eval", bomb, "", "when unpacked"),
    MalformedFile(
        "a text", "inspect", "a.json", lambda: b"[" * (65 * MEBIBYTE - 9 * MEBIBYTE), "", "Inspect"
    ),
    MalformedFile(
        "ids alone",
        "langfuse",
        "a.json",
        json.dumps([{"id": "t", "observations": ["o1"]}]),
        "row 1, field observations[0]",
        "expected an object",
    ),
    MalformedFile(
        "no moment",
        "langfuse",
        "a.json",
        json.dumps([{"id": "t", "observations": [GENERATION | {"startTime": "soon"}]}]),
        "row 1, field observations[0].startTime",
        "expected a date and time",
    ),
    MalformedFile(
        "no trace",
        "langfuse",
        "a.jsonl",
        lines({"type": "GENERATION"}),
        "row 1, field observations",
        "expected the observations",
    ),
    MalformedFile(
        "endless moment",
        "opentelemetry",
        "a.json",
        otlp(startTimeUnixNano="9" * 5000),
        "row 1, field startTimeUnixNano",
        "expected nanoseconds",
    ),
    MalformedFile("messages that end", "opentelemetry", "a.json", otlp(), "row 1, field", "expected"),
    MalformedFile(
        "no spans",
        "opentelemetry",
        "a.jsonl",
        "{}\n",
        "row 1, field resourceSpans",
        "expected a request of OTLP",
    ),
)


def annotated(people: str) -> Make:
    return lambda: packed({"human_annotations.json": people})


def published(format: str, file: str, place: str, words: str, *rows: object) -> MalformedFile:
    content = lines(*rows) if file.endswith("l") else json.dumps(list(rows))
    return MalformedFile("second row", format, file, content, place, words)


ALPACA = {
    "instruction": "i",
    "output_1": "x",
    "output_2": "y",
    "preference": 1,
    "annotator_index": 0,
    "dataset": "d",
    "datasplit": "e",
}
PANDALM = {
    "idx": 0,
    "cmp_key": "a_b",
    "instruction": "i",
    "input": "",
    "response1": "x",
    "response2": "y",
    "annotator1": 1,
    "annotator2": 2,
    "annotator3": 0,
}
QUESTIONS = {
    "id": "t",
    "instruction": "i",
    "input": "",
    "category": "c",
    "subset": "Easy_set",
    "decomposed_questions": ["q?"],
    "question_label": [["Format"]],
    "output": "o",
    "eval": [True],
}
PUBLISHED = (
    MalformedFile(
        "endless number",
        "alternative-annotators",
        "a.zip",
        annotated('{"p": {"t1": ' + "9" * 400 + "}}"),
        "field p.t1",
        "too large",
    ),
    MalformedFile(
        "a list of people",
        "alternative-annotators",
        "a.zip",
        annotated("[1]"),
        "",
        "expected an object of annotators",
    ),
    MalformedFile(
        "object as value",
        "alternative-annotators",
        "a.zip",
        annotated('{"p": {"t1": {}, "t2": "x"}}'),
        "row 1, field t1",
        "expected text or a number",
    ),
    published(
        "alpaca-human",
        "a.json",
        "row 2, field preference",
        "found 3",
        ALPACA,
        ALPACA | {"preference": 3, "annotator_index": 1},
    ),
    published(
        "chatbot-arena",
        "a.json",
        "row 2, field winner",
        "found 'me'",
        battle(),
        battle("me", question_id="q-2"),
    ),
    published(
        "healthbench",
        "a.jsonl",
        "row 2, field binary_labels",
        "expected",
        met(True),
        met(True, completion_id="k2", binary_labels=[3]),
    ),
    published(
        "healthbench",
        "b.jsonl",
        "row 2, field rubrics",
        "expected",
        rubric_prompt(),
        rubric_prompt("h2", rubrics=[3]),
    ),
    published(
        "href",
        "a.json",
        "row 2, field annotations",
        "expected",
        preferred(1, 2),
        preferred(9, 2, instruction="Other."),
    ),
    MalformedFile(
        "score beside the scale",
        "judge-bench-nlp",
        "a.json",
        json.dumps(schema(instance(1, "t", a=[9]), metrics=[metric("a")])),
        "row 1, field",
        "9",
    ),
    published(
        "judgebench",
        "a.json",
        "row 1, field",
        "expected",
        judged(objective_pair(), judgment("A>B", [1, 2]), judgment("C>D")),
    ),
    published("mtbench", "a.json", "row 2, field turn", "found 0", vote(), vote(turn=0, judge="expert_2")),
    published(
        "pandalm",
        "a.json",
        "row 2, field annotator1",
        "expected",
        PANDALM,
        PANDALM | {"idx": 1, "annotator1": "left"},
    ),
    published(
        "infobench",
        "a.jsonl",
        "row 2, field eval",
        "expected",
        QUESTIONS,
        QUESTIONS | {"id": "u", "eval": [1]},
    ),
    published(
        "llmbar",
        "dataset.json",
        "row 2, field label",
        "found 3",
        {"input": "i", "output_1": "x", "output_2": "y", "label": 1},
        {"input": "j", "output_1": "x", "output_2": "y", "label": 3},
    ),
    published(
        "rewardbench",
        "a.json",
        "row 2, field rejected",
        "missing",
        preference(),
        preference(number=4, rejected=None),
    ),
    published(
        "rewardbench2",
        "a.json",
        "row 2, field chosen",
        "expected",
        best_of_four(),
        best_of_four("8", chosen="The Po."),
    ),
    published(
        "rmbench", "a.json", "row 2, field rejected", "expected", styled(), styled(6, rejected=["Five."])
    ),
    published(
        "summeval",
        "a.jsonl",
        "row 2, field expert_annotations",
        "9",
        summary(),
        summary("M2", experts=(9, 4)),
    ),
    MalformedFile(
        "no header", "dices", "a.csv", "a,b\n1,2\n", "row 1, field rater_id", "the column is missing"
    ),
    MalformedFile(
        "entities",
        "stackexchange",
        "Posts.xml",
        '<!DOCTYPE p [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><posts><row Id="&b;"/></posts>',
        "",
        "expected",
    ),
)
FILES = (*TABLES, *IMAGES, *FOLDERS, *TOOLS, *TRACES, *PUBLISHED, *MAPPINGS)


def write(one: MalformedFile, folder: Path) -> Path:
    """Write a file, with its mapping beside it where that is what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / one.file).write_bytes(one.data)
    if one.mapping:
        (folder / "mapping.yaml").write_text(one.mapping)
    return folder / one.file

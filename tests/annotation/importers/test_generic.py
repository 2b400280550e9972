"""The generic format: the documented examples, its three containers, and a round trip."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.importers import (
    DatasetBundle,
    ImportFileError,
    read_generic,
    read_label_rows,
    read_verdicts,
)
from annotation.importers.rows import counted_rows
from annotation.kinds import ValueRules
from annotation.kinds.grades import STRENGTHS

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=30)
NAME = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=20)
WORDS = TEXT.filter(str.strip)
CHOICE = st.sampled_from([0, 1, 2])
METADATA = st.dictionaries(
    NAME, st.one_of(TEXT, st.integers(-(10**15), 10**15), st.booleans(), st.none()), max_size=3
)


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """The examples of the documentation, as files."""
    for name, body in EXAMPLE.findall((ROOT / "docs" / "data-format.md").read_text()):
        (tmp_path / name).write_text(body)
    return tmp_path


def plain(bundle: DatasetBundle) -> dict[str, Any]:
    """A bundle as nested values, without keys and origins."""
    texts = {(r.instruction, r.key): (r.system, r.text) for r in bundle.responses}
    instructions = {
        i.key: (i.text, i.context, i.reference, i.category, i.subset) for i in bundle.instructions
    }
    return {
        "items": [
            (
                item.external_id,
                item.kind,
                instructions[item.instruction],
                [texts[item.instruction, key] for key in item.responses],
                item.gold,
                dict(item.metadata),
            )
            for item in bundle.items
        ],
        "labels": [(x.item, x.annotator, x.value, x.is_simulated) for x in bundle.labels],
        "verdicts": [(v.item, v.judge, v.order, v.value, v.status, v.raw) for v in bundle.verdicts],
    }


def test_documented_conversations(examples: Path) -> None:
    bundle = read_generic(examples / "turns.jsonl")
    assert [turn["role"] for turn in bundle.instructions[0].conversation] == ["user", "assistant"]
    assert [len(response.messages) for response in bundle.responses] == [0, 0, 3, 3, 0, 0]
    assert [item.gold for item in bundle.items] == [
        {"choice": 1, "strength": "much"},
        None,
        {"choice": 0, "both_bad": True},
    ]
    assert bundle.items[0].explanation


def test_documented_labels(examples: Path) -> None:
    rules = ValueRules(strengths=tuple(STRENGTHS))
    labels = read_label_rows(examples / "labels.jsonl", {"tea-1": rules, "tea-2": rules})
    assert [(one.item, one.annotator, one.value) for one in labels] == [
        ("tea-1", "cy", {"choice": 1, "strength": "much"}),
        ("tea-2", "cy", {"choice": 0}),
    ]


def test_documented_pairs_are_the_same_in_jsonl_and_csv(examples: Path) -> None:
    nested, flat = (read_generic(examples / f"pairs.{suffix}") for suffix in ("jsonl", "csv"))
    assert plain(nested) == plain(flat)
    assert [item.external_id for item in nested.items] == ["tea-1", "tea-2"]
    assert nested.items[0].gold == {"choice": 1}
    assert nested.items[0].instruction == flat.items[0].instruction
    assert [(v.order, v.value, v.status, v.raw) for v in nested.verdicts] == [
        (0, {"choice": 1}, "parsed", "A"),
        (1, None, "unparsed", "Hard to say."),
    ]
    assert [label.origin.source for label in flat.labels] == ["pairs.csv:2", "pairs.csv:2"]


def test_documented_kinds(examples: Path) -> None:
    bundle = read_generic(examples / "kinds.jsonl")
    assert [item.kind for item in bundle.items] == ["rubric", "importance", "checklist", "answer_ranking"]
    assert len(bundle.instructions) == 3  # two items share one, aspects included
    assert [aspect.parent for aspect in bundle.aspects] == [None, "poem"]
    assert [criterion.key for criterion in bundle.criteria] == ["clarity"]
    assert [label.value for label in bundle.labels] == [
        {"ratings": {"clarity": 5}},
        {"ranks": {"poem": 1, "short": 2}},
        {"answers": {"poem": True, "short": None}},
    ]


def test_documented_verdicts(examples: Path) -> None:
    shapes = {"tea-1": ValueRules("pairwise"), "tea-2": ValueRules("pairwise")}
    verdicts = read_verdicts(examples / "verdicts.csv", shapes)
    assert [(v.item, v.order, v.value, v.status) for v in verdicts] == [
        ("tea-1", 0, {"choice": 1}, "parsed"),
        ("tea-1", 1, {"choice": 2}, "parsed"),
        ("tea-2", 0, None, "unparsed"),
    ]
    assert verdicts[2].raw == "I like both"


def test_verdicts_with_scores_keep_them(tmp_path: Path) -> None:
    file = tmp_path / "v.csv"
    file.write_text("item,judge,verdict,score_1,score_2\na,j,0,7,7\nb,j,unparsed,,3.5\n")
    verdicts = read_verdicts(file, {"a": ValueRules("pairwise"), "b": ValueRules("pairwise")})
    assert [v.value for v in verdicts] == [{"choice": 0, "scores": [7.0, 7.0]}, {"scores": [None, 3.5]}]
    assert [v.status for v in verdicts] == ["parsed", "unparsed"]


PAIR = {"a": ValueRules("pairwise", graded=True, strengths=("slightly", "better", "much"))}


@pytest.mark.parametrize(
    ("cells", "value", "probability"),
    [
        ({"score_1": 8, "score_2": 6.5}, {"choice": 1, "scores": [8.0, 6.5]}, None),
        ({"score_1": -3, "score_2": -1}, {"choice": 2, "scores": [-3.0, -1.0]}, None),
        ({"score_1": 7, "score_2": 7}, {"choice": 0, "hedge": True, "scores": [7.0, 7.0]}, None),
        ({"score_1": 7, "score_2": ""}, {"scores": [7.0, None]}, None),
        ({"score_1": "", "score_2": ""}, {"scores": [None, None]}, None),
        ({"preference": 1.27}, {"choice": 1, "grade": 1.38}, 0.73),
        ({"preference": 1.5}, {"choice": 0}, 0.5),
        ({"share": 0.25}, {"choice": 2, "grade": -1.5}, 0.25),
        ({"grade": -0.5}, {"choice": 2, "grade": -0.5}, None),
        ({"preference_strength": -2}, {"choice": 1, "strength": "better"}, None),
        ({"verdict": "", "preference": 1.27}, {"choice": 1, "grade": 1.38}, 0.73),
        ({"preference": ""}, None, None),
    ],
)
def test_a_verdict_may_be_scores_or_a_number_between(tmp_path: Path, cells, value, probability) -> None:
    file = tmp_path / "v.csv"
    file.write_text(f"item,judge,{','.join(cells)}\na,j,{','.join(str(cell) for cell in cells.values())}\n")
    (verdict,) = read_verdicts(file, PAIR)
    assert verdict.value == value
    assert verdict.status == ("parsed" if value and "choice" in value else "unparsed")
    assert verdict.details.get("probability") == probability


@pytest.mark.parametrize(
    ("cells", "field", "words"),
    [
        ({"preference": 2.5}, "preference", "expected 1 to 2 (1: the first response; 1.5: a tie), found 2.5"),
        ({"share": -0.1}, "share", "expected 0 to 1"),
        ({"grade": "strong"}, "grade", "expected a number, found 'strong'"),
        (
            {"verdict": 1, "preference": 1.2},
            "preference",
            "expected one verdict, found verdict and preference",
        ),
        ({"share": 0.2, "grade": 1}, "grade", "expected one verdict, found grade and share"),
        ({"score_1": "x", "score_2": 3}, "scores", "expected numbers or null"),
        ({"order": 1}, "verdict", "expected one of the columns verdict, grade, preference"),
    ],
)
def test_a_verdict_that_is_none_is_refused_with_its_place(tmp_path: Path, cells, field, words) -> None:
    file = tmp_path / "v.csv"
    file.write_text(f"item,judge,{','.join(cells)}\na,j,{','.join(str(cell) for cell in cells.values())}\n")
    with pytest.raises(ImportFileError) as caught:
        read_verdicts(file, PAIR)
    assert caught.value.field == field
    assert words in str(caught.value)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_scores_of_several_responses_are_a_ranking(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"v.{suffix}"
    rows = [{"item": "a", "judge": "j", "scores": scores} for scores in ([7, 9.5, 7], [1, None, 2])]
    lines = [f'a,{n},"{json.dumps(row["scores"])}"' for n, row in enumerate(rows)]
    text = {"csv": "\n".join(["item,judge,scores", *lines]), "jsonl": "\n".join(map(json.dumps, rows))}
    file.write_text(text[suffix].replace('"judge": "j"', '"judge": "k"', 1))
    verdicts = read_verdicts(file, {"a": ValueRules("answer_ranking", n_responses=3)})
    assert verdicts[0].value == {"ranks": {"0": 2, "1": 1, "2": 2}, "scores": [7.0, 9.5, 7.0]}
    assert (verdicts[1].status, verdicts[1].value) == ("unparsed", {"scores": [1.0, None, 2.0]})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scores": [1, 2]}, "expected a list of 3 numbers, found [1, 2]"),
        ({"scores": "7"}, "expected a list of 3 numbers"),
        ({"scores": [1, 2, True]}, "expected numbers or null, found True"),
        ({"scores": [1, 2, 3], "score_1": 1}, "expected the scores once, found score_1 or score_2 too"),
    ],
)
def test_scores_that_are_none(tmp_path: Path, given: dict[str, object], words: str) -> None:
    file = tmp_path / "v.jsonl"
    file.write_text(json.dumps({"item": "a", "judge": "j"} | given))
    with pytest.raises(ImportFileError) as caught:
        read_verdicts(file, {"a": ValueRules("answer_ranking", n_responses=3)})
    assert (caught.value.row, caught.value.field) == (1, "scores")
    assert words in str(caught.value)


def test_scores_alone_are_no_verdict_of_another_kind(tmp_path: Path) -> None:
    file = tmp_path / "v.jsonl"
    file.write_text(json.dumps({"item": "a", "judge": "j", "score_1": 1, "score_2": 2}))
    with pytest.raises(ImportFileError, match="field scores: expected a verdict beside the scores"):
        read_verdicts(file, {"a": ValueRules("importance", n_responses=2)})


def test_labels_and_nested_verdicts_may_be_graded(tmp_path: Path) -> None:
    row = {
        "instruction": "Hi.",
        "responses": ["a", "b"],
        "gold": {"preference_strength": 1},
        "labels": [
            {"annotator": "ann", "value": {"share": 0.9}},
            {"annotator": "ben", "value": {"choice": 2, "strength": "better"}},
        ],
        "verdicts": [
            {"judge": "j", "scores": [3, 1]},
            {"judge": "k", "value": {"preference": 1.75}},
        ],
    }
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps(row))
    bundle = read_generic(file)
    assert bundle.items[0].gold == {"choice": 2, "strength": "slightly"}
    assert [label.value for label in bundle.labels] == [
        {"choice": 1, "grade": 2.4},
        {"choice": 2, "strength": "better"},
    ]
    assert [(one.value, dict(one.details)) for one in bundle.verdicts] == [
        ({"choice": 1, "scores": [3.0, 1.0]}, {}),
        ({"choice": 2, "grade": -1.5}, {"probability": 0.25}),
    ]


@pytest.mark.service
def test_parquet_nested_flat_and_json_text(examples: Path) -> None:
    import pyarrow
    import pyarrow.parquet as parquet

    rows = [json.loads(line) for line in (examples / "pairs.jsonl").read_text().splitlines()]
    rows[1]["responses"] = [{"system": None, "text": text} for text in rows[1]["responses"]]
    wanted = plain(read_generic(examples / "pairs.jsonl"))
    nested = examples / "nested.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), nested)
    read = plain(read_generic(nested))
    # A struct has all its fields in every row: metadata that a row lacks are not invented.
    assert read == wanted

    text = examples / "text.parquet"
    kinds = [json.loads(line) for line in (examples / "kinds.jsonl").read_text().splitlines()]
    columns = {
        name: [
            json.dumps(row[name]) if isinstance(row.get(name), dict | list) else row.get(name)
            for row in kinds[1:]
        ]
        for name in ("id", "kind", "instruction", "responses", "gold", "labels", "verdicts", "aspects")
    }
    columns["criteria"] = [json.dumps(kinds[0]["criteria"]), None, None, None]
    parquet.write_table(pyarrow.table(columns), text)
    assert plain(read_generic(text)) == plain(read_generic(examples / "kinds.jsonl"))

    flat = examples / "flat.parquet"
    table = {"id": [1, 2], "instruction": ["a", "b"], "response_1": ["x", "y"], "response_2": ["z", ""]}
    floats = pyarrow.array([1.0, float("nan")])
    parquet.write_table(
        pyarrow.table(table | {"gold": floats, "annotator:ann": floats, "judge:j": ["2", None]}), flat
    )
    bundle = read_generic(flat)
    assert [item.gold for item in bundle.items] == [{"choice": 1}, None]
    assert [(label.item, label.value) for label in bundle.labels] == [("1", {"choice": 1})]
    assert [(verdict.item, verdict.value) for verdict in bundle.verdicts] == [("1", {"choice": 2})]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_byte_order_mark_and_line_ends(examples: Path, newline: str, bom: bytes) -> None:
    for name in ("pairs.jsonl", "pairs.csv"):
        file = examples / name
        wanted = plain(read_generic(file))
        file.write_bytes(bom + file.read_text().replace("\n", newline).encode())
        assert plain(read_generic(file)) == wanted


def test_items_that_share_an_instruction_share_its_record(tmp_path: Path) -> None:
    file = tmp_path / "shared.jsonl"
    base = {"instruction": "Say hello.", "responses": ["a", "b"]}
    rows = [
        base | {"id": 1},
        base | {"id": 2, "responses": ["b", "c"]},
        base | {"id": 3, "context": "at night"},
        base | {"id": 4, "instruction_id": "mine"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    bundle = read_generic(file)
    first, second, third, fourth = (item.instruction for item in bundle.items)
    assert first == second
    assert len({first, third, fourth}) == 3
    assert fourth == "mine"
    assert sum(response.instruction == first for response in bundle.responses) == 3


def test_colons_in_names_of_judges(tmp_path: Path) -> None:
    file = tmp_path / "colons.csv"
    file.write_text("id,instruction,response_1,response_2,judge:qwen:7b,judge:qwen:7b:swapped\n1,i,a,b,1,2\n")
    assert [(v.judge, v.order) for v in read_generic(file).verdicts] == [("qwen:7b", 0), ("qwen:7b", 1)]


def test_progress_is_told(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text(
        "".join(f'{{"id": {n}, "instruction": "i", "responses": ["a", "b"]}}\n' for n in range(10_001))
    )
    told: list[tuple[str, int]] = []
    read_generic(file, progress=lambda what, done: told.append((what, done)))
    assert told == [("rows", 10_000)]
    assert list(counted_rows(range(5), lambda what, done: told.append((what, done)), every=2)) == [
        0,
        1,
        2,
        3,
        4,
    ]
    assert told[1:] == [("rows", 2), ("rows", 4)]


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    annotators = draw(st.lists(NAME, max_size=3, unique=True))
    judges = draw(st.lists(st.tuples(NAME, st.sampled_from([0, 1])), max_size=3, unique=True))
    return {
        "instruction": draw(WORDS),
        "context": draw(TEXT),
        "reference": draw(st.one_of(st.none(), TEXT.filter(bool))),
        "category": draw(TEXT),
        "responses": draw(
            st.lists(st.fixed_dictionaries({"system": TEXT, "text": TEXT}), min_size=2, max_size=2)
        ),
        "gold": draw(st.one_of(st.none(), CHOICE)),
        "labels": [
            {"annotator": a, "value": draw(CHOICE), "simulated": draw(st.booleans())} for a in annotators
        ],
        "verdicts": [
            {"judge": j, "order": order, "value": draw(st.one_of(st.none(), CHOICE)), "raw": draw(TEXT)}
            for j, order in judges
        ],
        "metadata": draw(METADATA),
    }


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.lists(rows(), min_size=1, max_size=4), ascii_only=st.booleans())
def test_round_trip(tmp_path: Path, data: list[dict[str, Any]], ascii_only: bool) -> None:
    file = tmp_path / "round.jsonl"
    with file.open("w", encoding="utf-8", newline="\n") as out:
        for number, row in enumerate(data):
            out.write(json.dumps({"id": number} | row, ensure_ascii=ascii_only) + "\n")
    read = plain(read_generic(file))
    assert read["items"] == [
        (
            str(number),
            "pairwise",
            (row["instruction"], row["context"], row["reference"], row["category"], ""),
            [(response["system"], response["text"]) for response in row["responses"]],
            None if row["gold"] is None else {"choice": row["gold"]},
            row["metadata"],
        )
        for number, row in enumerate(data)
    ]
    assert read["labels"] == [
        (str(number), label["annotator"], {"choice": label["value"]}, label["simulated"])
        for number, row in enumerate(data)
        for label in row["labels"]
    ]
    assert read["verdicts"] == [
        (
            str(number),
            v["judge"],
            v["order"],
            None if v["value"] is None else {"choice": v["value"]},
            "unparsed" if v["value"] is None else "parsed",
            v["raw"],
        )
        for number, row in enumerate(data)
        for v in row["verdicts"]
    ]

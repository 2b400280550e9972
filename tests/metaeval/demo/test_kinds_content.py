"""The demo's content of the further kinds: valid values, golds that agree with the truth, and all made up."""

import json
import tomllib
from typing import Any

import pytest

from annotation.importers import read_generic
from annotation.kinds import ValueRules, validate_value
from tests.cases import over
from tests.metaeval.demo.test_content import DEMO, REAL_NAMES, name_of, read_items

FILES = {
    "rubric.jsonl": "rubric",
    "scales.jsonl": "rubric",
    "importance.jsonl": "importance",
    "checklist.jsonl": "checklist",
    "ranking.jsonl": "answer_ranking",
}
SYSTEMS = {"cedar-7b", "willow-13b", "rowan-30b", "hazel-3b", "birch-1b"}
CRITERIA = ("helpfulness", "understandability", "completeness", "conciseness", "harmlessness")
SCALES = {one.key: one.rated_on for one in read_generic(DEMO / "scales.jsonl").criteria}
EVERY = [item for name in FILES for item in read_items(name)]


def rules_of(item: dict[str, Any]) -> ValueRules:
    own = item["id"].startswith("scales-")
    return ValueRules(
        kind=item["kind"],
        n_responses=len(item.get("responses", [])),
        criteria=tuple(SCALES) if own else CRITERIA,
        scales=SCALES if own else {},
        aspects=tuple(aspect["key"] for aspect in item.get("aspects", [])),
    )


@over(EVERY, name_of)
def test_the_truth_is_a_value_of_the_kind(item):
    truth = item["metadata"]["truth"]
    assert validate_value(truth, rules_of(item)) == truth


@over(EVERY, name_of)
def test_a_gold_is_the_truth_and_is_explained(item):
    if "gold" in item:
        assert item["gold"] == item["metadata"]["truth"]
        assert item["explanation"].strip()


@over(EVERY, name_of)
def test_names_are_made_up(item):
    assert {response["system"] for response in item.get("responses", [])} <= SYSTEMS
    assert not REAL_NAMES.search(json.dumps(item, ensure_ascii=False))


def test_ids_are_unique():
    ids = [item["id"] for item in EVERY]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("file", "kind"), FILES.items())
def test_there_is_gold_for_what_the_study_asks_and_work_is_left(file, kind):
    plan = tomllib.loads((DEMO / "kinds.toml").read_text(encoding="utf-8"))
    (study,) = [study for study in plan["study"] if study["file"] == file]
    items = read_items(file)
    needed = sum(study.get(name, 0) for name in ("training_size", "qualification_size", "check_size"))
    gold = sum("gold" in item for item in items)
    assert study["kind"] == kind
    assert 1 <= needed <= gold
    assert len(items) - needed >= 8


def test_one_study_has_scales_of_several_kinds():
    assert [str(scale) for scale in SCALES.values()] == ["1 to 7", "0 to 100", "-2 to 2", "0 to 1"]

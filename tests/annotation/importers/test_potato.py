"""Potato's projects, in the form that its server writes them: other people's schemes, and hostile configurations."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from annotation.importers import ImportFileError
from annotation.peers.potato_files import read_potato

PAIRS = {
    "annotation_task_name": "Tweets",
    "task_dir": ".",
    "output_annotation_dir": "annotation_output/simple-pairwise/",
    "data_files": ["data/pairs.json"],
    "item_properties": {"id_key": "id", "text_key": "text"},
    "annotation_schemes": [
        {"annotation_type": "pairwise", "name": "preference", "description": "Which tweet is more intimate?",
         "mode": "binary", "items_key": "text", "allow_tie": True},
        {"annotation_type": "text", "name": "why", "description": "Why?"},
    ],
}  # fmt: skip
LIKERT = PAIRS | {
    "data_files": [{"path": "data/pairs.json"}],
    "annotation_schemes": [
        {"annotation_type": "likert", "name": "how kind", "description": "How kind is this?", "size": 5,
         "min_label": "Not kind", "max_label": "Kind", "bad_text_label": {"label_content": "Broken"}},
        {"annotation_type": "multirate", "name": "more", "description": "More", "labels": ["a", "b", "c", "d", "e"],
         "options": ["Clear", {"name": "short", "label": "Is it short?"}]},
    ],
}  # fmt: skip


def project(folder: Path, config: Any, items: list[dict[str, Any]], **states: Any) -> Path:
    (folder / "data").mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    (folder / "data/pairs.json").write_text("\n".join(json.dumps(item) for item in items))
    for who, said in states.items():
        place = folder / config.get("output_annotation_dir", "annotation_output") / who
        place.mkdir(parents=True)
        labels = {
            item: [[{"schema": scheme, "name": name}, value] for scheme, name, value in answers]
            for item, answers in said.items()
        }
        state = {"user_id": who, "instance_id_to_label_to_value": labels, "max_assignments": -1}
        if who == "bot":
            state["origin"] = {"kind": "llm", "model": "m"}
        (place / "user_state.json").write_text(json.dumps(state))
    return folder


def test_a_project_of_pairs_of_others(tmp_path):
    said = {
        "1": [("preference", "selection", "A"), ("why", "text_box", "so")],
        "2": [("preference", "selection", "tie")],
    }
    root = project(
        tmp_path / "p",
        PAIRS,
        [{"id": 1, "text": ["Hello?", "I like you"]}, {"id": "2", "text": ["a", "b"]}],
        ann=said,
        bot={"1": [("preference", "selection", "B")], "2": []},
    )
    bundle = read_potato(root)
    assert [item.kind for item in bundle.items] == ["pairwise", "pairwise"]
    assert {one.text for one in bundle.instructions} == {"Which tweet is more intimate?"}
    assert [one.text for one in bundle.responses][:2] == ["Hello?", "I like you"]
    assert [(one.item, one.annotator, one.value["choice"], one.is_simulated) for one in bundle.labels] == [
        ("1", "ann", 1, False), ("1", "bot", 2, True), ("2", "ann", 0, False),
    ]  # fmt: skip


def test_sides_that_have_names_and_a_scale(tmp_path):
    scheme = {"annotation_type": "pairwise", "name": "scale", "description": "Which?", "mode": "scale"}
    root = project(
        tmp_path / "p",
        PAIRS | {"annotation_schemes": [scheme], "data_files": "data/pairs.json"},
        [{"id": str(n), "text": "Say hi.", "left": "Hi", "right": "No"} for n in range(3)],
        ann={str(n): [("scale", "scale_value", value)] for n, value in enumerate(["-2", "0", "1.5"])},
    )
    bundle = read_potato(root)
    assert [one.value for one in bundle.labels] == [
        {"choice": 1, "grade": 2.0}, {"choice": 0}, {"choice": 2, "grade": -1.5},
    ]  # fmt: skip
    assert bundle.instructions[0].text == "Say hi."


def test_ratings_of_others_become_criteria_of_a_rubric(tmp_path):
    root = project(
        tmp_path / "p",
        LIKERT,
        [{"id": "a", "text": "Thank you!"}],
        ann={"a": [("how kind", "4", "4"), ("more", "Clear", "e"), ("more", "short", "a")]},
    )
    bundle = read_potato(root)
    assert [(one.key, one.question) for one in bundle.criteria] == [
        ("how-kind", "How kind is this?"), ("Clear", "Clear"), ("short", "Is it short?"),
    ]  # fmt: skip
    assert bundle.criteria[0].options == {"1": "Not kind", "2": "2", "3": "3", "4": "4", "5": "Kind"}
    assert bundle.labels[0].value == {"ratings": {"how-kind": 4, "Clear": 5, "short": 1}}
    assert bundle.responses[0].text == "Thank you!"


@pytest.mark.parametrize("field", ["data_files", "output_annotation_dir", "task_dir"])
@pytest.mark.parametrize("path", ["../secret", "/etc", "data/link", "a" * 5000])
def test_a_configuration_cannot_read_outside_of_its_project(field, path, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/user_state.json").write_text("{}")
    root = project(tmp_path / "p", PAIRS, [{"id": 1, "text": ["a", "b"]}])
    (root / "data/link").symlink_to(tmp_path / "secret")
    (root / "config.yaml").write_text(
        yaml.safe_dump(PAIRS | {field: [path] if field == "data_files" else path})
    )
    with pytest.raises(ImportFileError, match=r"config\.yaml, row 1, field .*(leads out|expected a path)"):
        read_potato(root)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (
            [("preference", "selection", "C")],
            r"user_state\.json, row 1, field preference: expected A, B or tie",
        ),
        ([("preference", "selection", ["A"])], "expected A, B or tie"),
        ([("preference", "scale_value", "x")], "expected a number"),
    ],
)
def test_answers_that_mean_nothing_are_refused_with_their_place(answers, words, tmp_path):
    root = project(tmp_path / "p", PAIRS, [{"id": 1, "text": ["a", "b"]}], ann={"1": answers})
    with pytest.raises(ImportFileError, match=words):
        read_potato(root)


def test_projects_that_cannot_be_read_are_refused_with_their_place(tmp_path):
    two = [("how kind", "4", "4"), ("how kind", "5", "5")]
    root = project(tmp_path / "a", LIKERT, [{"id": "a", "text": "x"}], ann={"a": two})
    with pytest.raises(ImportFileError, match="expected one answer, found 2"):
        read_potato(root)
    root = project(tmp_path / "b", PAIRS, [{"id": 1, "text": ["a", "b"]}], ann={"7": []})
    with pytest.raises(ImportFileError, match="items of the data files, found '7'"):
        read_potato(root)
    root = project(tmp_path / "c", PAIRS, [{"id": 1, "text": ["a", "b"]}] * 2)
    with pytest.raises(ImportFileError, match=r"row 2, field id: .* twice"):
        read_potato(root)
    (root / "other.yml").write_text("annotation_schemes: []")
    with pytest.raises(ImportFileError, match=r"one configuration, found config\.yaml and other\.yml"):
        read_potato(root)
    pairs = [{**PAIRS["annotation_schemes"][0], "name": name} for name in ("fluency", "overall")]
    root = project(tmp_path / "d", PAIRS | {"annotation_schemes": pairs}, [{"id": 1, "text": ["a", "b"]}])
    with pytest.raises(ImportFileError, match="one scheme of pairs, found fluency, overall"):
        read_potato(root)
    root = project(tmp_path / "e", PAIRS | {"annotation_schemes": []}, [{"id": 1, "text": "a"}])
    with pytest.raises(ImportFileError):
        read_potato(root)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportFileError, match="expected a Potato project"):
        read_potato(tmp_path / "empty")


@pytest.mark.parametrize(
    "config",
    [
        "annotation_schemes: 3", "annotation_schemes: [3]", "annotation_schemes: [{}]", "annotation_schemes: [[]]",
        "{annotation_schemes: [], item_properties: 3}", "{annotation_schemes: [], data_files: 3}",
        "{annotation_schemes: [], data_files: [3]}", "{annotation_schemes: [], task_dir: []}",
        "annotation_schemes: [{name: a, annotation_type: likert, size: 5, min_label: [], description: []}]",
        "annotation_schemes: [{name: a, annotation_type: multirate, labels: [1, 2, 3, 4, {}]}]",
        "annotation_schemes: [{name: a, annotation_type: [], size: {}}]",
        "annotation_schemes: &a [*a]", "annotation_schemes: [", "annotation_schemes: !!python/object:os.system {}",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "state", ["[]", "{}", '{"user_id": "a", "instance_id_to_label_to_value": {"1": [[3, 4]]}}']
)
def test_odd_projects_are_refused(config, state, tmp_path):
    root = project(tmp_path / "p", PAIRS, [{"id": 1, "text": ["a", "b"]}])
    (root / "config.yaml").write_text(config)
    (root / "annotation_output/a").mkdir(parents=True)
    (root / "annotation_output/a/user_state.json").write_text(state)
    with pytest.raises(ImportFileError):
        read_potato(root)

"""Files of other tools: exported and imported again, items and labels are the same; odd files are refused."""

import io
import json
import zipfile

import pytest

from annotation.importers import ImportFileError, read_alpaca_human, read_generic, read_llmbar
from annotation.models import Dataset, Instruction, Item, Kind, Label
from annotation.peers.argilla import read_argilla
from annotation.peers.benchmarks import member_path
from annotation.peers.label_studio import read_label_studio
from annotation.peers.potato_files import read_potato
from annotation.services.datasets import dataset_import
from judges.services.exports import ExportError, ExportOptions, ExportSubject, export_write
from tests.annotation.cast import labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.annotation.kinds import VALUES, kind_label_make, kind_study_make

pytestmark = pytest.mark.django_db
READERS = {"label-studio": read_label_studio, "argilla": read_argilla}
FORMATS = {peer: ("json", reader) for peer, reader in READERS.items()} | {"potato": ("zip", read_potato)}


def exported(dataset, what, format="json"):
    file = io.BytesIO()
    export_write(file, ExportSubject(dataset), what, format, ExportOptions())
    return file.getvalue()


def said(dataset):
    """What people said of each item, by value: pseudonyms are others in another dataset, but as many, and a peer that
    keeps a folder a person has no order of labels.
    """
    labels = Label.objects.filter(item__dataset=dataset).select_related("item")
    people: dict[int, int] = {}
    return [
        (label.item.external_id, people.setdefault(label.annotator_id, len(people)), label.value)
        for label in sorted(
            labels, key=lambda each: (each.item.position, json.dumps(each.value, sort_keys=True), each.pk)
        )
    ]


@pytest.mark.parametrize("kind", list(VALUES))
@pytest.mark.parametrize("peer", list(FORMATS))
def test_items_and_labels_of_every_kind_come_back(peer, kind, tmp_path):
    study = kind_study_make(kind, items=2, gold=VALUES[kind])
    first, second = study.dataset.items.order_by("position")
    kind_label_make(study, first, VALUES[kind])
    kind_label_make(study, first, {"choice": 0} if kind == Kind.PAIRWISE else VALUES[kind])
    kind_label_make(study, second, {"choice": 2} if kind == Kind.PAIRWISE else VALUES[kind])
    Item.objects.filter(dataset=study.dataset).update(metadata={"a": [1]}, explanation="Because.")
    format, read = FORMATS[peer]
    path = tmp_path / f"file.{format}"
    path.write_bytes(exported(study.dataset, peer, format))
    dataset_import(bundle=read(path), name="again")
    again = Dataset.objects.get(name="again")
    assert exported(again, "items", "jsonl") == exported(study.dataset, "items", "jsonl")
    assert said(again) == said(study.dataset)


@pytest.mark.parametrize("peer", list(FORMATS))
def test_strength_both_bad_and_odd_names_come_back(peer, tmp_path):
    said_of = {
        "a": {"choice": 0, "both_bad": True},
        "b": {"choice": 2, "strength": "much"},
        "c": {"choice": 1},
        "d": {"choice": 1, "strength": "better"},
        "e": {"choice": 2, "grade": -1.38},
    }
    rows = [
        {"id": "7", "instruction": "=1+1", "response_1": "", "response_2": "- B\r\nü \u2028",
         "labels": [{"annotator": who, "value": value} for who, value in said_of.items()]},
        {"id": "é/../x", "kind": "checklist", "instruction": "Say hi.", "response_1": "hi",
         "aspects": [{"key": "1", "text": "Yes"}, {"key": "true", "text": "Yes"}, {"key": "part:2", "text": "c: d"}],
         "labels": [{"annotator": "a", "value": {"answers": {"1": True, "true": None, "part:2": False}}}]},
    ]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    dataset_import(bundle=read_generic(tmp_path / "rows.jsonl"), name="first")
    first = Dataset.objects.get(name="first")
    format, read = FORMATS[peer]
    path = tmp_path / f"file.{format}"
    path.write_bytes(exported(first, peer, format))
    dataset_import(bundle=read(path), name="again")
    again = Dataset.objects.get(name="again")
    assert exported(again, "items", "jsonl") == exported(first, "items", "jsonl")
    assert said(again) == said(first)


RATED = [
    {"key": "clear", "question": "How clear?", "scale": {"low": 0, "high": 3, "not_applicable": True}},
    {
        "key": "reasonable",
        "question": "How reasonable?",
        "scale": {"low": 0, "high": 3, "not_applicable": True},
    },
    {
        "key": "reasonable-clear",
        "question": "How fair?",
        "scale": {"low": 0, "high": 3, "not_applicable": True},
    },
]
TOPICS = {"list": ["a", "b", "Yes"]}


@pytest.mark.parametrize("peer", list(FORMATS))
@pytest.mark.parametrize(
    ("kind", "fields", "values"),
    [
        (
            "pairwise",
            {"response_1": "x", "response_2": "y"},
            [
                {"choice": 1, "reasonable": ["1", "0"]},
                {"choice": 0, "both_bad": True, "reasonable": ["1-slightly", "0", "bad"]},
                {"choice": 2},
            ],
        ),
        (
            "rubric",
            {"response_1": "x", "criteria": RATED},
            [
                {"ratings": {"clear": "not_applicable", "reasonable": 2, "reasonable-clear": 0}},
                {
                    "ratings": {"clear": 1, "reasonable": "not_applicable", "reasonable-clear": 3},
                    "reasonable": {"clear": [1, 2, "not_applicable"], "reasonable": ["not_applicable"]},
                },
            ],
        ),
        (
            "classification",
            {"categories": TOPICS},
            [
                {"categories": {"a": False, "b": False, "Yes": True}, "reasonable": ["b", "Yes"]},
                {"categories": {"a": True, "b": False, "Yes": False}},
            ],
        ),
        (
            "checklist",
            {"response_1": "x", "aspects": [{"key": "reasonable", "text": "Is it?"}]},
            [{"answers": {"reasonable": True}}],
        ),
    ],
)
def test_response_sets_and_simulated_annotators_come_back(peer, kind, fields, values, tmp_path):
    labels = [
        {"annotator": f"w{number}", "value": value, "simulated": number == 1}
        for number, value in enumerate(values, start=1)
    ]
    row = {"id": "1", "kind": kind, "instruction": "Why?", "labels": labels, **fields}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    dataset_import(bundle=read_generic(tmp_path / "rows.jsonl"), name="first")
    first = Dataset.objects.get(name="first")
    format, read = FORMATS[peer]
    path = tmp_path / f"file.{format}"
    path.write_bytes(exported(first, peer, format))
    dataset_import(bundle=read(path), name="again")
    again = Dataset.objects.get(name="again")
    assert exported(again, "items", "jsonl") == exported(first, "items", "jsonl")
    assert said(again) == said(first)
    assert simulated(again) == simulated(first) != []


def simulated(dataset):
    found = Label.objects.filter(item__dataset=dataset, annotator__is_simulated=True)
    return [label.value for label in found]


def test_a_label_studio_task_has_the_form_of_the_real_ones(tmp_path):
    """As its documentation and exports have it: Pairwise says left or right, people are numbers or objects."""
    task = {
        "id": 7,
        "data": {"instruction": "Say hi.", "response_1": "Hi", "response_2": "No", "other": 3},
        "annotations": [
            {"id": 1, "completed_by": {"id": 3, "email": "a@example.org"}, "was_cancelled": False, "lead_time": 4.2,
             "result": [
                 {"id": "x", "from_name": "pw", "to_name": "t1", "type": "pairwise", "value": {"selected": "right"}}
             ]},
            {"id": 2, "completed_by": 4, "was_cancelled": True, "result": []},
        ],
        "predictions": [],
    }  # fmt: skip
    path = tmp_path / "project.json"
    path.write_text(json.dumps([task]))
    (label,) = read_label_studio(path).labels
    assert (label.annotator, label.value) == ("a@example.org", {"choice": 2})


def test_alpaca_eval_and_llmbar_are_read_by_their_own_readers(tmp_path):
    dataset = dataset_make(pairs=3, name="pairs")
    Instruction.objects.filter(external_id="i2").update(subset="../../etc/x")
    labels_make(study_make(dataset=dataset, overlap=4), [[1, 2], [0, 1], [None, 2]])
    path = tmp_path / "annotations.json"
    path.write_bytes(exported(dataset, "alpaca-eval"))
    bundle = read_alpaca_human(path)
    assert [label.value["choice"] for label in bundle.labels] == [
        value["choice"] for *_, value in said(dataset)
    ]
    (tmp_path / "llmbar.zip").write_bytes(exported(dataset, "llmbar", "zip"))
    with zipfile.ZipFile(tmp_path / "llmbar.zip") as archive:
        assert archive.namelist() == ["items/dataset.json", "etc/x/dataset.json"]
    items = {one.external_id: one.gold for one in read_llmbar(tmp_path / "llmbar.zip").items}
    assert items == {"etc/x/0": {"choice": 1}, "items/0": {"choice": 1}, "items/1": {"choice": 2}}


def test_a_benchmark_s_file_without_a_pair_that_it_can_hold_is_refused():
    dataset = dataset_make(pairs=2, name="pairs")
    Item.objects.filter(dataset=dataset).update(gold={"choice": 0})
    for what, format, words in (
        ("alpaca-eval", "json", "labels of pairs, and there is none here"),
        ("llmbar", "zip", "isn't a tie, and there is none here"),
    ):
        with pytest.raises(ExportError, match=words):
            exported(dataset, what, format)


def test_no_name_in_an_archive_leads_out_of_it():
    for subset, path in (
        ("../../x", "x"), ("/etc/passwd", "etc/passwd"), ("a/..", "a"), ("..", "items"), ("", "items"),
        ("C:\\x", "C__x"), ("a\x00b", "a_b"), ("Adversarial/Neighbor", "Adversarial/Neighbor"),
    ):  # fmt: skip
        assert member_path(subset) == path


@pytest.mark.parametrize("peer", list(READERS))
@pytest.mark.parametrize(
    "odd",
    [
        "{}", "[]", "[1]", '[{"data": 3}]', '[{"data": {}, "fields": 3}]', "[[[[", "\ufeff[",
        '[{"id": "a", "data": {"instruction": "x"}, "annotations": 3, "fields": {"instruction": "x"}, "responses": 3}]',
        '[{"id": "a", "data": {"instruction": "x", "gold": "{"}, "annotations": [{"result": [3]}],'
        ' "fields": {"gold": "{"},'
        ' "responses": {"choice": [{"user_id": "u", "value": {"a": []}}]}}]',
        '[{"id": "a", "data": {"instruction": "x", "response_1": "", "response_2": ""},'
        ' "annotations": [{"completed_by": [],'
        ' "result": [{"from_name": "a", "value": {"choices": [[]], "selected": []}}]}],'
        ' "fields": {"instruction": "x"}, "responses": {"ranks": [{"user_id": "u", "value": [3]}]}}]',
    ],
)  # fmt: skip
def test_odd_files_are_refused_with_the_place(peer, odd, tmp_path):
    path = tmp_path / "odd.json"
    path.write_text(odd, encoding="utf-8")
    with pytest.raises(ImportFileError):
        READERS[peer](path)

"""What we write is read by the packages of those who made the formats, and what these write is read here.

The packages need not stand beside this project (`tests.peers`).
"""

import io
import zipfile
from typing import Any

import pytest

from annotation.importers import read_alpaca_human
from annotation.models import Item, Kind
from annotation.peers.argilla import read_argilla
from annotation.peers.label_studio import read_label_studio
from annotation.peers.potato_files import read_potato
from judges.services.exports import ExportOptions, ExportSubject, export_write
from tests.annotation.kinds import VALUES, kind_label_make, kind_study_make
from tests.peers import run

pytestmark = [pytest.mark.django_db, pytest.mark.service, pytest.mark.slow]


@pytest.fixture(params=list(VALUES))
def labeled(request: pytest.FixtureRequest) -> Any:
    """A dataset of one kind: three items, one with two labels, one with one, one with none."""
    kind = request.param
    study = kind_study_make(kind, items=3, gold=VALUES[kind])
    first, second, _ = study.dataset.items.order_by("position")
    kind_label_make(study, first, VALUES[kind])
    kind_label_make(study, first, {"choice": 0} if kind == Kind.PAIRWISE else VALUES[kind])
    kind_label_make(study, second, {"choice": 2} if kind == Kind.PAIRWISE else VALUES[kind])
    return study.dataset


def exported(dataset: Any, what: str, format: str) -> bytes:
    file = io.BytesIO()
    export_write(file, ExportSubject(dataset), what, format, ExportOptions())
    return file.getvalue()


def said(bundle: Any) -> list[tuple[str, Any]]:
    return sorted(((label.item, label.value) for label in bundle.labels), key=repr)


def answers(dataset: Any) -> list[tuple[str, Any]]:
    found = [
        (item.external_id, label.value)
        for item in Item.objects.filter(dataset=dataset)
        for label in item.labels.all()
    ]
    return sorted(found, key=repr)


LABEL_STUDIO = """
import json, sys
from label_studio_sdk.converter import Converter
from label_studio_sdk.label_interface import LabelInterface
tasks = json.load(open(sys.argv[1]))
controls, texts = {}, sorted({n for t in tasks for n in t["data"] if n == "instruction" or n.startswith("response_")})
for task in tasks:
    for annotation in task["annotations"]:
        for one in annotation["result"]:
            tag = {"pairwise": "Pairwise", "choices": "Choices", "rating": "Rating", "number": "Number"}[one["type"]]
            found = controls.setdefault(one["from_name"], (tag, set()))
            assert found[0] == tag, f"two controls of one name: {one['from_name']}"
            found[1].update(one["value"].get("choices", ()))
xml = "<View>" + "".join(f'<Text name="{n}" value="${n}"/>' for n in texts)
for name, (tag, choices) in controls.items():
    to = "response_1,response_2" if tag == "Pairwise" else tasks[0]["annotations"][0]["result"][0]["to_name"]
    inner = "".join(f'<Choice value="{c}"/>' for c in choices)
    xml += f'<{tag} name="{name}" toName="{to}">{inner}</{tag}>'
xml += "</View>"
interface = LabelInterface(xml)
interface.validate()
wrong = [e for t in tasks for a in t["annotations"] for e in interface._validate_object(a, return_errors=True)]
wrong += [t["id"] for t in tasks if not interface.validate_task({"data": t["data"]})]
converter = Converter(xml, ".", download_resources=False)
converter.convert(sys.argv[1], "out", "JSON_MIN", is_dir=False)
converter.convert(sys.argv[1], "csv", "CSV", is_dir=False)
converter.convert(sys.argv[1], "same", "JSON", is_dir=False)
print(json.dumps([wrong, len(json.load(open("out/result.json")))]))
"""


def test_label_studio_validates_and_converts_our_tasks(labeled, tmp_path):
    (tmp_path / "tasks.json").write_bytes(exported(labeled, "label-studio", "json"))
    wrong, n = run("label-studio-sdk", LABEL_STUDIO, "tasks.json", folder=tmp_path)
    assert wrong == []
    assert n == 4  # a row an annotation, and one of the task without any
    assert said(read_label_studio(tmp_path / "same/result.json")) == answers(labeled)


ARGILLA = """
import json, sys
from argilla.records._io import JsonIO
records = JsonIO._records_from_json(sys.argv[1])
JsonIO.to_json(records, sys.argv[2])
print(json.dumps([[r.id, sum(len(list(v)) for v in r.responses.to_dict().values())] for r in records]))
"""


def test_argilla_reads_our_records_and_we_read_what_it_writes(labeled, tmp_path):
    (tmp_path / "ours.json").write_bytes(exported(labeled, "argilla", "json"))
    records = run("argilla", ARGILLA, "ours.json", "theirs.json", folder=tmp_path)
    assert [name for name, _ in records] == [item.external_id for item in labeled.items.order_by("position")]
    assert [n > 0 for _, n in records] == [True, True, False]
    assert said(read_argilla(tmp_path / "theirs.json")) == answers(labeled)


POTATO = """
import json, os, sys
from potato.server_utils.config_module import init_config
from potato.export.cli import load_annotations_from_output_dir, load_items_from_data_files
from potato.server_utils.schemas.registry import schema_registry
from potato.user_state_management import InMemoryUserState
import yaml
config = yaml.safe_load(open("config.yaml"))
for scheme in config["annotation_schemes"]:
    schema_registry.generate(scheme)
found = load_annotations_from_output_dir("annotation_output", config["annotation_schemes"], config)
for who in os.listdir("annotation_output"):
    state = InMemoryUserState.load(f"annotation_output/{who}")
    state.save(f"annotation_output/{who}")
print(json.dumps([sorted(load_items_from_data_files(config, ".")), len(found)]))
"""


def test_potato_reads_our_project_and_we_read_what_it_saves(labeled, tmp_path):
    with zipfile.ZipFile(io.BytesIO(exported(labeled, "potato", "zip"))) as archive:
        archive.extractall(tmp_path / "project")
    items, n = run("potato-annotation", POTATO, folder=tmp_path / "project")
    assert items == sorted(item.external_id for item in labeled.items.all())
    assert n == 3
    assert said(read_potato(tmp_path / "project")) == answers(labeled)


DATASETS = """
import json, sys
from datasets import get_dataset_config_names, load_dataset
names = get_dataset_config_names(sys.argv[1])
loaded = {name: load_dataset(sys.argv[1], name) for name in names}
print(json.dumps({name: [list(one), one["train"].num_rows, one["train"].column_names, one["train"][0]["dataset"]]
    if "dataset" in one["train"].column_names else [list(one), one["train"].num_rows] for name, one in loaded.items()}))
"""


def test_datasets_loads_each_table_of_the_folder(labeled, tmp_path):
    with zipfile.ZipFile(io.BytesIO(exported(labeled, "huggingface", "zip"))) as archive:
        archive.extractall(tmp_path / "folder")
    found = run("datasets", DATASETS, str(tmp_path / "folder"), folder=tmp_path)
    assert {name: rows[:2] for name, rows in found.items()} == {
        "items": [["train"], 3],
        "labels": [["train"], 3],
    }
    assert found["labels"][3] == labeled.name


ALPACA_EVAL = """
import json, sys
from alpaca_eval import utils
from alpaca_eval.analyze import Analyzer
analyzer = Analyzer(gold_crossannotations=sys.argv[1], gold_annotations=None, n_annotators=int(sys.argv[2]))
frame = analyzer.df_gold_crossannotations
agreement = analyzer.agreement_of_annotations(
    "gold_crossannotations", annotations_2=None, n_majority_vote_1=1, n_majority_vote_2=1)
frame.drop(columns=["index", "n_annotated"]).to_json(sys.argv[3], orient="records", indent=2)
print(json.dumps([len(frame), float(agreement["score"])]))
"""


def test_alpaca_eval_computes_agreement_from_our_labels(tmp_path):
    study = kind_study_make(Kind.PAIRWISE, items=2, overlap=3)
    for item, choices in zip(study.dataset.items.order_by("position"), [(1, 1, 2), (2, 2, 2)], strict=True):
        for choice in choices:
            kind_label_make(study, item, {"choice": choice})
    (tmp_path / "ours.json").write_bytes(exported(study.dataset, "alpaca-eval", "json"))
    n, agreement = run(
        "alpaca-eval", ALPACA_EVAL, str(tmp_path / "ours.json"), "3", "theirs.json", folder=tmp_path
    )
    assert n == 6
    assert agreement == pytest.approx((1 / 3 + 1) / 2, abs=0.01)
    bundle = read_alpaca_human(tmp_path / "theirs.json")
    assert sorted(label.value["choice"] for label in bundle.labels) == [1, 1, 2, 2, 2, 2]

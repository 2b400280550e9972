"""The folder for the Hugging Face Hub: its card, its Croissant file as mlcroissant reads it, and who may have it."""

import io
import json
import zipfile

import mlcroissant as mlc
import pytest
import yaml
from django.urls import reverse

from annotation.models import Dataset, Kind, Label, Study
from judges.services.exports import ExportOptions, ExportSubject, export_write
from tests.annotation.cast import client_of, labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.annotation.kinds import VALUES, kind_label_make, kind_study_make
from tests.metaeval.rows import swept

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ELIGIBILITY = [
    {
        "key": "native",
        "question": "Is English your language?",
        "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
    }
]


@pytest.fixture
def study(cast):
    dataset = dataset_make(
        pairs=3, name="pairs", owner=cast.alice, licence="CC-BY-4.0", source="generic: pairs.csv"
    )
    Dataset.objects.filter(pk=dataset.pk).update(title='Pairs: *ours*"', description="Three pairs.")
    study = study_make(dataset=dataset, slug="mine", owner=cast.alice, overlap=4)
    Study.objects.filter(pk=study.pk).update(
        eligibility=ELIGIBILITY, guidelines="Be **fair**.", consent="Yes?"
    )
    labels_make(study, [[1, 2], [0, 1], [None, 2]])
    swept(dataset=dataset)
    return Study.objects.get(pk=study.pk)


def folder_of(subject, path):
    file = io.BytesIO()
    notes = export_write(file, subject, "huggingface", "zip", ExportOptions())
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        archive.extractall(path)
    return notes


def records(path, name):
    dataset = mlc.Dataset(jsonld=path / "croissant.json")
    return dataset, list(dataset.records(name))


@pytest.mark.filterwarnings("ignore")
def test_mlcroissant_finds_it_valid_and_reads_the_rows(study, tmp_path):
    study.dataset.refresh_from_db()
    assert folder_of(ExportSubject(study.dataset, study), tmp_path) == []
    dataset, labels = records(tmp_path, "labels")
    assert not dataset.metadata.ctx.issues.errors
    expected = Label.objects.order_by("item__position", "pk")
    assert [row["labels/item"].decode() for row in labels] == [label.item.external_id for label in expected]
    assert [row["labels/choice"] for row in labels] == [label.choice for label in expected]
    _, judgments = records(tmp_path, "judgments")
    assert len(judgments) == 12
    _, items = records(tmp_path, "items")
    assert [row["items/id"] for row in items] == [b"p0", b"p1", b"p2"]


def test_the_croissant_file_says_what_the_study_knows_and_nothing_else(study, tmp_path, cast):
    study.dataset.refresh_from_db()
    folder_of(ExportSubject(study.dataset), tmp_path)
    document = json.loads((tmp_path / "croissant.json").read_text())
    assert document["conformsTo"] == [
        "http://mlcommons.org/croissant/1.0",
        "http://mlcommons.org/croissant/RAI/1.0",
    ]
    assert document["license"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert document["rai:annotationsPerItem"] == "1 to 2, 1.7 on average over 3 items"
    assert document["rai:dataAnnotationPlatform"] == ["Touchstone"]
    assert "Be **fair**." in document["rai:dataAnnotationProtocol"][0]
    assert "4 labels wanted per item" in document["rai:dataAnnotationProtocol"][0]
    assert document["rai:annotatorDemographics"] == [
        "2 annotators.",
        "Admitted to study mine by the question “Is English your language?”: Yes.",
    ]
    assert document["rai:machineAnnotationTools"] == [
        "Good judge (test-model, vanilla)",
        "Poor judge (test-model, cot)",
    ]
    unknown = {"citeAs", "url", "inLanguage", "rai:dataBiases", "rai:dataLimitations", "creator",
               "rai:personalSensitiveInformation", "rai:dataSocialImpact", "datePublished"}  # fmt: skip
    assert not unknown & set(document)
    address = reverse("annotation:dataset-documentation", args=["pairs"])
    client_of(cast.alice).post(
        address,
        {"citation": "@misc{x}", "biases": "English only.", "creators": "Ada\n\nBob", "language": "en"},
    )
    folder_of(ExportSubject(Dataset.objects.get()), tmp_path)
    document = json.loads((tmp_path / "croissant.json").read_text())
    assert (document["citeAs"], document["rai:dataBiases"]) == ("@misc{x}", ["English only."])
    assert [one["name"] for one in document["creator"]] == ["Ada", "Bob"]


def test_the_card_begins_with_what_the_hub_reads(study, tmp_path):
    study.dataset.refresh_from_db()
    folder_of(ExportSubject(study.dataset), tmp_path)
    _, front, text = (tmp_path / "README.md").read_text().split("---\n", 2)
    about = yaml.safe_load(front)
    assert about["license"] == "cc-by-4.0"
    assert about["pretty_name"] == 'Pairs: *ours*"'
    assert about["configs"] == [
        {"config_name": name, "data_files": f"data/{name}.parquet"}
        for name in ("items", "labels", "judgments")
    ]
    for words in ("## Annotation protocol", "## Labels per item", "`shown_order`", "## License"):
        assert words in text
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "README.md", "croissant.json", "items.parquet", "judgments.parquet", "labels.parquet",
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [kind for kind in VALUES if kind != Kind.PAIRWISE])
def test_other_kinds_are_valid_too_and_what_has_no_rows_is_left_out(kind, tmp_path):
    study = kind_study_make(kind, items=2)
    kind_label_make(study, study.dataset.items.first(), VALUES[kind])
    notes = folder_of(ExportSubject(study.dataset), tmp_path)
    assert notes == ["The dataset has no license: add one before you publish it."]
    dataset, labels = records(tmp_path, "labels")
    assert [one.id for one in dataset.metadata.record_sets] == ["items", "labels"]
    assert json.loads(labels[0]["labels/value"]) == VALUES[kind]


def test_only_who_may_change_a_dataset_describes_it(study, cast):
    address = reverse("annotation:dataset-documentation", args=["pairs"])
    for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404)):
        assert client_of(user).post(address, {"citation": "x"}).status_code == status
    browser = client_of(cast.alice)
    for data in ({"language": "<en>"}, {"url": "javascript:alert(1)"}, {"biases": "x" * 10_001}):
        browser.post(address, data)
    assert Dataset.objects.get().documentation == {}
    for _ in range(2):
        browser.post(address, {"limitations": "Small."})
    assert Dataset.objects.get().documentation == {"limitations": "Small."}
    assert "Describe the dataset" not in client_of(cast.bob).get("/datasets/pairs/export/").content.decode()

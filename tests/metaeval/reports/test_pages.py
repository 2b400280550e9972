"""The pages of stored reports."""

import json

import pytest
from django.urls import reverse

from metaeval.models import Decision, Report
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.metaeval.rows import labels_make, swept

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset():
    dataset = dataset_make(pairs=8, name="pairs")
    labels_make(dataset=dataset, choices=[(1, 1, 2)] * 8)
    swept(dataset=dataset)
    return dataset


def made(client, name):
    """Of a dataset's pairs, or of what a key names."""
    key = name if "/" in name else f"dataset/{name}/pairwise"
    return client.post(reverse("metaeval:report-new"), {"name": key}, follow=True)


def test_made_read_and_downloaded(client, researcher, dataset):
    text = made(client, "pairs").content.decode()
    assert "Good judge" in text
    assert "24 labels of 3 annotators" in text
    report = Report.objects.get()
    assert report.created_by == researcher
    for suffix in ("json", "md", "html", "tex"):
        response = client.get(reverse("metaeval:report-download", args=[report.pk, suffix]))
        assert response.status_code == 200
    listed = client.get(reverse("metaeval:report-list")).content.decode()
    assert reverse("metaeval:report-detail", args=[report.pk]) in listed
    content = json.loads(client.get(reverse("metaeval:report-download", args=[report.pk, "json"])).content)
    assert content == report.content


def test_errors_and_confidence_share_one_table(client, researcher, dataset):
    """JSON and CSV have them by group; a table of each would triple the height of the page."""
    text = made(client, "pairs").content.decode()
    assert (
        text.count("<h3>Errors and confidence</h3>")
        == text.count("<h3>Errors and confidence (gold)</h3>")
        == 1
    )
    for head in ("True positive rate", "True negative rate", "Precision", "F1"):
        assert text.count(f'<th scope="col" class="r">{head}</th>') in (1, 2)
    for axis in ("subset", "category"):
        assert f"Precision by {axis}" not in text
    measures = Report.objects.get().content["judges"][0]["measures"]
    assert "precision" in measures


def test_epsilon_is_asked_for(client, researcher, dataset):
    page = client.get(reverse("metaeval:report-list")).content.decode()
    assert '<option value="0.1" selected>0.1, crowdworkers</option>' in page
    sent = {"name": "dataset/pairs/pairwise", "epsilon": "0.2"}
    client.post(reverse("metaeval:report-new"), sent)
    assert Report.objects.get().content["options"]["epsilon"] == 0.2
    client.post(reverse("metaeval:report-new"), sent | {"epsilon": "0.9"})
    assert Report.objects.count() == 1
    client.post(reverse("metaeval:report-new"), {"name": "dataset/pairs/pairwise"})
    assert {row.content["options"]["epsilon"] for row in Report.objects.all()} == {0.1, 0.2}


def test_twice_is_one_report(client, researcher, dataset):
    made(client, "pairs")
    made(client, "pairs")
    assert Report.objects.count() == 1


def test_of_a_study(client, researcher, dataset):
    study = study_make(dataset=dataset, slug="mine", title="My study")
    labels_make(dataset=dataset, choices=[(2, 2)], study=study)
    assert "My study" in made(client, "study/mine").content.decode()
    assert Report.objects.get().study == study


@pytest.mark.parametrize("name", ["nothing", "", "secret"])
def test_only_of_what_one_may_see(client, researcher, dataset, name):
    dataset_make(pairs=2, name="secret", split="private")
    text = made(client, name).content.decode()
    assert "Choose a dataset or a study" in text
    assert "(dataset secret" not in text
    assert not Report.objects.exists()


def test_a_dataset_without_items_is_not_offered(client, researcher):
    dataset_make(pairs=0, name="void")
    text = made(client, "void").content.decode()
    assert "Choose a dataset or a study" in text
    assert "(dataset void" not in text


def test_pairs_are_written_as_csv_too(client, researcher, dataset):
    made(client, "pairs")
    url = reverse("metaeval:report-download", args=[Report.objects.get().pk, "csv"])
    assert b"positional_agreement" in client.get(url).content


def test_private_reports_are_for_the_owner(client, researcher):
    mine = dataset_make(pairs=2, name="mine", split="private", owner=researcher)
    made(client, "mine")
    report = Report.objects.get(dataset=mine)
    urls = [
        reverse("metaeval:report-detail", args=[report.pk]),
        reverse("metaeval:report-download", args=[report.pk, "md"]),
    ]
    assert [client.get(url).status_code for url in urls] == [200, 200]
    client.force_login(user_make())
    assert [client.get(url).status_code for url in urls] == [404, 404]
    assert "mine" not in client.get(reverse("metaeval:report-list")).content.decode()


def test_doors_are_closed(client, dataset):
    urls = [reverse("metaeval:report-list"), reverse("metaeval:report-detail", args=[1])]
    assert [client.get(url).status_code for url in urls] == [302, 302]
    assert client.post(reverse("metaeval:report-new")).status_code == 302
    client.force_login(user_make(role="annotator"))
    assert [client.get(url).status_code for url in urls] == [403, 403]


@pytest.mark.parametrize("model", [Report, Decision])
def test_admin_shows_and_changes_nothing(client, dataset, model):
    client.force_login(user_make(role="administrator"))
    made(client, "pairs")
    base = f"admin:metaeval_{model._meta.model_name}"
    assert client.get(reverse(f"{base}_changelist")).status_code == 200
    assert client.get(reverse(f"{base}_add")).status_code == 403
    if model is Report:
        page = client.get(reverse(f"{base}_change", args=[Report.objects.get().pk]))
        assert page.status_code == 200
        assert 'name="_save"' not in page.content.decode()

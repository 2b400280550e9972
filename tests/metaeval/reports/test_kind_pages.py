"""The pages of reports on kinds other than pairs: what is offered, stored once, shown, taken away, and to whom."""

import json
import re

import pytest
from django.urls import reverse

from annotation.models import Dataset, Kind
from metaeval.models import Report
from metaeval.selectors.reports import report_targets
from metaeval.services.report_jobs import report_request
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.kinds import joined, kind_judgments, kind_labels, kind_swept
from tests.metaeval.rows import judge_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
KINDS = (Kind.RUBRIC, Kind.CHECKLIST, Kind.IMPORTANCE, Kind.ANSWER_RANKING)
SUFFIXES = ("html", "md", "tex", "csv", "json")


def made(client, key):
    return client.post(reverse("metaeval:report-new"), {"name": key}, follow=True)


def download(report, suffix):
    return reverse("metaeval:report-download", args=[report.pk, suffix])


@pytest.mark.parametrize("kind", KINDS)
def test_made_read_and_downloaded(client, researcher, kind):
    dataset, _ = kind_swept(kind)
    text = made(client, f"dataset/{dataset.name}/{kind}").content.decode()
    assert "24 labels of 2 annotators on 12 items, 2 an item" in text
    assert f"Near {kind}" in text
    assert "By annotator" in text
    assert 'style="' not in text
    report = Report.objects.get()
    assert report.created_by == researcher
    listed = client.get(reverse("metaeval:report-list")).content.decode()
    assert Kind(kind).label in listed
    assert all(download(report, suffix) in listed for suffix in ("html", "pdf", "zip"))
    for suffix in SUFFIXES:
        response = client.get(download(report, suffix))
        assert response.status_code == 200
        assert response.headers["Content-Disposition"].startswith("attachment")
        assert download(report, suffix) in text
    assert json.loads(client.get(download(report, "json")).content) == report.content


def test_twice_is_one_report(client, researcher):
    dataset, _ = kind_swept(Kind.RUBRIC)
    for _ in range(2):
        made(client, f"dataset/{dataset.name}/rubric")
    assert Report.objects.count() == 1
    study_make(dataset=dataset, slug="mine", kind=Kind.RUBRIC)
    made(client, "study/mine")
    assert Report.objects.count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_two_at_once_store_one_report():
    user = user_make()
    dataset, _ = kind_swept(Kind.IMPORTANCE)

    found = all_at_once(lambda _: report_request(user=user, dataset=dataset.name).pk, range(4))
    assert len(set(found)) == Report.objects.count() == 1


def test_what_is_offered(client, researcher, django_assert_num_queries):
    both = joined(kind_dataset_make(Kind.RUBRIC, name="both"), kind_dataset_make(Kind.CHECKLIST))
    study_make(dataset=both, slug="mine", title="Mine", kind=Kind.CHECKLIST)
    Dataset.objects.exclude(pk=both.pk).delete()
    dataset_make(pairs=2, name="pairs")
    dataset_make(pairs=2, name="secret", split="private")
    dataset_make(pairs=0, name="void")
    with django_assert_num_queries(3):
        targets = report_targets(researcher)
    assert [target.key for target in targets] == [
        "dataset/both/rubric",
        "dataset/both/checklist",
        "study/mine",
        "dataset/pairs/pairwise",
    ]
    assert "Mine (study mine, checklist)" in [target.words for target in targets]
    address = reverse("metaeval:report-list")
    for query, key in (("study=mine", "study/mine"), ("name=both", "dataset/both/rubric")):
        text = client.get(f"{address}?{query}").content.decode()
        assert f'<option value="{key}" selected>' in text
    assert "selected" not in client.get(f"{address}?name=secret").content.decode().split("<select")[1]


def test_the_study_page_leads_to_its_report(client, researcher):
    dataset = kind_dataset_make(Kind.RUBRIC)
    study_make(dataset=dataset, slug="mine", kind=Kind.RUBRIC, owner=researcher)
    text = client.get(reverse("annotation:study-detail", args=["mine"])).content.decode()
    assert f"{reverse('metaeval:report-list')}?study=mine" in text


@pytest.mark.parametrize(
    "key", ["dataset/secret/rubric", "study/hidden", "dataset/open/checklist", "", "open"]
)
def test_only_of_what_one_may_see_and_what_is_there(client, researcher, key):
    kind_dataset_make(Kind.RUBRIC, name="open")
    secret = kind_dataset_make(Kind.RUBRIC, name="secret", split="private", owner=user_make())
    study_make(dataset=secret, slug="hidden", kind=Kind.RUBRIC)
    assert "Choose a dataset or a study" in made(client, key).content.decode()
    assert not Report.objects.exists()


def test_who_may_see_it(client):
    owner = user_make()
    dataset, _ = kind_swept(Kind.RUBRIC, split="private", owner=owner)
    report = report_request(user=owner, dataset=dataset.name)
    urls = [
        reverse("metaeval:report-detail", args=[report.pk]),
        *(download(report, each) for each in SUFFIXES),
    ]
    new = reverse("metaeval:report-new")
    key = {"name": f"dataset/{dataset.name}/rubric"}
    assert {client.get(url).status_code for url in urls} == {302}
    assert client.post(new, key).status_code == 302
    client.force_login(user_make(role="annotator"))
    assert {client.get(url).status_code for url in urls} == {403}
    assert client.post(new, key).status_code == 403
    client.force_login(user_make())
    assert {client.get(url).status_code for url in urls} == {404}
    client.post(new, key)
    assert Report.objects.count() == 1
    for user in (owner, user_make(role="administrator")):
        client.force_login(user)
        assert {client.get(url).status_code for url in urls} == {200}


def test_pages_take_few_queries(client, researcher, django_assert_max_num_queries):
    for kind in KINDS:
        dataset, _ = kind_swept(kind)
        report = report_request(user=researcher, dataset=dataset.name)
    with django_assert_max_num_queries(9):
        client.get(reverse("metaeval:report-list"))
    # Three of them for the items that figures lead to: labels now and then, annotators, judges that were compared. One
    # for people who were erased since, and one for what is shared with the reader.
    with django_assert_max_num_queries(9):
        client.get(reverse("metaeval:report-detail", args=[report.pk]))


def test_text_of_others_is_text(client, researcher):
    evil = "<img src=x onerror=alert(1)>"
    dataset = kind_dataset_make(Kind.RUBRIC, items=6, title=evil, licence=evil)
    kind_labels(dataset, Kind.RUBRIC, (0, 1), is_simulated=True)
    dataset.criteria.filter(key="clear").update(key=evil[:20])
    judge = judge_make(evil)
    kind_judgments(judge, dataset, Kind.RUBRIC)
    study_make(dataset=dataset, slug="mine", kind=Kind.RUBRIC, title=evil)
    for key in (f"dataset/{dataset.name}/rubric", "study/mine"):
        text = made(client, key).content.decode()
        assert "<img src=x" not in text
        assert "&lt;img" in text
    for report in Report.objects.all():
        assert "<img" not in client.get(download(report, "html")).content.decode()
        assert not re.search(r"(?<!\\)<img", client.get(download(report, "md")).content.decode())
    assert "<img" not in client.get(reverse("metaeval:report-list")).content.decode()

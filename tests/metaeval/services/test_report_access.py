"""Whose results a report may hold, and who may read it: a study's are its owner's, whoever may read its dataset."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import Dataset, Label, Study
from metaeval.models import Report
from metaeval.selectors.reports import report_targets
from metaeval.services.report_jobs import report_request
from tests.annotation.cast import Cast, client_of
from tests.annotation.cast import labels_make as study_labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.metaeval.rows import labels_make

pytestmark = pytest.mark.django_db
NEW, LIST = "/reports/new/", "/reports/"


@pytest.fixture
def study(cast: Cast) -> Study:
    """Alice's, on a dataset that every researcher may read."""
    study = study_make(pairs=4, owner=cast.alice, overlap=3, title="What Alice asked", slug="of-alice")
    study_labels_make(study, [[1, 1, 2], [2, 2, 2], [1, 2, 1], [2, 2, 1]])
    return study


def test_others_are_offered_no_study_and_cannot_report_on_one(cast: Cast, study: Study) -> None:
    bob = client_of(cast.bob)
    page = bob.get(LIST).content.decode()
    assert "What Alice asked" not in page
    assert "of-alice" not in page
    assert [target.study for target in report_targets(cast.bob)] == [""]
    response = bob.post(NEW, {"name": "study/of-alice"}, follow=True)
    assert "What Alice asked" not in response.content.decode()
    assert not Report.objects.exists()
    for user in (cast.alice, cast.ann):
        assert client_of(user).post(NEW, {"name": "study/of-alice"}).status_code == 302
        assert "study/of-alice" in [target.key for target in report_targets(user)]


def test_the_service_refuses_anothers_study(cast: Cast, study: Study) -> None:
    with pytest.raises(Exception, match="There is no study 'of-alice'"):
        report_request(user=cast.bob, study="of-alice")


def test_a_report_on_a_study_is_read_by_who_may_see_the_study(cast: Cast, study: Study) -> None:
    report = report_request(user=cast.alice, study=study.slug)
    for user, status in ((cast.bob, 404), (cast.alice, 200), (cast.ann, 200)):
        assert client_of(user).get(reverse("metaeval:report-detail", args=[report.pk])).status_code == status
        address = reverse("metaeval:report-download", args=[report.pk, "json"])
        assert client_of(user).get(address).status_code == status
        assert (report.name in client_of(user).get(LIST).content.decode()) == (status == 200)


def test_a_report_on_the_dataset_counts_no_label_of_anothers_study(cast: Cast, study: Study) -> None:
    dataset = study.dataset
    labels_make(dataset=dataset, choices=[[1, 2]] * 4)  # imported: of nobody
    own = study_make(dataset=dataset, owner=cast.bob)
    study_labels_make(own, [[1, 1]] * 4)
    counted = {
        user.username: report_request(user=user, dataset=dataset.name).content["people"]["n_labels"]
        for user in (cast.bob, cast.alice, cast.ann)
    }
    assert counted == {"bob": 8 + 8, "alice": 8 + 12, "ann": 8 + 8 + 12}
    assert Label.objects.count() == 28


def test_a_report_on_the_dataset_is_not_read_by_who_may_not_see_a_study_of_it(
    cast: Cast, study: Study
) -> None:
    labels_make(dataset=study.dataset, choices=[[1, 2]] * 4)
    by_alice = report_request(user=cast.alice, dataset=study.dataset.name)
    by_bob = report_request(user=cast.bob, dataset=study.dataset.name)
    assert by_alice.pk != by_bob.pk
    for user, own, other in ((cast.bob, by_bob, by_alice), (cast.alice, by_alice, None)):
        assert client_of(user).get(reverse("metaeval:report-detail", args=[own.pk])).status_code == 200
        if other is not None:
            assert client_of(user).get(reverse("metaeval:report-detail", args=[other.pk])).status_code == 404


def test_who_makes_the_same_report_gets_one_that_they_may_read(cast: Cast, study: Study) -> None:
    """Two who may not see a third one's study count the same labels; each may read what they made, once."""
    labels_make(dataset=study.dataset, choices=[[1, 2]] * 4)
    carl = cast.carl
    carl.role = "researcher"
    carl.save()
    for user in (cast.bob, carl, carl):
        response = client_of(user).post(NEW, {"name": f"dataset/{study.dataset.name}/pairwise"}, follow=True)
        assert response.status_code == 200
    assert Report.objects.count() == 2


def test_reports_on_a_dataset_without_anothers_labels_are_shared(cast: Cast) -> None:
    dataset = dataset_make(pairs=4)
    labels_make(dataset=dataset, choices=[[1, 2]] * 4)
    report = report_request(user=cast.alice, dataset=dataset.name)
    assert client_of(cast.bob).get(reverse("metaeval:report-detail", args=[report.pk])).status_code == 200


def test_an_upload_reveals_nothing_of_anothers_dataset(cast: Cast) -> None:
    secret = dataset_make(name="contest-2027", split="private", owner=cast.alice)
    Dataset.objects.filter(pk=secret.pk).update(
        title="Answers of the unannounced contest", licence="secret-1"
    )
    row = {"id": "a", "instruction": "i", "response_1": "x", "response_2": "y"}
    for given in ({"title": "x"}, {"licence": "MIT"}, {"split": "public"}):
        file = SimpleUploadedFile("a.jsonl", (json.dumps(row) + "\n").encode())
        fields = {"file": file, "format": "generic", "name": "contest-2027", "split": "private"} | given
        page = client_of(cast.bob).post("/datasets/upload/", fields, follow=True).content.decode()
        assert "unannounced" not in page
        assert "secret-1" not in page
        assert "contest-2027" in page
        assert "taken" in page

"""A stored report is verified from its page, and compared with an earlier one."""

import pytest
from django.urls import reverse

from annotation.models import Dataset, Label
from metaeval.models import JobState, Report, ReportJob
from metaeval.services.report_jobs import report_jobs_work, report_request
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.cast import labels_make as study_labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.metaeval.kinds import figures_set
from tests.metaeval.rows import labels_make, swept
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset() -> Dataset:
    dataset = dataset_make(pairs=6)
    labels_make(dataset=dataset, choices=[[1, 2, 1]] * 6)
    swept(dataset=dataset)
    return dataset


def stored(cast: Cast, dataset: Dataset) -> Report:
    made = report_request(user=cast.alice, dataset=dataset.name)
    assert isinstance(made, Report)
    return made


def page_of(report: Report) -> str:
    return reverse("metaeval:report-detail", args=[report.pk])


def verify_of(report: Report) -> str:
    return reverse("metaeval:report-verify", args=[report.pk])


def test_a_small_report_is_verified_at_once(cast: Cast, dataset: Dataset) -> None:
    report, browser = stored(cast, dataset), client_of(cast.alice)
    assert "Verify this report" in text_of(browser.get(page_of(report)))
    answer = browser.post(verify_of(report))
    assert answer["Location"] == f"{page_of(report)}#verification"
    assert "The report holds: all" in text_of(browser.get(page_of(report)))
    Label.objects.filter(pk=Label.objects.first().pk).update(is_set_aside=True)
    browser.post(verify_of(report))
    text = text_of(browser.get(page_of(report)))
    assert "The report no longer holds" in text
    assert "The data changed since." in text
    assert "18 17" in text  # labels, before and after
    # Nothing of the report itself is changed by that.
    assert report.content == Report.objects.get(pk=report.pk).content


def test_a_large_one_by_a_worker_once(cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    report, browser = stored(cast, dataset), client_of(cast.alice)
    figures_set(monkeypatch, "pairwise", quick_rows=1)
    first, second = browser.post(verify_of(report)), browser.post(verify_of(report))
    job = ReportJob.objects.get()
    assert first["Location"] == second["Location"] == reverse("metaeval:report-job", args=[job.pk])
    assert "Verification in preparation" in text_of(browser.get(page_of(report)))
    assert report_jobs_work() == 1
    assert browser.get(first["Location"])["Location"] == f"{page_of(report)}#verification"
    assert "The report holds: all" in text_of(browser.get(page_of(report)))


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_two_at_once_leave_no_job_open(cast: Cast, dataset: Dataset) -> None:
    report = stored(cast, dataset)
    all_at_once(lambda _: client_of(cast.alice).post(verify_of(report)).status_code, range(3))
    while report_jobs_work():
        pass
    assert set(ReportJob.objects.values_list("state", flat=True)) == {JobState.DONE}
    assert "The report holds" in text_of(client_of(cast.alice).get(page_of(report)))


def test_nobody_verifies_what_they_may_not_read(cast: Cast) -> None:
    study = study_make(pairs=4, owner=cast.alice)
    study_labels_make(study, [[1, 2]] * 4)
    report = report_request(user=cast.alice, study=study.slug)
    assert isinstance(report, Report)
    stranger = client_of(cast.bob)
    assert stranger.post(verify_of(report)).status_code == 404
    assert stranger.get(reverse("metaeval:report-changes", args=[report.pk])).status_code == 404
    assert client_of(cast.alice).get(verify_of(report)).status_code == 405
    assert not ReportJob.objects.exists()


def test_changes_since_the_report_before(cast: Cast, dataset: Dataset) -> None:
    browser = client_of(cast.alice)
    first = stored(cast, dataset)
    here = reverse("metaeval:report-changes", args=[first.pk])
    assert "No other report on this dataset" in text_of(browser.get(here))
    Label.objects.filter(pk=Label.objects.first().pk).update(is_set_aside=True)
    second = stored(cast, dataset)
    text = text_of(browser.get(reverse("metaeval:report-changes", args=[second.pk])))
    assert "because" not in text
    assert "the data changed" in text
    assert "Labels 18 17" in text
    back = browser.get(here, {"from": second.pk})
    assert "Labels 17 18" in text_of(back)
    assert browser.get(here, {"from": "999999"}).status_code == 404
    assert reverse("metaeval:report-changes", args=[second.pk]) in browser.get("/reports/").content.decode()

"""Reports that take long are made by a worker: seen to grow, interrupted, resumed, stored once."""

import re
import threading
import zlib
from datetime import timedelta
from html import unescape

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

import metaeval.tasks  # noqa: F401  (a worker finds it by itself)
from annotation.models import Dataset, Kind
from judges.tasks import stop_request, wake
from metaeval.models import JobState, Report, ReportJob
from metaeval.services import pictures, report_jobs
from metaeval.services.report_jobs import report_jobs_work, report_request
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.cast import labels_make as study_labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.metaeval.kinds import figures_set, kind_swept
from tests.metaeval.rows import labels_make, swept
from tests.races import all_at_once

NEW = "/reports/new/"


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every report takes long."""
    figures_set(monkeypatch, "pairwise", quick_rows=1)


@pytest.fixture
def dataset(db: None) -> Dataset:
    dataset = dataset_make(pairs=8)
    labels_make(dataset=dataset, choices=[[1, 2]] * 8)
    swept(dataset=dataset)
    return dataset


def asked(cast: Cast, dataset: Dataset) -> ReportJob:
    job = report_request(user=cast.alice, dataset=dataset.name)
    assert isinstance(job, ReportJob)
    return job


def here(job: ReportJob) -> str:
    return reverse("metaeval:report-job", args=[job.pk])


def test_the_request_makes_a_row_and_computes_nothing(cast: Cast, dataset: Dataset) -> None:
    browser = client_of(cast.alice)
    name = {"name": f"dataset/{dataset.name}/pairwise"}
    first, second = browser.post(NEW, name), browser.post(NEW, name)
    job = ReportJob.objects.get()  # a form sent twice asks for one
    assert first["Location"] == second["Location"] == here(job)
    assert not Report.objects.exists()
    assert "Waiting for a worker" in text_of(browser.get(here(job)))
    assert here(job) in browser.get("/reports/").content.decode()
    assert report_jobs_work() == 1
    job.refresh_from_db()
    assert (job.state, job.report, job.owner) == (JobState.DONE, Report.objects.get(), "")
    assert browser.get(here(job))["Location"] == reverse("metaeval:report-detail", args=[job.report_id])
    polled = browser.get(here(job), headers={"HX-Request": "true"})
    assert polled["HX-Redirect"] == reverse("metaeval:report-detail", args=[job.report_id])
    assert "In preparation" not in text_of(browser.get("/reports/"))


def test_another_margin_is_another_report(cast: Cast, dataset: Dataset) -> None:
    study = study_make(pairs=4, owner=cast.alice)
    study_labels_make(study, [[1, 2]] * 4)
    for subject in ({"dataset": dataset.name}, {"study": study.slug}):
        asked_for = [
            report_request(user=cast.alice, margin=margin, epsilon=epsilon, **subject)
            for margin, epsilon in ((0.0, 0.1), (0.02, 0.1), (0.02, 0.2), (0.02, 0.1))
        ]
        assert [job.margin for job in asked_for] == [0.0, 0.02, 0.02, 0.02]
        assert asked_for[1] == asked_for[3]
    assert ReportJob.objects.count() == 6
    assert report_jobs_work() == 6


def test_so_many_may_wait(cast: Cast, dataset: Dataset) -> None:
    for number in range(report_jobs.MOST_OPEN):
        report_request(user=cast.alice, dataset=dataset.name, margin=number / 100)
    again = report_request(user=cast.alice, dataset=dataset.name, margin=0.05)
    assert again.pk in set(ReportJob.objects.values_list("pk", flat=True))
    page = client_of(cast.alice).post(
        NEW, {"name": f"dataset/{dataset.name}/pairwise", "margin": "50"}, follow=True
    )
    assert "20 of your reports are waiting for a worker." in text_of(page)
    assert ReportJob.objects.count() == report_jobs.MOST_OPEN
    report_request(user=cast.bob, dataset=dataset.name, margin=0.5)


def test_small_reports_are_made_at_once(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures_set(monkeypatch, "pairwise", quick_rows=1_000)
    assert isinstance(report_request(user=cast.alice, dataset=dataset.name), Report)
    assert not ReportJob.objects.exists()


def test_it_is_seen_to_grow(cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_jobs, "TELL_SECONDS", 0.0)
    job = asked(cast, dataset)
    seen = []

    def stop() -> bool:
        job.refresh_from_db()
        seen.append((job.step, job.n_done, job.n_total))
        return False

    report_jobs_work(stop)
    steps = [step for step, *_ in seen]
    assert [step for step in dict.fromkeys(steps) if step] == [
        "Reading labels and judgments",
        "Verdicts",
        "Judges",
        "Comparison of judges",
    ]
    n = len(Report.objects.get().content["judges"])
    assert [done for step, done, total in seen if step == "Judges" and total == n] == list(range(n + 1))


@pytest.mark.parametrize("kind", [Kind.RUBRIC, Kind.CHECKLIST, Kind.IMPORTANCE, Kind.ANSWER_RANKING])
def test_other_kinds_are_seen_to_grow_judge_by_judge(
    cast: Cast, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_jobs, "TELL_SECONDS", 0.0)
    figures_set(monkeypatch, kind, quick_rows=1)
    dataset, _ = kind_swept(kind)
    job = report_request(user=cast.alice, dataset=dataset.name, kind=kind)
    assert isinstance(job, ReportJob)
    seen = []

    def stop() -> bool:
        job.refresh_from_db()
        seen.append((job.step, job.n_done, job.n_total))
        return False

    report_jobs_work(stop)
    n = len(Report.objects.get().content["judges"])
    assert n >= 2
    for step in ("Verdicts", "Judges"):
        assert [done for told, done, total in seen if told == step and total == n] == list(range(n + 1))


def test_a_stopped_worker_gives_it_back_and_the_next_one_makes_it(cast: Cast, dataset: Dataset) -> None:
    job = asked(cast, dataset)
    asks = iter([False, False, False, True])
    assert report_jobs_work(lambda: next(asks, True)) == 0
    job.refresh_from_db()
    assert (job.state, job.attempts, job.owner) == (JobState.QUEUED, 0, "")
    assert report_jobs_work() == 1
    assert Report.objects.count() == 1


def test_a_killed_workers_job_is_taken_up_when_its_lease_has_run_out(cast: Cast, dataset: Dataset) -> None:
    job = asked(cast, dataset)
    lost = report_jobs.report_job_claim()
    assert lost is not None
    assert report_jobs_work() == 0  # somebody has it
    ReportJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert report_jobs_work() == 1
    # The lost one comes back after all: it holds the row no more, and stores nothing.
    assert report_jobs.report_job_make(lost, lambda: False) == 0
    assert Report.objects.count() == 1
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.DONE, 2)


def test_a_job_that_kills_its_workers_is_given_up(cast: Cast, dataset: Dataset) -> None:
    job = asked(cast, dataset)
    for _ in range(3):
        assert report_jobs.report_job_claim() is not None
        ReportJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert report_jobs_work() == 0
    job.refresh_from_db()
    assert (job.state, "lost 3 times" in job.error) == (JobState.FAILED, True)
    assert "lost 3 times" in text_of(client_of(cast.alice).get(here(job)))


def test_cancelled_while_it_is_made_and_resumed(cast: Cast, dataset: Dataset) -> None:
    job = asked(cast, dataset)
    browser = client_of(cast.alice)
    act = reverse("metaeval:report-job-act", args=[job.pk])

    def stop() -> bool:
        job.refresh_from_db()
        if job.step == "Verdicts" and job.state == JobState.RUNNING:
            assert browser.post(act, {"action": "cancel"}).status_code == 302
        return False

    assert report_jobs_work(stop) == 0
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert not Report.objects.exists()
    assert "You cancelled this report" in text_of(browser.get(here(job)))
    for _ in range(2):  # a second press changes nothing
        assert browser.post(act, {"action": "resume"}, follow=True).status_code == 200
    assert report_jobs_work() == 1
    assert browser.post(act, {"action": "cancel"}).status_code == 302
    job.refresh_from_db()
    assert job.state == JobState.DONE


def test_whoever_did_not_ask_can_neither_see_nor_cancel_it(cast: Cast, dataset: Dataset) -> None:
    job = asked(cast, dataset)
    act = reverse("metaeval:report-job-act", args=[job.pk])
    for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404), (cast.ann, 404)):
        assert client_of(user).get(here(job)).status_code == status
        assert client_of(user).post(act, {"action": "cancel"}).status_code == status
    assert client_of(cast.alice).post(act, {"action": "x"}).status_code == 404
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_a_study_that_is_not_theirs_is_not_asked_for(cast: Cast) -> None:
    study = study_make(pairs=4, owner=cast.alice, slug="hers")
    study_labels_make(study, [[1, 1]] * 4)
    client_of(cast.bob).post(NEW, {"name": "study/hers"})
    assert not ReportJob.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_asked_for_at_once_and_made_by_three_workers_there_is_one(dataset: Dataset) -> None:
    cast = Cast.make()
    assert len(set(all_at_once(lambda _: asked(cast, dataset).pk, range(4)))) == 1
    all_at_once(lambda _: report_jobs_work(), range(3))
    assert Report.objects.count() == 1
    assert ReportJob.objects.get().attempts == 1


@pytest.mark.django_db(transaction=True)
def test_a_wake_up_makes_it_beside_what_else_the_worker_does(dataset: Dataset) -> None:
    """The house's message: the task itself, run here; the thread that it starts is waited for."""
    job = asked(Cast.make(), dataset)
    stop_request(stop=False)
    wake.apply()
    for thread in threading.enumerate():
        if thread.name == "reports":
            thread.join()
    job.refresh_from_db()
    assert job.state == JobState.DONE


def test_the_worker_draws_what_the_page_of_its_report_shows(cast: Cast, dataset: Dataset) -> None:
    asked(cast, dataset)
    assert report_jobs_work() == 1
    browser = client_of(cast.alice)
    page = browser.get(reverse("metaeval:report-detail", args=[Report.objects.get().pk])).content.decode()
    addresses = [unescape(found) for found in re.findall(r'hx-get="([^"]+/pictures/[^"]+)"', page)]
    assert addresses
    # What stands in the cache that processes share is what another process shows: nothing is drawn anew.
    pictures.DRAWN.clear()
    kept = [key for key in cache._cache if ":drawing:" in key]  # type: ignore[attr-defined]
    for key in kept:
        cache.set(key.rsplit(":1:", 1)[1], zlib.compress(b"drawn by the worker"))
    assert {browser.get(address).content for address in addresses} == {b"drawn by the worker"}


def test_a_picture_that_cannot_be_drawn_does_not_cost_the_report(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(report: Report) -> None:
        raise ValueError("a picture without a mark")

    monkeypatch.setattr(report_jobs, "report_draw", broken)
    job = asked(cast, dataset)
    assert report_jobs_work() == 1
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert "The pictures of a report could not be drawn" in caplog.text

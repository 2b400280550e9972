"""Exports in the background: asked for on a page, made by a worker, downloaded by a link that expires."""

import re
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.core import signing
from django.urls import reverse
from django.utils import timezone

from annotation.models import Dataset
from judges.models import ExportJob, ExportState
from judges.services import export_jobs, heartbeat
from judges.services.export_jobs import (
    MOST_ATTEMPTS,
    MOST_KEPT,
    MOST_OPEN,
    SALT,
    export_files_tidy,
    export_job_claim,
    export_job_make,
    export_jobs_work,
)
from judges.tasks import stop_request, wake
from tests.annotation.cast import client_of, labels_make, text_of
from tests.annotation.factories import dataset_make, study_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.EXPORTS_DIR = tmp_path / "exports"
    return settings.EXPORTS_DIR


@pytest.fixture
def study(cast):
    study = study_make(
        dataset=dataset_make(pairs=3, name="pairs", owner=cast.alice),
        slug="mine",
        owner=cast.alice,
        overlap=4,
    )
    labels_make(study, [[1, 2], [0, 1], [None, 2]])
    return study


PAGE = "/studies/mine/export/"


def asked(user, export="labels:csv", page=PAGE, **fields):
    response = client_of(user).post(page, {"export": export} | fields)
    assert response.status_code == 302, response.status_code
    return ExportJob.objects.order_by("pk").last()


def link(user, page=PAGE):
    return re.search(r'href="(/exports/[^"]+)"', client_of(user).get(page).content.decode())[1]


def body(response):
    return b"".join(response.streaming_content)


def test_a_file_is_asked_for_made_and_downloaded(cast, study, folder):
    browser = client_of(cast.alice)
    for export in ("labels:csv", "labels:csv", "judgments:parquet"):  # a form sent twice asks for one file
        assert browser.post(PAGE, {"export": export})["Location"] == f"{PAGE}#files"
    assert ExportJob.objects.count() == 2
    page = browser.get(PAGE)
    assert "Waiting for a worker" in text_of(page)
    assert 'hx-trigger="every 1500ms"' in page.content.decode()
    part = browser.get(PAGE, headers={"HX-Request": "true"}).content.decode()
    assert part.startswith("<section")
    assert "<html" not in part
    assert export_jobs_work() == 2
    page = browser.get(PAGE)
    assert "Download" in text_of(page)
    assert "every 1500ms" not in page.content.decode()
    ExportJob.objects.filter(what="judgments").delete()
    got = client_of(None).get(link(cast.alice))  # a program on another machine has the link alone
    direct = browser.get("/studies/mine/labels.csv/")
    assert body(got) == body(direct)
    assert got["Content-Disposition"].startswith('attachment; filename="mine-labels-')
    assert got["Cache-Control"].startswith("no-store")
    assert got["X-Content-Type-Options"] == "nosniff"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("page", [PAGE, "/datasets/pairs/export/"])
def test_who_may_ask_for_a_file(cast, study, page):
    Dataset.objects.update(split="private")
    for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404)):
        assert client_of(user).get(page).status_code == status
        assert client_of(user).post(page, {"export": "labels:csv"}).status_code == status
    assert not ExportJob.objects.exists()
    for wrong in ("labels:exe", "nothing:csv", "", "labels"):
        client_of(cast.alice).post(page, {"export": wrong})
    assert not ExportJob.objects.exists()
    asked(cast.alice, page=page)


def test_identifiers_are_for_those_who_may_have_them(cast, study):
    Dataset.objects.update(owner=None)
    study.owner = None
    study.save()
    response = client_of(cast.bob).post(PAGE, {"export": "labels:csv", "identify": "on"}, follow=True)
    assert "Only the owner of a study" in text_of(response)
    assert "own identifiers" not in text_of(client_of(cast.bob).get(PAGE))
    assert not ExportJob.objects.exists()
    asked(cast.ann, identify="on")
    export_jobs_work()
    assert b"annotator_external_id" in body(client_of(None).get(link(cast.ann)))


def test_a_link_dies_with_the_right_to_see_the_file_with_its_file_and_with_time(cast, study, folder):
    job = asked(cast.alice)
    export_jobs_work()
    job.refresh_from_db()
    here = link(cast.alice)

    def status(address=here):
        return client_of(None).get(address).status_code

    assert status() == 200
    for forged in (
        here[:-3] + "/",
        reverse("judges:export-file", args=[signing.dumps([job.pk, "other"], salt=SALT)]),
    ):
        assert status(forged) == 404
    assert (
        status(reverse("judges:export-file", args=[signing.dumps([job.pk, job.file], salt="other")])) == 404
    )
    assert status(reverse("judges:export-file", args=[signing.dumps("x", salt=SALT)])) == 404
    for field, value in (("is_active", False), ("role", "annotator")):
        before = getattr(cast.alice, field)
        type(cast.alice).objects.filter(pk=cast.alice.pk).update(**{field: value})
        assert status() == 404
        type(cast.alice).objects.filter(pk=cast.alice.pk).update(**{field: before})
    study.owner = cast.bob
    study.save()
    assert status() == 404
    study.owner = cast.alice
    study.save()
    assert status() == 200
    ExportJob.objects.update(expires_at=timezone.now())
    assert status() == 404
    assert export_files_tidy() == 1
    assert not list(folder.iterdir())
    assert not ExportJob.objects.exists()


def test_the_right_is_asked_for_again_when_the_file_is_made(cast, study):
    job = asked(cast.alice)
    Dataset.objects.update(split="private", owner=cast.bob)
    assert export_jobs_work() == 0
    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", "You no longer have access to this export.")


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_asked_for_at_once_and_made_by_three_workers_there_is_one(cast, study, folder):
    all_at_once(lambda browser: browser.post(PAGE, {"export": "labels:csv"}), browsers_of(cast.alice, 4))
    assert sum(all_at_once(lambda _: export_jobs_work(), range(3))) == 1
    job = ExportJob.objects.get()
    assert (job.state, job.attempts) == ("done", 1)
    assert [path.name for path in folder.iterdir()] == [job.file]


def test_a_worker_that_was_killed_leaves_nothing_and_the_next_one_begins_anew(cast, study, folder):
    asked(cast.alice)
    lost = export_job_claim()
    folder.mkdir(mode=0o700)
    (folder / f"{lost.pk}-{lost.owner}.csv.part").write_bytes(b"half")
    assert export_files_tidy() == 0, "its lease holds"
    assert export_jobs_work() == 0
    ExportJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert export_jobs_work() == 1
    assert export_job_make(lost, lambda: False) == 0, "who lost the row stores nothing"
    export_files_tidy()
    job = ExportJob.objects.get()
    assert (job.state, job.attempts) == ("done", 2)
    assert [path.name for path in folder.iterdir()] == [job.file]


def test_a_stopping_worker_gives_its_export_back_and_a_lost_one_is_tried_so_often(cast, study):
    asked(cast.alice)
    assert export_job_make(export_job_claim(), lambda: True) == 0
    job = ExportJob.objects.get()
    assert (job.state, job.attempts) == ("queued", 0)
    for _ in range(MOST_ATTEMPTS):
        assert export_job_claim().state == ExportState.RUNNING
        ExportJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert export_job_claim().state == ExportState.FAILED
    assert "lost 3 times" in text_of(client_of(cast.alice).get(PAGE))


def test_nobody_fills_the_disk(cast, study, folder, settings):
    for export in ("labels:csv", "labels:jsonl", "items:csv"):
        asked(cast.alice, export)
    response = client_of(cast.alice).post(PAGE, {"export": "items:jsonl"}, follow=True)
    assert f"{MOST_OPEN} of your exports" in text_of(response)
    assert ExportJob.objects.count() == MOST_OPEN
    settings.EXPORTS_MAX_BYTES = 100
    assert export_jobs_work() == 0
    assert {job.error[:16] for job in ExportJob.objects.all()} == {"There is no disk"}
    assert not list(folder.iterdir())
    for n in range(MOST_KEPT):
        ExportJob.objects.create(
            requested_by=cast.bob, dataset=study.dataset, what="items", format="csv", key=n
        )
    ExportJob.objects.update(state="done")
    page = "/datasets/pairs/export/"
    response = client_of(cast.bob).post(page, {"export": "items:jsonl"}, follow=True)
    assert f"You have {MOST_KEPT} exports" in text_of(response)


def test_what_has_expired_makes_room(cast, study, folder, settings):
    asked(cast.alice)
    assert export_jobs_work() == 1
    (file,) = folder.iterdir()
    settings.EXPORTS_MAX_BYTES = file.stat().st_size + 1
    ExportJob.objects.update(expires_at=timezone.now())
    asked(cast.alice)
    assert export_jobs_work() == 1
    assert [path.name for path in folder.iterdir()] == [ExportJob.objects.get().file] != [file.name]


@pytest.mark.django_db(transaction=True)
def test_who_asked_deletes_a_file_or_cancels_it(cast, study, folder):
    job = asked(cast.alice)
    export_jobs_work()
    address = reverse("judges:export-delete", args=[job.pk])
    for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404), (cast.ann, 404)):
        assert client_of(user).post(address).status_code == status
    assert client_of(cast.alice).get(address).status_code == 405
    assert len(list(folder.iterdir())) == 1
    browser = client_of(cast.alice)
    assert [browser.post(address).status_code for _ in range(2)] == [302, 404]
    assert not list(folder.iterdir())
    running = asked(cast.alice)
    claimed = export_job_claim()
    assert browser.post(reverse("judges:export-delete", args=[running.pk])).status_code == 302
    assert export_job_make(claimed, lambda: False) == 0
    assert not list(folder.iterdir())


@pytest.mark.django_db(transaction=True)
def test_deleted_at_once_it_is_gone_once(cast, study):
    job = asked(cast.alice)
    address = reverse("judges:export-delete", args=[job.pk])
    said = all_at_once(lambda browser: browser.post(address).status_code, browsers_of(cast.alice, 3))
    assert set(said) <= {302, 404}
    assert not ExportJob.objects.exists()


def test_no_name_of_a_file_leads_out_of_the_folder(folder):
    assert export_jobs.export_path("../../etc/passwd") == Path(folder) / "passwd"


@pytest.mark.django_db(transaction=True)
def test_a_wake_up_makes_it_and_the_heart_tells_how_far_it_is(study, monkeypatch) -> None:
    """The task itself, run here; the thread that it starts is waited for."""
    job = asked(study.owner)
    seen = threading.Event()
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.001)
    told = heartbeat.Heartbeat.tell

    def tell(heart, *progress):
        told(heart, *progress)
        while not ExportJob.objects.filter(pk=job.pk, step="Writing labels", n_total=5).exists():
            seen.wait(0.001)
        seen.set()

    monkeypatch.setattr(heartbeat.Heartbeat, "tell", tell)
    stop_request(stop=False)
    wake.apply()
    for thread in threading.enumerate():
        if thread.name == "exports":
            thread.join()
    job.refresh_from_db()
    assert job.state == ExportState.DONE
    assert seen.is_set()

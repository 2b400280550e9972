"""The status page: for administrators alone; everything that is going on, in a fixed number of queries."""

from datetime import timedelta

import pytest
from django.utils import timezone

from judges.models import ExportJob, Sweep, SweepState, WorkerHeartbeat
from judges.services.worker_heartbeats import worker_started, worker_stopped
from metaeval.models import ReportJob
from tests.annotation.cast import client_of, text_of
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run_instant, sweep_make

pytestmark = pytest.mark.django_db
PAGE = "/status/"


def test_it_is_for_administrators(cast):
    assert client_of(cast.ann).get(PAGE).status_code == 200
    assert client_of(cast.alice).get(PAGE).status_code == 403
    assert client_of(cast.carl).get(PAGE).status_code == 403
    response = client_of(None).get(PAGE)
    assert (response.status_code, response["Location"]) == (302, "/login/?next=/status/")
    assert client_of(cast.ann).post(PAGE).status_code == 405


def test_it_says_who_works_and_who_does_not(cast):
    for name in ("celery@one", "celery@two", "celery@three"):
        worker_started(name=name, queues=["http", "gpu"], n_processes=4)
    worker_stopped(name="celery@two")
    WorkerHeartbeat.objects.filter(name="celery@three").update(beat_at=timezone.now() - timedelta(minutes=30))
    text = text_of(client_of(cast.ann).get(PAGE))
    assert "celery@one Alive" in text
    assert "celery@two Shut down" in text
    assert "celery@three No heartbeat 30 min" in text
    assert "gpu, http 4" in text


def test_an_empty_site_says_what_is_missing(cast):
    text = text_of(client_of(cast.ann).get(PAGE))
    assert "No worker gives signs of life" in text
    assert "No worker ran in the last day, so sweeps, exports, imports and reports wait." in text
    assert "Nothing failed in the last 7 days." in text
    assert "No endpoint is set up." in text


def test_what_failed_leads_to_where_it_can_be_seen(cast):
    dataset = dataset_make(pairs=1, name="pairs", owner=cast.alice)
    sweep = sweep_make([judge_make()], dataset, start=False)
    now = timezone.now()
    Sweep.objects.update(state=SweepState.FAILED, finished_at=now, message="The key is wrong.")
    asked = {"requested_by": cast.alice, "dataset": dataset, "finished_at": now, "error": "The disk is full."}
    ExportJob.objects.create(what="labels", format="csv", key="k", state="failed", **asked)
    ReportJob.objects.create(kind="pairwise", epsilon=0.2, state="failed", **asked)
    old = ExportJob.objects.create(what="judgments", format="csv", key="o", state="failed", **asked)
    ExportJob.objects.filter(pk=old.pk).update(finished_at=now - timedelta(days=8))
    response = client_of(cast.ann).get(PAGE)
    text = text_of(response)
    assert f'href="/sweeps/{sweep.pk}/"' in response.content.decode()
    assert "The key is wrong." in text
    assert text.count("The disk is full.") == 2
    assert "judgments of pairs" not in text
    for url in (f"/sweeps/{sweep.pk}/", "/datasets/pairs/"):
        assert client_of(cast.ann).get(url).status_code == 200


def test_endpoints_queues_and_storage(cast):
    endpoint = endpoint_make(name="server", api_key_env="NO_SUCH_KEY", queue="gpu")
    sweep_make([judge_make()], dataset_make(pairs=2))
    run_instant()
    response = client_of(cast.ann).get(PAGE)
    text = text_of(response)
    assert "Key missing" in text
    assert f'href="/admin/judges/endpoint/{endpoint.pk}/change/"' in response.content.decode()
    assert "Data, exports, imports, images" in text
    assert "The database takes" in text
    assert "Python 3." in text


def test_it_takes_as_many_queries_however_much_there_is(cast, django_assert_num_queries):
    client = client_of(cast.ann)
    client.get(PAGE)
    with django_assert_num_queries(28):
        client.get(PAGE)
    for number in range(3):
        judge = judge_make(endpoint_make(f"http://127.0.0.1:{number + 1}/v1"))
        sweep_make([judge], dataset_make(pairs=2))
        worker_started(name=f"celery@{number}", queues=["http"], n_processes=1)
    Sweep.objects.update(state=SweepState.FAILED, finished_at=timezone.now())
    with django_assert_num_queries(28):
        client.get(PAGE)

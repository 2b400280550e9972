"""`/healthz` and `/readyz`: alive and ready, each check by itself, and what each failure says."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from config.celery import app
from config.observing.readiness import CHECKS
from judges.models import WorkerHeartbeat
from judges.selectors.operations import silence_allowed
from judges.services.worker_heartbeats import (
    worker_beat,
    worker_heartbeats_tidy,
    worker_started,
    worker_stopped,
)
from tests import services

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker() -> WorkerHeartbeat:
    worker_started(name="celery@one", queues=["http"], n_processes=2)
    return WorkerHeartbeat.objects.get()


def checks_of(response) -> dict[str, str]:
    return {name: check["status"] for name, check in response.json()["checks"].items()}


class TestAlive:
    def test_it_asks_nothing_of_anybody(self, client, django_assert_num_queries):
        with django_assert_num_queries(0):
            response = client.get("/healthz")
        assert (response.status_code, response.content) == (200, b"ok\n")
        assert not response.cookies
        assert "no-store" in response["Cache-Control"]

    def test_it_answers_without_tls(self, client, settings):
        settings.SECURE_SSL_REDIRECT = True
        assert [client.get(path).status_code for path in ("/healthz", "/health/")] == [200, 200]
        assert client.get("/login/").status_code == 301

    def test_it_only_reads(self, client):
        assert [client.post(path).status_code for path in ("/healthz", "/readyz")] == [405, 405]


class TestReady:
    def test_a_site_with_a_worker_is_ready(self, client, worker):
        response = client.get("/readyz")
        assert response.status_code == 200
        assert response.json()["status"] == "ready"
        assert checks_of(response) == dict.fromkeys(CHECKS, "ok")

    def test_it_takes_few_queries_and_is_kept_for_a_moment(self, client, worker, django_assert_num_queries):
        client.get("/readyz")
        with django_assert_num_queries(0):
            client.get("/readyz")

    def test_a_migration_that_is_missing(self, client, worker):
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE app = 'judges' AND name LIKE '0022%'")
        response = client.get("/readyz")
        assert response.status_code == 503
        assert response.json()["checks"]["migrations"] == {
            "status": "failed",
            "detail": "1 not applied: run manage.py migrate",
        }

    def test_a_full_disk(self, client, worker, settings):
        settings.DISK_FREE_MIN_BYTES = 2**62
        response = client.get("/readyz")
        assert response.status_code == 503
        assert response.json()["checks"]["disk"]["detail"].startswith("little space left for: data")
        assert str(settings.VAR_DIR) not in response.content.decode()

    def test_no_worker(self, client):
        response = client.get("/readyz")
        assert response.status_code == 503
        assert response.json()["checks"]["worker"]["detail"] == "no worker gives signs of life"

    def test_a_check_can_be_left_out(self, client):
        assert client.get("/readyz?exclude=worker").status_code == 200
        response = client.get("/readyz?exclude=worker,broker&exclude=disk")
        assert checks_of(response) == {"database": "ok", "migrations": "ok"}

    def test_an_unknown_check_is_refused(self, client):
        response = client.get("/readyz?exclude=workers")
        assert response.status_code == 400
        assert response.json()["detail"] == (
            "exclude: there is no check 'workers'; there are database, migrations, broker, disk, worker."
        )

    @pytest.mark.service
    def test_a_broker_that_does_not_answer(self, client, worker, settings, monkeypatch):
        settings.IN_PROCESS_WORKER = False
        monkeypatch.setattr(app.conf, "broker_url", f"redis://127.0.0.1:{services.free_port()}/0")
        monkeypatch.setattr(app.conf, "broker_write_url", app.conf.broker_url)
        response = client.get("/readyz")
        assert response.status_code == 503
        assert response.json()["checks"]["broker"] == {"status": "failed", "detail": "not answering"}

    @pytest.mark.service
    @pytest.mark.redis
    def test_a_broker_that_answers(self, client, worker, settings, monkeypatch):
        settings.IN_PROCESS_WORKER = False
        monkeypatch.setattr(app.conf, "broker_url", services.start_redis())
        monkeypatch.setattr(app.conf, "broker_write_url", app.conf.broker_url)
        assert client.get("/readyz").status_code == 200


class TestHeartbeats:
    def test_a_worker_is_missed_after_some_beats(self, client, worker):
        late = timezone.now() - silence_allowed() - timedelta(seconds=1)
        WorkerHeartbeat.objects.update(beat_at=late)
        assert client.get("/readyz?exclude=broker").status_code == 503

    def test_a_beat_brings_it_back(self, worker):
        WorkerHeartbeat.objects.update(beat_at=timezone.now() - timedelta(hours=1))
        worker_beat(name=worker.name)
        assert timezone.now() - WorkerHeartbeat.objects.get().beat_at < timedelta(minutes=1)

    def test_a_worker_that_was_shut_down_is_none(self, client, worker):
        worker_stopped(name=worker.name)
        assert client.get("/readyz").status_code == 503

    def test_one_that_starts_again_replaces_itself(self, worker):
        worker_stopped(name=worker.name)
        worker_started(name=worker.name, queues=["gpu", "cpu"], n_processes=1)
        row = WorkerHeartbeat.objects.get()
        assert (row.queues, row.n_processes, row.stopped_at) == (["cpu", "gpu"], 1, None)

    def test_those_that_are_long_gone_are_forgotten(self, worker):
        assert worker_heartbeats_tidy() == 0
        assert worker_heartbeats_tidy(now=timezone.now() + timedelta(days=2)) == 1

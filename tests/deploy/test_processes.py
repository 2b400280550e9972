"""The processes of compose.yaml, started with its own commands and settings, on a private PostgreSQL and Redis."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import services
from tests.deploy.files import ROOT, clean_environment, compose
from tests.live_site import PrivatePostgres

pytestmark = [pytest.mark.service, pytest.mark.redis, pytest.mark.long, pytest.mark.timeout(400)]

TOKEN = "m" * 32
WITHIN = 120


class Deployment:
    """What Compose would start, each as its service says; addresses stand for the containers' names."""

    def __init__(self, folder: Path) -> None:
        self.port = services.free_port()
        self.database = PrivatePostgres(is_safe=False)
        self._redis = services.start_redis().removesuffix("/0")
        self._folder = folder
        self._services = compose(
            DOMAIN="touchstone.example",
            DJANGO_SECRET_KEY="s" * 64,
            POSTGRES_PASSWORD="p",
            METRICS_TOKEN=TOKEN,
            WEB_WORKERS="2",
        )["services"]
        self._running: list[subprocess.Popen[str]] = []

    def command(self, name: str) -> list[str]:
        return [self._here(word) for word in self._services[name]["command"]]

    def healthcheck(self, name: str) -> list[str]:
        how, *words = self._services[name]["healthcheck"]["test"]
        assert how == "CMD"
        return [self._here(word) for word in words]

    def _here(self, word: str) -> str:
        return word.replace("0.0.0.0", "127.0.0.1").replace("8000", str(self.port))

    def environment(self, name: str) -> dict[str, str]:
        told = {key: str(value) for key, value in self._services[name]["environment"].items()}
        assert told["DATABASE_URL"] == "postgres://touchstone:p@database:5432/touchstone"
        for key in ("CELERY_BROKER_URL", "CACHE_URL"):
            told[key] = told[key].replace("redis://broker:6379", self._redis)
        here = {
            "DATABASE_URL": self.database.url,
            "TOUCHSTONE_VAR": str(self._folder),
            "WAKE_UP_SECONDS": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }
        return clean_environment() | told | here

    def run(self, words: list[str], name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=ROOT, env=self.environment(name), capture_output=True, text=True, check=False
        )

    def start(self, name: str) -> subprocess.Popen[str]:
        log = self.log_of(name).open("w")
        process = subprocess.Popen(
            self.command(name),
            cwd=ROOT,
            env=self.environment(name),
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        log.close()
        self._running.append(process)
        return process

    def log_of(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def logged(self, name: str) -> str:
        return self.log_of(name).read_text()

    def ask(self, path: str, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def ready(self, query: str = "") -> tuple[int, dict[str, Any]]:
        status, body = self.ask(f"/readyz{query}")
        return status, json.loads(body)["checks"] if body else {}

    def metric(self, name: str, **labels: str) -> float:
        status, body = self.ask("/metrics", Authorization=f"Bearer {TOKEN}")
        assert status == 200
        return sum(
            sample.value
            for family in text_string_to_metric_families(body)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def stop(self) -> None:
        for process in self._running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.database.stop()


def eventually(wanted: Callable[[], bool], deployment: Deployment) -> None:
    deadline = time.monotonic() + WITHIN
    while not wanted():
        logs = [deployment.logged(name)[-2000:] for name in ("web", "worker")]
        assert time.monotonic() < deadline, "\n".join(logs)
        time.sleep(0.2)


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.stop()


def test_it_becomes_ready_counts_over_its_processes_and_says_what_fails(deployment):
    # Before the migrations the web process is alive and not ready.
    web = deployment.start("web")
    deployment.log_of("worker").touch()
    eventually(lambda: deployment.ask("/healthz")[0] == 200, deployment)
    status, checks = deployment.ready()
    assert status == 503
    assert checks["database"]["status"] == "ok"
    assert checks["migrations"]["detail"].endswith("not applied: run manage.py migrate")
    assert deployment.run(deployment.healthcheck("web"), "web").returncode != 0

    migrated = deployment.run(deployment.command("migrate"), "migrate")
    assert migrated.returncode == 0, migrated.stderr
    worker = deployment.start("worker")
    eventually(lambda: deployment.ready()[0] == 200, deployment)
    assert deployment.run(deployment.healthcheck("web"), "web").returncode == 0

    # Two processes answer, and each says what both counted.
    asked = 40
    for _ in range(asked):
        assert deployment.ask("/login/", **{"X-Forwarded-Proto": "https"})[0] == 200
    counts = [deployment.metric("touchstone_http_requests_total", route="login") for _ in range(6)]
    assert counts == [asked] * 6
    assert deployment.metric("touchstone_workers", queue="http") == 1
    assert deployment.metric("touchstone_workers", queue="gpu") == 0
    assert deployment.ask("/metrics")[0] == 401
    status, _ = deployment.ask("/login/")
    assert status in (0, 404)  # led to https://, which nobody serves here

    lines = [json.loads(line) for line in deployment.logged("web").splitlines() if line.startswith("{")]
    requests = [line for line in lines if line["logger"] == "touchstone.request"]
    assert len({line["request_id"] for line in requests}) >= asked

    # Without its worker the site still takes answers; `/readyz` says what is missing.
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=90) == 0
    eventually(lambda: deployment.ready()[0] == 503, deployment)
    status, checks = deployment.ready()
    assert [name for name, check in checks.items() if check["status"] != "ok"] == ["worker"]
    assert deployment.run(deployment.healthcheck("web"), "web").returncode == 0

    # Without its database it is alive, and not ready.
    deployment.database.kill()
    eventually(lambda: deployment.ready("?exclude=worker")[0] == 503, deployment)
    assert deployment.ready()[1]["database"]["detail"] == "not answering"
    assert deployment.ask("/healthz") == (200, "ok\n")
    eventually(lambda: deployment.metric("touchstone_database_up") == 0, deployment)
    deployment.database.start()
    eventually(lambda: deployment.ready("?exclude=worker")[0] == 200, deployment)

    web.send_signal(signal.SIGTERM)
    assert web.wait(timeout=60) == 0

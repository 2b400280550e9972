"""Webhooks: what ends is told once, signed, tried again, and only to addresses of the internet."""

import ipaddress
import json
import re
import socket
import threading
import time
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.utils import timezone

import web.outgoing
from annotation.models import Delivery, DeliveryAttempt, DeliveryState, Webhook
from annotation.services.studies import study_close
from annotation.services.webhooks import (
    PAUSES,
    WebhookRuleError,
    deliveries_send,
    delivery_replay,
    events_collect,
    webhook_change,
    webhook_create,
    webhook_secret,
    webhook_test,
)
from tests.annotation.cast import labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.judges.anchor_rows import anchors_make
from tests.live_site import ROOT
from tests.metaeval.rows import swept

pytestmark = [pytest.mark.django_db, pytest.mark.service]
VERIFY = re.compile(r"```python verify\.py\n(.*?)```", re.DOTALL)


class Listener:
    """A program that hears messages; what it answers can be set."""

    def __init__(self):
        self.status, self.heard, self.headers, self.drip = 204, [], {}, 0.0
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                listener.heard.append((self.path, dict(self.headers), body))
                try:
                    if listener.drip:
                        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Endless: ")
                    while listener.drip:
                        self.wfile.write(b"x")
                        time.sleep(listener.drip)
                except OSError:
                    return
                self.send_response(listener.status)
                for name, value in listener.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def events(self):
        return [json.loads(body)["type"] for _, _, body in self.heard]


@pytest.fixture
def listener(settings):
    settings.WEBHOOK_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
    one = Listener()
    yield one
    one.drip = 0.0
    one.server.shutdown()
    one.server.server_close()


def registered(user, url, *events):
    return webhook_create(user=user, name="w", url=url, events=events or ["study.finished"])


def test_a_study_that_ends_is_told_once_and_signed(cast, listener):
    before = study_make(pairs=1, owner=cast.alice, state="closed")
    study = study_make(pairs=2, owner=cast.alice, slug="hers")
    study_make(pairs=1, owner=cast.bob, state="closed")
    webhook = registered(cast.alice, listener.url)
    assert events_collect() == 0, (before, "had ended before")
    study_close(study=study)
    assert (events_collect(), events_collect()) == (1, 0)
    assert (deliveries_send(), deliveries_send()) == (1, 0)
    ((path, headers, body),) = listener.heard
    assert path == "/hook"
    told = json.loads(body)
    assert (told["type"], told["data"]["study"]) == ("study.finished", "hers")
    verify = {}
    exec(VERIFY.search((ROOT / "docs" / "api.md").read_text(encoding="utf-8"))[1], verify)
    assert verify["is_genuine"](webhook_secret(webhook), headers, body)
    assert not verify["is_genuine"](webhook_secret(webhook), headers, body + b" ")
    assert not verify["is_genuine"](
        webhook_secret(webhook), headers | {"Webhook-Timestamp": str(int(time.time()) - 900)}, body
    )
    assert abs(int(headers["Webhook-Timestamp"]) - time.time()) < 60
    assert webhook_secret(webhook).encode() not in body
    assert Delivery.objects.get(state=DeliveryState.DELIVERED).attempts.get().status == 204


def test_a_study_with_all_its_labels_is_finished(cast, listener):
    study = study_make(pairs=2, owner=cast.alice, overlap=1)
    registered(cast.alice, listener.url)
    assert events_collect() == 0
    labels_make(study, [[1], [2]])
    assert events_collect() == 1


def test_sweeps_reports_and_drift_are_told_to_who_may_see_them(cast, listener):
    everything = ["sweep.finished", "judge.drifted", "report.ready"]
    dataset = dataset_make(pairs=24, owner=cast.alice, split="private")
    for user in (cast.bob, cast.ann):
        registered(user, f"{listener.url}/{user.username}", *everything)
    sweep, judge, _ = swept(dataset=dataset)
    type(sweep).objects.filter(pk=sweep.pk).update(state="finished", finished_at=timezone.now())
    anchors = anchors_make(judge=judge, dataset=dataset, changed=[40])
    type(sweep).objects.filter(anchors=anchors).update(finished_at=timezone.now())
    assert events_collect() == 2
    deliveries_send()
    assert {path for path, _, _ in listener.heard} == {"/hook/ann"}
    assert sorted(listener.events()) == ["judge.drifted", "sweep.finished"]


def test_a_failure_is_tried_again_later_and_later_and_then_left(cast, listener):
    webhook = registered(cast.alice, listener.url)
    delivery = webhook_test(webhook=webhook)
    listener.status = 500
    for tried in range(1, len(PAUSES) + 2):
        assert deliveries_send() == 1
        assert deliveries_send() == 0, "not before its time"
        delivery.refresh_from_db()
        if tried <= len(PAUSES):
            assert delivery.next_at - timezone.now() <= PAUSES[tried - 1]
            Delivery.objects.update(next_at=timezone.now())
    assert delivery.state == DeliveryState.FAILED
    assert delivery.attempts.count() == len(PAUSES) + 1
    assert len({headers["Webhook-Id"] for _, headers, _ in listener.heard}) == 1
    listener.status = 200
    assert delivery_replay(delivery=delivery)
    assert not delivery_replay(delivery=delivery), "it waits already"
    assert deliveries_send() == 1
    delivery.refresh_from_db()
    webhook.refresh_from_db()
    assert (delivery.state, webhook.failing_since) == (DeliveryState.DELIVERED, None)


def test_who_fails_for_days_is_disabled_and_can_be_enabled(cast, listener):
    webhook = registered(cast.alice, listener.url)
    listener.status = 500
    webhook_test(webhook=webhook)
    deliveries_send()
    webhook.refresh_from_db()
    assert webhook.disabled_at is None
    Webhook.objects.update(failing_since=timezone.now() - timedelta(days=6))
    Delivery.objects.update(next_at=timezone.now())
    deliveries_send()
    webhook.refresh_from_db()
    assert webhook.disabled_at is not None
    Delivery.objects.update(next_at=timezone.now())
    assert deliveries_send() == 0
    listener.status = 410
    webhook_change(webhook=webhook, is_enabled=True)
    assert deliveries_send() == 1
    webhook.refresh_from_db()
    assert webhook.disabled_at is not None, "410: nobody is there any more"


def test_a_worker_that_dies_loses_nothing(cast, listener):
    delivery = webhook_test(webhook=registered(cast.alice, listener.url))
    Delivery.objects.update(tries=1, next_at=timezone.now() - timedelta(seconds=1))  # its lease ran out
    assert deliveries_send() == 1
    delivery.refresh_from_db()
    assert delivery.state == DeliveryState.DELIVERED


def test_a_head_without_end_is_cut_off_and_a_redirect_is_not_followed(cast, listener, monkeypatch):
    monkeypatch.setattr(web.outgoing, "SECONDS", 0.4)
    webhook = registered(cast.alice, listener.url)
    listener.drip = 0.05
    webhook_test(webhook=webhook)
    deliveries_send()
    assert "No answer within" in DeliveryAttempt.objects.get().error
    listener.drip, listener.status, listener.headers = 0.0, 302, {"Location": "/elsewhere"}
    monkeypatch.setattr(web.outgoing, "SECONDS", 10)
    Delivery.objects.update(next_at=timezone.now())
    deliveries_send()
    assert DeliveryAttempt.objects.last().status == 302
    assert {path for path, _, _ in listener.heard} == {"/hook"}


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:8000/",
        "http://[::1]/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://0.0.0.0/",
        "http://user:secret@example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "https:///nothing",
        "https://example.org:0/",
        "https://exa mple.org/",
        "https://example.org/\nX: y",
        "https://[/",
        "x" * 600,
    ],
)
def test_what_is_no_public_address_is_refused(cast, url):
    with pytest.raises(WebhookRuleError):
        registered(cast.alice, url)
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "100.64.0.1"]
)
def test_a_name_that_leads_inside_is_not_followed(cast, monkeypatch, address):
    delivery = webhook_test(webhook=registered(cast.alice, "http://public.example/hook"))
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = [(family, socket.SOCK_STREAM, 6, "", (address, 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    deliveries_send()
    assert "internal network" in delivery.attempts.get().error


def test_decimal_and_short_forms_of_an_address_lead_nowhere(cast):
    for url in ("http://2130706433/", "http://127.1/", "http://0x7f000001/"):
        delivery = webhook_test(webhook=registered(cast.alice, url))
        deliveries_send()
        assert delivery.attempts.get().status is None, url

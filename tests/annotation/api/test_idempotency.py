"""A write with a key has one effect and one answer, however often and however fast it is sent."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import IdempotentAnswer, Invitation, Study
from annotation.services import idempotency
from annotation.services.tokens import token_create
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def secret():
    alice = user_make(username="alice")
    study_make(dataset=dataset_make(name="teas", pairs=2, owner=alice), owner=alice, slug="hers")
    return token_create(user=alice, name="t")[1]


def send(secret, key, values=None, path="studies/hers/invitations/"):
    return Client().post(
        f"/api/v1/{path}",
        json.dumps(values or {}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}", "Idempotency-Key": key},
    )


def test_the_same_again_has_one_effect_and_the_same_answer(secret):
    first, again = (send(secret, "k1", {"note": "a"}) for _ in range(2))
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert again["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert Invitation.objects.count() == 1
    assert send(secret, "k2", {"note": "a"}).json()["id"] != first.json()["id"]


def test_another_body_or_address_is_refused(secret):
    send(secret, "k", {"note": "a"})
    for answer in (send(secret, "k", {"note": "b"}), send(secret, "k", {"note": "a"}, "studies/hers/pause/")):
        assert answer.status_code == 422
        assert answer.json()["type"].endswith("idempotency-key-reused")
    assert Invitation.objects.count() == 1


def test_what_was_refused_can_be_corrected_under_the_same_key(secret):
    wanted = {"title": "T", "dataset": "teas", "qualification_size": 0}
    assert send(secret, "k", wanted | {"overlap": 0}, "studies/").status_code == 400
    assert send(secret, "k", wanted, "studies/").status_code == 201


def test_keys_are_each_tokens_own_and_end_after_a_day(secret):
    other = token_create(user=user_make(), name="t")[1]
    first = send(secret, "k").json()["id"]
    assert send(other, "k").status_code == 404
    IdempotentAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert send(secret, "k").json()["id"] != first
    assert IdempotentAnswer.objects.count() == 1


def test_keys_are_bounded(secret, monkeypatch):
    monkeypatch.setattr(idempotency, "MOST_KEPT", 2)
    assert [send(secret, key).status_code for key in "abc"] == [201, 201, 429]
    assert send(secret, "a")["Idempotency-Replayed"] == "true"
    for key in ("", "x" * 256, "\x7f"):
        assert send(secret, key).status_code == 400


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_sent_at_once_it_has_one_effect(secret):
    wanted = {"title": "T", "dataset": "teas", "qualification_size": 0}
    answers = all_at_once(lambda _: send(secret, "k", wanted, "studies/"), range(4))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["slug"] for answer in answers}) == 1
    assert Study.objects.filter(title="T").count() == 1

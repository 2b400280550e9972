"""The pages of webhooks: five ways each, and the same over the API."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Delivery, DeliveryState, Webhook
from annotation.services.tokens import token_create
from annotation.services.webhooks import webhook_create, webhook_test
from tests.annotation.cast import client_of
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
PAGE = "/me/webhooks/"
FORM = {"name": "listener", "url": "https://example.org/hook", "events": ["study.finished", "report.ready"]}


def made(user):
    return webhook_create(user=user, **FORM)


def test_it_is_registered_shown_tried_disabled_and_deleted(cast):
    client = client_of(cast.alice)
    page = client.post(PAGE, FORM, follow=True).content.decode()
    webhook = Webhook.objects.get()
    assert "whsec_" in page
    assert "Nothing was sent yet" in page
    for _ in range(2):
        client.post(reverse("webhook-act", args=[webhook.pk, "test"]))
    assert Delivery.objects.count() == 1, "one waits already"
    client.post(reverse("webhook-act", args=[webhook.pk, "disable"]))
    assert "Disabled" in client.get(PAGE).content.decode()
    client.post(reverse("webhook-act", args=[webhook.pk, "enable"]))
    assert "Enabled" in client.get(PAGE).content.decode()
    Delivery.objects.update(state=DeliveryState.FAILED)
    assert "Send again" in client.get(reverse("webhook", args=[webhook.pk])).content.decode()
    for _ in range(2):
        assert client.post(reverse("delivery-replay", args=[Delivery.objects.get().pk])).status_code == 302
    assert Delivery.objects.get().state == DeliveryState.WAITING
    assert client.post(reverse("webhook-act", args=[webhook.pk, "explode"])).status_code == 404
    assert client.post(reverse("webhook-act", args=[webhook.pk, "delete"])).url == PAGE
    assert not Webhook.objects.exists()


def test_nobody_else_sees_or_moves_it(cast):
    webhook = made(cast.alice)
    delivery = webhook_test(webhook=webhook)
    Delivery.objects.update(state=DeliveryState.FAILED)
    addresses = [reverse("webhook-act", args=[webhook.pk, one]) for one in ("delete", "disable", "test")]
    addresses.append(reverse("delivery-replay", args=[delivery.pk]))
    for address in addresses:
        for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404), (cast.ann, 404)):
            assert client_of(user).post(address).status_code == status
    assert client_of(cast.ann).get(reverse("webhook", args=[webhook.pk])).status_code == 404
    assert client_of(None).post(PAGE, FORM).status_code == 302
    assert "listener" not in client_of(cast.ann).get(PAGE).content.decode()
    assert Delivery.objects.get().state == DeliveryState.FAILED
    assert Webhook.objects.get().disabled_at is None


def test_a_form_sent_twice_makes_one(cast):
    client = client_of(cast.alice)
    assert client.post(PAGE, FORM).status_code == 302
    again = client.post(PAGE, FORM)
    assert again.status_code == 422
    assert "You have a webhook with this address" in again.content.decode()
    assert Webhook.objects.count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_forms_sent_at_once_make_one(cast):
    client = client_of(cast.alice)

    def send(_):
        own = Client()
        own.cookies.update(client.cookies)
        return own.post(PAGE, FORM).status_code

    assert sorted(all_at_once(send, range(4))) == [302, 422, 422, 422]
    assert Webhook.objects.count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"url": "http://10.0.0.1/"},
        {"url": "x"},
        {"events": []},
        {"events": ["x"]},
        {"name": "\x00"},
    ],
)
def test_what_is_wrong_makes_none(cast, wrong):
    assert client_of(cast.alice).post(PAGE, FORM | wrong).status_code == 422
    assert not Webhook.objects.exists()


def test_the_same_over_the_api(cast):
    def program(user):
        secret = token_create(user=user, name=f"t{user.pk}")[1]
        client = Client(headers={"Authorization": f"Bearer {secret}"})

        def ask(method, path, values=None):
            return client.generic(method, f"/api/v1/{path}", json.dumps(values), "application/json")

        return ask

    ask, other = program(cast.alice), program(cast.bob)
    answer = ask("POST", "webhooks/", FORM)
    assert answer.status_code == 201
    row = answer.json()
    assert row["secret"].startswith("whsec_")
    path = f"webhooks/{row['id']}/"
    assert "secret" not in ask("GET", path).json()
    assert other("GET", path).status_code == other("DELETE", path).status_code == 404
    assert ask("PATCH", path, {"is_enabled": False}).json()["is_enabled"] is False
    assert ask("PATCH", path, {"events": ["nothing"]}).json()["errors"][0]["field"] == "events"
    inside = ask("POST", "webhooks/", FORM | {"url": "http://127.0.0.1/"})
    assert inside.json()["errors"][0]["field"] == "url"
    sent = ask("POST", path + "test/").json()
    assert ask("GET", path + "deliveries/").json()["results"] == [sent]
    assert ask("POST", f"deliveries/{sent['id']}/replay/").status_code == 202
    assert other("POST", f"deliveries/{sent['id']}/replay/").status_code == 404
    assert ask("DELETE", path).status_code == 204
    assert ask("GET", "webhooks/").json()["results"] == []

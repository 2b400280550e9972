"""What is deleted over the API is gone; what something depends on stays, whoever asks, however often and how fast."""

import json

import pytest
from django.test import Client

from annotation.models import ApiToken, Dataset, Item, Label, Role, Study, Webhook
from annotation.services.studies import study_create
from annotation.services.tokens import token_create
from annotation.services.webhooks import webhook_create
from judges.models import Judge, Judgment, Sweep, SweepState
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.judges.props import judge_make, run_instant, sweep_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


class Caller:
    """A user's program."""

    def __init__(self, user):
        self.secret = token_create(user=user, name="t")[1]

    def __call__(self, method, path, values=None):
        client = Client(headers={"Authorization": f"Bearer {self.secret}"}, raise_request_exception=False)
        body = "" if values is None else json.dumps(values)
        return client.generic(method, f"/api/v1/{path}", body, content_type="application/json")


@pytest.fixture
def ask():
    return Caller(user_make(username="ada", role=Role.ADMINISTRATOR))


def refused(response, status):
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    return response.json()["detail"]


def test_what_nothing_depends_on_is_gone_and_the_second_time_not_found(ask):
    dataset = dataset_make(name="teas", pairs=2)
    study = Study.objects.create(dataset=dataset, title="Draft", slug="draft", state="draft")
    judge = judge_make()
    sweep = sweep_make([judge], dataset, start=False)
    for path in (f"sweeps/{sweep.pk}/", f"judges/{judge.pk}/", f"studies/{study.slug}/", "datasets/teas/"):
        answer = ask("DELETE", path)
        assert (answer.status_code, answer.content) == (204, b""), path
        refused(ask("DELETE", path), 404)
    for rows in (Dataset, Item, Study, Judge, Sweep):
        assert not rows.objects.exists(), rows


def test_what_something_depends_on_stays_and_says_what(ask):
    dataset = dataset_make(name="teas", pairs=2)
    study = study_make(dataset=dataset, slug="open")
    judge = judge_make()
    sweep = sweep_make([judge], dataset)
    assert "studies" in refused(ask("DELETE", "datasets/teas/"), 409)
    assert "close" in refused(ask("DELETE", f"studies/{study.slug}/"), 409)
    assert "cancel" in refused(ask("DELETE", f"sweeps/{sweep.pk}/"), 409)
    assert "depend" in refused(ask("DELETE", f"judges/{judge.pk}/"), 409)
    run_instant()
    assert "has judged" in refused(ask("DELETE", f"judges/{judge.pk}/"), 409)
    assert ask("DELETE", f"sweeps/{sweep.pk}/").status_code == 204
    assert Judgment.objects.count() == 4


def test_only_administrators_delete_and_nobody_what_they_do_not_see():
    owner = user_make()
    dataset = dataset_make(name="hers", pairs=2, owner=owner, split="private")
    study = Study.objects.create(dataset=dataset, title="D", slug="draft", state="draft", owner=owner)
    judge = judge_make()
    sweep = sweep_make([judge], dataset, start=False)
    for user in (owner, user_make(), user_make(role=Role.ANNOTATOR)):
        ask = Caller(user)
        for path in (
            "datasets/hers/",
            f"studies/{study.slug}/",
            f"judges/{judge.pk}/",
            f"sweeps/{sweep.pk}/",
        ):
            refused(ask("DELETE", path), 403)
    for rows in (Dataset, Study, Judge, Sweep):
        assert rows.objects.exists()


def test_a_token_reads_and_revokes_itself_and_nothing_else(ask):
    other = Caller(user_make())
    found = ask("GET", "token/").json()
    assert (found["user"], found["role"], found["name"]) == ("ada", "administrator", "t")
    assert ask.secret not in json.dumps(found)
    assert ask("DELETE", "token/").status_code == 204
    refused(ask("DELETE", "token/"), 401)
    assert other("GET", "token/").status_code == 200
    assert ApiToken.objects.filter(revoked_at=None).count() == 1


def test_a_webhook_is_deleted_once(ask):
    owner = user_make()
    hook = webhook_create(user=owner, name="w", url="https://example.org/", events=["report.ready"])
    refused(ask("DELETE", f"webhooks/{hook.pk}/"), 404)
    mine = Caller(owner)
    assert mine("DELETE", f"webhooks/{hook.pk}/").status_code == 204
    refused(mine("DELETE", f"webhooks/{hook.pk}/"), 404)
    assert not Webhook.objects.exists()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_deleted_at_once_by_many_it_is_deleted_once(ask):
    dataset_make(name="teas", pairs=2)
    judge = judge_make()
    for path in ("datasets/teas/", f"judges/{judge.pk}/"):
        statuses = sorted(
            one.status_code for one in all_at_once(lambda _, at=path: ask("DELETE", at), range(4))
        )
        assert statuses == [204, 404, 404, 404], path


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_deleted_while_somebody_uses_it_one_of_the_two_happens_whole(ask):
    """Never a label without its item, nor a run without its judge; and never a fault of the site."""
    for k in range(3):
        dataset = dataset_make(name=f"teas-{k}", pairs=2)
        name = dataset.items.first().external_id
        judge = judge_make(name=f"J{k}", strategy="random", params={"seed": k})
        sweep = sweep_make([judge], dataset_make(name=f"other-{k}", pairs=2), start=False)
        study_create(dataset=dataset_make(pairs=4), title="D", slug=f"d{k}", qualification_size=0)
        labels = {"dataset": dataset.name, "labels": [{"item": name, "annotator": "ann", "value": 1}]}
        statuses = [
            [one.status_code for one in all_at_once(lambda call: ask(*call), pair)]
            for pair in (
                [("DELETE", f"datasets/teas-{k}/"), ("POST", "labels/", labels)],
                [("DELETE", f"judges/{judge.pk}/"), ("POST", f"sweeps/{sweep.pk}/start/")],
                [("DELETE", f"studies/d{k}/"), ("POST", f"studies/d{k}/open/")],
                [("DELETE", f"sweeps/{sweep.pk}/"), ("POST", f"sweeps/{sweep.pk}/start/")],
            )
        ]
        flat = {status for pair in statuses for status in pair}
        assert flat <= {200, 204, 400, 404, 409}, statuses
        assert Label.objects.filter(item__external_id=name, item__dataset__name=f"teas-{k}").exists() == (
            statuses[0][0] == 409
        )
        assert Study.objects.filter(slug=f"d{k}", state="open").exists() == (statuses[2][0] == 409), statuses
        assert Sweep.objects.filter(pk=sweep.pk).exclude(state=SweepState.DRAFT).exists() == (
            statuses[3][0] == 409
        )

"""Datasets, labels, studies and invitations over the API: made, read, changed; never somebody else's."""

import json

import pytest
from django.test import Client

from annotation.models import Invitation, Item, Label, Role, Study
from annotation.services.tokens import token_create
from tests.annotation.factories import dataset_make, invitation_make, study_make, user_make

pytestmark = pytest.mark.django_db

ITEMS = [
    {"id": "tea", "instruction": "How long?", "responses": ["Two minutes.", "A day."], "gold": 1},
    {"id": "rain", "instruction": "Why?", "responses": [{"system": "a", "text": "x"}, "y"]},
]


class Caller:
    """A user's program."""

    def __init__(self, user, scopes=None):
        secret = token_create(user=user, name="t", **({} if scopes is None else {"scopes": scopes}))[1]
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})

    def __call__(self, method, path, values=None, status=200, **headers):
        body = "" if values is None else json.dumps(values)
        response = self.client.generic(
            method, f"/api/v1/{path}", body, content_type="application/json", headers=headers
        )
        assert response.status_code == status, response.content
        return response.json()


@pytest.fixture
def alice():
    return user_make(username="alice")


@pytest.fixture
def ask(alice):
    return Caller(alice)


def fields(answer):
    return [one.get("field") for one in answer["errors"]]


def test_a_dataset_is_imported_read_added_to_and_changed(ask):
    made = ask("POST", "datasets/", {"name": "teas", "items": ITEMS}, 201)
    assert (made["items_created"], made["dataset"]["split"]) == (2, "private")
    again = ask("POST", "datasets/", {"name": "teas", "items": ITEMS}, 200)
    assert again["items_created"] == 0
    more = {"id": "milk", "instruction": "?", "responses": ["a", "b"]}
    assert ask("POST", "datasets/teas/items/", {"items": [*ITEMS, more]})["items_created"] == 1
    assert ask("GET", "datasets/teas/")["version"] == 2
    rows = ask("GET", "datasets/teas/items/")["results"]
    assert [row["item"] for row in rows] == ["tea", "rain", "milk"]
    assert rows[1]["responses"] == [{"system": "a", "text": "x"}, {"system": "", "text": "y"}]
    assert ask("GET", f"items/{rows[0]['id']}/")["gold"] == {"choice": 1}
    assert [row["item"] for row in ask("GET", "datasets/teas/items/?has_gold=false")["results"]] == ["tea"]
    assert ask("PATCH", "datasets/teas/", {"title": "Teas"})["title"] == "Teas"


def test_what_is_wrong_with_rows_names_each_of_them(ask):
    rows = [ITEMS[0], {"id": "x", "instruction": "?", "responses": ["one"]}, {"id": "y", "kind": "nothing"}]
    answer = ask("POST", "datasets/", {"name": "teas", "items": rows}, 400)
    assert fields(answer) == ["items.1.responses", "items.2.kind"]
    assert not Item.objects.exists()
    assert fields(ask("POST", "datasets/", {"name": "a b", "items": ITEMS}, 400)) == ["name"]
    assert fields(ask("POST", "datasets/", {"name": "a", "items": ITEMS, "tilte": "x"}, 400)) == ["tilte"]
    contradicts = [ITEMS[0] | {"gold": 2}]
    ask("POST", "datasets/", {"name": "teas", "items": ITEMS}, 201)
    assert fields(ask("POST", "datasets/teas/items/", {"items": contradicts}, 400)) == ["items.0.gold"]


def test_nobody_adds_to_a_dataset_of_somebody_else(ask):
    hers = dataset_make(pairs=1, owner=user_make())
    private = dataset_make(pairs=1, owner=user_make(), split="private")
    answer = ask("POST", "datasets/", {"name": private.name, "items": ITEMS}, 400)
    assert "is taken" in answer["detail"]
    for path in (f"datasets/{hers.name}/items/", f"datasets/{private.name}/items/"):
        ask("POST", path, {"items": ITEMS}, 404)
    ask("PATCH", f"datasets/{hers.name}/", {"title": "x"}, 404)
    label = {"item": hers.items.get().external_id, "annotator": "a", "value": 1}
    assert fields(ask("POST", "labels/", {"dataset": hers.name, "labels": [label]}, 400)) == ["dataset"]


def test_labels_are_imported_once_all_or_none_and_listed_under_pseudonyms(ask):
    ask("POST", "datasets/", {"name": "teas", "items": ITEMS}, 201)
    labels = [
        {"item": "tea", "annotator": "ann", "value": 1},
        {"item": "rain", "annotator": "ann", "value": 0},
    ]
    sent = {"dataset": "teas", "labels": labels}
    assert ask("POST", "labels/", sent)["labels_created"] == 2
    assert ask("POST", "labels/", sent)["labels_created"] == 0
    wrong = [
        labels[0],
        {"item": "rain", "annotator": "ben", "value": 7},
        {"item": "?", "annotator": "b", "value": 1},
    ]
    answer = ask("POST", "labels/", {"dataset": "teas", "labels": wrong}, 400)
    assert fields(answer) == ["labels.1.value", "labels.2.item"]
    contradicts = [{"item": "tea", "annotator": "ann", "value": 2}]
    ask("POST", "labels/", {"dataset": "teas", "labels": contradicts}, 400)
    rows = ask("GET", "labels/?dataset=teas")["results"]
    assert [(row["item"], row["value"], row["counts"]) for row in rows] == [
        ("tea", {"choice": 1}, True),
        ("rain", {"choice": 0}, True),
    ]
    assert rows[0]["annotator"] == rows[1]["annotator"] != "ann"
    assert Label.objects.count() == 2


def test_labels_are_imported_and_listed_with_response_sets(ask):
    ask("POST", "datasets/", {"name": "teas", "items": ITEMS}, 201)
    labels = [{"item": "tea", "annotator": "ann", "value": {"choice": 1, "reasonable": [1, 0]}}]
    assert ask("POST", "labels/", {"dataset": "teas", "labels": labels})["labels_created"] == 1
    (row,) = ask("GET", "labels/?dataset=teas")["results"]
    assert row["value"] == {"choice": 1, "reasonable": ["1", "0"]}
    wrong = [{"item": "rain", "annotator": "ann", "value": {"choice": 1, "reasonable": ["A"]}}]
    answer = ask("POST", "labels/", {"dataset": "teas", "labels": wrong}, 400)
    assert fields(answer) == ["labels.0.value.reasonable"]


def test_labels_are_imported_and_listed_with_marked_passages(ask):
    ask("POST", "datasets/", {"name": "teas", "items": ITEMS}, 201)
    mark = {"response": 1, "start": 0, "end": 2, "reason": "good"}
    label = {"item": "tea", "annotator": "ann", "value": {"choice": 1}, "evidence": [mark]}
    for created in (1, 0):
        answer = ask("POST", "labels/", {"dataset": "teas", "labels": [label]})
        assert answer["labels_created"] == created
    (row,) = ask("GET", "labels/?dataset=teas")["results"]
    assert row["evidence"] == [mark | {"quote": "Tw"}]
    other = label | {"evidence": [mark | {"reason": "bad"}]}
    ask("POST", "labels/", {"dataset": "teas", "labels": [other]}, 400)
    wrong = label | {"item": "rain", "evidence": [mark | {"end": 9_999}]}
    answer = ask("POST", "labels/", {"dataset": "teas", "labels": [wrong]}, 400)
    assert fields(answer) == ["labels.0.evidence[0].end"]


def test_a_study_asks_for_response_sets_until_it_opens(ask):
    ask("POST", "datasets/", {"name": "teas", "items": ITEMS}, 201)
    wanted = {"title": "Which tea?", "dataset": "teas", "qualification_size": 0, "response_sets": True}
    made = ask("POST", "studies/", wanted, 201)
    assert made["response_sets"] is True
    path = f"studies/{made['slug']}/"
    ask("POST", path + "open/")
    answer = ask("PATCH", path, {"response_sets": False}, 400)
    assert fields(answer) == ["response_sets"]


def test_a_parameter_that_a_list_does_not_have_is_refused(ask):
    dataset_make(name="teas", pairs=2)
    assert fields(ask("GET", "labels/?datset=teas", status=400)) == ["datset"]
    for path in (
        "datasets/",
        "datasets/teas/items/",
        "studies/",
        "judges/",
        "sweeps/",
        "judgments/",
        "reports/",
    ):
        assert fields(ask("GET", f"{path}?colour=red", status=400)) == ["colour"], path
    assert ask("GET", "labels/?dataset=teas&limit=1")["results"] == []


def test_a_study_is_created_changed_opened_closed_and_invited_to(ask):
    ask("POST", "datasets/", {"name": "teas", "items": ITEMS}, 201)
    wanted = {"title": "Which tea?", "dataset": "teas", "overlap": 2, "qualification_size": 0}
    study = ask("POST", "studies/", wanted, 201)
    assert (study["slug"], study["state"], study["overlap"]) == ("which-tea", "draft", 2)
    path = f"studies/{study['slug']}/"
    assert ask("PATCH", path, {"overlap": 3})["overlap"] == 3
    assert ask("POST", path + "open/")["state"] == "open"
    assert fields(ask("PATCH", path, {"kind": "rubric"}, 400)) == ["kind"]
    link = ask("POST", path + "invitations/", {"note": "us", "max_annotators": 3}, 201)
    assert link["url"].endswith(f"/join/{Invitation.objects.get().token}/")
    assert [row["id"] for row in ask("GET", path + "invitations/")["results"]] == [link["id"]]
    for _ in range(2):
        assert ask("POST", f"invitations/{link['id']}/revoke/")["revoked_at"]
    assert ask("POST", path + "pause/")["state"] == "paused"
    assert ask("POST", path + "close/")["state"] == "closed"
    assert fields(ask("POST", path + "open/", status=409)) == ["state"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"dataset": "none"}, "dataset"),
        ({"title": ""}, "title"),
        ({"slug": "new"}, "slug"),
        ({"overlap": 0}, "overlap"),
        ({"categories": {"a": 1}}, "categories"),
        ({"eligibility": [{"key": "x"}]}, "eligibility"),
        ({"passthrough": [1]}, "passthrough"),
        ({"closes_at": "soon"}, "closes_at"),
        ({"state": "open"}, "state"),
        ({"owner": "ann"}, "owner"),
    ],
)
def test_a_rule_that_is_wrong_is_named(ask, wrong, field):
    dataset_make(name="teas", pairs=2)
    wanted = {"title": "T", "dataset": "teas", "qualification_size": 0}
    assert fields(ask("POST", "studies/", wanted | wrong, 400)) == [field]
    assert not Study.objects.exists()


def test_a_private_dataset_of_somebody_else_is_no_source(ask):
    mine, hidden = dataset_make(pairs=3), dataset_make(pairs=3, split="private", owner=user_make())
    wanted = {"title": "T", "dataset": mine.name, "check_dataset": hidden.name, "qualification_size": 0}
    assert fields(ask("POST", "studies/", wanted, 400)) == ["check_dataset"]
    assert fields(ask("POST", "studies/", wanted | {"dataset": hidden.name}, 400))[0] == "dataset"


def test_somebody_elses_study_is_not_there(ask):
    study = study_make(pairs=2, owner=user_make())
    link = invitation_make(study=study)
    path = f"studies/{study.slug}/"
    ask("GET", path, status=404)
    ask("PATCH", path, {"title": "x"}, 404)
    for end in ("open/", "pause/", "close/", "invitations/"):
        ask("POST", path + end, {}, 404)
    ask("POST", f"invitations/{link.pk}/revoke/", status=404)
    assert ask("GET", "studies/")["results"] == []


def test_a_scope_is_of_one_resource(alice):
    ask = Caller(alice, scopes=["datasets:read", "studies:write"])
    dataset_make(name="teas", pairs=2)
    ask("GET", "datasets/")
    assert "datasets:write" in ask("POST", "datasets/", {"name": "n", "items": ITEMS}, 403)["detail"]
    assert "studies:read" in ask("GET", "studies/", status=403)["detail"]
    ask("POST", "studies/", {"title": "T", "dataset": "teas", "qualification_size": 0}, 201)
    annotator = Caller(user_make(role=Role.ANNOTATOR))
    annotator("GET", "datasets/", status=403)

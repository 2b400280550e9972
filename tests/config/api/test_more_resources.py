"""Exports, anchors, notes, copies, chosen items, documentation, report files: over the API as on the pages."""

import json

import pytest
from django.test import Client

from annotation.models import ItemNote, Role, Study
from annotation.services.studies import study_create
from annotation.services.tokens import token_create
from judges.models import AnchorSet, ExportJob
from judges.services.export_jobs import export_jobs_work
from tests.annotation.cast import labels_make
from tests.annotation.factories import dataset_make, enrollment_make, study_make, user_make
from tests.judges.props import judge_make, run_instant, sweep_make
from tests.metaeval.choices import two_datasets
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


class Caller:
    """A user's program."""

    def __init__(self, user):
        self.user = user
        self.secret = token_create(user=user, name="t")[1]

    def raw(self, method, path, values=None, **headers):
        client = Client(headers={"Authorization": f"Bearer {self.secret}"})
        body = "" if values is None else json.dumps(values)
        return client.generic(
            method, f"/api/v1/{path}", body, content_type="application/json", headers=headers
        )

    def __call__(self, method, path, values=None, status=200):
        response = self.raw(method, path, values)
        assert response.status_code == status, response.content
        return response.json() if response.content else None


@pytest.fixture
def ask():
    return Caller(user_make(username="alice"))


@pytest.fixture
def other():
    return Caller(user_make(username="bob"))


def fields(answer):
    return [one.get("field") for one in answer["errors"]]


def test_what_is_said_of_a_dataset_for_its_exports_is_read_and_changed(ask, other):
    dataset_make(name="teas", pairs=2, owner=ask.user)
    said = {"citation": "@misc{teas}", "limitations": "Few."}
    assert ask("PATCH", "datasets/teas/", {"documentation": said})["documentation"] == said
    found = ask("PATCH", "datasets/teas/", {"documentation": {"limitations": ""}})
    assert found["documentation"] == {"citation": "@misc{teas}"}
    assert ask("GET", "datasets/teas/")["documentation"] == {"citation": "@misc{teas}"}
    wrong = ask("PATCH", "datasets/teas/", {"title": "New", "documentation": {"language": "e n"}}, 400)
    assert fields(wrong) == ["documentation.language"]
    assert ask("GET", "datasets/teas/")["title"] != "New"
    assert fields(ask("PATCH", "datasets/teas/", {"documentation": {"x": "y"}}, 400)) == ["documentation.x"]
    assert fields(ask("PATCH", "datasets/teas/", {"criteria": "none"}, 400)) == ["criteria"]
    ask("PATCH", "datasets/teas/", {"criteria": "helm-instruct"})
    other("PATCH", "datasets/teas/", {"documentation": said}, 404)


def test_a_study_is_copied_offers_chosen_items_and_says_how_far_it_is(ask, other):
    dataset = dataset_make(name="teas", pairs=4, owner=ask.user)
    study_create(dataset=dataset, title="Teas", slug="teas", owner=ask.user, qualification_size=0, overlap=2)
    copied = ask("POST", "studies/teas/copy/", {"slug": "again"}, 201)
    assert (copied["slug"], copied["overlap"], copied["state"]) == ("again", 2, "draft")
    assert ask("POST", "studies/teas/copy/", {"slug": "again"}, 201)["slug"] == "again"
    names = [item.external_id for item in dataset.items.order_by("position")]
    chosen = [{"item": names[2], "priority": 1, "overlap": 3}, {"item": names[0]}]
    assert ask("POST", "studies/teas/items/", {"items": chosen}) == {"added": 2, "changed": 0}
    wrong = [{"item": names[0]}, {"item": "nothing"}, {"item": names[1], "probability": 2}]
    assert fields(ask("POST", "studies/teas/items/", {"items": wrong[:2]}, 400)) == ["items.1.item"]
    assert fields(ask("POST", "studies/teas/items/", {"items": wrong[::2]}, 400)) == ["items.1.probability"]
    found = ask("GET", "studies/teas/progress/")
    assert (found["items"], found["wanted"], found["labels"], found["pace"]) == (2, 5, 0, None)
    ask("POST", "studies/teas/items/", {"items": []})
    assert ask("GET", "studies/teas/progress/")["items"] == 4
    ask("POST", "studies/teas/open/", {})
    ask("POST", "studies/teas/items/", {"items": []}, 409)
    for method, end in (("POST", "copy"), ("POST", "items"), ("GET", "progress"), ("GET", "annotators")):
        other(method, f"studies/teas/{end}/", {"items": []} if end == "items" else {}, 404)
    assert other("POST", "studies/", {"title": "T", "dataset": "teas", "qualification_size": 0}, 201)


def test_annotators_of_a_study_are_listed_by_pseudonym(ask):
    study = study_make(pairs=4, owner=ask.user, slug="hers")
    labels_make(study, [[1, 1], [2, 2]])
    person = enrollment_make(study=study)
    found = ask("GET", "studies/hers/annotators/")["results"]
    assert len(found) == 3
    assert person.pseudonym in {row["annotator"] for row in found}
    text = json.dumps(found)
    assert person.resume_token not in text
    assert str(person.annotator.public_id) not in text
    labelled = {row["annotator"] for row in ask("GET", "labels/?study=hers")["results"]}
    assert labelled <= {row["annotator"] for row in found}
    assert ask("GET", "studies/hers/annotators/?suspended=false")["results"] == []


def test_notes_are_written_changed_and_deleted_by_who_wrote_them(ask, other):
    item = dataset_make(pairs=1).items.get()
    made = ask("POST", f"items/{item.pk}/notes/", {"text": "Odd."}, 201)
    assert (made["author"], made["text"]) == ("alice", "Odd.")
    assert [row["id"] for row in other("GET", f"items/{item.pk}/notes/")["results"]] == [made["id"]]
    other("PATCH", f"notes/{made['id']}/", {"text": "x"}, 404)
    other("DELETE", f"notes/{made['id']}/", status=404)
    assert ask("PATCH", f"notes/{made['id']}/", {"text": "Even."})["edited_at"]
    assert fields(ask("POST", f"items/{item.pk}/notes/", {"text": " "}, 400)) == ["text"]
    ask("DELETE", f"notes/{made['id']}/", status=204)
    ask("DELETE", f"notes/{made['id']}/", status=404)
    hidden = dataset_make(pairs=1, split="private", owner=other.user).items.get()
    ask("POST", f"items/{hidden.pk}/notes/", {"text": "x"}, 404)
    assert not ItemNote.objects.exists()


def test_an_export_is_asked_for_made_downloaded_and_deleted(ask, other):
    dataset_make(name="teas", pairs=3, owner=ask.user)
    wanted = {"dataset": "teas", "what": "items", "format": "jsonl"}
    made = ask("POST", "exports/", wanted, 202)
    assert ask("POST", "exports/", wanted, 202)["id"] == made["id"]
    assert made["url"] is None
    assert export_jobs_work() == 1
    found = ask("GET", f"exports/{made['id']}/")
    assert (found["state"], found["what"]) == ("done", "items")
    file = Client().get(found["url"].partition("/exports/")[1] + found["url"].partition("/exports/")[2])
    assert len(b"".join(file.streaming_content).splitlines()) == 3
    assert [row["id"] for row in ask("GET", "exports/?dataset=teas&state=done")["results"]] == [made["id"]]
    other("GET", f"exports/{made['id']}/", status=404)
    other("DELETE", f"exports/{made['id']}/", status=404)
    ask("DELETE", f"exports/{made['id']}/", status=204)
    ask("DELETE", f"exports/{made['id']}/", status=404)
    assert fields(ask("POST", "exports/", wanted | {"dataset": "none"}, 400)) == ["dataset"]
    ask("POST", "exports/", wanted | {"study": "x"}, 400)
    assert "format" in ask("POST", "exports/", wanted | {"format": "croissant"}, 400)["detail"]
    identify = wanted | {"what": "labels", "identify": True}
    assert "owner" in ask("POST", "exports/", identify, 400)["detail"]


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_an_export_and_a_copy_asked_for_at_once_are_one(ask):
    dataset = dataset_make(name="teas", pairs=2, owner=ask.user)
    study_create(dataset=dataset, title="Teas", slug="teas", owner=ask.user, qualification_size=0)
    wanted = {"dataset": "teas", "what": "items", "format": "csv"}
    assert len(set(all_at_once(lambda _: ask("POST", "exports/", wanted, 202)["id"], range(4)))) == 1
    assert ExportJob.objects.count() == 1
    answers = all_at_once(
        lambda _: ask.raw("POST", "studies/teas/copy/", {"slug": "again"}).status_code, range(4)
    )
    assert set(answers) <= {201, 409}
    assert Study.objects.filter(slug="again").count() == 1


def test_anchors_are_frozen_once_checked_rescheduled_and_retired(ask):
    ada = Caller(user_make(username="ada", role=Role.ADMINISTRATOR))
    dataset = dataset_make(name="teas", pairs=12)
    judge = judge_make()
    sweep_make([judge], dataset)
    run_instant()
    path = f"judges/{judge.pk}/anchors/"
    made = ada("POST", path, {"dataset": "teas", "n": 10, "repeats": 2}, 201)
    assert (made["n_items"], made["moved"], len(made["checks"])) == (10, None, 2)
    assert ada("POST", path, {"dataset": "teas", "n": 10, "repeats": 2}, 201)["id"] == made["id"]
    assert [row["id"] for row in ada("GET", path)["results"]] == [made["id"]]
    run_instant()
    one = f"anchors/{made['id']}/"
    assert len(ada("POST", one + "check/")["checks"]) == 3
    assert ada("PATCH", one, {"every_days": 7})["every_days"] == 7
    run_instant()
    assert ada("GET", one)["moved"] is False
    assert ada("POST", one + "retire/")["retired_at"]
    ada("POST", one + "check/", status=409)
    assert fields(ada("POST", path, {"dataset": "none"}, 400)) == ["dataset"]
    assert "n" in fields(ada("POST", path, {"dataset": "teas", "n": 1}, 400))
    for method, address in (("GET", path), ("POST", path), ("GET", one), ("POST", one + "retire/")):
        ask(method, address, {}, 403)
    assert AnchorSet.objects.count() == 1


def test_a_published_convention(ask):
    two_datasets()
    made = ask("POST", "reports/", {"dataset": "people", "preset": "judgebench"}, 201)
    assert made["content"]["options"]["preset"] == "judgebench"
    assert "judgebench_accuracy" in made["content"]["judges"][0]["measures"]
    compared = ask("POST", "comparisons/", {"dataset": "people", "preset": "mt_bench_s1"})
    assert "mt_bench_s1_agreement" in compared["judges"][0]["measures"]
    for path in ("reports/", "comparisons/"):
        assert fields(ask("POST", path, {"dataset": "people", "preset": "x"}, 400)) == ["preset"]
        assert ask("POST", path, {"dataset": "people", "preset": "rewardbench2"}, 400)["detail"].startswith(
            "preset"
        )


def test_a_report_is_verified_compared_with_another_and_downloaded(ask):
    two_datasets()
    first = ask("POST", "reports/", {"dataset": "people"}, 201)
    second = ask("POST", "reports/", {"dataset": "people", "margin": 0.02}, 201)
    job = ask("POST", f"reports/{first['id']}/verification/", {})
    assert job["state"] == "done"
    assert job["content"]["changes"]["same_inputs"] is True
    assert job["content"]["changes"]["figures"] == []
    changes = ask("GET", f"reports/{second['id']}/changes/?before={first['id']}")
    assert changes["options"]
    assert fields(ask("GET", f"reports/{second['id']}/changes/?before=999", status=400)) == ["before"]
    assert fields(ask("GET", f"reports/{second['id']}/changes/", status=400)) == ["before"]
    file = ask.raw("GET", f"reports/{first['id']}/file/?type=md")
    assert file["Content-Type"].startswith("text/markdown")
    assert b"# " in file.content
    for accept in ("text/csv", "application/octet-stream", "application/pdf"):
        assert ask.raw("GET", f"reports/{first['id']}/file/?type=csv", Accept=accept).status_code == 200
        refused = ask.raw("GET", f"reports/{first['id']}/file/?type=docx", Accept=accept)
        assert (refused.status_code, refused["Content-Type"]) == (400, "application/problem+json")
    assert fields(ask("GET", f"reports/{first['id']}/file/?type=docx", status=400)) == ["type"]
    Caller(user_make())("GET", "reports/999/file/?type=md", status=404)
    again = ask("POST", f"jobs/{job['id']}/resume/", {})
    assert again["state"] == "done"

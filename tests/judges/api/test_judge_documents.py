"""Judges that leave by the API and come back; endpoints that are added by it."""

import json

import pytest

from annotation.models import Role
from annotation.services.tokens import token_create
from judges.models import Endpoint, Judge
from judges.services.judge_imports import judge_import
from judges.services.plans import PlanError
from judges.strategies.documents import document_make
from judges.strategies.spec import JudgeSpec
from tests.annotation.factories import user_make
from tests.judges.api.test_api import Program, reasons
from tests.judges.props import endpoint_make, judge_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db

TEXT = "# user\nWhich is better?\n{{instruction}}\n{{output_a}}\n{{output_b}}\nA or B"


@pytest.fixture
def program():
    ada = user_make(username="ada", role=Role.ADMINISTRATOR)
    return Program(token_create(user=ada, name="test")[1])


def forget(*judges):
    """As on another site: the judges are not there."""
    documents = [document_make(judge.name, JudgeSpec.from_dict(judge.spec)) for judge in judges]
    for judge in reversed(judges):  # those that are made of others first
        judge.delete()
    return documents


def judges_of_many_kinds():
    endpoint = endpoint_make(structured="vllm")
    cot = judge_make(endpoint, strategy="cot", decoding={"temperature": 0.7, "top_logprobs": 5}, samples=3)
    own = judge_make(
        endpoint, strategy="metrics", prompt="mine.v1", prompt_source=TEXT, params={"rules": True}
    )
    jury = judge_make(strategy="jury", endpoint=None, members={"x": cot, "y": own})
    return [own, cot, jury, judge_make()]


def test_each_judge_comes_back_with_its_fingerprint(program):
    judges = judges_of_many_kinds()
    before = [(judge.fingerprint, judge.spec) for judge in judges]
    documents = [program.get(f"judges/{judge.pk}/document/") for judge in judges]
    assert documents[0]["spec"]["step_prompts"]["metrics"]["source"].startswith("# ")
    forget(*judges)
    for document, (fingerprint, spec) in zip(documents, before, strict=True):
        found = program.post("judges/", document, status=201)
        assert found["fingerprint"] == document["fingerprint"] == fingerprint
        assert Judge.objects.get(pk=found["id"]).spec == spec
        assert program.post("judges/", document, status=200)["id"] == found["id"]


def test_the_api_takes_what_it_shows_of_a_judge(program):
    judge = judge_make(endpoint_make(), strategy="rules")
    shown = program.get(f"judges/{judge.pk}/")
    judge.delete()
    assert program.post("judges/", shown, status=201)["fingerprint"] == shown["fingerprint"]


def test_a_step_with_words_of_its_own_keeps_them(program):
    judge = judge_make(endpoint_make(), strategy="metrics")
    (document,) = forget(judge)
    document["spec"]["step_prompts"]["metrics"] = {
        "name": "own.v1",
        "source": "# user\nAsk about {{instruction}}",
    }
    spec = JudgeSpec.from_dict(document["spec"])
    document = document_make("Own step", spec)
    found = program.post("judges/", document, status=201)
    assert found["fingerprint"] == spec.fingerprint()
    copy = program.get(f"judges/{found['id']}/document/")
    assert copy["spec"]["step_prompts"]["metrics"]["source"] == "# user\nAsk about {{instruction}}"


def test_another_endpoint_makes_another_judge(program):
    (document,) = forget(judge_make(endpoint_make(), strategy="rules"))
    Endpoint.objects.all().delete()
    refused = program.post("judges/", document, status=400)
    assert "this site has no endpoint of the kind 'openai' at http://127.0.0.1:9/v1" in reasons(refused)
    other = endpoint_make("http://127.0.0.1:10/v1", name="other")
    found = program.post("judges/", {**document, "ask_at": "other"}, status=201)
    assert found["fingerprint"] != document["fingerprint"]
    assert Judge.objects.get(pk=found["id"]).endpoint == other
    imported = judge_import(values=document, user=None, endpoint="other")
    assert not imported.is_new
    assert "it is another judge" in imported.notes[0]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda one: one.update(schema="touchstone.judge/9"), "schema"),
        (lambda one: one.update(fingerprint="0" * 16), "fingerprint"),
        (lambda one: one["spec"].update(use_reference=True), "fingerprint"),
        (lambda one: one["spec"].update(prompt_source="# user\nOther", prompt_sha=""), "fingerprint"),
        (lambda one: one["spec"].update(prompt_source="# user\nOther"), "spec.prompt_sha"),
        (lambda one: one["spec"].update(temper=1), "spec.temper"),
        (lambda one: one.update(strategy_versions={"rules": 99}), "strategy_versions.rules"),
        (lambda one: one.update(spec="cot"), "spec"),
        (lambda one: one.update(name=3), "name"),
        (lambda one: one.update(ask_at="nowhere"), "endpoint"),
        (lambda one: one.update(ask_at=3), "ask_at"),
        (lambda one: one.update(cannot_run="imported"), "cannot_run"),
    ],
)
def test_a_file_that_was_changed_is_refused_by_the_name_of_its_field(program, change, field):
    (document,) = forget(judge_make(endpoint_make(), strategy="rules"))
    change(document)
    refused = program.post("judges/", document, status=400)
    assert [error["field"] for error in refused["errors"]] == [field]
    assert not Judge.objects.exists()


def test_an_export_without_texts_is_read_where_the_prompts_are_the_same():
    judge = judge_make(endpoint_make(), strategy="rules")
    old = {
        "schema": "touchstone.judge/1",
        "name": "Old",
        "fingerprint": judge.fingerprint,
        "spec": judge.spec,
    }
    assert judge_import(values=old, user=None).judge == judge
    old["spec"] = judge.spec | {"prompt_sha": "0" * 64}
    with pytest.raises(PlanError, match="Export the judge again"):
        judge_import(values=old, user=None)


def test_a_judge_whose_verdicts_were_imported_has_no_document(program):
    judge = judge_make()
    Judge.objects.filter(pk=judge.pk).update(spec={"strategy": "imported", "judge": "GPT-4"})
    assert "Nobody can ask this judge" in reasons(program.get(f"judges/{judge.pk}/document/", status=409))


def test_endpoints_are_added_and_changed_by_name_and_never_hold_a_key(program, monkeypatch):
    monkeypatch.setenv("MODEL_KEY_VARIABLES", "MY_KEY")
    values = {
        "name": "local",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key_env": "MY_KEY",
        "max_concurrency": 4,
    }
    made = program.post("endpoints/", values, status=201)
    assert (made["name"], made["max_concurrency"]) == ("local", 4)
    changed = program.post("endpoints/", {"name": "local", "max_concurrency": 8}, status=200)
    assert (changed["id"], changed["base_url"], changed["max_concurrency"]) == (
        made["id"],
        values["base_url"],
        8,
    )
    for wrong, field in (
        ({"api_key": "sk-1"}, "api_key"),
        ({"api_key_env": "sk-1"}, "api_key_env"),
        ({"api_key_env": "DATABASE_URL"}, "api_key_env"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"kind": "teapot"}, "kind"),
        ({"options": {"api_key": "sk-1"}}, "options"),
    ):
        refused = program.post("endpoints/", {"name": "local", **wrong}, status=400)
        assert [error["field"] for error in refused["errors"]] == [field], refused
    assert "sk-1" not in json.dumps(list(Endpoint.objects.values("base_url", "api_key_env", "options")))


def test_an_endpoint_shows_all_that_can_be_sent(program):
    values = {
        "name": "copies",
        "base_url": "http://models.example/v1",
        "addresses": ["http://127.0.0.1:8001/v1", "http://127.0.0.1:8002/v1"],
        "is_local": True,
        "open_weights": True,
        "structured": "vllm",
        "timeout_seconds": 30,
        "requests_per_minute": 600,
        "price_input": "0.1500",
    }
    made = program.post("endpoints/", values, status=201)
    assert {name: made[name] for name in values} == values
    # What is shown can be sent again, and changes nothing.
    again = program.post(
        "endpoints/", {name: value for name, value in made.items() if name != "id"}, status=200
    )
    assert again == made
    (listed,) = [row for row in program.get("endpoints/")["results"] if row["name"] == "copies"]
    assert listed == made
    for wrong in ("http://127.0.0.1:8001/v1", ["ftp://x"], [3], {}):
        refused = program.post("endpoints/", {"name": "copies", "addresses": wrong}, status=400)
        assert "addresses" in refused["errors"][0]["field"], refused
    assert Endpoint.objects.get(name="copies").addresses == values["addresses"]


def test_researchers_add_no_endpoint_and_take_the_judges_that_they_may_see():
    program = Program(token_create(user=user_make(), name="test")[1])
    program.post("endpoints/", {"name": "x", "base_url": "http://127.0.0.1:9/v1"}, status=403)
    judge = judge_make()
    program.get(f"judges/{judge.pk}/document/", status=404)
    program.post("judges/", document_make("x", JudgeSpec("longest")), status=403)


@pytest.mark.django_db(transaction=True)
def test_a_judge_that_comes_twice_at_once_is_one():
    (document,) = forget(judge_make(endpoint_make(), strategy="rules"))
    found = all_at_once(lambda values: judge_import(values=values, user=None).judge.pk, [document] * 4)
    assert len(set(found)) == 1
    assert Judge.objects.count() == 1

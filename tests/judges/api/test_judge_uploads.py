"""A judge from files by the API: sent, looked at, defined once; as the page does it."""

import pytest

from annotation.services.tokens import token_create
from judges.models import Judge, JudgeUpload
from tests.annotation.cast import client_of
from tests.judges.api.test_api import Program
from tests.judges.props import endpoint_make
from tests.judges.views.test_judge_uploads import ALPACA, LLMBAR, OWN
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


def refusals(answer):
    return {error.get("field", ""): error["message"] for error in answer["errors"]}


@pytest.fixture
def program(cast):
    return Program(token_create(user=cast.alice, name="test", scopes=["judges:read", "judges:write"])[1])


@pytest.fixture
def endpoint():
    return endpoint_make(name="local")


def test_sent_seen_and_defined(program, endpoint, cast):
    sent = program.post("judge-uploads/", {"files": dict(ALPACA)}, status=201)
    assert sent["evaluators"] == [{"name": "basic", "format": "alpaca_eval"}]
    assert program.post("judge-uploads/", {"files": dict(ALPACA)}, status=201)["id"] == sent["id"]
    address = f"judge-uploads/{sent['id']}/"
    seen = program.get(address)
    assert seen["judge"]["fingerprint"] is None
    assert "there is local" in seen["problem"]["detail"]
    seen = program.get(f"{address}?endpoint=local")
    assert seen["problem"] is None
    seen_judge = seen["judge"]
    assert seen_judge["notes"] == ["The setting 'seeds' is not carried over."]
    assert seen_judge["preview"]["requests"][0]["messages"][0]["content"].startswith(
        "Which suits What is the capital"
    )
    made = program.post(
        f"{address}define/", {"endpoint": "local", "fingerprint": seen_judge["fingerprint"]}, status=201
    )
    assert made["fingerprint"] == seen_judge["fingerprint"]
    again = program.post(f"{address}define/", {"endpoint": "local"}, status=200)
    assert again["id"] == made["id"]
    assert program.get(f"judges/{made['id']}/")["name"] == "AlpacaEval basic"
    assert client_of(cast.alice).get(f"/judges/uploads/{sent['id']}/").status_code == 200
    assert [row["id"] for row in program.get("judge-uploads/")["results"]] == [sent["id"]]
    assert program.client.delete(f"/api/v1/{address}").status_code == 204
    assert program.get("judge-uploads/")["results"] == []
    assert program.get(f"judges/{made['id']}/")["id"] == made["id"]


def test_refusals_name_the_field(program, endpoint):
    refused = refusals(
        program.post("judge-uploads/", {"files": {"../a.yaml": "strategy: longest"}}, status=400)
    )
    assert "leads out of them" in refused["../a.yaml"]
    assert (
        "expected a judge"
        in refusals(program.post("judge-uploads/", {"files": {"a.txt": "x"}}, status=400))["files"]
    )
    program.post("judge-uploads/", {"files": {"a.txt": "\u0000"}}, status=400)
    sent = program.post("judge-uploads/", {"files": LLMBAR}, status=201)
    assert [each["name"] for each in sent["evaluators"]] == ["X/Plain", "Y/Plain", "Z/Broken"]
    address = f"judge-uploads/{sent['id']}/define/"
    assert "choose one of the judges" in str(program.post(address, {"endpoint": "local"}, status=400))
    bad = {"endpoint": "local", "evaluator": "Z/Broken"}
    assert "'surprise' is not known" in str(program.post(address, bad, status=400))
    assert "endpoint" in refusals(program.post(address, {"endpoint": "nowhere"}, status=400))
    assert "surprise" in refusals(program.post(address, {"surprise": 1}, status=400))
    chosen = {"endpoint": "local", "evaluator": "X/Plain", "fingerprint": "0" * 16}
    assert "Look at it again" in str(program.post(address, chosen, status=409))
    assert not Judge.objects.exists()


def test_a_token_without_the_scope_sends_nothing(cast, endpoint):
    reader = Program(token_create(user=cast.alice, name="reads", scopes=["judges:read"])[1])
    reader.post("judge-uploads/", {"files": {"mine.yaml": OWN}}, status=403)
    assert not JudgeUpload.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_defined_at_the_same_moment_it_is_one(program, endpoint):
    sent = program.post("judge-uploads/", {"files": {"mine.yaml": OWN}}, status=201)
    url = f"/api/v1/judge-uploads/{sent['id']}/define/"
    made = all_at_once(lambda _: program.client.post(url, "{}", content_type="application/json"), range(4))
    assert sorted({response.status_code for response in made} - {200}) == [201]
    assert {response.json()["id"] for response in made} == {Judge.objects.get().pk}

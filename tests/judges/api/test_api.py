"""The API: who gets in, what it shows, and sweeps made, started, paused, resumed and cancelled through it."""

import json
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from annotation.models import ApiToken, Role
from annotation.services.tokens import token_create, token_revoke, token_use
from judges.models import Judge, Judgment, Sweep, SweepState
from judges.strategies.registry import STRATEGIES
from judges.strategies.types import Answer
from tests.annotation.factories import dataset_make, user_make
from tests.judges.props import endpoint_make, judge_make, run_instant, sweep_make
from tests.races import all_at_once
from web.api.limits import TokenThrottle

pytestmark = pytest.mark.django_db


class Program:
    """Whoever speaks with a token."""

    def __init__(self, secret: str = "") -> None:
        self.client = Client(headers={"Authorization": f"Bearer {secret}"} if secret else {})

    def get(self, path, status=200, **query):
        return self._read(self.client.get(f"/api/v1/{path}", query), status)

    def post(self, path, values=None, status=200):
        body = json.dumps({} if values is None else values)
        return self._read(self.client.post(f"/api/v1/{path}", body, content_type="application/json"), status)

    @staticmethod
    def _read(response, status):
        assert response.status_code == status, response.content
        return response.json()


@pytest.fixture
def ada():
    return user_make(username="ada", role=Role.ADMINISTRATOR)


@pytest.fixture
def program(ada):
    return Program(token_create(user=ada, name="test")[1])


def reasons(answer):
    return " ".join(error["message"] for error in answer["errors"])


# --- who gets in --------------------------------------------------------------------------------------------------


def test_without_a_token_nobody_gets_in(ada):
    answer = Program().get("", status=401)
    assert "credentials were not provided" in reasons(answer)
    Program("tst_wrong").get("judges/", status=401)
    Program("two words").get("judges/", status=401)
    signed_in = Client()
    signed_in.force_login(ada)
    assert signed_in.get("/api/v1/judges/").status_code == 401


def test_a_researcher_reads_what_they_may_see_and_changes_nothing(ada):
    grace = user_make()
    open_one, hidden = dataset_make(pairs=1), dataset_make(pairs=1, split="private", owner=user_make())
    seen, other = judge_make(name="Seen"), judge_make(strategy="shortest", endpoint=None, name="Other")
    public, both, private = (
        sweep_make([seen], open_one),
        sweep_make([seen], open_one, hidden),
        sweep_make([other], hidden),
    )
    run_instant()
    program = Program(token_create(user=grace, name="test")[1])
    assert {row["id"] for row in program.get("sweeps/")["results"]} == {public.pk, both.pk}
    assert [row["name"] for row in program.get("judges/")["results"]] == ["Seen"]
    assert program.get(f"sweeps/{both.pk}/")["datasets"] == [open_one.name]
    rows = program.get(f"sweeps/{both.pk}/judgments/")["results"]
    assert {row["dataset"] for row in rows} == {open_one.name}
    program.get(f"sweeps/{private.pk}/", status=404)
    program.get(f"sweeps/{private.pk}/judgments/", status=404)
    program.get(f"sweeps/{both.pk}/estimate/", status=404)
    program.get(f"sweeps/{public.pk}/estimate/")
    program.get(f"judges/{other.pk}/", status=404)
    assert "Only administrators" in reasons(program.get("endpoints/", status=403))
    for path in ("sweeps/", "judges/", f"sweeps/{public.pk}/start/", f"sweeps/{public.pk}/cancel/"):
        assert "Only administrators" in reasons(program.post(path, {}, status=403))
    assert hidden.name not in str(program.get("sweeps/")) + str(program.get(f"sweeps/{both.pk}/"))


def test_an_estimate_above_the_budget_warns_before_and_at_the_start(program):
    endpoint = endpoint_make(price_input=Decimal(1000), price_output=Decimal(1000))
    sweep = sweep_make([judge_make(endpoint)], dataset_make(pairs=20), start=False, budget=Decimal("0.01"))
    (warning,) = program.get(f"sweeps/{sweep.pk}/estimate/")["warnings"]
    assert "$0.01 of the budget is left" in warning
    assert warning in program.post(f"sweeps/{sweep.pk}/start/")["warnings"]


def test_a_sweep_that_its_budget_stopped_is_paused_and_says_why(program):
    endpoint = endpoint_make(price_input=Decimal(1000))
    sweep = sweep_make([judge_make(endpoint)], dataset_make(pairs=20), budget=Decimal("1.00"))
    run_instant(lambda wire: Answer("A", cost=0.1))
    found = program.get(f"sweeps/{sweep.pk}/")
    assert found["state"] == "paused"
    assert "budget of $1.00 is reached" in found["message"]


def test_a_token_ends_by_date_by_revocation_and_with_its_user(ada):
    token, secret = token_create(user=ada, name="short", days=1)
    assert token_use(secret=secret).user == ada
    assert token_use(secret=secret, now=timezone.now() + timedelta(days=2)) is None
    assert token_revoke(token=token)
    assert not token_revoke(token=token)
    Program(secret).get("", status=401)

    other, secret = token_create(user=ada, name="other")
    ada.is_active = False
    ada.save()
    Program(secret).get("", status=401)
    assert other.digest not in secret
    assert secret not in str(ApiToken.objects.values())


def test_when_a_token_was_used_is_noted_now_and_then(ada):
    token, secret = token_create(user=ada, name="x")
    now = timezone.now()
    token_use(secret=secret, now=now)
    token_use(secret=secret, now=now + timedelta(minutes=1))
    token.refresh_from_db()
    assert token.last_used_at == now
    token_use(secret=secret, now=now + timedelta(minutes=6))
    token.refresh_from_db()
    assert token.last_used_at == now + timedelta(minutes=6)


def test_tokens_are_made_listed_and_revoked_on_the_command_line(ada):
    def command(*arguments):
        out, err = StringIO(), StringIO()
        call_command("api_token", *arguments, stdout=out, stderr=err)
        return out.getvalue().strip()

    secret = command("ada", "--name", "laptop", "--days", "3")
    assert Program(secret).get("")["sweeps"].endswith("/api/v1/sweeps/")
    assert "laptop" in command("ada", "--list")
    assert "revoked" in command("ada", "--revoke", secret[:12])
    assert "revoked" in command("ada", "--list")
    Program(secret).get("", status=401)
    for arguments in (("eve",), ("ada", "--revoke", "tst_none"), ("ada", "--days", "0")):
        with pytest.raises(CommandError):
            command(*arguments)


def test_too_many_requests_are_put_off(program, monkeypatch, settings):
    settings.RATELIMIT_ENABLE = True
    monkeypatch.setattr(TokenThrottle, "rate", "3/m")
    for _ in range(3):
        program.get("")
    response = program.client.get("/api/v1/")
    assert response.status_code == 429
    assert response["RateLimit-Policy"] == '"token";q=3;w=60'
    assert response["RateLimit"].startswith('"token";r=0;t=')
    assert int(response["Retry-After"]) > 0


# --- what it shows ------------------------------------------------------------------------------------------------


def test_strategies_endpoints_and_judges_are_listed(program, monkeypatch):
    monkeypatch.setenv("THE_KEY", "sk-secret")
    endpoint = endpoint_make(name="far", api_key_env="THE_KEY")
    judge = judge_make(endpoint, name="One")
    assert {each["name"] for each in program.get("strategies/")} == set(STRATEGIES)
    (shown,) = program.get("endpoints/")["results"]
    assert (shown["name"], shown["api_key_env"]) == ("far", "THE_KEY")
    assert "sk-secret" not in json.dumps(shown)
    assert program.get(f"judges/{judge.pk}/")["spec"]["strategy"] == "vanilla"
    assert [each["name"] for each in program.get("judges/")["results"]] == ["One"]
    program.get("judges/999/", status=404)


def test_a_long_list_comes_in_pages(program, monkeypatch):
    monkeypatch.setattr("web.api.pages.Pages.page_size", 2)
    for number in range(3):
        judge_make(name=f"Random {number}", strategy="random", params={"seed": number})
    first = program.get("judges/")
    assert len(first["results"]) == 2
    second = program.client.get(first["next"]).json()
    assert [each["name"] for each in second["results"]] == ["Random 2"]
    assert second["next"] is None


def test_judgments_of_a_sweep(program, django_assert_max_num_queries):
    dataset = dataset_make(name="pairs", pairs=3)
    judge, other = judge_make(name="Longer"), judge_make(name="Shorter", strategy="shortest")
    sweep = sweep_make([judge], dataset)
    sweep_make([other], dataset)
    run_instant()
    with django_assert_max_num_queries(6):
        rows = program.get(f"sweeps/{sweep.pk}/judgments/")["results"]
    assert len(rows) == 6
    assert {row["judge"] for row in rows} == {"Longer"}
    assert {row["dataset"] for row in rows} == {"pairs"}
    assert program.get(f"sweeps/{sweep.pk}/judgments/", judge="Shorter")["results"] == []
    assert program.client.get(f"/api/v1/sweeps/{sweep.pk}/judgments/?status=failed").json()["results"] == []


# --- what it does -------------------------------------------------------------------------------------------------


def test_a_judge_is_defined_once(program):
    endpoint_make(name="local")
    values = {"name": "Plain", "strategy": "vanilla", "endpoint": "local", "model": "small"}
    first = program.post("judges/", values, status=201)
    again = program.post("judges/", values | {"name": "Another name"}, status=200)
    assert first["id"] == again["id"]
    answer = program.post("judges/", values | {"params": {"x": 1}}, status=400)
    assert answer["errors"][0]["field"] == "judge.params"
    program.post("judges/", [1], status=400)
    assert Judge.objects.count() == 1


PLAN = {"name": "By program", "datasets": ["pairs"], "judges": [{"name": "Longer", "strategy": "longest"}]}


def test_a_sweep_from_plan_to_judgments(program):
    dataset_make(name="pairs", pairs=2)
    made = program.post("sweeps/", PLAN, status=201)
    assert (made["state"], made["judges_made"], made["datasets"]) == ("draft", ["Longer"], ["pairs"])
    assert program.post("sweeps/", PLAN, status=201)["id"] == made["id"]  # sent twice

    path = f"sweeps/{made['id']}/"
    assert program.post(path + "start/")["state"] == "queued"
    assert program.post(path + "start/")["state"] == "queued"
    assert program.post(path + "pause/")["state"] == "paused"
    assert "running" in reasons(program.post(path + "pause/", status=409))
    assert program.post(path + "resume/", {"budget_minutes": 5})["budget_minutes"] == 5
    run_instant()
    shown = program.get(path)
    assert (shown["state"], shown["progress"]["n_done"]) == ("finished", 4)
    assert "running" in reasons(program.post(path + "cancel/", status=409))
    assert Judgment.objects.count() == 4
    assert [each["id"] for each in program.get("sweeps/")["results"]] == [made["id"]]


def test_what_is_wrong_with_a_plan_is_named(program):
    answer = program.post("sweeps/", PLAN, status=400)
    assert answer["errors"] == [{"field": "datasets.0", "message": "there is no dataset 'pairs'."}]
    assert not Sweep.objects.exists()
    assert not Judge.objects.exists()
    broken = program.client.post("/api/v1/sweeps/", "{", content_type="application/json")
    assert broken.status_code == 400


def test_a_sweep_that_cannot_start_says_why(program):
    dataset = dataset_make(name="pairs", pairs=0)
    sweep = sweep_make([judge_make()], dataset, start=False)
    assert "no" in reasons(program.post(f"sweeps/{sweep.pk}/start/", status=409))
    program.post(f"sweeps/{sweep.pk}/resume/", {"budget": "much"}, status=400)
    program.post("sweeps/999/start/", status=404)
    sweep.refresh_from_db()
    assert sweep.state == SweepState.DRAFT


def test_cancelling_stops_it(program):
    sweep = sweep_make([judge_make()], dataset_make(pairs=2))
    assert program.post(f"sweeps/{sweep.pk}/cancel/")["state"] == "cancelled"


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_the_same_plan_at_the_same_moment_is_one_sweep():
    ada = user_make(username="ada", role=Role.ADMINISTRATOR)
    dataset_make(name="pairs", pairs=2)
    secret = token_create(user=ada, name="test")[1]
    answers = all_at_once(lambda _: Program(secret).post("sweeps/", PLAN, status=201)["id"], range(4))
    assert len(set(answers)) == 1
    assert Judge.objects.count() == 1

"""Judges chosen and promoted over the API: as on the pages, on the same figures, with the same refusals."""

import json

import pytest
from django.test import Client

from annotation.models import Dataset, Kind, Role
from annotation.services.tokens import token_create
from metaeval.models import Decision, JobState, ReportJob
from metaeval.services import report_jobs
from metaeval.services.report_jobs import report_jobs_work
from tests.annotation.factories import dataset_make, user_make
from tests.metaeval.choices import content_of, kind_choosing, two_datasets
from tests.metaeval.composites import specialists
from tests.metaeval.preregistrations import preregistered
from tests.races import all_at_once

pytestmark = pytest.mark.django_db

BOTH = [
    {"dataset": "gold", "role": "gold", "weight": 1},
    {"dataset": "people", "role": "people", "weight": 2},
]


class Caller:
    """A user's program."""

    def __init__(self, user):
        secret = token_create(user=user, name="t")[1]
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})

    def __call__(self, method, path, values=None, status=200):
        body = "" if values is None else json.dumps(values)
        response = self.client.generic(method, f"/api/v1/{path}", body, content_type="application/json")
        assert response.status_code == status, response.content
        return response.json()


@pytest.fixture
def ada():
    return user_make(username="ada", role=Role.ADMINISTRATOR)


@pytest.fixture
def ask(ada):
    return Caller(ada)


def fields(answer):
    return sorted(one.get("field", "") for one in answer["errors"])


def decision_of(asked, found, judge, **more):
    fingerprint = next(row["fingerprint"] for row in found["judges"] if row["name"] == judge)
    return {
        **asked,
        "by": "selection",
        "fingerprint": fingerprint,
        "inputs_hash": found["inputs_hash"],
        "reason": "It holds on both.",
        **more,
    }


def test_a_selection_over_two_datasets_is_the_pages_and_decides_for_both(ask):
    sweep, good, _ = two_datasets()
    asked = {
        "sweep": sweep.pk,
        "parts": BOTH,
        "constraints": {"max_cost_per_1000": 9.5, "min_accuracy": 0.07},
    }
    found = ask("POST", "selections/", asked)
    page = {"weight-gold": "1", "weight-people": "2", "max_cost": "9.5", "min_accuracy": "7"}
    assert found["inputs_hash"] == content_of(sweep, **page)["inputs_hash"]
    sent = decision_of(asked, found, "Good judge")
    made = ask("POST", "decisions/", sent, 201)
    assert [row["dataset"] for row in made["together"]] == ["people", "gold"]
    assert {row["fingerprint"] for row in made["together"]} == {good.fingerprint}
    assert ask("POST", "decisions/", sent, 201)["id"] == made["id"]
    assert Decision.objects.count() == 2
    # Another one has to name what it replaces, on each dataset.
    second = sent | {"reason": "Again."}
    ask("POST", "decisions/", second, 409)
    in_force = {row["dataset"]: row["id"] for row in made["together"]}
    again = ask("POST", "decisions/", second | {"in_force": in_force}, 201)
    assert {row["dataset"] for row in again["together"]} == {"people", "gold"}
    assert fields(ask("POST", "decisions/", sent | {"in_force": {"teas": None}}, 400)) == ["in_force.teas"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in Kind.values if kind != Kind.PAIRWISE])
def test_a_judge_of_each_other_kind_is_promoted(ask, kind):
    dataset, _ = kind_choosing(kind, items=12)
    asked = {"dataset": dataset.name, "kind": kind}
    found = ask("POST", "selections/", asked)
    made = ask("POST", "decisions/", decision_of(asked, found, f"Near {kind}"), 201)
    assert (made["kind"], made["dataset"], made["sweep"]) == (kind, dataset.name, None)


def test_what_the_page_would_refuse_is_refused_by_its_name_here(ask):
    sweep, *_ = two_datasets()
    for wrong, named in (
        ({"parts": [{"dataset": "teas", "role": "gold"}]}, ["parts.0.dataset"]),
        ({"parts": [BOTH[0], BOTH[0]]}, ["parts.1.dataset"]),
        ({"parts": [BOTH[0] | {"role": "people"}]}, ["parts.0.role"]),
        ({"parts": [BOTH[0] | {"weight": 0}]}, [""]),
        ({"parts": [BOTH[1]], "constraints": {"min_accuracy": 0.5}}, ["constraints.min_accuracy"]),
        ({"constraints": {"max_price": 1}}, ["constraints.max_price"]),
        ({"confidence": 0.8}, ["confidence"]),
        ({"measure": "kappa"}, ["measure"]),
        ({"kind": "rubric"}, ["kind"]),
        ({"judges": [1]}, ["judges"]),
        ({"preregistration": 99}, ["preregistration"]),
        ({"sweep": 99}, ["sweep"]),
    ):
        assert fields(ask("POST", "selections/", {"sweep": sweep.pk} | wrong, 400)) == named, wrong
    assert fields(ask("POST", "selections/", {}, 400)) == ["dataset"]
    bare = dataset_make(name="bare", pairs=2)
    assert "No judge" in ask("POST", "selections/", {"dataset": bare.name}, 400)["detail"]


def test_what_belongs_to_the_other_basis_is_refused(ask):
    sweep, *_ = two_datasets()
    sent = {
        "sweep": sweep.pk,
        "dataset": "people",
        "fingerprint": "a" * 64,
        "reason": "r",
        "inputs_hash": "b" * 64,
    }
    for wrong in ({"parts": BOTH}, {"override": True}, {"in_force": {"people": 1}}, {"kind": "rubric"}):
        assert fields(ask("POST", "decisions/", sent | wrong, 400)) == list(wrong)
    assert fields(ask("POST", "decisions/", sent | {"by": "selection", "replaces": 3}, 400)) == ["replaces"]
    del sent["dataset"]
    assert fields(ask("POST", "decisions/", sent, 400)) == ["dataset"]


def test_a_constraint_that_is_not_satisfied_is_overridden_with_a_word(ask):
    sweep, *_ = two_datasets()
    asked = {"sweep": sweep.pk, "parts": BOTH, "constraints": {"max_cost_per_1000": 5}}
    found = ask("POST", "selections/", asked)
    sent = decision_of(asked, found, "Good judge")
    answer = ask("POST", "decisions/", sent, 400)
    assert fields(answer) == ["override"]
    assert "tick" not in answer["detail"]
    ask("POST", "decisions/", sent | {"override": True}, 201)


@pytest.mark.slow
def test_the_composite_of_a_selection_becomes_a_judge(ask):
    sweep, *_ = specialists()
    asked = {"sweep": sweep.pk}
    found = ask("POST", "selections/", asked)
    sent = decision_of(asked, found, "First half") | {"fingerprint": "composite", "override": True}
    made = ask("POST", "decisions/", sent, 201)
    assert made["judge"].startswith("Composite of Specialists")
    assert ask("POST", "decisions/", sent, 201)["id"] == made["id"]


def test_a_preregistration_goes_with_comparison_report_and_decision(ask, ada):
    sweep, good, _ = two_datasets()
    plan = preregistered(dataset=Dataset.objects.get(name="people"), user=ada)
    other = user_make()
    hidden = preregistered(dataset=Dataset.objects.get(name="people"), user=other)
    (row, _) = ask("GET", "preregistrations/?dataset=people")["results"]
    assert (row["id"], row["sha256"]) == (plan.pk, plan.sha256)
    assert ask("GET", f"preregistrations/{plan.pk}/")["content"]["title"] == plan.title
    researcher = Caller(other)
    assert [one["id"] for one in researcher("GET", "preregistrations/")["results"]] == [hidden.pk]
    researcher("GET", f"preregistrations/{plan.pk}/", status=404)

    asked = {"sweep": sweep.pk, "dataset": "people", "preregistration": plan.pk}
    compared = ask("POST", "comparisons/", asked)
    assert compared["planned"]["sha256"] == plan.sha256
    report = ask("POST", "reports/", {"dataset": "people", "preregistration": plan.pk}, 201)
    assert report["content"]["planned"]["sha256"] == plan.sha256
    sent = {"fingerprint": good.fingerprint, "reason": "r", "inputs_hash": compared["inputs_hash"]}
    made = ask("POST", "decisions/", asked | sent, 201)
    assert made["evidence"]["planned"]["sha256"] == plan.sha256
    selected = ask("POST", "selections/", {"sweep": sweep.pk, "preregistration": plan.pk})
    assert selected["planned"]["sha256"] == plan.sha256
    assert fields(ask("POST", "reports/", {"dataset": "people", "preregistration": 999}, 400)) == [
        "preregistration"
    ]


def test_some_of_the_judges_of_a_dataset_are_compared(ask):
    _, good, _ = two_datasets()
    found = ask("POST", "comparisons/", {"dataset": "people", "judges": [good.pk]})
    assert [row["name"] for row in found["judges"] if not row["baseline"]] == ["Good judge"]
    assert fields(ask("POST", "comparisons/", {"dataset": "people", "judges": [999]}, 400)) == ["judges"]


def test_a_large_selection_is_made_by_a_worker_and_decided_on(ask, monkeypatch):
    sweep, *_ = two_datasets()
    monkeypatch.setattr(report_jobs, "is_small", lambda *_: False)
    monkeypatch.setattr("metaeval.api.views.is_small", lambda *_: False)
    asked = {"sweep": sweep.pk, "parts": BOTH}
    job = ask("POST", "selections/", asked, 202)
    assert job["id"] == ask("POST", "selections/", asked, 202)["id"]
    assert report_jobs_work() == 1
    assert ReportJob.objects.get().state == JobState.DONE
    found = ask("GET", f"jobs/{job['id']}/")["content"]
    ask("POST", "decisions/", decision_of(asked, found, "Good judge"), 201)


def test_researchers_select_and_only_administrators_promote():
    sweep, *_ = two_datasets()
    researcher = Caller(user_make())
    asked = {"sweep": sweep.pk, "parts": BOTH}
    found = researcher("POST", "selections/", asked)
    researcher("POST", "decisions/", decision_of(asked, found, "Good judge"), 403)
    private = dataset_make(name="hers", pairs=2, split="private", owner=user_make())
    assert fields(researcher("POST", "selections/", {"dataset": private.name}, 400)) == ["dataset"]


@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_two_who_decide_at_once_on_both_datasets_do_not_both_win():
    ada = user_make(username="ada", role=Role.ADMINISTRATOR)
    sweep, *_ = two_datasets()
    asked = {"sweep": sweep.pk, "parts": BOTH}
    found = Caller(ada)("POST", "selections/", asked)

    def promote(judge):
        sent = json.dumps(decision_of(asked, found, judge, override=True))
        return (
            Caller(ada).client.post("/api/v1/decisions/", sent, content_type="application/json").status_code
        )

    answers = all_at_once(promote, ["Good judge", "Good judge", "Poor judge", "Poor judge"])
    assert sorted(answers) == [201, 201, 409, 409]
    in_force = Decision.objects.filter(replaced_by__isnull=True)
    assert len({row.judge_id for row in in_force}) == 1
    assert in_force.count() == Decision.objects.count() == 2

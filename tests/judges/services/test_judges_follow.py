"""What follows when an endpoint or a member of a jury changes, and what forbids the change."""

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction

from judges.models import Endpoint, Generation, Judge
from judges.selectors.judges import judge_has_judged
from judges.services.checks import judge_spec
from judges.services.endpoints import endpoint_update
from judges.services.judges import ModelChoice, judge_content, judge_create, judge_update
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run_instant, sweep_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db

ELSEWHERE = "http://127.0.0.1:10/v1"


def jury_make(*members: Judge, name: str = "jury") -> Judge:
    return judge_create(name=name, strategy="jury", members={each.name: each for each in members})


def test_a_system_with_a_slash_in_its_name_follows_its_endpoint():
    one, two = endpoint_make(), endpoint_make()
    roles = {"org/a": ModelChoice(one, "a"), "org/b": ModelChoice(two, "b")}
    judge = judge_create(name="perplexity", strategy="perplexity_reference", roles=roles)
    endpoint_update(endpoint=one, base_url=ELSEWHERE)
    judge.refresh_from_db()
    assert {role: model.endpoint for role, model in judge_spec(judge).roles.items()} == {
        "org/a": ELSEWHERE,
        "org/b": two.base_url,
    }


def test_members_named_by_paths_follow_their_endpoints():
    one, two = endpoint_make(), endpoint_make()
    inner = judge_create(name="inner", strategy="composite", members={"Python": judge_make(one, "a")})
    members = {"Coding": inner, "Coding/C": judge_make(two, "b"), "Poems": judge_make(one, "c")}
    judge = judge_create(name="by path", strategy="composite", members=members)
    endpoint_update(endpoint=one, base_url=ELSEWHERE)
    judge.refresh_from_db()
    assert {role: model.endpoint for role, model in judge_spec(judge).models().items()} == {
        "Coding/Python/judge": ELSEWHERE,
        "Coding/C/judge": two.base_url,
        "Poems/judge": ELSEWHERE,
    }


def test_what_an_endpoint_sets_no_more_is_gone_from_its_judges():
    endpoint = endpoint_make(options={"extra_body": {"x": 1}})
    judge = judge_make(endpoint, "m", backend_options={"max_tokens_field": "max_completion_tokens"})
    jury = jury_make(judge)
    endpoint_update(endpoint=endpoint, options={})
    for row, options in ((judge, ()), (jury, ("members", judge.name))):
        row.refresh_from_db()
        spec = row.spec
        for key in options:
            spec = spec[key]
        assert spec["backend_options"] == {
            "max_tokens_field": "max_completion_tokens",
            "structured": "none",
        }
    endpoint_update(endpoint=endpoint, kind="vllm", base_url="")
    judge.refresh_from_db()
    assert (judge.backend, "structured" in judge.spec["backend_options"]) == ("vllm", False)
    jury.refresh_from_db()
    assert jury.backend == "composed"


def test_two_judges_do_not_become_one_by_a_change_of_address():
    one, two = endpoint_make(), endpoint_make(ELSEWHERE)
    judge_make(one, "m", name="here")
    judge_make(two, "m", name="there")
    with pytest.raises(ValidationError, match="'there' would then be the same judge as 'here'") as caught:
        endpoint_update(endpoint=two, base_url=one.base_url)
    assert list(caught.value.message_dict) == ["base_url"]


def test_a_contestant_that_has_answered_is_as_it_is():
    endpoint = endpoint_make()
    contestant = judge_make(endpoint, "m", strategy="generate")
    assert not judge_has_judged(contestant)
    sweep_make([contestant], dataset_make(pairs=1))
    run_instant("An answer.")
    assert judge_has_judged(contestant)
    with pytest.raises(ValidationError, match="judged with the current settings"):
        endpoint_update(endpoint=Endpoint.objects.get(), base_url=ELSEWHERE)
    with pytest.raises(ValidationError, match="Copy it instead"):
        judge_update(judge=contestant, **judge_content(contestant) | {"name": "x", "model": "other"})


def test_a_jury_follows_its_members():
    endpoint = endpoint_make()
    first, second = judge_make(endpoint, "m", name="first"), judge_make(endpoint, "n", name="second")
    jury = jury_make(first, second)
    outer = jury_make(jury, first, name="outer")
    judge_update(judge=first, name="first", strategy="rules", endpoint=endpoint, model="other")
    for row in (jury, outer):
        before = row.fingerprint
        row.refresh_from_db()
        assert row.fingerprint == judge_spec(row).fingerprint() != before
        assert row.models.get(role__endswith="first/judge", role__startswith="first").model == "other"
    assert outer.spec["members"]["jury"]["members"]["first"]["strategy"] == "rules"


def test_a_member_of_a_jury_that_has_judged_is_as_it_is():
    endpoint = endpoint_make()
    member = judge_make(endpoint, "m", name="member")
    jury = jury_make(member)
    outer = jury_make(jury, judge_make(), name="outer")
    sweep_make([outer], dataset_make(pairs=1))
    run_instant()
    with pytest.raises(ValidationError, match="'outer' is made of 'member' and has judged"):
        judge_update(judge=member, name="member", strategy="rules", endpoint=endpoint, model="m")
    member.refresh_from_db()
    judge_update(judge=member, name="by another name", strategy="vanilla", endpoint=endpoint, model="m")
    jury.refresh_from_db()
    assert judge_spec(jury).members


def test_nothing_is_made_of_itself():
    jury = jury_make(judge_make(), name="inner")
    outer = jury_make(jury, name="outer")
    for member in (jury, outer):
        with pytest.raises(ValidationError, match="is made of 'inner' itself"):
            judge_update(judge=jury, name="inner", strategy="jury", members={"x": member})


def test_two_juries_do_not_become_one():
    endpoint = endpoint_make()
    one, two = judge_make(endpoint, "m", name="one"), judge_make(endpoint, "n", name="two")
    judge_create(name="first", strategy="jury", members={"a": one})
    judge_create(name="second", strategy="jury", members={"a": two})
    jury_of_both = judge_update(judge=one, name="one", strategy="rules", endpoint=endpoint, model="m")
    assert jury_of_both.strategy == "rules"
    judge_update(judge=two, name="two", strategy="cot", endpoint=endpoint, model="n")
    assert len(set(Judge.objects.values_list("fingerprint", flat=True))) == 4


def test_what_a_worker_asks_at_the_moment_stays_as_it_is():
    """Its first answers would be stored as those of another judge."""
    endpoint = endpoint_make()
    member = judge_make(endpoint, "m", name="member")
    jury = jury_make(member)
    sweep_make([jury], dataset_make(pairs=1), orders="original")
    refused = []

    def respond(wire):
        for change in (
            lambda: judge_update(judge=member, name="x", strategy="rules", endpoint=endpoint, model="m"),
            lambda: endpoint_update(endpoint=Endpoint.objects.get(), base_url=ELSEWHERE),
        ):
            with pytest.raises(ValidationError, match="A worker asks 'jury'") as caught:
                change()
            refused.append(caught.value)
        return "A"

    run_instant(respond)
    assert len(refused) == 2
    assert judge_has_judged(jury)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_one_name_at_the_same_moment_is_one_judges():
    endpoint = endpoint_make()

    def define(k: int) -> Judge | ValidationError:
        try:
            return judge_create(name="same", strategy="vanilla", endpoint=endpoint, model=f"m{k}")
        except ValidationError as error:
            return error

    found = all_at_once(define, range(4))
    assert [type(each) for each in found].count(Judge) == 1
    assert all("name" in each.message_dict for each in found if isinstance(each, ValidationError))


@pytest.mark.both_databases
def test_the_database_keeps_a_contestant_that_has_answered():
    contestant = judge_make(endpoint_make(), strategy="generate")
    instruction = dataset_make(pairs=1).instructions.get()
    Generation.objects.create(contestant=contestant, instruction=instruction, status="parsed", text="Hi")
    with pytest.raises(DatabaseError, match="immutable"), transaction.atomic():
        Judge.objects.filter(pk=contestant.pk).update(fingerprint="other")


def test_runs_wait_for_the_workers_that_ask_their_endpoint_now():
    endpoint = endpoint_make()
    sweep = sweep_make([judge_make(endpoint)], dataset_make(pairs=1))
    assert sweep.runs.get().queue == "http"
    endpoint_update(endpoint=endpoint, queue="gpu")
    assert sweep.runs.get().queue == "gpu"

"""Judges and endpoints: defined, changed while unused, copied, tried."""

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction

from judges.backends.mock_server import running_mock_server
from judges.models import Judge
from judges.selectors.judges import judge_has_judged, judges_runnable, judges_with_use
from judges.services.checks import judge_spec
from judges.services.endpoints import endpoint_create, endpoint_try, endpoint_update
from judges.services.judges import (
    DuplicateJudgeError,
    heuristic_judges_ensure,
    judge_content,
    judge_create,
    judge_update,
)
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run_instant, sweep_make
from tests.races import after

pytestmark = pytest.mark.django_db


def test_a_judge_is_its_content():
    endpoint = endpoint_make(structured="vllm")
    judge = judge_create(
        name="careful", strategy="cot", endpoint=endpoint, model="m", decoding={"temperature": 0.5}
    )
    spec = judge_spec(judge)
    assert (spec.strategy, spec.model, spec.endpoint) == ("cot", "m", endpoint.base_url)
    assert spec.decoding.temperature == 0.5
    assert spec.backend_options == {"structured": "vllm"}
    assert judge.fingerprint == spec.fingerprint()
    assert (judge.backend, judge.model, judge.strategy) == ("openai", "m", "cot")


def test_a_duplicate_is_refused_and_names_the_first():
    endpoint = endpoint_make()
    first = judge_create(name="first", strategy="vanilla", endpoint=endpoint, model="m")
    with pytest.raises(DuplicateJudgeError, match="the judge 'first' already") as caught:
        judge_create(name="second", strategy="vanilla", endpoint=endpoint, model=" m ")
    assert caught.value.existing == first
    with pytest.raises(ValidationError, match="Name"):
        judge_create(name="first", strategy="rules", endpoint=endpoint, model="m")


def test_a_duplicate_that_comes_up_at_this_moment_is_named_too():
    same = {"name": "first", "strategy": "vanilla", "endpoint": endpoint_make(), "model": "m"}
    looking = r'"judges_judge"\."fingerprint" = '
    with after(looking, lambda: judge_create(**same)), pytest.raises(DuplicateJudgeError) as caught:
        judge_create(**same)
    assert caught.value.existing.name == "first"


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"strategy": "vanilla"}, "endpoint"),
        ({"strategy": "no-such"}, "strategy"),
        ({"strategy": "random", "params": {"seed": "x"}}, "params"),
        ({"strategy": "random", "params": {"speed": 1}}, "params"),
    ],
)
def test_a_mistake_names_its_field(content, field):
    with pytest.raises(ValidationError) as caught:
        judge_create(name="x", **content)
    assert list(caught.value.message_dict) == [field]


def test_a_model_and_sensible_decoding_are_asked_for():
    endpoint = endpoint_make()
    for content, field in (
        ({"model": ""}, "model"),
        ({"model": "m", "decoding": {"temperature": 9}}, "decoding"),
        ({"model": "m", "prompt": "no-such.v1"}, "prompt"),
    ):
        with pytest.raises(ValidationError) as caught:
            judge_create(name="x", strategy="vanilla", endpoint=endpoint, **content)
        assert list(caught.value.message_dict) == [field]


def test_a_judge_changes_until_it_has_judged():
    endpoint = endpoint_make()
    judge = judge_make(endpoint, "m")
    before = judge.fingerprint
    judge = judge_update(judge=judge, name="better", strategy="rules", endpoint=endpoint, model="m")
    assert judge.fingerprint != before
    sweep_make([judge], dataset_make(pairs=1))
    run_instant()
    assert judge_has_judged(judge)
    assert judges_with_use().get(pk=judge.pk).has_judged
    with pytest.raises(ValidationError, match=r"has judged.*Copy it"):
        judge_update(judge=judge, name="other", strategy="vanilla", endpoint=endpoint, model="m")
    renamed = judge_update(
        judge=judge, name="renamed", strategy="rules", endpoint=endpoint, model="m", notes="the old one"
    )
    assert (renamed.name, renamed.notes) == ("renamed", "the old one")
    # The database itself refuses what went past the service.
    with pytest.raises(DatabaseError), transaction.atomic():
        Judge.objects.filter(pk=judge.pk).update(fingerprint="0" * 16)


def test_a_copy_differs_in_something():
    endpoint = endpoint_make(structured="json_schema")
    judge = judge_make(
        endpoint, "m", decoding={"seed": 3}, allow_tie=True, backend_options={"extra_body": {"a": 1}}
    )
    copy = judge_create(name="copy", **judge_content(judge) | {"model": "n"})
    assert (copy.model, copy.spec["decoding"]["seed"], copy.spec["allow_tie"]) == ("n", 3, True)
    assert copy.spec["backend_options"] == judge.spec["backend_options"]
    with pytest.raises(DuplicateJudgeError):
        judge_create(name="same", **judge_content(judge))


def test_the_judges_without_a_model_are_made_once():
    judges = heuristic_judges_ensure()
    assert [judge.strategy for judge in judges] == [
        "longest",
        "shortest",
        "always_a",
        "random",
        "rouge_l",
        "ngram",
    ]
    assert [judge.pk for judge in heuristic_judges_ensure()] == [judge.pk for judge in judges]
    assert set(judges_runnable()) == set(judges)


def test_an_endpoint_moves_with_its_unused_judges_only():
    endpoint = endpoint_create(name="local", base_url="http://127.0.0.1:1/v1", is_local=True)
    judge = judge_make(endpoint, "m")
    endpoint_update(endpoint=endpoint, base_url="http://127.0.0.1:2/v1", max_concurrency=3)
    judge.refresh_from_db()
    assert judge.spec["endpoint"] == "http://127.0.0.1:2/v1"
    assert judge.fingerprint == judge_spec(judge).fingerprint()
    sweep_make([judge], dataset_make(pairs=1))
    run_instant()
    with pytest.raises(ValidationError, match="judged with the current settings"):
        endpoint_update(endpoint=endpoint, base_url="http://127.0.0.1:3/v1")
    endpoint.refresh_from_db()
    endpoint_update(endpoint=endpoint, timeout_seconds=5)
    assert endpoint.max_concurrency == 3


def test_an_endpoint_can_be_tried(silent_port):
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url)
        assert endpoint_try(endpoint=endpoint, model="mock-longer").text
        assert "404" in endpoint_try(endpoint=endpoint, model="no-such").error
    away = endpoint_make(f"http://127.0.0.1:{silent_port}/v1")
    assert "127.0.0.1" in endpoint_try(endpoint=away, model="mock-longer").error
    keyless = endpoint_make(api_key_env="TOUCHSTONE_NO_SUCH_KEY")
    assert "TOUCHSTONE_NO_SUCH_KEY" in endpoint_try(endpoint=keyless, model="m").error

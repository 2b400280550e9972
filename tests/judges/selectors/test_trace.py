"""Judgments replayed: every request found again, and what cannot be found said."""

from typing import Any

import pytest
from django.db import connection

from annotation.models import Dataset
from judges.backends.instant import InstantBackend
from judges.backends.mock_server import MockServer
from judges.backends.registry import create_backend, endpoint_identity
from judges.backends.vllm_options import VLLMOptions
from judges.models import Generation, Judge, Judgment, ModelRequest
from judges.selectors.requests import requests_asked
from judges.selectors.trace import (
    CHANGED,
    IMPORTED,
    MISSING,
    Trace,
    generation_trace,
    judgment_trace,
    route_identity,
)
from judges.services.endpoints import backend_for
from judges.strategies.model_ref import ModelRef, answering_options
from judges.strategies.registry import STRATEGIES
from judges.strategies.spec import JudgeSpec
from tests.annotation.factories import dataset_make
from tests.annotation.kinds import kind_dataset_make
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

pytestmark = pytest.mark.django_db(transaction=True)


def judged(*judges: Judge, dataset: Dataset | None = None) -> list[Judgment]:
    sweep_make(list(judges), dataset or dataset_make(pairs=2))
    run()
    return list(Judgment.objects.select_related("judge", "item").order_by("judge_id", "item_id", "order"))


def trace_of(judgment: Judgment, **options: Any) -> Trace:
    return judgment_trace(judgment, **options)


@pytest.mark.both_databases
def test_one_question_in_both_orders(server: MockServer) -> None:
    judgments = judged(judge_make(endpoint_make(server.url, price_input=2), "mock-first"))
    for judgment in judgments:
        trace = trace_of(judgment)
        (request,) = trace.requests
        assert trace.problem == ""
        assert trace.verdict is not None
        assert (request.state, request.wire.kind, request.wire.model) == ("done", "chat", "mock-first")
        assert request.answer is not None
        assert request.answer.text == judgment.raw_text == "A"
        assert request.answer.cost == judgment.cost > 0
        assert request.attempts == 1
        # Presented order: the mock always takes what is shown as A.
        assert trace.verdict.choice == 1
        first, second = (f"Response {side} to pair {judgment.item.position}." for side in (0, 1))
        words = request.wire.messages[-1][1]
        assert (words.index(first) < words.index(second)) == (judgment.order == 0)
        stored = ModelRequest.objects.get(hash=request.hash)
        assert requests_asked([stored]) == {stored.hash: request.wire}


def test_steps_and_what_they_share(server: MockServer) -> None:
    endpoint = endpoint_make(server.url)
    metrics = judge_make(endpoint, strategy="metrics")
    both = judge_make(endpoint, strategy="metrics_reference")
    judgments = judged(metrics, both, dataset=dataset_make(pairs=1))
    one = judgments[0]
    trace = trace_of(one, beside=judgments)
    assert (len(trace.steps), trace.problem, one.requests) == (2, "", len(trace.requests))
    self_made, last = trace.requests
    # The criteria that the judge makes itself do not depend on the order, nor on what else it makes.
    assert {other.pk for other in self_made.shared_with} == {each.pk for each in judgments[1:]}
    assert last.shared_with == ()
    assert all(request.shared_with == () for request in trace_of(one).requests)


def test_requests_at_once_and_roles_of_members(server: MockServer) -> None:
    endpoint = endpoint_make(server.url)
    members = {name: judge_make(endpoint, f"mock-{name}") for name in ("first", "longer")}
    jury = judge_make(strategy="jury", members=members)
    (judgment, *_) = [each for each in judged(jury) if each.judge_id == jury.pk]
    trace = trace_of(judgment)
    assert trace.problem == ""
    assert {request.role for request in trace.requests} == {"first/judge", "longer/judge"}
    assert {request.wire.model for request in trace.requests} == {"mock-first", "mock-longer"}


def test_probabilities(server: MockServer) -> None:
    judge = judge_make(endpoint_make(server.url), "mock-judge-0.9", params={"probabilities": True})
    judgment = judged(judge)[0]
    trace = trace_of(judgment)
    (request,) = trace.requests
    assert request.wire.logprobs > 0
    assert request.answer is not None
    assert request.answer.logprobs
    assert trace.verdict is not None
    assert trace.verdict.probability == pytest.approx(judgment.probability)


@pytest.mark.parametrize("kind", ["rubric", "checklist", "importance"])
def test_other_kinds(server: MockServer, kind: str) -> None:
    name = next(
        (name for name, info in STRATEGIES.items() if info.kind == kind and info.requests == {"chat"}), None
    )
    if name is None:
        pytest.skip(f"no strategy judges items of the kind {kind}")
    judge = judge_make(endpoint_make(server.url), strategy=name)
    (judgment, *_) = judged(judge, dataset=kind_dataset_make(kind))
    trace = trace_of(judgment)
    assert trace.requests
    assert all(request.state == "done" for request in trace.requests)
    assert trace.problem == ""


def test_a_judge_without_a_model() -> None:
    trace = trace_of(judged(judge_make())[0])
    assert (trace.steps, trace.problem) == ((), "")
    assert trace.verdict is not None


def test_an_imported_verdict() -> None:
    judge = Judge.objects.create(
        name="imported", backend="imported", strategy="imported", spec={"name": "x"}, fingerprint="f"
    )
    item = dataset_make(pairs=1).items.get()
    trace = trace_of(Judgment.objects.create(judge=judge, item=item, order=0, status="parsed", choice=1))
    assert (trace.steps, trace.verdict, trace.problem) == ((), None, IMPORTED)


def test_a_cache_that_was_deleted(server: MockServer) -> None:
    judgment = judged(judge_make(endpoint_make(server.url), strategy="metrics"))[0]
    ModelRequest.objects.filter(hash=trace_of(judgment).requests[0].hash).delete()
    trace = trace_of(judgment)
    (request,) = trace.requests
    assert (request.state, request.answer) == (MISSING, None)
    assert request.wire.messages  # rebuilt
    assert "request is no longer stored" in trace.problem
    assert trace.verdict is None


def test_a_request_that_failed_and_one_that_is_with_a_worker(server: MockServer) -> None:
    judgment = judged(judge_make(endpoint_make(server.url)))[0]
    rows = ModelRequest.objects.filter(hash=trace_of(judgment).requests[0].hash)
    rows.update(state="failed", answer=None, error="HTTP 400: too long.")
    trace = trace_of(judgment)
    assert trace.requests[0].error == "HTTP 400: too long."
    assert "HTTP 400" in trace.problem
    rows.update(state="claimed", error="")
    assert "is running this request" in trace_of(judgment).problem


def test_a_judge_that_works_differently_now(server: MockServer) -> None:
    judge = judge_make(endpoint_make(server.url))
    Judge.objects.filter(pk=judge.pk).update(fingerprint="another")
    judge.refresh_from_db()
    item = dataset_make(pairs=1).items.get()
    judgment = Judgment.objects.create(judge=judge, item=item, order=0, status="parsed", choice=1)
    trace = trace_of(judgment)
    assert (trace.steps, trace.problem) == ((), CHANGED)
    with connection.cursor() as cursor:  # the guard of the database is not what is tested here
        cursor.execute("DELETE FROM judges_judgment")
    Judge.objects.filter(pk=judge.pk).update(spec={"strategy": "never heard of"})
    judge.refresh_from_db()
    assert "never heard of" in trace_of(Judgment(judge=judge, item=item, order=0)).problem


def test_an_item_that_cannot_be_judged_that_way(server: MockServer) -> None:
    judge = judge_make(endpoint_make(server.url), strategy="reference")
    item = dataset_make(pairs=1).items.get()
    trace = trace_of(Judgment.objects.create(judge=judge, item=item, order=0, status="failed"))
    assert "reference" in trace.problem


def test_as_many_queries_for_many_judges(server: MockServer, django_assert_num_queries: Any) -> None:
    endpoint = endpoint_make(server.url)
    models = ("mock-first", "mock-second", "mock-longer", "mock-shorter")
    judgments = judged(*(judge_make(endpoint, model, strategy="metrics") for model in models))
    item = [each for each in judgments if each.item_id == judgments[0].item_id]
    assert len(item) == 8
    with django_assert_num_queries(5):  # the item's name, its texts (2), two steps
        trace_of(item[0], beside=item)


def test_what_a_contestant_was_asked(server: MockServer) -> None:
    contestant = judge_make(
        endpoint_make(server.url),
        strategy="generate",
        params={"system": "Be brief."},
        decoding={"temperature": 0.7},
    )
    sweep_make([contestant], dataset_make(pairs=1), samples=2)
    run()
    for generation in Generation.objects.select_related("contestant", "instruction").order_by("sample"):
        trace = generation_trace(generation)
        (request,) = trace.requests
        assert request.state == "done"
        assert request.answer is not None
        assert request.answer.text == generation.text
        assert request.wire.messages == (("system", "Be brief."), ("user", generation.instruction.text))


# Whether the names of endpoints are right without building them


@pytest.mark.parametrize("options", [{}, {"structured": "vllm"}, {"structured": "json_schema"}])
def test_the_identity_of_a_server(options: dict[str, str]) -> None:
    endpoint = endpoint_make("http://127.0.0.1:9/v1/", max_concurrency=3, price_input=1, **options)
    judge = judge_make(endpoint)
    model = JudgeSpec.from_dict(judge.spec).models()["judge"]
    backend = backend_for(endpoint=endpoint, model=model)
    try:
        assert backend.identity == route_identity(model)
    finally:
        backend.close()


def test_the_identity_of_a_function() -> None:
    model = ModelRef(backend="instant", model="m", backend_options={"respond": "B", "capacity": 4})
    backend = create_backend("instant", options=model.backend_options)
    assert backend.identity == route_identity(model) == InstantBackend("B").identity


def test_the_defaults_of_engines_in_the_worker_are_in_no_identity() -> None:
    """A judge that names none of them is asked under the same identity as the engine, which fills all of them in."""
    assert answering_options(VLLMOptions().to_dict()) == {}
    assert endpoint_identity("vllm", options=VLLMOptions().to_dict()) == route_identity(
        ModelRef(backend="vllm", model="m")
    )

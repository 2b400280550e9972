"""Judges of rubrics, checklists, importance and rankings against a real server, and the prompts they send."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judges.backends.mock_server import running_mock_server
from judges.backends.openai import OpenAIBackend
from judges.backends.wire import build_wire
from judges.strategies.prompts import load_prompt
from judges.strategies.types import Answer, Request, Verdict
from tests.judges.strategies.kinds_props import ITEMS, is_label, start

pytestmark = pytest.mark.service

FIELDS = {
    "rubric_each": "ratings",
    "rubric_all": "ratings",
    "checklist_each": "answers",
    "checklist_all": "answers",
    "importance_direct": "ranks",
    "importance_ranking": "ranks",
    "importance_tree": "ranks",
    "ranking_direct": "ranks",
    "ranking_rating": "ranks",
    "classification_direct": "categories",
}
KINDS = {
    "rubric": "rubric",
    "checklist": "checklist",
    "importance": "importance",
    "ranking": "answer_ranking",
    "classification": "classification",
}
MISFITS = ["unparsable", "truncated", "empty", "language", "both", "echo", "json"]


@pytest.fixture(scope="module")
def backends() -> Iterator[dict[str, OpenAIBackend]]:
    """One backend for each way of constraining answers."""
    with running_mock_server() as server:
        made = {
            structured: OpenAIBackend(base_url=server.url, structured=structured, is_local=True)
            for structured in ("none", "json_schema", "vllm")
        }
        yield made
        for backend in made.values():
            backend.close()


def ask(backend: OpenAIBackend, model: str, requests: tuple[Request, ...]) -> tuple[Answer, ...]:
    for token, request in enumerate(requests):
        backend.submit(token, build_wire(request, model=model))
    answers: dict[int, Answer] = {}
    while len(answers) < len(requests):
        for token, answer in backend.drain(10.0):
            assert isinstance(answer, Answer), answer
            answers[token] = answer
    return tuple(answers[token] for token in range(len(requests)))


def judge(backend: OpenAIBackend, strategy: str, model: str) -> Verdict:
    steps = start(strategy, ITEMS[KINDS[strategy.partition("_")[0]]])
    try:
        asked = next(steps)
        while True:
            several = isinstance(asked, tuple)
            answers = ask(backend, model, asked if several else (asked,))
            asked = steps.send(answers if several else answers[0])
    except StopIteration as stop:
        return stop.value


@pytest.mark.parametrize("structured", ["none", "json_schema", "vllm"])
@pytest.mark.parametrize("model", ["mock-longer", "mock-unconstrained"])
@pytest.mark.parametrize("strategy", FIELDS)
def test_answers_become_labels(backends, strategy, model, structured):
    verdict = judge(backends[structured], strategy, model)

    assert verdict.status == "parsed", verdict.reason
    assert is_label(verdict, ITEMS[KINDS[strategy.partition("_")[0]]], FIELDS[strategy])


@pytest.mark.parametrize("model", MISFITS)
@pytest.mark.parametrize("strategy", FIELDS)
def test_bad_answers_are_unparsed_with_a_reason(backends, strategy, model):
    for structured in ("none", "json_schema"):
        verdict = judge(backends[structured], strategy, f"mock-{model}")
        assert (verdict.status, bool(verdict.reason)) == ("unparsed", True)


# A prompt that has judged is never edited: these change only when a version is added.
PUBLISHED = {
    ("rubric", "all.v1"): "4fa55383d756e941",
    ("rubric", "each.v1"): "e7ac405efd4a8a39",
    ("checklist", "all.v1"): "51d4bd31e5dd62c9",
    ("checklist", "each.v1"): "15b8370b55914297",
    ("checklist", "next.v1"): "e84337cd25f14f8e",
    ("importance", "direct.v1"): "fa22c6c6ff915bad",
    ("importance", "nested.v1"): "33293b49c1a99760",
    ("importance", "nested_retry.v1"): "e3bf62a27b2621af",
    ("importance", "ranking.v1"): "a9cde13571ff0156",
    ("importance", "retry.v1"): "65f4f1d3f8ea0c35",
    ("importance", "tree.v1"): "7b2380b6cd9e81d9",
    ("answer_ranking", "direct.v1"): "0e42808f8bac200d",
    ("answer_ranking", "rating.v1"): "8f2512f02fd69a1c",
    ("rubric", "g_eval.v1"): "df5f595cd532431c",
    ("rubric", "prometheus.v1"): "91129d736b52ec5a",
    ("rubric", "structured.v1"): "c256599c0f087d9f",
    ("checklist", "healthbench.v1"): "c5e5c2ad81dcdf9b",
    ("checklist", "structured.v1"): "03f9244aa139913a",
    ("importance", "structured.v1"): "9c8b79355ad80e3c",
    ("answer_ranking", "structured.v1"): "98faaf6f246b5068",
    ("classification", "direct.v1"): "9b040751211136af",
    ("classification", "structured.v1"): "f2e5260f59d738d1",
}


@pytest.mark.parametrize(("kind", "name"), PUBLISHED)
def test_published_prompts_are_unchanged(kind, name):
    assert load_prompt(name, kind).sha[:16] == PUBLISHED[kind, name]

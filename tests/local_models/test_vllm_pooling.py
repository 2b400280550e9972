"""vLLM's engine with models for pooling: vectors, rewards, classes of pairs."""

import pytest

from judges.backends.errors import PermanentBackendError
from judges.backends.wire import WireRequest
from tests.local_models.asking import CONTEXTS, backend_make, chat, outcomes, true_classes, true_vector


def ask(backend, requests):
    try:
        return outcomes(backend, requests)
    finally:
        backend.close()


def test_vectors_are_those_of_transformers(models):
    model = models["encoder"]
    requests = [WireRequest("embed", model, (), text=text) for text in CONTEXTS]
    *found, refused = ask(backend_make("vllm", model), [*requests, chat(model, "Hi")])
    for text, each in zip(CONTEXTS, found, strict=True):
        assert each.vector == pytest.approx(true_vector(model, text), abs=1e-3)
    assert isinstance(refused, PermanentBackendError)
    assert "runner" in str(refused)


def test_a_generating_model_embeds_when_it_is_converted(models):
    model = models["chat"]
    requests = [WireRequest("embed", model, (), text=text) for text in CONTEXTS]
    found = ask(backend_make("vllm", model, runner="pooling", convert="embed", pooling="mean"), requests)
    for text, each in zip(CONTEXTS, found, strict=True):
        assert each.vector == pytest.approx(true_vector(model, text), abs=1e-3)


def test_rewards_are_those_of_transformers(models):
    model = models["reward"]
    requests = [WireRequest("classify", model, (("user", text), ("assistant", "Yes."))) for text in CONTEXTS]
    for request, each in zip(requests, ask(backend_make("vllm", model), requests), strict=True):
        assert each.scores == pytest.approx(true_classes(request), abs=1e-3)


def test_two_texts_are_told_apart(models):
    model = models["pairs"]
    requests = [WireRequest("classify", model, (), text="A judge reads.", prefix=text) for text in CONTEXTS]
    for request, each in zip(requests, ask(backend_make("vllm", model), requests), strict=True):
        assert each.scores == pytest.approx(true_classes(request), abs=1e-3)

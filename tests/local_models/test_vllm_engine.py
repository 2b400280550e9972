"""vLLM's engine in this process: every kind of request, kept full, one bad request failing alone."""

import json
import math
import re
import shutil
from pathlib import Path

import pytest

from judges.backends.errors import EndpointError, PermanentBackendError, TransientBackendError
from judges.backends.model_files import answerer_of
from judges.backends.warm import WARM
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer, Decoding
from tests.local_models.asking import (
    CONTEXTS,
    answer,
    arrivals,
    backend_make,
    chat,
    outcomes,
    pairs,
    true_logprob,
    true_text,
)

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["A", "B"]}, "sure": {"type": "boolean"}},
    "required": ["verdict", "sure"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def backend(models):
    found = backend_make("vllm", models["chat"])
    yield found
    found.close()


@pytest.fixture
def host(backend):
    return backend._host


def test_greedy_text_is_that_of_transformers(models, backend):
    requests = [chat(models["chat"], text) for text in CONTEXTS]
    found = outcomes(backend, requests)
    expected = answerer_of(str(models["chat"]))
    assert {(each.model, each.system_fingerprint) for each in found} == {tuple(expected.values())}
    texts = [each.text for each in found]
    # vLLM leaves out a character of which the limit cut off some bytes.
    assert texts == [true_text(each).rstrip("\ufffd") for each in requests]


def test_a_choice_is_one_of_them_with_its_probability(models, backend):
    found = answer(backend, chat(models["chat"], "Which?", choices=("A", "B", "tie"), logprobs=20))
    assert found.constrained
    assert found.text in {"A", "B", "tie"}
    first = found.logprobs[0]
    allowed = {token: value for token, value in first.top if value > -1000}
    assert set(allowed) == {"A", "B", "t"}
    assert sum(map(math.exp, allowed.values())) == pytest.approx(1.0, abs=1e-5)
    # What is forbidden has a number that JSON knows.
    assert min(value for _, value in first.top) == -9999.0


def test_structure_is_kept_to_and_checked(models, backend):
    long = Decoding(max_tokens=200)
    requests = [
        chat(models["chat"], "Judge!", json_schema=json.dumps(SCHEMA), decoding=long),
        chat(models["chat"], "How many?", regex="[0-9]{3}"),
        chat(models["chat"], "How many?", regex="[0-9]{40}", decoding=Decoding(max_tokens=5)),
    ]
    structured, number, cut = outcomes(backend, requests)
    assert set(json.loads(structured.text)) == {"verdict", "sure"}
    assert re.fullmatch("[0-9]{3}", number.text)
    assert structured.constrained
    assert number.constrained
    assert (cut.finish_reason, cut.constrained) == ("length", False)


def test_log_likelihoods_are_those_of_transformers(models, backend):
    requests = pairs(models["chat"])
    for request, found in zip(requests, outcomes(backend, requests), strict=True):
        assert found.logprob == pytest.approx(true_logprob(request), abs=1e-3)
        assert 0 < found.completion_tokens < found.prompt_tokens


def test_samples_have_seeds_of_their_own(models, backend):
    decoding = Decoding(temperature=1.0, seed=3, max_tokens=20)
    requests = [chat(models["chat"], "Talk.", decoding=decoding, sample=sample) for sample in (0, 1, 0)]
    first, second, again = (each.text for each in outcomes(backend, requests))
    assert first == again != second


def test_stops_and_limits(models, backend):
    request = chat(models["chat"], CONTEXTS[0], decoding=Decoding(max_tokens=40))
    whole = true_text(request, 40)
    stop = whole[6:9]
    found = answer(backend, chat(models["chat"], CONTEXTS[0], decoding=Decoding(max_tokens=40, stop=(stop,))))
    assert (found.text, found.finish_reason) == (whole[: whole.index(stop)], "stop")
    nearly_full = "yes " * 499
    found = answer(backend, chat(models["chat"], nearly_full, decoding=Decoding(max_tokens=None)))
    assert found.finish_reason in {"stop", "length"}
    assert found.prompt_tokens + found.completion_tokens <= 1024


def test_what_cannot_be_answered_fails_alone(models, backend):
    model = models["chat"]
    requests = [
        chat(model, "Say yes."),
        chat(model, "yes " * 2000),
        chat(model, "Judge!", json_schema='{"type": "no such type"}'),
        chat(model, "Judge!", regex="(("),
        WireRequest("embed", model, (), text="Paris."),
        chat(model, "Say no."),
    ]
    first, *bad, last = outcomes(backend, requests)
    assert isinstance(first, Answer)
    assert isinstance(last, Answer)
    assert [type(each) for each in bad] == [PermanentBackendError] * 4
    assert "too long" in str(bad[0])
    assert "runner" in str(bad[3])


def test_a_long_generation_holds_up_no_short_one(models, backend):
    """Nothing waits for a batch: what is submitted after a long one began is answered before it ends."""
    endless = Decoding(max_tokens=700)
    backend.submit(0, chat(models["chat"], "Go on.", regex="(ab|ba){1000}", decoding=endless))
    order = []
    for wave in range(5):
        tokens = range(1 + 20 * wave, 21 + 20 * wave)
        for token in tokens:
            backend.submit(token, chat(models["chat"], f"{token}?", decoding=Decoding(max_tokens=3)))
        order += list(arrivals(backend, 20))
    assert sorted(order) == list(range(1, 101))
    (long,) = arrivals(backend, 1).values()
    assert long.completion_tokens == 700


def test_the_engine_caches_prefixes_and_stays_warm(models, backend, host):
    assert isinstance(answer(backend, chat(models["chat"], "Say no.")), Answer)
    engine, warm = host._engine, WARM.names()
    assert engine.vllm_config.cache_config.enable_prefix_caching
    other = backend_make("vllm", models["chat"])
    assert isinstance(answer(other, chat(models["chat"], "Say yes.")), Answer)
    other.close()
    assert WARM.names() == warm
    assert host._engine is engine


def test_what_is_closed_is_taken_out_of_the_engine(models, backend, host):
    other = backend_make("vllm", models["chat"])
    for token in range(30):
        other.submit(token, chat(models["chat"], "Go on.", decoding=Decoding(max_tokens=900)))
    other.close()
    assert other.drain(0.1) == []
    assert isinstance(answer(backend, chat(models["chat"], "Say yes.")), Answer)
    assert not list(host.open_jobs())


def test_an_engine_that_fails_is_started_again(models, backend, host, monkeypatch):
    answer(backend, chat(models["chat"], "Say yes."))

    from vllm.v1.engine.llm_engine import LLMEngine

    step, failures = LLMEngine.step, ["out of memory"]

    def fail_once(engine):
        if failures:
            raise RuntimeError(failures.pop())
        return step(engine)

    monkeypatch.setattr(LLMEngine, "step", fail_once)
    (lost,) = outcomes(backend, [chat(models["chat"], "One")])
    assert isinstance(lost, TransientBackendError)
    assert "out of memory" in str(lost)
    assert isinstance(answer(backend, chat(models["chat"], "One")), Answer)


def test_a_broken_file_is_named_as_such(models, tmp_path):
    folder = Path(shutil.copytree(models["chat"], tmp_path / "broken"))
    (folder / "model.safetensors").write_bytes(b"no weights at all")
    backend = backend_make("vllm", str(folder))
    (found,) = outcomes(backend, [chat(str(folder), "Hi")])
    backend.close()
    assert isinstance(found, EndpointError)
    assert "cannot load the model" in str(found)
    assert len(str(found)) < 600


def test_a_model_that_is_nowhere_says_how_to_fetch_it():
    with pytest.raises(EndpointError, match="fetch it with `hf download nobody/nothing --revision v2`"):
        backend_make("vllm", "nobody/nothing", revision="v2")

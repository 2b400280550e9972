"""transformers in the worker: the same as the model alone, whatever else is in the batch."""

import json
import shutil
from pathlib import Path

import pytest

from judges.backends.errors import BackendError, EndpointError, PermanentBackendError
from judges.backends.model_files import answerer_of
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer, Decoding
from tests.local_models.asking import (
    answer,
    backend_make,
    chat,
    outcomes,
    pairs,
    true_classes,
    true_logprob,
    true_match,
    true_text,
    true_vector,
)

QUESTIONS = (
    "Is seven prime?",
    "Which city is the capital of France? " * 12,
    "Say yes.",
    "People label pairs of answers too, and we ask how often a judge agrees with them. " * 5,
    "What do we get when we add 12 and 30?",
)


@pytest.fixture(scope="module")
def backend(models):
    found = backend_make("transformers", models["chat"], batch_size=8)
    yield found
    found.close()


@pytest.fixture
def ask(models, backend):
    return lambda *arguments, **fields: answer(backend, chat(models["chat"], *arguments, **fields))


def test_greedy_text_is_the_models_own_in_any_batch(models, backend):
    requests = [chat(models["chat"], text) for text in QUESTIONS]
    found = outcomes(backend, requests)
    # Every answer says which files answered.
    expected = answerer_of(str(models["chat"]))
    assert expected["system_fingerprint"].startswith("sha256:")
    assert {(one.model, one.system_fingerprint) for one in found} == {tuple(expected.values())}
    together = [one.text for one in found]
    assert together == [true_text(each) for each in requests]
    assert together == [answer(backend, each).text for each in requests]


def test_each_row_has_a_limit_a_stop_and_a_temperature_of_its_own(models, backend):
    question = QUESTIONS[0]
    whole = true_text(chat(models["chat"], question), 40)
    stop = whole[6:9]
    seeded = Decoding(temperature=1.0, seed=5, max_tokens=20)
    decodings = [
        Decoding(max_tokens=3),
        Decoding(max_tokens=40),
        Decoding(max_tokens=40, stop=(stop,)),
        seeded,
    ]
    requests = [chat(models["chat"], question, decoding=each) for each in decodings]
    short, long, stopped, sampled = outcomes(backend, requests)
    assert whole.startswith(short.text)
    assert (short.finish_reason, short.completion_tokens) == ("length", 3)
    assert long.text == whole
    assert stopped.text == whole[: whole.index(stop)]
    assert stopped.finish_reason == "stop"
    assert sampled.text == answer(backend, requests[3]).text
    other = chat(models["chat"], question, decoding=seeded, sample=1)
    assert answer(backend, other).text != sampled.text


def test_logprobs_name_what_was_generated_and_its_rivals(ask):
    found = ask("Is seven prime?", logprobs=20)
    assert len(found.logprobs) == found.completion_tokens
    for place in found.logprobs:
        assert len(place.top) == 20
        assert place.top[0] == (place.token, pytest.approx(place.logprob))
        assert list(place.top) == sorted(place.top, key=lambda pair: -pair[1])


@pytest.mark.parametrize("choices", [("A", "B", "tie"), ("answer one", "answer two")])
def test_a_choice_is_made_by_probability(models, backend, choices):
    requests = [chat(models["chat"], text, choices=choices, logprobs=20) for text in QUESTIONS]
    together = outcomes(backend, requests)
    for request, found in zip(requests, together, strict=True):
        assert found.constrained
        (place,) = found.logprobs
        chances = dict(place.top)
        assert set(chances) == set(choices)
        assert sum(2.718281828459045**value for value in chances.values()) == pytest.approx(1.0)
        assert found.text == max(chances, key=chances.get)
        alone = answer(backend, request)
        assert alone.text == found.text
        assert dict(alone.logprobs[0].top) == pytest.approx(chances, abs=1e-4)


def test_choices_that_begin_alike_are_compared_as_a_whole(models, backend):
    request = chat(models["chat"], "Which?", choices=("answer one", "answer two"), logprobs=20)
    scored = [
        true_logprob(WireRequest("score", models["chat"], request.messages, text=choice))
        for choice in request.choices
    ]
    chances = dict(answer(backend, request).logprobs[0].top)
    assert chances["answer one"] - chances["answer two"] == pytest.approx(scored[0] - scored[1], abs=1e-4)


def test_log_likelihoods_are_those_of_one_row_alone(models, backend):
    requests = pairs(models["chat"])
    together = outcomes(backend, requests)
    for request, found in zip(requests, together, strict=True):
        assert found.logprob == pytest.approx(true_logprob(request), abs=1e-4)
        assert found.logprob == pytest.approx(answer(backend, request).logprob, abs=1e-4)
        assert 0 < found.completion_tokens < found.prompt_tokens


def test_without_a_context_the_start_token_stands_for_it(models, backend):
    found = answer(backend, WireRequest("score", models["chat"], (), text="Paris."))
    assert found.prompt_tokens == found.completion_tokens + 1


def test_what_cannot_be_answered_fails_alone(models, backend):
    model = models["chat"]
    requests = [
        chat(model, "Say yes."),
        chat(model, "yes " * 2000),
        WireRequest("score", model, (("user", "Hi"),), text=""),
        WireRequest("classify", model, (), text="Paris."),
        WireRequest("chat", "another", (("user", "Hi"),)),
    ]
    good, *bad = outcomes(backend, requests)
    assert isinstance(good, Answer)
    assert all(isinstance(each, PermanentBackendError) for each in bad)
    too_long, empty, wrong_kind, wrong_model = map(str, bad)
    assert "too long" in too_long
    assert "empty continuation" in empty
    assert "classifying" in wrong_kind
    assert "not 'another'" in wrong_model


@pytest.mark.parametrize("pooling", ["", "mean", "cls", "last"])
def test_vectors_do_not_depend_on_the_batch(models, pooling):
    backend = backend_make("transformers", models["encoder"], pooling=pooling)
    requests = [WireRequest("embed", models["encoder"], (), text=text[:300]) for text in QUESTIONS]
    together = [each.vector for each in outcomes(backend, requests)]
    alone = [answer(backend, each).vector for each in requests]
    backend.close()
    for one, other, request in zip(together, alone, requests, strict=True):
        assert one == pytest.approx(other, abs=1e-5)
        assert sum(value * value for value in one) == pytest.approx(1.0)
        if pooling in {"", "mean"}:  # the model's own files say mean
            assert one == pytest.approx(true_vector(request.model, request.text), abs=1e-5)


def test_vectors_as_long_as_they_are(models):
    backend = backend_make("transformers", models["encoder"], normalize=False)
    found = answer(backend, WireRequest("embed", models["encoder"], (), text="Say yes."))
    backend.close()
    assert sum(value * value for value in found.vector) != pytest.approx(1.0, abs=0.01)


def test_a_reward_does_not_depend_on_the_batch(models):
    backend = backend_make("transformers", models["reward"])
    requests = [
        WireRequest("classify", models["reward"], (("user", text), ("assistant", "Yes.")))
        for text in QUESTIONS
    ]
    together = outcomes(backend, requests)
    alone = [answer(backend, each) for each in requests]
    backend.close()
    for one, other, request in zip(together, alone, requests, strict=True):
        assert len(one.scores) == 1
        assert one.scores == pytest.approx(other.scores, abs=1e-4)
        assert one.scores == pytest.approx(true_classes(request), abs=1e-4)


def test_two_texts_are_told_apart(models):
    backend = backend_make("transformers", models["pairs"])
    requests = [
        WireRequest("classify", models["pairs"], (), text="A judge reads.", prefix=text[:200])
        for text in QUESTIONS
    ]
    found = outcomes(backend, requests)
    backend.close()
    for one, request in zip(found, requests, strict=True):
        assert one.scores == pytest.approx(true_classes(request), abs=1e-4)


def test_a_classifier_whose_padding_is_its_end_token(models, tmp_path):
    folder = Path(shutil.copytree(models["reward"], tmp_path / "reward"))
    settings = folder / "tokenizer_config.json"
    values = json.loads(settings.read_text())
    settings.write_text(json.dumps(values | {"pad_token": values["eos_token"]}))
    backend = backend_make("transformers", str(folder))
    requests = [WireRequest("classify", str(folder), (), text=text + "<|end|>") for text in QUESTIONS]
    together = outcomes(backend, requests)
    alone = [answer(backend, each) for each in requests]
    backend.close()
    for one, other in zip(together, alone, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-4)


def test_a_broken_file_is_named_as_such(models, tmp_path):
    folder = Path(shutil.copytree(models["chat"], tmp_path / "broken"))
    (folder / "model.safetensors").write_bytes(b"no weights at all")
    backend = backend_make("transformers", str(folder))
    (found,) = outcomes(backend, [chat(str(folder), "Hi")])
    backend.close()
    assert isinstance(found, EndpointError)
    assert "cannot be loaded" in str(found)
    assert len(str(found)) < 600


def test_a_model_that_is_nowhere_says_how_to_fetch_it(tmp_path):
    for name, words in (
        ("nobody/nothing", "fetch it with `hf download nobody/nothing`"),
        (str(tmp_path), "no config.json"),
        (str(tmp_path / "gone"), "no folder"),
    ):
        with pytest.raises(EndpointError, match=words):
            backend_make("transformers", name)


def test_what_is_closed_stays_warm_and_drops_its_requests(models, backend):
    first = backend_make("transformers", models["chat"], batch_size=8)
    first.submit(0, chat(models["chat"], "Say yes.", decoding=Decoding(max_tokens=200)))
    first.close()
    first.close()
    assert first.drain(0.1) == []
    with pytest.raises(RuntimeError):
        first.submit(1, chat(models["chat"], "Say yes."))
    assert isinstance(answer(backend, chat(models["chat"], "Say yes.")), Answer)


def test_options_that_cannot_be_right(models):
    for options in (
        {"dtype": "float3"},
        {"batch_size": 0},
        {"pooling": "most"},
        {"unknown": 1},
        {"prices": 3},
    ):
        with pytest.raises(BackendError):
            backend_make("transformers", models["chat"], **options)
    backend = backend_make("transformers", models["chat"], device="cuda:9")
    (found,) = outcomes(backend, [chat(models["chat"], "Hi")])
    backend.close()
    assert isinstance(found, EndpointError)


def test_tokens_are_matched_as_bertscore_does_it_whatever_else_is_in_the_batch(models):
    backend = backend_make("transformers", models["encoder"])
    texts = [*QUESTIONS[:1], QUESTIONS[1][:200], *QUESTIONS[2:3]]
    requests = [
        WireRequest(
            "match", models["encoder"], (), text=text, prefix="A judge reads an instruction.", layer=layer
        )
        for text in texts
        for layer in (0, 1)
    ]
    together = outcomes(backend, requests)
    alone = [answer(backend, each) for each in requests]
    beyond = backend_make("transformers", models["encoder"])
    (wrong,) = outcomes(beyond, [WireRequest("match", models["encoder"], (), text="a", prefix="b", layer=99)])
    backend.close()
    beyond.close()
    for one, other, request in zip(together, alone, requests, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-5)
        assert one.scores == pytest.approx(true_match(request), abs=1e-5)
    assert isinstance(wrong, PermanentBackendError)
    assert "layer 99 was asked for" in str(wrong)


def test_biased_tokens_are_avoided_and_favored(ask):
    def said(*biases):
        return ask("Is seven prime?", decoding=Decoding(max_tokens=4), biases=biases).text

    favored = (("7", 1000.0), ("9", 900.0))
    assert said(*favored) == "7777"
    # What comes later counts, and so does a text to be avoided if it is one token.
    assert said(*favored, ("7", -100.0), ("9 answers", -100.0)) == "9999"

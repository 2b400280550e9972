"""Likelihoods, vectors and class scores from servers of several kinds."""

from __future__ import annotations

import asyncio
import json
import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from judges.backends.errors import BackendError, MisbehavingServerError, PermanentBackendError
from judges.backends.mock_server import running_mock_server
from judges.backends.mock_tokens import likelihoods, pieces, templated, vector
from judges.backends.openai_protocol import ServerReply
from judges.backends.openai_score import ContinuationScorer
from judges.backends.openai_vectors import classes_of_reply, read_embedding
from judges.backends.wire import build_wire
from judges.strategies.types import Answer, Classify, Embed, Score
from tests.judges.backends.test_openai import ask, backend_for, collect

QUESTION = (("user", "Which tea is green?"),)


def expected(model, context, continuation):
    """The sum over what the whole has beyond the context's own tokens."""
    tokens = pieces(context + continuation)
    begin = len(pieces(context.rstrip()))
    return math.fsum(likelihoods(model, tokens)[begin:]), len(tokens) - begin


@pytest.mark.parametrize("model", ["mock-longer", "mock-plain", "mock-one-token"])
@pytest.mark.parametrize(
    ("prefix", "text"),
    [("Question: which?\nAnswer:", " Sencha, a green tea."), ("Tea: ", "green"), ("x\n\n", "Jaé 茶 😀!")],
)
def test_raw_text_is_scored_with_or_without_a_tokenizer(server, model, prefix, text):
    answer = ask(server.url, model, Score((), text, prefix=prefix), price_prompt=2.0, price_completion=10.0)

    logprob, n = expected(model, prefix, text)
    assert answer.logprob == pytest.approx(logprob)
    assert answer.completion_tokens == n
    assert answer.prompt_tokens + n == len(pieces(prefix + text))
    generated = model == "mock-one-token"
    assert answer.cost == pytest.approx((2.0 * (answer.prompt_tokens + n) + 10.0 * generated) / 1e6)


def test_a_token_that_straddles_the_boundary_belongs_to_the_continuation(server):
    assert pieces("abcd") == ["abcd"]
    answer = ask(server.url, "mock-plain", Score((), "cd", prefix="Tea ab"))

    assert (answer.logprob, answer.completion_tokens) == (likelihoods("mock-plain", ["Tea", " abcd"])[1], 1)


def test_an_answer_in_the_chat_template_is_scored_by_its_own_tokens(server):
    answer = ask(server.url, "mock-longer", Score(QUESTION, "Sencha."))

    context = pieces(templated([{"role": "user", "content": "Which tea is green?"}], opened=True))
    own = pieces("Sencha.")
    assert answer.logprob == pytest.approx(
        math.fsum(likelihoods("mock-longer", context + own)[len(context) :])
    )
    assert (answer.prompt_tokens, answer.completion_tokens) == (len(context), len(own))
    assert (answer.text, answer.finish_reason) == ("", "stop")


@pytest.mark.service
def test_the_context_of_several_answers_is_tokenized_once():
    with running_mock_server() as server, backend_for(server.url, capacity=1) as backend:
        for token in range(4):
            backend.submit(token, build_wire(Score(QUESTION, f"Answer {token}."), model="mock-longer"))
        collect(backend, 4)
        assert server.stats()["requests"] == 1 + 4 * 2


@pytest.mark.parametrize(
    ("model", "request_", "said"),
    [
        ("mock-plain", Score(QUESTION, "Sencha."), "/tokenize: not offered"),
        ("mock-no-logprobs", Score((), "b", prefix="a "), "gives no log-probabilities of the prompt"),
        ("mock-chat-only", Score((), "b", prefix="a "), "offers no completions"),
        ("mock-longer", Score((), "b"), "needs a context before it"),
        ("mock-plain", Score((), "b"), "the continuation needs a context"),
        ("mock-longer", Score((), "cd", prefix="ab"), "no token of its own behind its context"),
        ("mock-longer", Score(QUESTION, ""), "An empty continuation"),
        ("mock-long", Score((), "b", prefix="a "), "maximum context length"),
    ],
)
def test_what_cannot_be_scored_says_why(server, model, request_, said):
    failure = ask(server.url, model, request_)

    assert type(failure) is PermanentBackendError
    assert said in str(failure)


def test_paraphrases_have_near_vectors(server):
    texts = ["Green tea is brewed at 70 degrees.", "Brew green teas at 70 degrees.", "The bus left late."]
    one, near, far = (ask(server.url, "mock-longer", Embed(text)).vector for text in texts)

    def cosine(a, b):
        return math.fsum(x * y for x, y in zip(a, b, strict=True))

    assert one == tuple(vector(texts[0]))
    assert cosine(one, one) == pytest.approx(1.0)
    assert cosine(one, near) > 0.5 > 0.3 > cosine(one, far)


def test_class_scores(server):
    short, long = (
        ask(server.url, "mock-longer", Classify((*QUESTION, ("assistant", text))))
        for text in ("No.", "No. " * 40)
    )
    classes = ask(server.url, "mock-classes-3", Classify((), text="one text"))
    pair = ask(server.url, "mock-longer", Classify((), text="one", text_pair="other"))

    assert len(short.scores) == len(long.scores) == len(pair.scores) == 1
    assert short.scores < long.scores
    assert len(classes.scores) == 3
    assert classes.prompt_tokens > 0


def reply_of(document, status=200):
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    return ServerReply(url="http://x/v1/y", status=status, headers={}, body=raw)


@pytest.mark.parametrize("read", [read_embedding, classes_of_reply])
@pytest.mark.parametrize(
    "document",
    [b"", [], {}, {"data": []}, {"data": [{"embedding": [], "probs": []}]}, {"data": [{"embedding": ["1"]}]},
     {"data": [{"embedding": [True], "probs": [True]}]}, {"data": [{"embedding": [None], "score": None}]},
     {"data": [{"embedding": [1e999], "score": float("nan")}]}, {"data": [{"embedding": "base64", "probs": "x"}]}],
)  # fmt: skip
def test_what_holds_no_numbers_is_misbehaviour(read, document):
    with pytest.raises(MisbehavingServerError):
        read(reply_of(document), latency_ms=1.0, price=0.0)


def test_probabilities_where_logits_were_asked_for_are_put_back_on_their_scale():
    answer = classes_of_reply(reply_of({"data": [{"probs": [0.8, 0.2]}]}), latency_ms=1.0, price=0.0)
    kept = classes_of_reply(reply_of({"data": [{"probs": [1.5, -0.5]}]}), latency_ms=1.0, price=0.0)

    assert answer.scores[0] - answer.scores[1] == pytest.approx(math.log(4))
    assert kept.scores == (1.5, -0.5)


async def score(*replies, request=None):
    """Score against a server that gives these replies to completions and does not tokenise."""
    waiting = list(replies)

    async def post(url, body):
        return reply_of(b"", 404) if url.endswith("/tokenize") else reply_of(waiting.pop(0))

    scorer = ContinuationScorer(
        post, completions_url="http://x/v1/completions", tokenize_url="http://x/tokenize"
    )
    return await scorer.score(build_wire(request or Score((), " green", prefix="Tea:"), model="m"))


def echoed(**fields):
    known = {"tokens": ["Tea", ":", " green"], "token_logprobs": [None, -1.0, -2.5], "text_offset": [0, 3, 4]}
    return {"choices": [{"text": "", "logprobs": known | fields}]}


def asynchronously(coroutine):
    """Run it in a thread: beside a browser's tests, an event loop may be at work in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def test_a_start_token_that_the_server_counts_is_allowed_for():
    shifted = echoed(
        tokens=["<s>", "Tea", ":", " green"],
        token_logprobs=[None, -3.0, -1.0, -2.5],
        text_offset=[0, 3, 6, 7],
    )

    assert asynchronously(score(shifted))[:2] == (-2.5, 1)
    assert asynchronously(score(echoed()))[:2] == (-2.5, 1)


@pytest.mark.parametrize(
    "document",
    [
        {"choices": [{"logprobs": None}]},
        {"choices": [{"logprobs": {}}]},
        echoed(token_logprobs=[]),
        echoed(token_logprobs="x"),
        echoed(token_logprobs=[None, -1.0, "low"]),
        echoed(token_logprobs=[None, -1.0, None]),
        echoed(token_logprobs=[None, -1.0, float("nan")]),
        echoed(text_offset=None),
        echoed(text_offset=[0, 3]),
        echoed(text_offset=[0, 3, "4"]),
        echoed(text_offset=[0, 30, 40]),
        {"choices": []},
        {},
    ],
    ids=range(13),
)
def test_log_probabilities_that_cannot_be_read_are_refused(document):
    with pytest.raises(BackendError, match="http://x/v1/"):
        asynchronously(score(document))


def test_a_forbidden_token_has_a_finite_log_probability():
    found = asynchronously(score(echoed(token_logprobs=[None, -1.0, float("-inf")])))

    assert found[0] == -9999.0


def test_prices_are_those_of_the_model(server):
    prices = {"mock-longer": [1.0, 0.0]}
    answers = {
        model: ask(server.url, model, Embed("Some text."), price_prompt=5.0, prices=prices)
        for model in ("mock-longer", "mock-shorter")
    }

    assert all(isinstance(answer, Answer) for answer in answers.values())
    assert answers["mock-shorter"].cost == pytest.approx(5 * answers["mock-longer"].cost)

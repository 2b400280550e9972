"""The log-likelihood of a given continuation, from an OpenAI-compatible server.

A completion request that generates nothing and echoes its prompt (``echo``, ``logprobs``, ``max_tokens: 0``) gives the
log-probability of every token of the prompt. Those of the continuation are summed. Which they are is known in one of
two ways:

token ids
    Where the server has vLLM's ``/tokenize`` (beside ``/v1``), context and whole are tokenised there, and the ids are
    what is scored, divided as in `judges.backends.tokenising`: raw text as lm-evaluation-harness does it (spaces at the
    context's end go to the continuation, which is what the whole has beyond the context's tokens); with messages, the
    context is the server's own chat template with the model's turn opened, and the continuation is tokenised by itself.
text offsets
    Elsewhere the text is sent, and ``text_offset`` says where each token begins. A token that straddles the boundary
    belongs to the continuation. Only for raw text: nobody but the server can fill in its chat template.

The first token of all has no log-probability, so a continuation needs something before it: a context, or a start token
that the server's tokenizer puts there.
"""

import math
from collections.abc import Awaitable, Callable
from typing import Any

from cachetools import LRUCache

from judges.backends.answerers import returned
from judges.backends.base import LOWEST_LOGPROB
from judges.backends.errors import BackendError, PermanentBackendError
from judges.backends.openai_protocol import ServerReply, count_of, document_of, first_choice
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

Post = Callable[[str, dict[str, Any]], Awaitable[ServerReply]]
"""Sends a JSON body to a URL."""

_MEMORY = 256
_NOT_OFFERED = frozenset({403, 404, 405, 501})


class ContinuationScorer:
    """Ask one server for log-likelihoods.

    What the server turns out not to offer is remembered, and so are the tokens of the latest contexts: several
    continuations of one context usually come one after the other.
    """

    def __init__(self, post: Post, *, completions_url: str, tokenize_url: str) -> None:
        self._post = post
        self._completions_url = completions_url
        self._tokenize_url = tokenize_url
        self._tokenizes = True
        self._generates = 0
        self._contexts: LRUCache[tuple[object, ...], list[int]] = LRUCache(_MEMORY)

    async def score(self, request: WireRequest) -> tuple[float, int, dict[str, Any]]:
        """Return the log-likelihood, the number of the continuation's tokens, and what the server said beside them.

        Raises
        ------
        BackendError
            Of the class that says what to do about it.
        """
        if not request.text:
            raise PermanentBackendError("An empty continuation has no log-likelihood.")
        ids = await self._token_ids(request) if self._tokenizes else None
        if ids is None and request.messages:
            raise PermanentBackendError(
                f"{self._tokenize_url}: not offered, so the likelihood of an answer in the model's chat template "
                "cannot be asked there. vLLM offers it; elsewhere, score raw text."
            )
        prompt = request.prefix + request.text if ids is None else ids[0]
        reply = await self._echo(request.model, prompt)
        document = document_of(reply, offers="completions")
        choice, usage = first_choice(reply, document)
        tokens = _Tokens(reply, choice)
        if ids is None:
            begin, end = tokens.of_text(len(request.prefix.rstrip()), request.prefix + request.text)
        else:
            begin, end = tokens.of_ids(ids[1], len(ids[0]))
        return tokens.total(begin, end), end - begin, returned(document) | {"usage": usage}

    async def _echo(self, model: str, prompt: str | list[int]) -> ServerReply:
        body = {
            "model": model,
            "prompt": prompt,
            "max_tokens": self._generates,
            "temperature": 0.0,
            "echo": True,
            "logprobs": 1,
        }
        reply = await self._post(self._completions_url, body)
        if reply.status == 400 and not self._generates:
            # Some servers refuse to generate nothing; the token that they then add is left out.
            second = await self._post(self._completions_url, body | {"max_tokens": 1})
            if second.status == 200:
                self._generates = 1
                return second
        return reply

    async def _token_ids(self, request: WireRequest) -> tuple[list[int], int] | None:
        """Return the ids of the whole and where the continuation begins; None if the server does not tokenise."""
        model = request.model
        if request.messages:
            turns = [{"role": role, "content": content} for role, content in request.messages]
            context = await self._tokenize(
                ("chat", model, request.messages),
                {"model": model, "messages": turns, "add_generation_prompt": True},
            )
            if context is None:
                return None
            rest = await self._tokenize(
                None, {"model": model, "prompt": request.text, "add_special_tokens": False}
            )
            return self._checked(context + (rest or []), len(context))
        whole = await self._tokenize(None, {"model": model, "prompt": request.prefix + request.text})
        if whole is None:
            return None
        kept = request.prefix.rstrip()
        if kept:
            context = await self._tokenize(("text", model, kept), {"model": model, "prompt": kept})
            start = len(context or ())
        else:
            text = {"model": model, "prompt": request.prefix + request.text, "add_special_tokens": False}
            # What the tokenizer adds stands before the text.
            start = len(whole) - len(await self._tokenize(None, text) or whole)
        return self._checked(whole, start)

    def _checked(self, whole: list[int], start: int) -> tuple[list[int], int]:
        if not 0 < start < len(whole):
            what = "has no token of its own behind its context" if start else "needs a context before it"
            raise PermanentBackendError(f"{self._tokenize_url}: the continuation {what}.")
        return whole, start

    async def _tokenize(self, key: tuple[object, ...] | None, body: dict[str, Any]) -> list[int] | None:
        if key is not None and key in self._contexts:
            return self._contexts[key]
        reply = await self._post(self._tokenize_url, body)
        if reply.status in _NOT_OFFERED and b"does not exist" not in reply.body[:2000]:
            self._tokenizes = False
            return None
        tokens = document_of(reply).get("tokens")
        if not isinstance(tokens, list) or not all(type(each) is int for each in tokens):
            # Another server's path of the same name.
            self._tokenizes = False
            return None
        if key is not None:
            self._contexts[key] = tokens
        return tokens


class _Tokens:
    """The echoed tokens with their log-probabilities."""

    def __init__(self, reply: ServerReply, choice: dict[str, Any]) -> None:
        self._reply = reply
        held = choice.get("logprobs")
        values = held.get("token_logprobs") if isinstance(held, dict) else None
        if not isinstance(held, dict) or not isinstance(values, list) or not values:
            raise self._refusal("the server gives no log-probabilities of the prompt, so it cannot score")
        self._values = values
        self._tokens = held.get("tokens")
        self._offsets = held.get("text_offset")

    def of_ids(self, begin: int, end: int) -> tuple[int, int]:
        """Return the continuation's place, checked against what came back."""
        if len(self._values) < end:
            raise self._refusal(f"log-probabilities of {len(self._values)} tokens where {end} were sent")
        return begin, end

    def of_text(self, boundary: int, whole: str) -> tuple[int, int]:
        """Return the place of the tokens that reach beyond the boundary, by the offsets of the server."""
        offsets, n = self._offsets, len(self._values)
        if (
            not isinstance(offsets, list)
            or len(offsets) != n
            or not all(type(each) is int for each in offsets)
        ):
            raise self._refusal("no text_offset to find the continuation by")
        shift = self._shift(whole)
        ends = [*offsets[1:], len(whole) + shift]
        begin = next((i for i, end in enumerate(ends) if end > boundary + shift), n)
        end = next((i for i, start in enumerate(offsets) if i >= begin and start >= len(whole) + shift), n)
        if begin == end:
            raise self._refusal("no token of the continuation among the echoed ones")
        return begin, end

    def _shift(self, whole: str) -> int:
        """Return the length of a start token that the server counts and the text does not have."""
        tokens, offsets = self._tokens, self._offsets
        if self._values[0] is None and isinstance(tokens, list) and len(tokens) > 1:
            first = str(tokens[0])
            if first and not whole.startswith(first) and isinstance(offsets, list):
                return int(offsets[1])
        return 0

    def total(self, begin: int, end: int) -> float:
        """Return the sum of the log-probabilities."""
        chosen = self._values[begin:end]
        if begin == 0 and chosen[0] is None:
            raise self._refusal(
                "the first token of all has no log-probability: the continuation needs a context"
            )
        try:
            numbers = [max(float(value), LOWEST_LOGPROB) for value in chosen]
        except (TypeError, ValueError):
            raise self._refusal("log-probabilities that cannot be read") from None
        if any(map(math.isnan, numbers)):
            raise self._refusal("log-probabilities that are not numbers")
        return math.fsum(numbers)

    def _refusal(self, what: str) -> BackendError:
        return PermanentBackendError(
            f"{self._reply.url}: HTTP {self._reply.status}, {what}.", status=self._reply.status
        )


def score_answer(
    logprob: float, n_tokens: int, beside: dict[str, Any], *, latency_ms: float, prices: tuple[float, float]
) -> Answer:
    """Return the answer; the continuation's tokens count as completion, and cost what a prompt's cost."""
    usage = beside["usage"]
    sent = count_of(usage.get("prompt_tokens"))
    return Answer(
        text="",
        prompt_tokens=max(sent - n_tokens, 0),
        completion_tokens=n_tokens,
        latency_ms=latency_ms,
        cost=sent * prices[0] + count_of(usage.get("completion_tokens")) * prices[1],
        logprob=logprob,
        model=beside["model"],
        system_fingerprint=beside["system_fingerprint"],
    )

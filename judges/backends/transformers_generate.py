"""Text from a causal model of transformers: generated token by token, or one of several choices.

Rows of a batch are padded on the left, since what follows a prompt has to stand right behind it. Each row samples with
a random generator of its own, so that neither the other rows nor their number change what it draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from judges.backends.base import finite, storable
from judges.backends.token_biases import own_biases
from judges.backends.tokenising import leaves_out_special
from judges.backends.transformers_passes import (
    Loaded,
    Waiting,
    continuation_logprobs,
    logits_at,
    pad_id,
    padded,
)
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer, TokenLogprob

# --- generation -----------------------------------------------------------------------------------------------


def answer_by_generating(parts: Loaded, model: Any, batch: Sequence[Waiting]) -> list[Answer]:
    """Answer "chat" requests by generating."""
    from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

    ids, mask = padded(parts, [each.encoded.ids for each in batch], left=True)
    rows = [_Row(parts, model, each) for each in batch]
    ends = _ends(parts, model)
    whole = model.generate(
        input_ids=ids,
        attention_mask=mask,
        generation_config=GenerationConfig(
            max_new_tokens=max(each.limit for each in batch),
            # The sampler below draws, and leaves the highest score to the token that it drew.
            do_sample=False,
            temperature=1.0,
            top_p=1.0,
            top_k=50,
            eos_token_id=ends or None,
            pad_token_id=pad_id(parts.tokenizer),
        ),
        logits_processor=LogitsProcessorList([_Sampler(parts.torch, rows)]),
        stopping_criteria=StoppingCriteriaList([_Stopper(parts, rows, ids.shape[1])]),
    )
    texts = whole[:, ids.shape[1] :].tolist()
    return [_answer(parts, row, tokens, ends) for row, tokens in zip(rows, texts, strict=True)]


class _Row:
    """How one request of the batch samples, and what was seen of it."""

    def __init__(self, parts: Loaded, model: Any, waiting: Waiting) -> None:
        request = waiting.job.request
        own = model.generation_config
        samples = bool(own.do_sample)
        temperature, top_p = request.decoding.temperature, request.decoding.top_p
        if temperature is None:
            temperature = (1.0 if own.temperature is None else own.temperature) if samples else 0.0
        if top_p is None:
            top_p = own.top_p if samples and own.top_p is not None else 1.0
        self.waiting = waiting
        self.request = request
        self.temperature = float(temperature)
        self.top_p = float(top_p)
        self.places: list[TokenLogprob] = []
        self.biases = own_biases(request, parts.tokenizer)
        self.generator = random_generator(parts.torch, request)


def random_generator(torch: Any, request: WireRequest) -> Any:
    """Return what a request draws its numbers from: of its seed and sample, or unforeseeable."""
    generator = torch.Generator()
    if request.decoding.seed is None:
        generator.seed()
    else:
        generator.manual_seed(request.decoding.seed + request.sample)
    return generator


class _Sampler:
    """Draws a token for each row, and notes its log-probability. A logits processor of `answer_by_generating`."""

    supports_continuous_batching = False

    def __init__(self, torch: Any, rows: Sequence[_Row]) -> None:
        self._torch = torch
        self._rows = rows

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002 (the interface)
        """Return the scores with the drawn tokens above all others."""
        scores = scores.float()
        for place, row in enumerate(self._rows):
            if row.biases:
                scores = scores.clone()
                for token, bias in row.biases.items():
                    scores[place, token] += bias
        drawn = scores.clone()
        for place, row in enumerate(self._rows):
            if row.temperature > 0.0:
                drawn[place] = self._drawn(scores[place], row)
        for place, row in enumerate(self._rows):
            if row.request.logprobs:
                row.places.append(_place(scores[place], int(drawn[place].argmax()), row))
        return drawn

    def _drawn(self, scores: Any, row: _Row) -> Any:
        """Add Gumbel noise: the highest sum is then a draw from the softmax (Gumbel 1954, "Gumbel-max trick")."""
        torch = self._torch
        scores = scores / row.temperature
        if row.top_p < 1.0:
            ordered, places = scores.sort(descending=True)
            before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
            scores = scores.index_fill(0, places[before >= row.top_p], -math.inf)
        uniform = torch.rand(scores.shape, generator=row.generator, dtype=torch.float64)
        noise = -torch.log(-torch.log(uniform.clamp(1e-300, 1.0 - 1e-16)))
        return scores + noise.to(scores.device, scores.dtype)


def _place(scores: Any, token: int, row: _Row) -> TokenLogprob:
    logprobs = scores.log_softmax(-1)
    best = logprobs.topk(min(row.request.logprobs, logprobs.shape[-1]))
    # Token ids stand for the texts until the end, when they are decoded once.
    return TokenLogprob(
        token=str(token),
        logprob=float(logprobs[token]),
        top=tuple(
            (str(rival), float(value))
            for rival, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ),
    )


class _Stopper:
    """Ends a row at its own limit or stop string. A stopping criterion of `answer_by_generating`."""

    def __init__(self, parts: Loaded, rows: Sequence[_Row], start: int) -> None:
        self._parts = parts
        self._rows = rows
        self._start = start

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:  # noqa: ARG002
        """Return for each row whether it is to end."""
        n = input_ids.shape[1] - self._start
        done = [
            n >= row.waiting.limit or self._is_stopped(row, input_ids[place])
            for place, row in enumerate(self._rows)
        ]
        return self._parts.torch.tensor(done, dtype=self._parts.torch.bool, device=input_ids.device)

    def _is_stopped(self, row: _Row, ids: Any) -> bool:
        stops = row.request.decoding.stop
        if not stops:
            return False
        # A character may take several tokens.
        reach = 4 * max(map(len, stops)) + 8
        tail = self._parts.tokenizer.decode(ids[max(self._start, len(ids) - reach) :].tolist())
        return any(stop in tail for stop in stops)


def _ends(parts: Loaded, model: Any) -> list[int]:
    given = model.generation_config.eos_token_id
    ends = [given] if isinstance(given, int) else list(given or [])
    own = parts.tokenizer.eos_token_id
    return ends if own is None or own in ends else [*ends, own]


def _answer(parts: Loaded, row: _Row, tokens: list[int], ends: list[int]) -> Answer:
    tokens = tokens[: row.waiting.limit]
    end = next((place for place, token in enumerate(tokens) if token in ends), None)
    n = len(tokens) if end is None else end + 1
    skip = leaves_out_special(parts.tokenizer)
    text = parts.tokenizer.decode(tokens[:n] if end is None else tokens[:end], skip_special_tokens=skip)
    cuts = [text.index(stop) for stop in row.request.decoding.stop if stop in text]
    if cuts:
        text = text[: min(cuts)]
        if end is None:
            n = _length_until(parts, tokens, row.request.decoding.stop)
    job, n_prompt = row.waiting.job, len(row.waiting.encoded.ids)
    return Answer(
        text=storable(text),
        finish_reason="length" if end is None and not cuts else "stop",
        prompt_tokens=n_prompt,
        completion_tokens=n,
        latency_ms=job.elapsed_ms(),
        cost=job.cost(n_prompt, n),
        logprobs=_decoded(parts, row.places[:n]) if row.request.logprobs else None,
    )


def _length_until(parts: Loaded, tokens: list[int], stops: tuple[str, ...]) -> int:
    """Return how many tokens there are up to the first stop string; behind it stands padding of ended rows."""
    skip = leaves_out_special(parts.tokenizer)
    for n in range(1, len(tokens) + 1):
        text = parts.tokenizer.decode(tokens[:n], skip_special_tokens=skip)
        if any(stop in text for stop in stops):
            return n
    return len(tokens)


def _decoded(parts: Loaded, places: Sequence[TokenLogprob]) -> tuple[TokenLogprob, ...]:
    def text(token: str) -> str:
        return storable(parts.tokenizer.decode([int(token)]))

    return tuple(
        TokenLogprob(text(each.token), finite(each.logprob), tuple((text(t), finite(v)) for t, v in each.top))
        for each in places
    )


# --- choices --------------------------------------------------------------------------------------------------


def answer_by_choice(parts: Loaded, model: Any, batch: Sequence[Waiting]) -> list[Answer]:
    """Answer "chat" requests with one of their choices, by log-probabilities renormalised over the choices."""
    options = [
        [parts.tokenizer.encode(choice, add_special_tokens=False) for choice in each.job.request.choices]
        for each in batch
    ]
    by_first = [len({ids[0] for ids in each if ids}) == len(each) for each in options]
    weights: list[list[float]] = [[] for _ in batch]
    quick = [place for place, is_quick in enumerate(by_first) if is_quick]
    for place, logits in zip(
        quick, _next_logits(parts, model, [batch[place] for place in quick]), strict=True
    ):
        weights[place] = [float(logits[ids[0]]) for ids in options[place]]
    for place, is_quick in enumerate(by_first):
        if not is_quick:
            prompt = batch[place].encoded.ids
            rows = [(prompt + ids, len(prompt)) for ids in options[place]]
            weights[place] = continuation_logprobs(parts, model, rows)
    return [_chosen(parts, each, values) for each, values in zip(batch, weights, strict=True)]


def _next_logits(parts: Loaded, model: Any, batch: Sequence[Waiting]) -> list[Any]:
    """Return the logits of the token that follows each prompt."""
    if not batch:
        return []
    rows = [each.encoded.ids for each in batch]
    first, last = min(map(len, rows)) - 1, max(map(len, rows))
    logits = logits_at(parts, model, rows, first, last)
    return [logits[place, len(row) - 1 - first] for place, row in enumerate(rows)]


def _chosen(parts: Loaded, waiting: Waiting, weights: Sequence[float]) -> Answer:
    torch, job, request = parts.torch, waiting.job, waiting.job.request
    logprobs = torch.tensor(weights, dtype=torch.float64).log_softmax(-1)
    temperature = request.decoding.temperature or 0.0
    place = int(logprobs.argmax())
    if temperature > 0.0:
        chances = (logprobs / temperature).softmax(-1)
        place = int(torch.multinomial(chances, 1, generator=random_generator(torch, request)))
    ranked = sorted(zip(request.choices, logprobs.tolist(), strict=True), key=lambda pair: -pair[1])
    top = tuple((choice, finite(value)) for choice, value in ranked)
    text = request.choices[place]
    n = len(waiting.encoded.ids)
    return Answer(
        text=text,
        prompt_tokens=n,
        completion_tokens=1,
        latency_ms=job.elapsed_ms(),
        cost=job.cost(n, 1),
        logprobs=(TokenLogprob(text, finite(float(logprobs[place])), top),) if request.logprobs else None,
        constrained=True,
    )

"""One pass through a model of transformers: log-likelihoods, vectors and classes of a batch.

Everything is padded on the right. A causal model never looks to the right, and an encoder is told by the mask what
is padding, so no result depends on what else is in the batch.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from judges.backends.errors import MisbehavingServerError, PermanentBackendError
from judges.backends.local import Job
from judges.backends.tokenising import Encoded, Prompter
from judges.strategies.types import Answer

MAX_LOGITS = 1 << 28
"""Numbers of one pass's logits (1 GiB in float32); a batch that needs more is split."""


@dataclass(slots=True, eq=False)
class Waiting:
    """A request that is tokenised and waits for a batch.

    Attributes
    ----------
    kind : str
        "choose", "generate", "score", "embed", "classify" or "match": requests of one kind can be computed together.
    """

    job: Job
    encoded: Encoded
    kind: str
    limit: int = 0

    def weight(self) -> tuple[int, int]:
        """Return what similar requests have in common: how much they may generate, and their length."""
        return self.limit, len(self.encoded.ids)


@dataclass(slots=True)
class Loaded:
    """All that computing a batch needs.

    Attributes
    ----------
    models : dict
        By class of transformers; loaded when first needed, or the reason why it cannot be.
    """

    torch: Any
    tokenizer: Any
    prompter: Prompter
    device: Any
    pooling: str
    normalize: bool
    models: dict[str, Any] = field(default_factory=dict)

    @property
    def marks(self) -> frozenset[int]:
        """The tokens that the tokenizer puts around a text."""
        tokenizer = self.tokenizer
        found = (tokenizer.cls_token_id, tokenizer.sep_token_id)
        return frozenset(token for token in found if token is not None)


def padded(
    parts: Loaded, rows: Sequence[Sequence[int]], *, left: bool = False, pad: int | None = None
) -> Any:
    """Return (ids, mask) of shape (rows, longest)."""
    torch = parts.torch
    width = max(map(len, rows))
    filler = pad_id(parts.tokenizer) if pad is None else pad
    ids = torch.full((len(rows), width), filler, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for place, row in enumerate(rows):
        where = slice(width - len(row), width) if left else slice(0, len(row))
        ids[place, where] = torch.tensor(row, dtype=torch.long)
        mask[place, where] = 1
    return ids.to(parts.device), mask.to(parts.device)


def pad_id(tokenizer: Any) -> int:
    """Return what to pad with; behind a mask any token will do."""
    for token in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    return 0


def logits_at(parts: Loaded, model: Any, rows: Sequence[Sequence[int]], first: int, last: int) -> Any:
    """Return the logits of the positions from `first` up to `last`, shape (rows, last - first, vocabulary), float32.

    Only those are computed where the model can do that: a long prompt's logits are larger than the model.
    """
    ids, mask = padded(parts, rows)
    if forward_takes(model, "logits_to_keep"):
        keep = parts.torch.arange(first, last, device=parts.device)
        return model(input_ids=ids, attention_mask=mask, logits_to_keep=keep, use_cache=False).logits.float()
    return model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, first:last].float()


def forward_takes(model: Any, name: str) -> bool:
    """Whether the model's forward pass has an argument."""
    return name in inspect.signature(model.forward).parameters


def continuation_logprobs(
    parts: Loaded, model: Any, rows: Sequence[tuple[Sequence[int], int]]
) -> list[float]:
    """Return the natural log-likelihood of each row's tokens from its place on, given those before.

    Parameters
    ----------
    rows : sequence of (ids, place)
        With at least one token before the place and one from it on.
    """
    torch = parts.torch
    first = min(start for _, start in rows) - 1
    last = max(len(ids) for ids, _ in rows) - 1
    vocabulary = int(model.config.get_text_config().vocab_size)
    if len(rows) > 1 and len(rows) * (last - first) * vocabulary > MAX_LOGITS:
        middle = len(rows) // 2
        return [
            *continuation_logprobs(parts, model, rows[:middle]),
            *continuation_logprobs(parts, model, rows[middle:]),
        ]
    logits = logits_at(parts, model, [ids for ids, _ in rows], first, last)
    targets, wanted = padded(parts, [ids for ids, _ in rows])
    targets, wanted = targets[:, first + 1 : last + 1], wanted[:, first + 1 : last + 1].clone()
    for place, (_, start) in enumerate(rows):
        wanted[place, : start - first - 1] = 0
    chosen = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)
    # Padding is masked and not multiplied: a forbidden token's minus infinity times zero is no number.
    sums = torch.where(wanted.bool(), chosen, 0.0).double().sum(-1)
    return [float(value) for value in sums.tolist()]


def score(parts: Loaded, model: Any, batch: Sequence[Waiting]) -> list[Answer]:
    """Answer "score" requests."""
    sums = continuation_logprobs(parts, model, [(each.encoded.ids, each.encoded.start) for each in batch])
    return [
        _answer(each, completion_tokens=len(each.encoded.ids) - each.encoded.start, logprob=_number(value))
        for each, value in zip(batch, sums, strict=True)
    ]


def embed(parts: Loaded, model: Any, batch: Sequence[Waiting]) -> list[Answer]:
    """Answer "embed" requests."""
    torch = parts.torch
    ids, mask = padded(parts, [each.encoded.ids for each in batch])
    hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
    if parts.pooling == "mean":
        weights = mask.unsqueeze(-1).float()
        vectors = (hidden * weights).sum(1) / weights.sum(1)
    elif parts.pooling == "cls":
        vectors = hidden[:, 0]
    else:
        vectors = hidden[torch.arange(len(batch), device=parts.device), mask.sum(1) - 1]
    if parts.normalize:
        vectors = torch.nn.functional.normalize(vectors, dim=-1)
    return [
        _answer(each, vector=tuple(map(_number, row)))
        for each, row in zip(batch, vectors.tolist(), strict=True)
    ]


BEST_LAYERS: Mapping[str, int] = MappingProxyType(
    {
        "bert-base-uncased": 9,
        "bert-large-uncased": 18,
        "bert-base-multilingual-cased": 9,
        "distilbert-base-uncased": 5,
        "roberta-base": 10,
        "roberta-large": 17,
        "xlm-roberta-base": 9,
        "xlm-roberta-large": 17,
        "deberta-large-mnli": 18,
        "deberta-xlarge-mnli": 40,
    }
)
"""The layer that correlates best with people on WMT16 (Zhang et al., ICLR 2020), by the last part of a model's name."""


def match(parts: Loaded, model: Any, batch: Sequence[Waiting]) -> list[Answer]:
    """Answer "match" requests: precision, recall and F1 of BERTScore (Zhang et al., ICLR 2020), without idf weights."""
    torch = parts.torch
    rows = [
        row
        for each in batch
        for row in (each.encoded.ids[: each.encoded.second], each.encoded.ids[each.encoded.second :])
    ]
    ids, mask = padded(parts, rows)
    states = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    answers = []
    for place, each in enumerate(batch):
        request = each.job.request
        layer = request.layer or BEST_LAYERS.get(
            request.model.rstrip("/").rpartition("/")[2].lower(), len(states) - 1
        )
        if not 0 < layer < len(states):
            raise PermanentBackendError(
                f"The model has {len(states) - 1} layers, and layer {layer} was asked for."
            )
        vectors = torch.nn.functional.normalize(states[layer].float(), dim=-1)
        one, two = (vectors[2 * place + k, : len(rows[2 * place + k])] for k in (0, 1))
        # As in the published code: the marks around a text can be matched, and count for nothing themselves.
        kept = [
            torch.tensor([token not in parts.marks for token in rows[2 * place + k]], device=parts.device)
            for k in (0, 1)
        ]
        if not kept[0].any() or not kept[1].any():
            raise PermanentBackendError("A text without tokens matches nothing.")
        alike = one @ two.T
        precision = float(alike.max(1).values[kept[0]].mean())
        recall = float(alike.max(0).values[kept[1]].mean())
        total = precision + recall
        f1 = 2 * precision * recall / total if total > 0 else 0.0
        answers.append(_answer(each, scores=(_number(precision), _number(recall), _number(f1))))
    return answers


def classify(parts: Loaded, model: Any, batch: Sequence[Waiting]) -> list[Answer]:
    """Answer "classify" requests."""
    torch = parts.torch
    rows = [each.encoded.ids for each in batch]
    pad = parts.tokenizer.pad_token_id
    if pad is None or pad == parts.tokenizer.eos_token_id:
        # A causal classifier reads its answer off the last token that is no padding, and knows padding by its id alone.
        last = {row[-1] for row in rows}
        pad = next(token for token in range(len(last) + 1) if token not in last)
        model.config.get_text_config().pad_token_id = pad
    elif model.config.get_text_config().pad_token_id is None:
        model.config.get_text_config().pad_token_id = pad
    ids, mask = padded(parts, rows, pad=pad)
    values = {"input_ids": ids, "attention_mask": mask}
    if forward_takes(model, "token_type_ids"):
        types = torch.zeros_like(ids)
        for place, each in enumerate(batch):
            if each.encoded.second:
                types[place, each.encoded.second : len(each.encoded.ids)] = 1
        values["token_type_ids"] = types
    logits = model(**values).logits.float()
    return [
        _answer(each, scores=tuple(map(_number, row)))
        for each, row in zip(batch, logits.tolist(), strict=True)
    ]


def _answer(each: Waiting, **values: Any) -> Answer:
    n = len(each.encoded.ids)
    return Answer(
        text="", prompt_tokens=n, latency_ms=each.job.elapsed_ms(), cost=each.job.cost(n, 0), **values
    )


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise MisbehavingServerError("The model's output is not made of numbers.")
    return float(value)

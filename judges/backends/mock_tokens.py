"""What the mock's models compute without words: tokens, likelihoods, vectors, class scores. Pure functions."""

import math
import re
from hashlib import blake2b
from typing import Any

from judges.backends.mock_models import MockModel

_PIECE = re.compile(r"\s?\w{1,4}|\s?[^\w\s]|\s")
_WORD = re.compile(r"\w+")
DIMENSIONS = 128


def pieces(text: str) -> list[str]:
    """Cut a text into tokens: pieces of words with the space before them. Joined they are the text."""
    return _PIECE.findall(text)


def token_ids(text: str) -> list[int]:
    """Return the tokens as numbers; a number holds its token, so that nothing has to be remembered."""
    return [int.from_bytes(piece.encode("utf-8", "replace"), "big") for piece in pieces(text)]


def text_of(ids: list[int]) -> list[str]:
    """Undo `token_ids`, token by token."""
    return [each.to_bytes((each.bit_length() + 7) // 8, "big").decode("utf-8", "replace") for each in ids]


def templated(messages: list[dict[str, Any]], *, opened: bool) -> str:
    """Return a conversation in the mock's chat template, with the model's turn opened or not."""
    turns = "".join(f"<|{each['role']}|>\n{each['content']}\n" for each in messages)
    return turns + ("<|assistant|>\n" if opened else "")


def likelihoods(model: str, tokens: list[str]) -> list[float | None]:
    """Return the natural log-probability of each token given those before it; of the first there is none.

    A token that stood there before is likelier than a new one, as in real text.
    """
    seen: set[str] = set()
    values: list[float | None] = []
    before = ""
    for token in tokens:
        chance = _unit(model, before, token)
        values.append(-(0.1 + 1.5 * chance) if token in seen else -(1.0 + 6.0 * chance))
        seen.add(token)
        before = (before + token)[-24:]
    if values:
        values[0] = None
    return values


def completion_logprobs(model: str, tokens: list[str]) -> dict[str, Any]:
    """Return the field ``logprobs`` of a completion that echoes its prompt."""
    offsets, position = [], 0
    for token in tokens:
        offsets.append(position)
        position += len(token)
    values = likelihoods(model, tokens)
    top = [None if value is None else {token: value} for token, value in zip(tokens, values, strict=True)]
    return {"tokens": tokens, "token_logprobs": values, "text_offset": offsets, "top_logprobs": top}


def vector(text: str) -> list[float]:
    """Return a hashed bag of words and of their beginnings, of length 1: paraphrases are near, other texts are not."""
    values = [0.0] * DIMENSIONS
    for word in _WORD.findall(text.lower()):
        for feature, weight in ((word, 1.0), (f"{word[:5]}-", 0.7)):
            digest = blake2b(feature.encode("utf-8"), digest_size=8).digest()
            values[int.from_bytes(digest[:4], "big") % DIMENSIONS] += weight if digest[4] & 1 else -weight
    length = math.sqrt(math.fsum(value * value for value in values))
    return [value / length for value in values] if length else [1.0] + [0.0] * (DIMENSIONS - 1)


def class_scores(model: MockModel, name: str, text: str) -> list[float]:
    """Return one raw output a class: for a reward model the log of the answer's length, or of its brevity."""
    if model.n_classes > 1:
        return [4.0 * _unit(name, i, text) - 2.0 for i in range(model.n_classes)]
    words = len(_WORD.findall(text))
    length = math.log1p(words) - 3.0
    return [-length if model.kind == "shorter" else length]


def _unit(*parts: object) -> float:
    digest = blake2b("\x00".join(map(str, parts)).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64

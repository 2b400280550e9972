"""Which tokens the texts of a request's biases are.

As LLMBar and AlpacaEval resolve them: a text that is to be favored raises each of its tokens, a text that is to be
avoided counts only if it is one token. Whose tokens: the server's own where it has vLLM's ``/tokenize``, the model's
own in the worker, and tiktoken's (not a dependency; LiteLLM brings it) for vendors.
"""

import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from cachetools import LRUCache

from judges.backends.errors import PermanentBackendError
from judges.backends.openai_protocol import ServerReply, document_of
from judges.backends.wire import WireRequest

_NOT_OFFERED = frozenset({404, 405, 501})
_MEMORY = 1000


def token_biases(biases: Sequence[tuple[str, float]], ids: Mapping[str, Sequence[int]]) -> dict[int, float]:
    """Return the bias of each token.

    >>> ids = {"Both": [1], "So so": [2, 2], "It is": [3, 4]}
    >>> token_biases((("Both", -100.0), ("So so", -100.0), ("It is", 7.0)), ids)
    {1: -100.0, 3: 7.0, 4: 7.0}
    """
    found: dict[int, float] = {}
    for text, bias in biases:
        tokens = ids[text]
        if bias > 0 or len(tokens) == 1:
            found |= dict.fromkeys(tokens, bias)
    return found


def own_biases(request: WireRequest, tokenizer: Any) -> dict[int, float]:
    """Return the bias of each token of a model in the worker."""
    if not request.biases:
        return {}
    ids = {text: tokenizer.encode(text, add_special_tokens=False) for text, _ in request.biases}
    return token_biases(request.biases, ids)


def tiktoken_ids(request: WireRequest) -> dict[str, list[int]]:
    """Return the tokens of a vendor's model; raises PermanentBackendError where nobody here knows them."""
    try:
        encoding = importlib.import_module("tiktoken").encoding_for_model(request.model)
        return {text: encoding.encode(text) for text, _ in request.biases}
    except (ImportError, KeyError, OSError) as error:
        raise PermanentBackendError(
            f"The judge favors or avoids some tokens, and nobody here knows the tokens of {request.model} "
            f"({type(error).__name__}). Use a server with vLLM's /tokenize or a model in the worker, or install "
            "tiktoken if it knows the model."
        ) from None


class ServerTokens:
    """Asks a server for the tokens of texts, each once.

    Parameters
    ----------
    post : callable
        Sends a body to an address.
    url : str
        Of vLLM's ``/tokenize``.
    """

    def __init__(self, post: Callable[[str, dict[str, Any]], Awaitable[ServerReply]], url: str) -> None:
        self._post = post
        self._url = url
        self._known: LRUCache[tuple[str, str], list[int]] = LRUCache(_MEMORY)

    async def ids(self, model: str, texts: Sequence[str]) -> dict[str, list[int]] | None:
        """Return the tokens of each text; None if the server does not say.

        Raises
        ------
        BackendError
        """
        for text in texts:
            if (model, text) in self._known:
                continue
            body = {"model": model, "prompt": text, "add_special_tokens": False}
            reply = await self._post(self._url, body)
            if reply.status in _NOT_OFFERED and b"does not exist" not in reply.body[:2000]:
                return None
            tokens = document_of(reply).get("tokens")
            if not isinstance(tokens, list) or not all(type(each) is int for each in tokens):
                return None  # another server's path of the same name
            self._known[model, text] = tokens
        return {text: self._known[model, text] for text in texts}

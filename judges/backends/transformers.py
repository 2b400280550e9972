"""Models that transformers runs in the worker, on processors or a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judges.backends.errors import EndpointError
from judges.backends.local import LocalBackend
from judges.backends.model_files import check_model, require_package
from judges.backends.settings import POOLINGS, check_choice

DTYPES = ("auto", "float32", "bfloat16", "float16")


class TransformersBackend(LocalBackend):
    """Ask a model that transformers runs in this process: generate, score, embed, classify.

    What waits is gathered into batches of similar length, padded so that no answer depends on the rest of its batch.

    ====================  ======================================================================================
    ``chat``              With `choices`, they are compared by their log-probabilities, and the answer is one of them:
                          by their first tokens, renormalised over these, where they differ in them; else each
                          choice's tokens as a whole, renormalised over the choices. One pass through the model, no
                          generation. JSON schemas and regular expressions are not enforced: the text comes as it is.
    ``score``             One pass; the sum over the continuation's tokens.
    ``embed``             The tokens' vectors as one: their mean, the first or the last; of length 1 by default.
    ``classify``          Raw logits of a model for sequence classification.
    ====================  ======================================================================================

    A temperature or top-p that is left open is the model's own recommendation (`generation_config.json`).

    Parameters
    ----------
    model : str
        A folder, or a name on the Hugging Face hub.
    revision : str
    capacity : int
        At least so many requests in flight; enough for several batches in any case.
    timeout : float
        Not used: a model in the worker answers when it is through.
    dtype : {"auto", "float32", "bfloat16", "float16"}
        "auto": as the weights are stored.
    device : str
        "auto": the GPU if there is one; or "cpu", "cuda", "cuda:1", ...
    batch_size : int
        Most requests in a batch, >= 1.
    max_model_len : int
        Longest prompt and answer together, in tokens; 0: what the model allows.
    pooling : {"", "mean", "cls", "last"}
        Empty: as the model's files for sentence-transformers say, else the mean.
    normalize : bool
        Vectors of length 1.
    chat_template_kwargs : mapping
        Variables of the chat template, such as ``{"enable_thinking": false}``.

    Raises
    ------
    BackendUnavailableError
        torch or transformers is not installed.
    EndpointError
        An option cannot be right, or the model is not there.
    """

    def __init__(
        self,
        *,
        model: str,
        revision: str = "",
        capacity: int = 1,
        timeout: float = 0.0,  # noqa: ARG002 (every endpoint has one)
        price_prompt: float = 0.0,
        price_completion: float = 0.0,
        prices: Mapping[str, tuple[float, float]] | None = None,
        dtype: str = "auto",
        device: str = "auto",
        batch_size: int = 16,
        max_model_len: int = 0,
        pooling: str = "",
        normalize: bool = True,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        check_choice("dtype", dtype, DTYPES)
        check_choice("pooling", pooling, POOLINGS)
        for name, number, least in (("batch_size", batch_size, 1), ("max_model_len", max_model_len, 0)):
            if not isinstance(number, int) or isinstance(number, bool) or number < least:
                raise EndpointError(f"{name}: expected a whole number of at least {least}, found {number!r}.")
        for package in ("torch", "transformers"):
            require_package(package, backend="transformers", extra="local")
        check_model(model, revision)
        options = {
            "dtype": dtype,
            "device": device,
            "batch_size": batch_size,
            "max_model_len": max_model_len,
            "pooling": pooling,
            "normalize": normalize,
            "chat_template_kwargs": dict(chat_template_kwargs or {}),
        }

        def build() -> Any:
            from judges.backends.transformers_host import TransformersHost

            return TransformersHost(model, revision, options)

        super().__init__(
            name="transformers",
            model=model,
            revision=revision,
            capacity=max(capacity, 4 * batch_size),
            options=options,
            build=build,
            price_prompt=price_prompt,
            price_completion=price_completion,
            prices=prices,
        )

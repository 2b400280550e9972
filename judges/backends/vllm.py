"""vLLM's offline engine inside the worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judges.backends.local import LocalBackend
from judges.backends.model_files import check_model, require_package
from judges.backends.vllm_options import VLLMOptions


class VLLMBackend(LocalBackend):
    """Ask a model that vLLM runs in this process (or in a child of it).

    The engine is kept full: as many requests are handed to it as it can compute together and as many again that wait,
    so that one which finishes is followed at once, and none waits for a batch. Its cache of prefixes is on, and what is
    handed in together is ordered by its tokens, so that prompts with the same beginning come one after another.

    ====================  ======================================================================================
    ``chat``              Choices, JSON schemas and regular expressions are constraints that the engine keeps to.
    ``score``             Prompt log-probabilities of the continuation's tokens.
    ``embed``             A model that was loaded for pooling; see the options `runner` and `convert`.
    ``classify``          The same, for sequence classification: raw logits.
    ====================  ======================================================================================

    Parameters
    ----------
    model : str
        A folder, or a name on the Hugging Face hub.
    revision : str
    capacity : int
        At least so many requests in flight; what the engine needs to stay full is more in most cases, and then counts.
    timeout : float
        Not used: an engine in the worker answers when it is through, and a long queue is no fault.
    price_prompt, price_completion, prices
        Per million tokens, >= 0: what the machine costs, if that is to be counted.
    **options
        See `VLLMOptions`.

    Raises
    ------
    BackendUnavailableError
        vLLM is not installed.
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
        **options: Any,
    ) -> None:
        settings = VLLMOptions.taken_from(options)
        require_package("vllm", backend="vllm", extra="vllm")
        check_model(model, revision)

        def build() -> Any:
            from judges.backends.vllm_engine import VLLMHost

            return VLLMHost(model, revision, settings)

        super().__init__(
            name="vllm",
            model=model,
            revision=revision,
            capacity=max(capacity, 2 * settings.max_num_seqs),
            options=settings.to_dict(),
            build=build,
            price_prompt=price_prompt,
            price_completion=price_completion,
            prices=prices,
        )

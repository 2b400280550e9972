"""One model that a judge asks, and the options of its backend that can change what it answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from judges.strategies.errors import SpecError
from judges.strategies.spec_checks import (
    check_decoding,
    checked_endpoint,
    checked_options,
    decoding_dict,
    decoding_from,
    known_fields,
    require,
)
from judges.strategies.types import NO_PARAMS, Decoding

HARMLESS_OPTIONS = frozenset(
    {
        "api_key_env",
        "batch_size",
        "capacity",
        "connect_timeout",
        "cpu_kv_cache_gib",
        "device",
        "enforce_eager",
        "gpu_memory_utilization",
        "is_local",
        "max_num_batched_tokens",
        "max_num_seqs",
        "pipeline_parallel_size",
        "price_completion",
        "price_prompt",
        "prices",
        "startup_timeout",
        "tensor_parallel_size",
        "timeout",
    }
)
"""Options of a backend that change the way to an answer and never the answer: not part of any identity.

How a model in the worker is spread over devices and how many requests are computed together are among them: they
change the order in which floating-point numbers are added, and so the last bits, as another machine does. What makes
it another model is not: dtype, quantization.
"""

OPTION_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "structured": "none",
        "extra_body": {},
        "max_tokens_field": "max_tokens",
        "respond": "A",
        "name": "",
        # Of models in the worker.
        "chat_template_kwargs": {},
        "convert": "auto",
        "dtype": "auto",
        "kv_cache_dtype": "auto",
        "max_model_len": 0,
        "normalize": True,
        "pooling": "",
        "quantization": "",
        "runner": "auto",
        "seed": 0,
    }
)
"""The backends' own defaults of the options that matter: saying one aloud makes no other judge."""

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*\Z")
_PLAIN = ("backend", "endpoint", "model", "revision")


@dataclass(frozen=True, slots=True)
class ModelRef:
    """One model that a judge asks: which, and where it answers. An invalid one cannot be built.

    Attributes
    ----------
    backend : str
        A name of `judges.backends.registry.BACKENDS`.
    endpoint : str
        Base URL such as ``"https://api.example.org/v1"``, without user name, password, query; empty for an engine
        in the worker.
    decoding : Decoding
    backend_options : mapping
        Settings of the backend, such as ``{"structured": "vllm", "api_key_env": "OPENAI_API_KEY"}``.

    Raises
    ------
    SpecError
    """

    backend: str
    model: str
    endpoint: str = ""
    revision: str = ""
    decoding: Decoding = Decoding()  # noqa: RUF009 (immutable)
    backend_options: Mapping[str, Any] = field(default_factory=lambda: NO_PARAMS)

    def __post_init__(self) -> None:
        for name in _PLAIN:
            require(name, getattr(self, name), str)
        if not _IDENTIFIER.match(self.backend):
            raise SpecError("backend", f"expected the name of a backend, found {self.backend!r}.")
        if not self.model.strip():
            raise SpecError("model", "a model must be named.")
        check_decoding(self.decoding)
        object.__setattr__(self, "endpoint", checked_endpoint(self.endpoint))
        object.__setattr__(self, "backend_options", checked_options(self.backend_options))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {
            "decoding": decoding_dict(self.decoding),
            "backend_options": dict(self.backend_options),
        }

    @classmethod
    def from_dict(cls, values: object) -> ModelRef:
        """Build it from JSON values; raises SpecError."""
        if isinstance(values, ModelRef):
            return values
        given = known_fields(values, "model", {each.name for each in fields(cls)})
        if "decoding" in given:
            given["decoding"] = decoding_from(given["decoding"])
        for name in ("backend", "model"):
            if name not in given:
                raise SpecError(name, "missing.")
        return cls(**given)

    def identity(self) -> dict[str, Any]:
        """Return what can change an answer."""
        return self.to_dict() | {"backend_options": answering_options(self.backend_options)}


def answering_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a backend that can change an answer."""
    return {
        name: value
        for name, value in sorted(options.items())
        if name not in HARMLESS_OPTIONS and not (name in OPTION_DEFAULTS and OPTION_DEFAULTS[name] == value)
    }

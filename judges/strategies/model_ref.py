"""One model that a judge asks: how it samples, where it answers, and what of its backend can change an answer.

Each check raises SpecError that names the field.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from judges.strategies.errors import SpecError
from judges.strategies.thinking import (
    EFFORTS,
    OPTION,
    check_thinking,
    form_of,
    thinks,
    with_thinking_defaults,
)
from judges.strategies.types import NO_PARAMS, TOP_LOGPROBS, Decoding

HARMLESS_OPTIONS = frozenset(
    {
        "addresses",
        "api_key_env",
        "batch_size",
        "capacity",
        "connect_timeout",
        "cpu_kv_cache_gib",
        "data_parallel_backend",
        "data_parallel_size",
        "device",
        "distributed_executor_backend",
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
        OPTION: "",
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
        "reasoning_parser": "",
        "runner": "auto",
        "seed": 0,
    }
)
"""The backends' own defaults of the options that matter: saying one aloud makes no other judge."""

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*\Z")
PLAIN = ("backend", "endpoint", "model", "revision")
_ENVIRONMENT = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_SECRET = re.compile(r"key|token|secret|password|authorization", re.IGNORECASE)
_NO_SECRETS = frozenset({"max_tokens_field"})
"""Options that only sound like one."""
_WORDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number", Mapping: "an object"}
DECODING: Mapping[str, tuple[float, float | None]] = {
    "temperature": (0.0, 2.0),
    "top_p": (0.0, 1.0),
    "max_tokens": (1, None),
    "seed": (0, None),
    "top_logprobs": (1, None),
    "thinking_budget": (0, None),
    "max_completion_tokens": (1, None),
}
"""The bounds of a way of sampling, both allowed; without an upper one it is a whole number."""

LATER = ("reasoning_effort", "thinking_budget", "max_completion_tokens")
"""Settings that came later: left out where they say nothing, so that judges of before are the same ones today."""


def known_fields(values: object, what: str, known: Collection[str], *, prefix: str = "") -> dict[str, Any]:
    """Return a copy of JSON values whose names are all known; raises SpecError, with `prefix` before a name."""
    require(what, values, Mapping)
    assert isinstance(values, Mapping)
    for name in values:
        if name not in known:
            raise SpecError(f"{prefix}{name}", f"unknown field; known are {', '.join(sorted(known))}.")
    return dict(values)


def require(name: str, value: object, kind: type) -> None:
    """Raise SpecError unless a value is of a kind; true and false are no numbers."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise SpecError(name, f"expected {_WORDS.get(kind, kind.__name__)}, found {value!r}.")


def require_number(name: str, value: object, low: float, high: float | None) -> None:
    """Raise SpecError unless a value is a number within its bounds; without an upper one, a whole number."""
    wanted = f"a whole number of at least {low:g}" if high is None else f"a number from {low:g} to {high:g}"
    is_number = isinstance(value, int if high is None else int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= (math.inf if high is None else high):  # type: ignore[operator]
        raise SpecError(name, f"expected {wanted}, found {value!r}.")


def check_decoding(decoding: object) -> None:
    """Raise SpecError unless each setting is within its bounds."""
    if not isinstance(decoding, Decoding):
        raise SpecError("decoding", f"expected an object, found {decoding!r}.")
    for name, bounds in DECODING.items():
        if (value := getattr(decoding, name)) is not None:
            require_number(f"decoding.{name}", value, *bounds)
    if decoding.max_tokens is not None and decoding.max_completion_tokens is not None:
        raise SpecError(
            "decoding.max_completion_tokens", "expected it or max_tokens, not both: one limit is sent."
        )
    if decoding.reasoning_effort is not None and decoding.reasoning_effort not in EFFORTS:
        raise SpecError(
            "decoding.reasoning_effort",
            f"expected one of {', '.join(EFFORTS)}, found {decoding.reasoning_effort!r}.",
        )
    if not all(isinstance(text, str) and text for text in decoding.stop):
        raise SpecError("decoding.stop", f"expected texts that are not empty, found {decoding.stop!r}.")


def decoding_dict(decoding: Decoding) -> dict[str, Any]:
    """Return the settings as JSON values; `decoding_from` undoes it.

    A setting that came later is left out at its default, so that judges of before are the same ones today.
    """
    values = asdict(decoding) | {"stop": list(decoding.stop)}
    if values["top_logprobs"] == TOP_LOGPROBS:
        del values["top_logprobs"]
    return {name: value for name, value in values.items() if name not in LATER or value is not None}


def decoding_from(values: object) -> Decoding:
    """Return the settings of JSON values; raises SpecError for one that is unknown or of a wrong type."""
    if isinstance(values, Decoding):
        return values
    names = {each.name for each in fields(Decoding)}
    given = known_fields(values, "decoding", names, prefix="decoding.")
    stop = given.get("stop", ())
    if not isinstance(stop, list | tuple):
        raise SpecError("decoding.stop", f"expected a list of texts, found {stop!r}.")
    for name in ("temperature", "top_p"):
        # Before Decoding makes them floats, which would let "0.5" and true through.
        if given.get(name) is not None:
            require_number(f"decoding.{name}", given[name], *DECODING[name])
    return Decoding(**with_thinking_defaults(given) | {"stop": tuple(stop)})


def checked_options(options: object) -> Mapping[str, Any]:
    """Return a copy of a backend's options that nobody can change; raises SpecError, for secrets too."""
    require("backend_options", options, Mapping)
    assert isinstance(options, Mapping)
    for name, value in options.items():
        if name == "api_key_env":
            # A pattern that a key itself does not meet, so that none ends in a row; nor in this message.
            if not isinstance(value, str) or not _ENVIRONMENT.match(value):
                raise SpecError(
                    "backend_options.api_key_env",
                    "expected the name of an environment variable, in capitals, digits and underscores.",
                )
        elif secret := _secret(name, value):
            raise SpecError(
                f"backend_options.{secret}",
                "secrets are not stored; put it in an environment variable and name that in api_key_env.",
            )
    try:
        # A copy through JSON: what cannot be stored is refused, and nobody can change it afterwards.
        copied = json.loads(json.dumps(dict(options), allow_nan=False, sort_keys=True))
    except (TypeError, ValueError) as error:
        raise SpecError("backend_options", f"expected plain JSON values ({error}).") from None
    return MappingProxyType(copied)


def _secret(name: object, value: object) -> str:
    """Return the name under which an option, or what stands in it, holds a secret by its looks; empty if none does."""
    if isinstance(value, Mapping):
        return next((f"{name}.{found}" for key, each in value.items() if (found := _secret(key, each))), "")
    looks = isinstance(name, str) and name not in _NO_SECRETS and _SECRET.search(name)
    return str(name) if looks and isinstance(value, str) else ""


def checked_endpoint(endpoint: str) -> str:
    """Return a base URL in its plain form, empty for none; raises SpecError."""
    if not endpoint.strip():
        return ""
    try:
        parts = urlsplit(endpoint.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise SpecError("endpoint", f"not a URL ({error}).") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise SpecError("endpoint", f"expected an http or https URL, found {endpoint!r}.")
    if parts.username or parts.password or parts.query or parts.fragment:
        # Not repeated: what stands there may be a secret.
        raise SpecError("endpoint", "must hold no user name, password, query or fragment.")
    name = f"[{host}]" if ":" in host else host
    where = name if port is None else f"{name}:{port}"
    return f"{parts.scheme}://{where}{parts.path.rstrip('/')}"


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
        for name in PLAIN:
            require(name, getattr(self, name), str)
        if not _IDENTIFIER.match(self.backend):
            raise SpecError("backend", f"expected the name of a backend, found {self.backend!r}.")
        if not self.model.strip():
            raise SpecError("model", "a model must be named.")
        check_decoding(self.decoding)
        object.__setattr__(self, "endpoint", checked_endpoint(self.endpoint))
        object.__setattr__(self, "backend_options", checked_options(self.backend_options))
        check_thinking(self.decoding, form_of(self.backend, self.backend_options))
        if (
            self.backend == "vllm_server"
            and thinks(self.decoding)
            and not self.backend_options.get("reasoning_parser")
        ):
            # It holds answers to a form, from the first token on where it cannot tell a thought from them.
            raise SpecError(
                "backend_options.reasoning_parser",
                "expected vLLM's parser of the model's thoughts, such as qwen3 or deepseek_r1: without it the model "
                "would have to answer before it has thought.",
            )

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

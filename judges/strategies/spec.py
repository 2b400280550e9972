"""What a judge is: everything that decides what it answers, checked and named by a fingerprint."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from judges.strategies.errors import SpecError, UnknownStrategyError
from judges.strategies.prompts import Prompt, load_prompt
from judges.strategies.registry import StrategyInfo, get_strategy, strategy_info
from judges.strategies.types import NO_PARAMS, Decoding, ItemView, Steps, StrategyConfig

HARMLESS_OPTIONS = frozenset(
    {
        "api_key_env",
        "capacity",
        "connect_timeout",
        "is_local",
        "price_completion",
        "price_prompt",
        "timeout",
    }
)
"""Options of a backend that change the way to an answer and never the answer: not part of any identity."""

OPTION_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"structured": "none", "extra_body": {}, "max_tokens_field": "max_tokens", "respond": "A", "name": ""}
)
"""The backends' own defaults of the options that matter: saying one aloud makes no other judge."""

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*\Z")
_ENVIRONMENT = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_SECRET = re.compile(r"key|token|secret|password|authorization", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """One judge configuration. An invalid one cannot be built.

    What does not matter is put back to its default (a heuristic has no model), what is left out is filled in
    (the strategy's prompt and settings), so that equal judges are equal specs with equal fingerprints.

    Attributes
    ----------
    strategy : str
        A name of `judges.strategies.registry.STRATEGIES`.
    backend : str
        A name of `judges.backends.registry.BACKENDS`; empty for strategies that need no model.
    endpoint : str
        Base URL such as ``"https://api.example.org/v1"``, without user name, password, query; may be empty.
    model, revision : str
    prompt : str
        Such as ``"vanilla.v1"``; the strategy's default when empty.
    prompt_sha : str
        SHA-256 of the prompt's text; filled in when empty and checked when given.
    use_reference, allow_tie : bool
    decoding : Decoding
    params : mapping
        Settings of the strategy.
    backend_options : mapping
        Settings of the backend, such as ``{"structured": "vllm", "api_key_env": "OPENAI_API_KEY"}``.

    Raises
    ------
    SpecError
        Names the field and what was expected.
    """

    strategy: str
    backend: str = ""
    endpoint: str = ""
    model: str = ""
    revision: str = ""
    prompt: str = ""
    prompt_sha: str = ""
    use_reference: bool = False
    allow_tie: bool = False
    decoding: Decoding = Decoding()  # noqa: RUF009 (immutable)
    params: Mapping[str, Any] = field(default_factory=lambda: NO_PARAMS)
    backend_options: Mapping[str, Any] = field(default_factory=lambda: NO_PARAMS)

    def __post_init__(self) -> None:
        for name in ("strategy", "backend", "endpoint", "model", "revision", "prompt", "prompt_sha"):
            _require(name, getattr(self, name), str)
        for name in ("use_reference", "allow_tie"):
            _require(name, getattr(self, name), bool)
        try:
            info = strategy_info(self.strategy)
        except UnknownStrategyError as error:
            raise SpecError("strategy", str(error)) from None
        self._set("params", _checked_params(info, self.params))
        if info.needs_model:
            self._check_model(info)
        else:
            self._forget_model()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _forget_model(self) -> None:
        for name in ("backend", "endpoint", "model", "revision", "prompt", "prompt_sha"):
            self._set(name, "")
        self._set("use_reference", False)
        self._set("allow_tie", False)
        self._set("decoding", Decoding())
        self._set("backend_options", NO_PARAMS)

    def _check_model(self, info: StrategyInfo) -> None:
        if not _IDENTIFIER.match(self.backend):
            raise SpecError("backend", f"expected the name of a backend, found {self.backend!r}.")
        if not self.model.strip():
            raise SpecError("model", f"the strategy '{self.strategy}' asks a model, so one must be named.")
        self._set("endpoint", _checked_endpoint(self.endpoint))
        _check_decoding(self.decoding)
        self._set("backend_options", _checked_options(self.backend_options))
        if info.needs_reference:
            self._set("use_reference", True)
        if not info.prompt:
            raise SpecError("prompt", f"the strategy '{self.strategy}' has no default prompt; name one.")
        prompt = self._load_prompt(self.prompt or info.prompt, info.kind)
        if self.prompt_sha and self.prompt_sha != prompt.sha:
            raise SpecError(
                "prompt_sha",
                f"the text of '{prompt.name}' is not the one this judge was defined with "
                f"({self.prompt_sha[:12]}, now {prompt.sha[:12]}).",
            )
        self._set("prompt", prompt.name)
        self._set("prompt_sha", prompt.sha)

    @staticmethod
    def _load_prompt(name: str, kind: str) -> Prompt:
        try:
            return load_prompt(name, kind)
        except UnknownStrategyError as error:
            raise SpecError("prompt", str(error)) from None

    @property
    def needs_model(self) -> bool:
        """Whether the strategy asks a model at all."""
        return strategy_info(self.strategy).needs_model

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values; `from_dict` undoes it."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["decoding"] = _decoding_dict(self.decoding)
        values["params"] = dict(self.params)
        values["backend_options"] = dict(self.backend_options)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> JudgeSpec:
        """Build a spec from JSON values, as from a form, a fixture or `to_dict`.

        Raises
        ------
        SpecError
            An unknown or missing field, or a value that is not allowed.
        """
        _require("judge", values, Mapping)
        known = {each.name for each in fields(cls)}
        for name in values:
            if name not in known:
                raise SpecError(str(name), f"unknown field; known are {', '.join(sorted(known))}.")
        if "strategy" not in values:
            raise SpecError("strategy", "missing.")
        given = dict(values)
        if "decoding" in given:
            given["decoding"] = _decoding_from(given["decoding"])
        return cls(**given)

    def canonical_json(self) -> str:
        """Return, as JSON text with sorted keys, everything that can change what this judge answers."""
        identity = self.to_dict()
        del identity["prompt"]  # the text counts, not what it is called
        identity["strategy_version"] = strategy_info(self.strategy).version
        identity["backend_options"] = answering_options(self.backend_options)
        return json.dumps(identity, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))

    def fingerprint(self) -> str:
        """Return the first 16 hex digits of the SHA-256 of `canonical_json`."""
        return sha256(self.canonical_json().encode("ascii")).hexdigest()[:16]

    def strategy_config(self) -> StrategyConfig:
        """Return what the strategy is told, with its prompt loaded."""
        kind = strategy_info(self.strategy).kind
        return StrategyConfig(
            name=self.strategy,
            prompt=load_prompt(self.prompt, kind) if self.prompt else None,
            use_reference=self.use_reference,
            allow_tie=self.allow_tie,
            params=self.params,
        )


def build_strategy(spec: JudgeSpec) -> Callable[[ItemView], Steps]:
    """Return the function that starts this judge's strategy on an item."""
    strategy = get_strategy(spec.strategy)
    config = spec.strategy_config()

    def start(item: ItemView) -> Steps:
        return strategy(item, config)

    return start


def answering_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a backend that can change an answer."""
    return {
        name: value
        for name, value in sorted(options.items())
        if name not in HARMLESS_OPTIONS and not (name in OPTION_DEFAULTS and OPTION_DEFAULTS[name] == value)
    }


def _require(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise SpecError(name, f"expected {_words(kind)}, found {value!r}.")


def _words(kind: type) -> str:
    names = {
        str: "text",
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        Mapping: "an object",
    }
    return names.get(kind, kind.__name__)


def _number(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise SpecError(name, f"expected a number from {low:g} to {high:g}, found {value!r}.")


def _whole(name: str, value: object, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise SpecError(name, f"expected a whole number of at least {low}, found {value!r}.")


def _check_decoding(decoding: object) -> None:
    if not isinstance(decoding, Decoding):
        raise SpecError("decoding", f"expected an object, found {decoding!r}.")
    if decoding.temperature is not None:
        _number("decoding.temperature", decoding.temperature, 0.0, 2.0)
    if decoding.top_p is not None:
        _number("decoding.top_p", decoding.top_p, 0.0, 1.0)
    if decoding.max_tokens is not None:
        _whole("decoding.max_tokens", decoding.max_tokens, 1)
    if decoding.seed is not None:
        _whole("decoding.seed", decoding.seed, 0)
    if not all(isinstance(text, str) and text for text in decoding.stop):
        raise SpecError("decoding.stop", f"expected texts that are not empty, found {decoding.stop!r}.")


def _decoding_dict(decoding: Decoding) -> dict[str, Any]:
    values = {each.name: getattr(decoding, each.name) for each in fields(decoding)}
    values["stop"] = list(decoding.stop)
    return values


def _decoding_from(values: object) -> Decoding:
    if isinstance(values, Decoding):
        return values
    if not isinstance(values, Mapping):
        raise SpecError("decoding", f"expected an object, found {values!r}.")
    known = {each.name for each in fields(Decoding)}
    for name in values:
        if name not in known:
            raise SpecError(f"decoding.{name}", f"unknown setting; known are {', '.join(sorted(known))}.")
    given = dict(values)
    stop = given.get("stop", ())
    if not isinstance(stop, list | tuple):
        raise SpecError("decoding.stop", f"expected a list of texts, found {stop!r}.")
    given["stop"] = tuple(stop)
    for name in ("temperature", "top_p"):
        # Before Decoding makes them floats, which would let "0.5" and true through.
        if given.get(name) is not None:
            _number(f"decoding.{name}", given[name], 0.0, 2.0)
    return Decoding(**given)


def _checked_params(info: StrategyInfo, params: object) -> Mapping[str, Any]:
    if not isinstance(params, Mapping):
        raise SpecError("params", f"expected an object, found {params!r}.")
    for name in params:
        if name not in info.params:
            known = ", ".join(sorted(info.params)) or "none"
            raise SpecError(f"params.{name}", f"'{info.name}' has no such setting; it has: {known}.")
    complete = {}
    for name, (kind, default) in sorted(info.params.items()):
        value = params.get(name, default)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise SpecError(f"params.{name}", f"expected {_words(kind)}, found {value!r}.")
        complete[name] = value
    return MappingProxyType(complete)


def _checked_options(options: object) -> Mapping[str, Any]:
    if not isinstance(options, Mapping):
        raise SpecError("backend_options", f"expected an object, found {options!r}.")
    for name, value in options.items():
        if name == "api_key_env":
            # A pattern that a key itself does not meet, so that none ends in a row; nor in this message.
            if not isinstance(value, str) or not _ENVIRONMENT.match(value):
                raise SpecError(
                    "backend_options.api_key_env",
                    "expected the name of an environment variable, in capitals, digits and underscores.",
                )
        elif isinstance(name, str) and _SECRET.search(name) and isinstance(value, str):
            raise SpecError(
                f"backend_options.{name}",
                "secrets are not stored; put it in an environment variable and name that in api_key_env.",
            )
    try:
        # A copy through JSON: what cannot be stored is refused, and nobody can change it afterwards.
        copied = json.loads(json.dumps(dict(options), allow_nan=False, sort_keys=True))
    except (TypeError, ValueError) as error:
        raise SpecError("backend_options", f"expected plain JSON values ({error}).") from None
    return MappingProxyType(copied)


def _checked_endpoint(endpoint: str) -> str:
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

"""What the fields of a judge specification may hold. Each check raises SpecError that names the field."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from judges.strategies.errors import SpecError, UnknownStrategyError
from judges.strategies.prompts import Prompt, load_prompt, prompt_fingerprint
from judges.strategies.registry import StrategyInfo
from judges.strategies.types import Decoding

_ENVIRONMENT = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_SECRET = re.compile(r"key|token|secret|password|authorization", re.IGNORECASE)
_NO_SECRETS = frozenset({"max_tokens_field"})
"""Options that only sound like one."""
_SHOT = {
    "instruction": True,
    "output_a": True,
    "output_b": True,
    "verdict": True,
    "context": False,
    "reason": False,
}
VERDICTS = ("A", "B", "tie")


def known_fields(values: object, what: str, known: Collection[str]) -> dict[str, Any]:
    """Return a copy of JSON values whose names are all known; raises SpecError."""
    require(what, values, Mapping)
    assert isinstance(values, Mapping)
    for name in values:
        if name not in known:
            raise SpecError(str(name), f"unknown field; known are {', '.join(sorted(known))}.")
    return dict(values)


def require(name: str, value: object, kind: type) -> None:
    """Raise SpecError unless a value is of a kind."""
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


def check_member_name(info: StrategyInfo, name: object) -> None:
    """Raise SpecError unless a strategy may have a member of this name."""
    where = f"members.{name}"
    if not info.composed or not isinstance(name, str) or not name.strip():
        raise SpecError(where, "only composites and juries have members, each with a name.")
    if "/" in name and not info.member_paths:
        raise SpecError(where, "a name has no '/'.")
    if not all(part.strip() for part in name.split("/")):
        raise SpecError(where, "a path has a name on each side of a '/'.")


def check_decoding(decoding: object) -> None:
    """Raise SpecError unless each setting is within its bounds."""
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


def decoding_dict(decoding: Decoding) -> dict[str, Any]:
    """Return the settings as JSON values; `decoding_from` undoes it."""
    values = {each.name: getattr(decoding, each.name) for each in fields(decoding)}
    values["stop"] = list(decoding.stop)
    return values


def decoding_from(values: object) -> Decoding:
    """Return the settings of JSON values; raises SpecError for one that is unknown or of a wrong type."""
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


def checked_params(info: StrategyInfo, params: object) -> Mapping[str, Any]:
    """Return a strategy's own settings, complete with their defaults; raises SpecError."""
    if not isinstance(params, Mapping):
        raise SpecError("params", f"expected an object, found {params!r}.")
    for name in params:
        if name not in info.params:
            known = ", ".join(sorted(info.params)) or "none"
            raise SpecError(f"params.{name}", f"'{info.name}' has no such setting; it has: {known}.")
    complete = {}
    for name, param in sorted(info.params.items()):
        value = params.get(name, param.default)
        if param.kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, param.kind) or (isinstance(value, bool) and param.kind is not bool):
            raise SpecError(f"params.{name}", f"expected {_words(param.kind)}, found {value!r}.")
        if param.choices and value not in param.choices:
            known = ", ".join(map(str, param.choices))
            raise SpecError(f"params.{name}", f"expected one of {known}, found {value!r}.")
        if param.low is not None or param.high is not None:
            low = float("-inf") if param.low is None else param.low
            _number(f"params.{name}", value, low, float("inf") if param.high is None else param.high)
        complete[name] = value
    return MappingProxyType(complete)


def checked_shots(shots: object) -> tuple[Mapping[str, str], ...]:
    """Return worked examples, each with what a few-shot prompt needs and nothing else."""
    if isinstance(shots, str | bytes) or not isinstance(shots, Sequence):
        raise SpecError("shots", f"expected a list of examples, found {shots!r}.")
    checked: list[Mapping[str, str]] = []
    for place, shot in enumerate(shots):
        field = f"shots.{place}"
        if not isinstance(shot, Mapping):
            raise SpecError(field, f"expected an object, found {shot!r}.")
        for name in shot:
            if name not in _SHOT:
                raise SpecError(f"{field}.{name}", f"unknown field; known are {', '.join(_SHOT)}.")
        for name, needed in _SHOT.items():
            value = shot.get(name, "" if not needed else None)
            if not isinstance(value, str) or (needed and not value.strip()):
                raise SpecError(f"{field}.{name}", f"expected text, found {value!r}.")
        if shot["verdict"] not in VERDICTS:
            raise SpecError(
                f"{field}.verdict", f"expected one of {', '.join(VERDICTS)}, found {shot['verdict']!r}."
            )
        checked.append(MappingProxyType({name: shot[name] for name in _SHOT if shot.get(name)}))
    return tuple(checked)


def checked_options(options: object) -> Mapping[str, Any]:
    """Return a copy of a backend's options that nobody can change; raises SpecError, for secrets too."""
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


def checked_prompt(kind: str, where: str, name: str, sha: str, source: str) -> Prompt:
    """Return a prompt from its text, or else from its file, checked against the fingerprint if there is one."""
    for value in (name, sha, source):
        require(where, value, str)
    if source:
        prompt = Prompt(name=name or "custom.v1", source=source, sha=prompt_fingerprint(source))
    else:
        try:
            prompt = load_prompt(name, kind)
        except UnknownStrategyError as error:
            raise SpecError(where, str(error)) from None
    if sha and sha != prompt.sha:
        field_name = "prompt_sha" if where == "prompt" else where
        raise SpecError(
            field_name,
            f"the text of '{prompt.name}' is not the one this judge was defined with "
            f"({sha[:12]}, now {prompt.sha[:12]}).",
        )
    return prompt

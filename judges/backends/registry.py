"""From a backend's name to its class, imported when it is first asked for.

Importing this module imports no model library and no HTTP client.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast

from judges.backends.base import Backend
from judges.backends.errors import BackendUnavailableError, EndpointError
from judges.strategies.model_ref import answering_options


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """What is known of a backend without importing it.

    Attributes
    ----------
    target : str
        ``"module:class"``.
    extra : str
        The extra of the distribution that brings its packages.
    needs_endpoint : bool
        A base URL must be given.
    takes_endpoint : bool
        A base URL may be given.
    takes_images : bool
        Its protocol has images, for models that take them.
    """

    name: str
    target: str
    extra: str
    needs_endpoint: bool = False
    takes_endpoint: bool = False
    takes_images: bool = False


_ALL = (
    BackendInfo(
        "openai", "judges.backends.openai:OpenAIBackend", "judge", needs_endpoint=True, takes_images=True
    ),
    BackendInfo(
        "anthropic",
        "judges.backends.anthropic:AnthropicBackend",
        "judge",
        needs_endpoint=True,
        takes_images=True,
    ),
    BackendInfo(
        "litellm",
        "judges.backends.litellm:LiteLLMBackend",
        "litellm",
        takes_endpoint=True,
        takes_images=True,
    ),
    BackendInfo("vllm", "judges.backends.vllm:VLLMBackend", "vllm"),
    BackendInfo("vllm_server", "judges.backends.vllm_server:VLLMServerBackend", "vllm", takes_images=True),
    BackendInfo("transformers", "judges.backends.transformers:TransformersBackend", "local"),
    BackendInfo("instant", "judges.backends.instant:InstantBackend", "app"),
)

BACKENDS: Mapping[str, BackendInfo] = MappingProxyType({info.name: info for info in _ALL})


def backend_info(name: str) -> BackendInfo:
    """Return what is known of a backend; raises BackendUnavailableError with the names there are."""
    try:
        return BACKENDS[name]
    except KeyError:
        known = ", ".join(sorted(BACKENDS))
        raise BackendUnavailableError(f"There is no backend '{name}'. Known backends: {known}.") from None


def create_backend(name: str, *, endpoint: str = "", options: Mapping[str, Any] | None = None) -> Backend:
    """Build a backend.

    Parameters
    ----------
    name : str
    endpoint : str
        Base URL, for backends that need or take one.
    options : mapping
        Keyword arguments of the backend's class, as in `JudgeSpec.backend_options`.

    Raises
    ------
    BackendUnavailableError
        No such backend, or a package is missing; the message says which extra to install.
    EndpointError
        The configuration cannot work: no endpoint, no key, an unknown option.
    """
    info = backend_info(name)
    factory = _load(info)
    keywords = dict(options or {})
    if info.needs_endpoint:
        if not endpoint:
            raise EndpointError(f"The backend '{name}' needs an endpoint, and none is configured.")
        keywords["base_url"] = endpoint
    elif info.takes_endpoint and endpoint:
        keywords["base_url"] = endpoint
    try:
        return factory(**keywords)
    except (TypeError, ValueError) as error:
        # Options are data from a form: a wrong one is a mistake of the configuration, not of the code.
        raise EndpointError(f"The options of the backend '{name}' are not right: {error}.") from error


def endpoint_identity(name: str, *, endpoint: str = "", options: Mapping[str, Any] | None = None) -> str:
    """Return what `Backend.identity` of such a backend is, without building it.

    It names the backend, the endpoint and the options that can change an answer.
    """
    info = BACKENDS.get(name)
    is_somewhere = info is None or info.needs_endpoint or info.takes_endpoint
    where = endpoint.rstrip("/") if is_somewhere else ""
    relevant = answering_options(options or {})
    tail = json.dumps(relevant, sort_keys=True, separators=(",", ":")) if relevant else ""
    return f"{name}|{where}|{tail}"


def _load(info: BackendInfo) -> Callable[..., Backend]:
    module, _, attribute = info.target.partition(":")
    try:
        return cast("Callable[..., Backend]", getattr(import_module(module), attribute))
    except ImportError as error:
        missing = error.name or str(error)
        raise BackendUnavailableError.missing(missing, backend=info.name, extra=info.extra) from error

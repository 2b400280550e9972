"""One judge at work in this process: its models, what it may spend, and the loop that drives it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from annotation.domain.images import ImageReader
from judges.backends.base import Backend
from judges.backends.registry import backend_info, create_backend
from judges.backends.settings import KEY_VARIABLES
from judges.engine.core import Engine
from judges.engine.meters import Meter, Pace
from judges.engine.options import EngineOptions
from judges.engine.works import ActiveRun, Route, Sink, Transport
from judges.standalone.requests import MemoryStore
from judges.strategies.model_ref import ModelRef
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import ItemView

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
BackendMaker = Callable[[ModelRef], Backend]


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """How a judge's models are reached: what is no part of what they answer.

    Attributes
    ----------
    api_key_env : str
        Name of the environment variable that holds the key. It is never taken from a judge's file, whose author could
        have any variable sent to themselves.
    concurrency : int
        Requests in flight.
    price_prompt, price_completion : float
        US dollars per million tokens.
    images : callable, optional
        The stored images that items show, by digest; None: the models take none.
    """

    api_key_env: str = ""
    concurrency: int = 16
    timeout: float = 120.0
    price_prompt: float = 0.0
    price_completion: float = 0.0
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    images: ImageReader | None = None

    @property
    def is_priced(self) -> bool:
        return bool(self.price_prompt or self.price_completion)

    def backend_of(self, model: ModelRef) -> Backend:
        """Build what asks a model; raises EndpointError."""
        info = backend_info(model.backend)
        options: dict[str, Any] = dict(model.backend_options) | {
            "capacity": self.concurrency,
            "timeout": self.timeout,
            "price_prompt": self.price_prompt,
            "price_completion": self.price_completion,
        }
        options.pop("api_key_env", None)
        if not (info.needs_endpoint or info.takes_endpoint) and model.backend != "instant":
            options |= {"model": model.model, "revision": model.revision}
        elif model.backend == "instant":
            options = {
                name: value for name, value in model.backend_options.items() if name in ("respond", "name")
            }
        else:
            options |= {"is_local": urlsplit(model.endpoint).hostname in _HERE}
            if self.api_key_env:
                # Who names a variable on the command line or in a call is who operates this process.
                listed = os.environ.get(KEY_VARIABLES, "")
                if self.api_key_env not in listed.split(","):
                    os.environ[KEY_VARIABLES] = ",".join(filter(None, (listed, self.api_key_env)))
                options["api_key_env"] = self.api_key_env
        if info.takes_images and self.images is not None:
            options["images"] = self.images
        return create_backend(model.backend, endpoint=model.endpoint, options=options)


def spec_at(spec: JudgeSpec, *, base_url: str = "", model: str = "", revision: str = "") -> JudgeSpec:
    """Return a judge that asks at another address, or another model; it is another judge.

    Raises
    ------
    SpecError
    """
    changes: dict[str, Any] = {}
    if spec.model:
        changes = {
            name: value
            for name, value in (("endpoint", base_url), ("model", model), ("revision", revision))
            if value
        }
    if base_url:
        changes["roles"] = {role: replace(each, endpoint=base_url) for role, each in spec.roles.items()}
        changes["members"] = {key: spec_at(member, base_url=base_url) for key, member in spec.members.items()}
    return replace(spec, **changes) if changes else spec


class JudgeSession:
    """A judge, its backends, and the engine that drives it over items.

    Parameters
    ----------
    source : iterator of ItemView
        Presented items; read as there is room.
    backends : callable, optional
        Builds the backend of a model in place of the configured one.

    Raises
    ------
    BackendError
        A model cannot be asked; the message says why.
    """

    def __init__(
        self,
        spec: JudgeSpec,
        *,
        store: MemoryStore,
        sink: Sink,
        source: Iterator[ItemView],
        access: ModelAccess = ModelAccess(),
        budget: float | None = None,
        budget_tokens: int | None = None,
        stop_unparsed: float | None = None,
        options: EngineOptions | None = None,
        backends: BackendMaker | None = None,
    ) -> None:
        self.options = options or EngineOptions()
        self.store = store
        self.engine = Engine(owner="here", options=self.options, store=store)
        self._transports: dict[str, Transport] = {}
        try:
            routes = {
                role: Route(
                    self._transport(model, access, backends or access.backend_of),
                    model.model,
                    model.revision,
                    model.decoding,
                )
                for role, model in spec.models().items()
            }
        except BaseException:
            self.close()
            raise
        self.meters = tuple(
            Meter(0, is_money, float(limit))
            for is_money, limit in ((True, budget), (False, budget_tokens))
            if limit is not None
        )
        for meter in self.meters:
            spent = float(store.spent()[0 if meter.is_money else 1])
            meter.reserved(max(meter.limit - spent, 0.0), limit=meter.limit, spent=spent, others=0.0)
        self.run = ActiveRun(
            run_id=0,
            sweep_id=0,
            judge_id=0,
            dataset_id=0,
            begin=build_strategy(spec),
            source=source,
            sink=sink,
            routes=routes,
            transport=next((route.transport for route in routes.values()), None),
            meters=self.meters if routes else (),
            stop_unparsed=stop_unparsed,
        )
        self.engine.add(self.run)

    def _transport(self, model: ModelRef, access: ModelAccess, backends: BackendMaker) -> Transport:
        info = backend_info(model.backend)
        own = [] if info.needs_endpoint or info.takes_endpoint else [model.model, model.revision]
        key = json.dumps([model.backend, model.endpoint, dict(model.backend_options), own], sort_keys=True)
        if key not in self._transports:
            self._transports[key] = Transport(
                name=model.endpoint or model.backend,
                backend=backends(model),
                options=self.options,
                is_priced=access.is_priced,
                pace=Pace(requests=access.requests_per_minute, tokens=access.tokens_per_minute)
                if access.requests_per_minute or access.tokens_per_minute
                else None,
                price=lambda _model: (access.price_prompt, access.price_completion),
            )
        return self._transports[key]

    def judge_all(self, *, on_step: Callable[[], None] = lambda: None) -> str:
        """Judge all that the source has; returns why it stopped before the end, empty if it did not."""
        while not self.engine.over():
            self.engine.step(longest_wait=0.1)
            on_step()
            for _, message, _ in self.engine.troubles:
                self.stop(message)
            self.engine.troubles = []
            if not self.run.stopping and (
                message := self._spent() or self.run.unreadable(self.options.unreadable_after)
            ):
                self.stop(message)
        return self.run.error

    def _spent(self) -> str:
        """Say that a budget is reached, once nothing is under way that could turn out cheaper."""
        for transport in self._transports.values():
            if (request := transport.closed) is None:
                continue
            meter = transport.shut(request)
            if meter is not None and meter.n_sent == 0:
                cost, tokens = transport.typical(request.wire)
                return meter.message(request.asked, cost if meter.is_money else tokens)
        return ""

    def stop(self, reason: str) -> None:
        """Start nothing more; what is under way may still arrive."""
        self.engine.stop_run(self.run, error=reason, grace=self.options.cancel_grace)

    @property
    def n_under_way(self) -> int:
        """Requests that are with their models."""
        return self.run.n_sent

    def close(self) -> None:
        """End the threads of all backends."""
        self.engine.release_all()
        for transport in self._transports.values():
            transport.close()

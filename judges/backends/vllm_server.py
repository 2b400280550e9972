"""``vllm serve``, started and ended by the worker, and asked by the OpenAI protocol."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from annotation.domain.images import ImageReader
from judges.backends.base import Outcome
from judges.backends.errors import EndpointError, TransientBackendError
from judges.backends.model_files import check_model, local_path
from judges.backends.openai import OpenAIBackend
from judges.backends.registry import endpoint_identity
from judges.backends.server_process import COMMAND_VARIABLE, ServerProcess, vllm_command
from judges.backends.vllm_options import VLLMOptions
from judges.backends.warm import WARM
from judges.backends.wire import WireRequest

MAX_DEATHS = 3
"""Deaths of the server without an answer in between, after which it is given up."""


class VLLMServerBackend:
    """Ask a model that a vLLM server of this worker serves.

    The server is started in a session of its own when it is first needed, stays warm between sessions, is started again
    if it dies, and ends with the worker. Everything that is asked goes through `OpenAIBackend`.

    Parameters
    ----------
    model, revision : str
    capacity, timeout, structured, price_prompt, price_completion, prices, extra_body, images
        As of `OpenAIBackend`.
    startup_timeout : float
        Seconds until the server has to be ready; a large model takes minutes to load.
    **options
        See `VLLMOptions`.

    Raises
    ------
    EndpointError
        An option cannot be right, or the model is not there. `BackendUnavailableError` if vLLM is not installed.
    """

    is_local = True

    def __init__(
        self,
        *,
        model: str,
        revision: str = "",
        capacity: int = 64,
        timeout: float = 600.0,
        structured: str = "vllm",
        price_prompt: float = 0.0,
        price_completion: float = 0.0,
        prices: Mapping[str, tuple[float, float]] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        images: ImageReader | None = None,
        startup_timeout: float = 1800.0,
        **options: Any,
    ) -> None:
        settings = VLLMOptions.taken_from(options)
        if not os.environ.get(COMMAND_VARIABLE):
            from judges.backends.model_files import require_package

            require_package("vllm", backend="vllm_server", extra="vllm")
        check_model(model, revision)
        if not isinstance(startup_timeout, int | float) or not startup_timeout > 0:
            raise EndpointError(f"startup_timeout: expected seconds above 0, found {startup_timeout!r}.")
        self.capacity = capacity
        extra = dict(extra_body or {})
        answering = settings.to_dict() | {"structured": structured, "extra_body": extra}
        self.identity = endpoint_identity("vllm_server", options=answering)
        if settings.chat_template_kwargs:
            extra.setdefault("chat_template_kwargs", dict(settings.chat_template_kwargs))
        self._client_options: dict[str, Any] = {
            "capacity": capacity,
            "timeout": timeout,
            "structured": structured,
            "price_prompt": price_prompt,
            "price_completion": price_completion,
            "prices": prices,
            "extra_body": extra,
            "is_local": True,
            "thinking_form": "vllm",
            "images": images,
        }
        self._key = f"vllm_server|{model}|{revision}|{sorted(settings.to_dict().items(), key=str)}"
        self._server = WARM.lease(
            self._key, lambda: _server(model, revision, settings, float(startup_timeout))
        )
        self._client: OpenAIBackend | None = None
        self._waiting: list[tuple[int, WireRequest]] = []
        self._sent: set[int] = set()
        self._finished: list[Outcome] = []
        self._failure: EndpointError | None = None
        self._ready = threading.Event()
        self._deaths = 0
        self._closed = False
        self._start()

    def submit(self, token: int, request: WireRequest) -> None:
        """Send a request, or keep it until the server is ready; returns at once."""
        if self._closed:
            raise RuntimeError("the backend is closed")
        if self._client is not None:
            self._sent.add(token)
            self._client.submit(token, request)
        else:
            self._waiting.append((token, request))

    def drain(self, timeout: float) -> list[Outcome]:
        """Return what has finished, waiting up to `timeout` seconds for the first."""
        if not (self._waiting or self._sent or self._finished):
            return []
        started = time.monotonic()
        if self._client is None:
            if not self._finished:
                self._ready.wait(timeout)
            self._take_up()
        if self._client is not None and not self._finished:
            left = max(timeout - (time.monotonic() - started), 0.0)
            self._receive(self._client.drain(left))
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """Cancel what is in flight and give the server back; it stays warm."""
        if self._closed:
            return
        self._closed = True
        if self._client is not None:
            self._client.close()
        self._waiting, self._finished = [], []
        self._sent.clear()
        WARM.release(self._key)

    def _receive(self, outcomes: list[Outcome]) -> None:
        self._sent.difference_update(token for token, _ in outcomes)
        self._finished += outcomes
        if any(not isinstance(outcome, Exception) for _, outcome in outcomes):
            self._deaths = 0
        if not self._server.is_running():
            self._restart()

    def _restart(self) -> None:
        """Whatever the dead server had is to be asked again, and waits for the next one."""
        why = f"The server of '{self._server.name}' ended: {self._server.last_lines()}"
        assert self._client is not None
        self._client.close()
        self._client = None
        self._deaths += 1
        lost = TransientBackendError(why)
        self._finished += [(token, lost) for token in self._sent]
        self._sent.clear()
        if self._deaths >= MAX_DEATHS:
            self._failure = EndpointError(f"{why} It was started {MAX_DEATHS} times.")
            self._deaths = 0
            self._ready.set()
        else:
            self._start()

    def _start(self) -> None:
        self._failure = None
        self._ready.clear()
        threading.Thread(target=self._await_server, name="vllm-server-start", daemon=True).start()

    def _await_server(self) -> None:
        try:
            self._server.start()
        except EndpointError as error:
            self._failure = error
        except Exception as error:
            self._failure = EndpointError(f"The server of '{self._server.name}' cannot be started: {error}")
        self._ready.set()

    def _take_up(self) -> None:
        """With the server ready, send what waited for it; if it cannot be started, say so to all of them."""
        if not self._ready.is_set():
            return
        if self._failure is not None:
            failure = self._failure
            self._finished += [(token, failure) for token, _ in self._waiting]
            self._waiting = []
            # Asked again, it is tried again.
            self._start()
            return
        self._client = self._connect()
        waiting, self._waiting = self._waiting, []
        for token, request in waiting:
            self.submit(token, request)

    def _connect(self) -> OpenAIBackend:
        client = OpenAIBackend(base_url=self._server.url, **self._client_options)
        client.use_key(self._server.key)
        return client


def _server(model: str, revision: str, options: VLLMOptions, startup_timeout: float) -> ServerProcess:
    folder = local_path(model)

    def command(port: int) -> list[str]:
        arguments = [
            *vllm_command(str(folder or model)),
            *("--served-model-name", model, "--host", "127.0.0.1", "--port", str(port)),
            # What is said in the log is kept in memory until it is needed: prompts and accesses are not.
            "--disable-uvicorn-access-log",
            *options.server_arguments(),
        ]
        if revision:
            arguments += ["--revision", revision]
        if options.pooling:
            arguments += ["--pooler-config", f'{{"seq_pooling_type": "{options.pooling.upper()}"}}']
        return arguments

    wanted = options.environment() | {"VLLM_CPU_KVCACHE_SPACE": str(options.cpu_kv_cache_gib)}
    # The server has no connections that a fork could share, and a fork starts sooner.
    del wanted["VLLM_WORKER_MULTIPROC_METHOD"]
    environment = {name: value for name, value in wanted.items() if name not in os.environ}
    return ServerProcess(
        name=model, command=command, environment=environment, startup_timeout=startup_timeout
    )

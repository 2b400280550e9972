"""What the backends have in common whose model runs in the worker itself.

A `ModelHost` is a loaded model and the one thread that owns it: it loads the model there, takes requests from its
inbox, and puts each outcome into the mailbox that the request came with. A `LocalBackend` is one session's way to a
host. Hosts outlive sessions (see `judges.backends.warm`), so that a model is loaded once.

Loading takes minutes, so it never happens in the caller's thread: requests wait, and if the model turns out to be
missing or broken, that is each one's outcome.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from judges.backends.answerers import returned
from judges.backends.base import Mailbox, Outcome
from judges.backends.errors import (
    BackendError,
    EndpointError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.images import shows_images
from judges.backends.registry import endpoint_identity
from judges.backends.settings import PriceTable, check_limits
from judges.backends.warm import WARM
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

logger = logging.getLogger(__name__)

SHORT = 300
"""Characters of another library's message that are shown."""


@dataclass(slots=True, eq=False)
class Job:
    """A request with its way back.

    `prepared` is what its host made of it ahead of time, `answerer` who answers, as fields of an `Answer`.
    """

    token: int
    request: WireRequest
    mailbox: Mailbox
    prices: tuple[float, float] = (0.0, 0.0)
    submitted: float = field(default_factory=time.perf_counter)
    finished: bool = False
    prepared: Any = None
    answerer: Mapping[str, Any] = field(default_factory=dict)

    def finish(self, outcome: Answer | BackendError) -> None:
        """Send the outcome back; only the first one counts."""
        if isinstance(outcome, Answer) and self.answerer:
            outcome = replace(outcome, **self.answerer)
        if not self.finished and not self.mailbox.closed:
            self.mailbox.put(self.token, outcome)
        self.finished = True

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return what so many tokens cost."""
        return prompt_tokens * self.prices[0] + completion_tokens * self.prices[1]

    def elapsed_ms(self) -> float:
        """Return the milliseconds since it was submitted."""
        return (time.perf_counter() - self.submitted) * 1000.0


class ModelHost:
    """A model, and the thread that loads and uses it.

    Subclasses write `load`, `work` and `unload`, which all run in that thread and nowhere else.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._stopping = False
        self._answerer: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._run, name=f"model {name}"[:60], daemon=True)
        self._thread.start()

    # --- for other threads --------------------------------------------------------------------------------

    def put(self, job: Job) -> None:
        """Hand in a request."""
        self._inbox.put(job)

    def is_alive(self) -> bool:
        """Whether it takes requests."""
        return self._thread.is_alive() and not self._stopping

    def shutdown(self, timeout: float = 60.0) -> None:
        """Unload the model and end the thread. What is in flight is dropped."""
        self._stopping = True
        self._inbox.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    # --- for subclasses -----------------------------------------------------------------------------------

    def load(self) -> None:
        """Load the model; raises EndpointError if that cannot work."""
        raise NotImplementedError

    def answers_as(self) -> Mapping[str, Any]:
        """Return the loaded model's "model", its name and revision, and "system_fingerprint", a hash of its files."""
        return {}

    def work(self, jobs: list[Job]) -> bool:
        """Take in new requests (their mailboxes are open) and do a piece of work; True if some is left to do."""
        raise NotImplementedError

    def unload(self) -> None:
        """Free what the model holds. Called once for each `load`, also for one that failed."""
        raise NotImplementedError

    def open_jobs(self) -> Iterable[Job]:
        """Return the requests that were taken in and have no outcome yet."""
        raise NotImplementedError

    # --- the thread ---------------------------------------------------------------------------------------

    def _run(self) -> None:
        loaded = busy = False
        while not self._stopping:
            jobs = self._received(wait=not busy)
            if self._stopping or not (jobs or busy):
                continue
            if not loaded:
                # A model that could not be loaded is tried again when it is asked again: the folder may have come.
                error = self._loaded()
                if error is not None:
                    for job in jobs:
                        job.finish(error)
                    continue
                loaded = True
            for job in jobs:
                job.answerer = self._answerer
            try:
                busy = self.work(jobs)
            except Exception as error:
                logger.exception("The model %s failed", self.name)
                self._fail([*jobs, *self.open_jobs()], error)
                # What state it is in nobody knows: the next request starts from a fresh one.
                self._unloaded()
                loaded = busy = False
        self._unloaded()

    def _received(self, *, wait: bool) -> list[Job]:
        jobs: list[Job] = []
        try:
            job = self._inbox.get(block=wait)
            while True:
                if job is not None and not job.mailbox.closed:
                    jobs.append(job)
                job = self._inbox.get_nowait()
        except queue.Empty:
            return jobs

    def _loaded(self) -> EndpointError | None:
        try:
            self.load()
            self._answerer = returned(self.answers_as())
        except EndpointError as error:
            failure = error
        except Exception as error:
            logger.exception("The model %s cannot be loaded", self.name)
            failure = EndpointError(f"The model '{self.name}' cannot be loaded: {error_line(error)}")
        else:
            return None
        self._unloaded()
        return failure

    def _fail(self, jobs: Iterable[Job], error: Exception) -> None:
        # A status tells "it speaks, and fails on this" from "it cannot be reached", so that a request which brings a
        # model down again and again is found out.
        outcome = TransientBackendError(f"The model '{self.name}' failed: {error_line(error)}", status=500)
        for job in jobs:
            job.finish(outcome)

    def _unloaded(self) -> None:
        try:
            self.unload()
        except Exception:
            logger.exception("The model %s cannot be unloaded", self.name)


class LocalBackend:
    """One session's way to a model in this process.

    Parameters
    ----------
    name : str
        The backend's registered name.
    model, revision : str
    capacity : int
        Requests in flight that keep the model busy, >= 1.
    options : mapping
        All that can change an answer, and more; goes into `identity`.
    build : callable
        Makes the host, if none is warm.
    price_prompt, price_completion, prices
        As of every backend: per million tokens, >= 0.
    """

    is_local = True

    def __init__(
        self,
        *,
        name: str,
        model: str,
        revision: str,
        capacity: int,
        options: Mapping[str, Any],
        build: Callable[[], ModelHost],
        price_prompt: float = 0.0,
        price_completion: float = 0.0,
        prices: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        check_limits(capacity)
        self.identity = endpoint_identity(name, options=options)
        self.capacity = capacity
        self._model = model
        self._prices = PriceTable(price_prompt, price_completion, prices).of(model)
        self._mailbox = Mailbox()
        # Harmless options make another host too: memory or the device may be what is wrong with the one that is warm.
        self._key = f"{name}|{model}|{revision}|{sorted(options.items(), key=str)}"
        self._build = build
        self._host = WARM.lease(self._key, build)

    def submit(self, token: int, request: WireRequest) -> None:
        """Hand a request to the model's thread; returns at once."""
        if self._mailbox.closed:
            raise RuntimeError("the backend is closed")
        self._mailbox.expect()
        job = Job(token, request, self._mailbox, self._prices)
        if request.model != self._model:
            job.finish(
                PermanentBackendError(f"This engine serves the model '{self._model}', not '{request.model}'.")
            )
        elif shows_images(request):
            job.finish(
                PermanentBackendError(
                    f"The request shows images, and the engine of '{self._model}' in this process is sent texts alone: "
                    "ask the model through a server."
                )
            )
        elif not self._host.is_alive():
            job.finish(EndpointError(f"The model '{self._model}' was shut down in this process."))
        else:
            self._host.put(job)

    def drain(self, timeout: float) -> list[Outcome]:
        """Return what has finished, waiting up to `timeout` seconds for the first."""
        return self._mailbox.drain(timeout)

    def close(self) -> None:
        """Give the model back; it stays warm. What is in flight is dropped."""
        if self._mailbox.closed:
            return
        self._mailbox.close()
        WARM.release(self._key)


def error_line(error: BaseException) -> str:
    """Return another library's message on one line, with the kind of error, and not more of it than helps."""
    text = " ".join(str(error).split())
    text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"

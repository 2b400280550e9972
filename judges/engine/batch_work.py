"""What is done for open batches: submitted, looked at, read, cancelled; a step at a time, by any worker.

A step may be killed anywhere. `SUBMITTING` stands in the database before the vendor is asked to make a batch, so one
without the vendor's id is looked for there first. Answers are stored with the run's counters in one transaction, and
only those that are not stored yet: a file of results that is read twice counts once.
"""

import logging
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import IO, Any, TypeVar

from django.db import close_old_connections, connections, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from judges.backends.batch_servers import batch_server
from judges.backends.batches import BatchServer, lines_of
from judges.backends.errors import (
    BackendError,
    EndpointError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.wire import WireRequest
from judges.engine import store
from judges.engine.batches import RESERVED, batch_end
from judges.engine.codec import answer_to_json, storable_answer
from judges.engine.leases import sweeps_settle
from judges.models import (
    BatchState,
    BudgetReservation,
    ModelRequest,
    RequestBatch,
    RequestState,
    RunRange,
    SweepState,
)
from judges.selectors.requests import requests_asked
from judges.services.endpoints import backend_for
from judges.services.sweep_states import ACTIVE
from judges.services.waking import wakeups_send
from judges.strategies.model_ref import ModelRef
from judges.strategies.types import Answer

_Each = TypeVar("_Each")
logger = logging.getLogger(__name__)

CHUNK = 200
"""Results in one transaction, and requests that are read at a time."""


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """Times in seconds.

    Attributes
    ----------
    look : float
        Between two looks at a batch.
    settle : float
        How long a batch that may have been submitted is looked for before it is submitted again: a vendor's list may
        be behind.
    lease, heartbeat : float
        How long a step holds a batch without a sign of life, and how often one is given.
    backoff, backoff_max : float
        Wait after a first failure, doubled after each further one, and its limit.
    """

    look: float = 60.0
    settle: float = 90.0
    lease: float = 60.0
    heartbeat: float = 10.0
    backoff: float = 30.0
    backoff_max: float = 900.0


TIMES = BatchTimes()


def batches_due() -> QuerySet[RequestBatch]:
    """Return the open batches for which there is something to do now."""
    now = timezone.now()
    cancelled = Q(run__sweep__state=SweepState.CANCELLED, is_cancelling=False, failures=0)
    return RequestBatch.objects.filter(
        Q(owner="") | Q(lease_until__lt=now), Q(look_at__lte=now) | cancelled, ended_at=None
    )


def batches_work(stop: Callable[[], bool] = lambda: False, *, times: BatchTimes = TIMES) -> int:
    """Do a step for each batch that is due; returns how many steps were done."""
    owner, n = uuid.uuid4().hex[:16], 0
    done: set[str] = set()
    while not stop():
        batch = _claim(owner, done, times)
        if batch is None:
            break
        done.add(batch.key)
        with _Heartbeat(batch, owner, times):
            ended = _step(batch, times)
        RequestBatch.objects.filter(pk=batch.pk, owner=owner).update(owner="", lease_until=None)
        if ended:
            sweeps_settle()
            wakeups_send([batch.run.queue] if batch.run.queue else ())
        n += 1
    return n


def _claim(owner: str, done: set[str], times: BatchTimes) -> RequestBatch | None:
    rows = batches_due().exclude(key__in=done)
    if not rows.exists():  # without the write lock that a transaction takes on SQLite
        return None
    with transaction.atomic():
        row = rows.select_for_update(skip_locked=True, of=("self",)).order_by("look_at").first()
        if row is None:
            return None
        until = timezone.now() + timedelta(seconds=times.lease)
        RequestBatch.objects.filter(pk=row.pk).update(owner=owner, lease_until=until)
    return RequestBatch.objects.select_related("run__sweep", "endpoint").get(pk=row.pk)


def _step(batch: RequestBatch, times: BatchTimes) -> bool:
    """Do what is due for a batch; True if that was its end."""
    try:
        backend = backend_for(endpoint=batch.endpoint, model=ModelRef.from_dict(batch.asked))
    except (BackendError, ValueError) as error:
        _failed(batch, str(error), times)
        return False
    server = None
    try:
        server = batch_server(backend)
        return _Step(batch, server, times).do()
    except BackendError as error:
        _failed(batch, str(error), times)
        return False
    finally:
        (server or backend).close()


def _failed(batch: RequestBatch, error: str, times: BatchTimes) -> None:
    """Try again later: what the vendor has is never given up for a failure to ask about it."""
    pause = min(times.backoff * 2.0 ** min(batch.failures, 20), times.backoff_max)
    RequestBatch.objects.filter(pk=batch.pk).update(
        failures=F("failures") + 1,
        error=error[:2000],
        look_at=timezone.now() + timedelta(seconds=pause),
    )


class _Step:
    """One step of one batch."""

    def __init__(self, batch: RequestBatch, server: BatchServer, times: BatchTimes) -> None:
        self.batch, self.server, self.times = batch, server, times

    def do(self) -> bool:
        batch = self.batch
        if self._is_unwanted():
            if batch.state == BatchState.PREPARED:
                batch_end(batch, errors={}, was_sent=False)
                return True
            if batch.state == BatchState.SUBMITTED and not batch.is_cancelling:
                self.server.cancel(batch.remote)
                self._save(is_cancelling=True)
        if batch.state in (BatchState.PREPARED, BatchState.SUBMITTING):
            return self._submit()
        if batch.state == BatchState.SUBMITTED and not self._is_over():
            return False
        return batch.ended_at is not None or self._read()

    def _is_unwanted(self) -> bool:
        """Whether its sweep was cancelled, and no other sweep waits for it. A paused one may be resumed."""
        others = RunRange.objects.filter(batches=self.batch, run__sweep__state__in=ACTIVE)
        return self.batch.run.sweep.state == SweepState.CANCELLED and not others.exists()

    def _save(self, *, soon: bool = False, **fields: Any) -> None:
        """Write what has changed; the next look is due after a while, or at once."""
        now = timezone.now()
        fields |= {"failures": 0, "look_at": now + timedelta(seconds=0.0 if soon else self.times.look)}
        for name, value in fields.items():
            setattr(self.batch, name, value)
        RequestBatch.objects.filter(pk=self.batch.pk).update(**fields)
        BudgetReservation.objects.filter(owner=self.batch.key).update(lease_until=now + RESERVED)

    # --- submitting -----------------------------------------------------------------------------------------

    def _submit(self) -> bool:
        batch, was_tried = self.batch, self.batch.state == BatchState.SUBMITTING
        if was_tried and self._found():
            return False
        if was_tried and self._is_unwanted():
            batch_end(batch, errors={}, was_sent=False)
            return True
        with tempfile.TemporaryFile() as file:
            written = self.server.write(self._requests(), file)
            if written.refused:
                self._refuse(written.refused)
            if not written.n:
                batch_end(batch, errors={}, was_sent=False)
                return True
            first = batch.submitting_at or timezone.now()
            self._save(state=BatchState.SUBMITTING, submitting_at=first, n_requests=written.n, error="")
            try:
                remote = self.server.create(batch.key, file)
            except TransientBackendError:
                raise  # the vendor may have it: it is looked for before it is submitted again
            except (PermanentBackendError, EndpointError) as error:
                batch_end(batch, errors={}, was_sent=False, message=_stopped(batch, str(error)))
                return True
        self._save(state=BatchState.SUBMITTED, remote=remote, submitted_at=timezone.now())
        return False

    def _found(self) -> bool:
        """Find a batch that may have been submitted; True if it was, or if it is too early to tell."""
        batch = self.batch
        since = batch.submitting_at or batch.created_at
        known = set(RequestBatch.objects.exclude(remote="").values_list("remote", flat=True))
        found = self.server.find(
            batch.key, n=batch.n_requests, since=since, known=known | set(batch.rejected)
        )
        if found:
            # Anthropic's batches have no place for our key: only the results tell.
            certain = batch.endpoint.kind == "openai"
            self._save(
                soon=True,
                state=BatchState.SUBMITTED,
                remote=found[0],
                is_certain=certain,
                submitted_at=since,
            )
            return True
        early = since + timedelta(seconds=self.times.settle) - timezone.now()
        if early > timedelta(0):
            self._save(look_at=timezone.now() + early)
            return True
        return False

    def _requests(self) -> Iterator[tuple[str, WireRequest]]:
        """Yield what the batch is to ask, by hash."""
        left = ModelRequest.objects.filter(owner=self.batch.key, state=RequestState.CLAIMED)
        for chunk in _chunks(left.order_by("hash").values_list("hash", flat=True)):
            rows = ModelRequest.objects.filter(hash__in=chunk).select_related("form")
            yield from sorted(requests_asked(rows).items())

    def _refuse(self, refused: Mapping[str, str]) -> None:
        """Store the failure of requests that cannot be sent."""
        with transaction.atomic():
            store.refusals_save([(key, error, 0) for key, error in refused.items()])

    # --- waiting and reading --------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        batch = self.batch
        try:
            report = self.server.look(batch.remote)
        except EndpointError as error:
            if error.status not in (404, 410):
                raise
            # The vendor does not know it any more: its answers are lost, and are asked for again.
            self._end_with(f"the vendor has no batch {batch.remote}: {error}")
            return True
        counts: dict[str, Any] = {"n_done": report.n_done, "n_failed": report.n_failed}
        if report.refused:
            self._save(**counts)
            self._end_with(f"the vendor refused the batch: {report.refused}")
            return True
        if report.is_over:
            self._save(soon=True, state=BatchState.READING, error="", **counts)
            return True
        self._save(error="", **counts)
        return False

    def _end_with(self, why: str) -> None:
        batch_end(self.batch, errors={}, was_sent=False, message=_stopped(self.batch, why))
        self.batch.ended_at = timezone.now()

    def _read(self) -> bool:
        batch, errors = self.batch, dict[str, str]()
        of_endpoint = ""
        with tempfile.TemporaryFile() as file:
            self.server.fetch(batch.remote, file)
            file.seek(0)
            if not batch.is_certain and not self._is_ours(file):
                rejected = [*batch.rejected, batch.remote]
                self._save(
                    soon=True,
                    state=BatchState.SUBMITTING,
                    remote="",
                    is_certain=True,
                    rejected=rejected,
                    submitted_at=None,
                )
                return False
            # A server that sends more lines than it was asked for is not read to the end.
            lines = islice(lines_of(file), 2 * batch.n_requests)
            for chunk in _chunks(lines):
                of_endpoint = self._store(dict(chunk), errors) or of_endpoint
        batch_end(
            batch,
            errors=errors,
            was_sent=not batch.is_cancelling,
            message=_stopped(batch, of_endpoint) if of_endpoint else "",
        )
        return True

    def _is_ours(self, file: IO[bytes]) -> bool:
        keys = [key for key, _ in islice(lines_of(file), CHUNK)]
        file.seek(0)
        return ModelRequest.objects.filter(hash__in=keys, owner=self.batch.key).exists()

    def _store(self, lines: Mapping[str, Any], errors: dict[str, str]) -> str:
        """Store the answers and lasting failures of some lines; returns an error that is the endpoint's."""
        key = self.batch.key
        rows = ModelRequest.objects.filter(hash__in=lines.keys(), owner=key, state=RequestState.CLAIMED)
        asked = requests_asked(rows.select_related("form"))
        answers: dict[str, Answer] = {}
        refused: dict[str, str] = {}
        of_endpoint = ""
        for each, request in asked.items():
            outcome = self.server.read(lines[each], request)
            if isinstance(outcome, Answer):
                answers[each] = storable_answer(outcome)
            else:
                errors[each] = str(outcome)
                if isinstance(outcome, EndpointError):
                    of_endpoint = str(outcome)
                elif isinstance(outcome, PermanentBackendError):
                    refused[each] = str(outcome)
        with transaction.atomic():
            # Only what is not stored yet is stored and counted, so that a second reader counts nothing twice.
            claimed = dict(rows.select_for_update().order_by("hash").values_list("hash", "attempts"))
            new = {each: answer for each, answer in answers.items() if each in claimed}
            store.answers_save(
                [(answer_to_json(answer), claimed[each] + 1, each) for each, answer in sorted(new.items())]
            )
            failed = [(each, error, claimed[each] + 1) for each, error in refused.items() if each in claimed]
            store.refusals_save(failed)
            tokens = sum(answer.prompt_tokens + answer.completion_tokens for answer in new.values())
            cost = sum(answer.cost for answer in new.values())
            n = len(new) + len(failed)
            if n:
                store.counts_add([(0, 0, 0, n, 0, tokens, cost, self.batch.run_id)])
                RequestBatch.objects.filter(pk=key).update(n_stored=F("n_stored") + len(new))
        return of_endpoint


def _chunks(rows: Iterable[_Each]) -> Iterator[list[_Each]]:
    every = iter(rows)
    while chunk := list(islice(every, CHUNK)):
        yield chunk


def _stopped(batch: RequestBatch, why: str) -> str:
    return (
        f"The batch at the endpoint '{batch.endpoint}' failed: {why.rstrip('.')}. Answers received so far are kept; "
        "resume the sweep when this is fixed."
    )


class _Heartbeat:
    """Keeps a batch while a step of it takes long, by a connection of its own."""

    def __init__(self, batch: RequestBatch, owner: str, times: BatchTimes) -> None:
        self._mine = RequestBatch.objects.filter(pk=batch.pk, owner=owner)
        self._times, self._over = times, threading.Event()
        self._thread = threading.Thread(target=self._beat, name="batch-heart", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._over.wait(self._times.heartbeat):
                try:
                    until = timezone.now() + timedelta(seconds=self._times.lease)
                    self._mine.update(lease_until=until)
                except Exception:
                    logger.warning("A batch could not be kept; trying again.", exc_info=True)
        finally:
            connections.close_all()


_thread: threading.Thread | None = None
_starting = threading.Lock()


def batches_start(stop: Callable[[], bool]) -> threading.Thread | None:
    """See to it that this process does what is due for batches: beside its other work, in one thread at most."""
    global _thread
    with _starting:
        if _thread is not None and _thread.is_alive():
            return _thread
        if stop() or not batches_due().exists():
            return None
        _thread = threading.Thread(target=partial(_work_alone, stop), name="batches", daemon=True)
        _thread.start()
        return _thread


def _work_alone(stop: Callable[[], bool]) -> None:
    close_old_connections()
    try:
        batches_work(stop)
    except Exception:
        logger.exception("Batches could not be worked on; the next wake-up tries again")
    finally:
        connections.close_all()


def batches_wait(sweep_id: int, *, stop: Callable[[], bool], on_tick: Callable[[], None]) -> bool:
    """Do what is due for the batches of a sweep until one of them has ended; False if it has none, or was stopped."""
    opened = RequestBatch.objects.filter(run__sweep=sweep_id, ended_at=None)
    at_first = opened.count()
    if not at_first:
        return False
    while not stop():
        batches_work(stop)
        on_tick()
        if opened.count() < at_first:
            return True
        time.sleep(0.5)
    return False

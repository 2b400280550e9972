"""Where the engine keeps requests, answers and results: what a store has to do, whatever it is made of.

The site's is its database, which many workers share (`judges.engine.database_store`); a judge that runs by itself
has one in memory or in a file (`judges.standalone.requests`).
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from judges.backends.wire import WireRequest
from judges.engine.works import ActiveRun, InFlightRequest, Row, Sink, Transport
from judges.strategies.types import Answer

CLAIMED, DONE, FAILED = "claimed", "done", "failed"


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request as it is kept now.

    Attributes
    ----------
    state : {"claimed", "done", "failed"}
    answer : Answer or None
        Only of a done request.
    batch : str
        The open batch that it is in; empty where it is in none.
    """

    hash: str
    state: str
    answer: Answer | None
    error: str
    owner: str
    attempts: int
    batch: str = ""


@dataclass(frozen=True, slots=True)
class BatchMade:
    """What became of requests that were to go into a batch.

    Attributes
    ----------
    key : str
        Of the batch; empty where there is none.
    held : frozenset of str
        Hashes of the requests that it has now.
    lost : frozenset of str
        Those that are not this worker's any more.
    is_over_budget : bool
        What is in neither was more than the budget allows now.
    waits : frozenset of str
        Open batches of the sweep, whose end may give some of the budget back.
    """

    key: str = ""
    held: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    is_over_budget: bool = False
    waits: frozenset[str] = frozenset()


class BatchMaker(Protocol):
    """Who puts claimed requests of a run, all to one model, into a batch, in one transaction."""

    def __call__(
        self, transport: Transport, run: ActiveRun, requests: Sequence[InFlightRequest]
    ) -> BatchMade: ...


Claim: TypeAlias = tuple[str, str, WireRequest, bytes]
"""A request to be claimed: its hash, the identity of the backend, what is asked, and of that `WireRequest.shown`."""
Answered: TypeAlias = tuple[str, int, Answer, WireRequest]
"""A request that was answered: its hash, how often it was sent, the answer, what was asked."""


class RequestStore(Protocol):
    """What the engine asks of a store. What is written inside `atomic` is kept whole or not at all."""

    def atomic(self) -> AbstractContextManager[object]:
        """Return the context of one transaction."""

    def claim(self, rows: Sequence[Claim], *, owner: str) -> int:
        """Keep the requests that nobody has as this worker's; returns how many those are."""

    def save_answers(self, rows: Sequence[Answered]) -> int:
        """Keep answers to claimed requests; returns how many were new."""

    def save_refusals(self, rows: Iterable[tuple[str, str, int]]) -> None:
        """Keep lasting failures: (hash, error, attempts) each."""

    def save_results(self, results: Sequence[tuple[Sink, Row]]) -> None:
        """Keep what became of works, and tell nobody before it is kept."""

    def save_counts(self, runs: Iterable[ActiveRun]) -> None:
        """Add to the runs' counters what has happened since the last time, and set it to nothing."""

    def look_up(self, hashes: Iterable[str]) -> Mapping[str, StoredRequest]:
        """Return what there is of these requests."""

    def take_over(self, hashes: Iterable[str], *, owner: str) -> None:
        """Claim requests whose worker gave no sign of life."""

    def release(self, hashes: Iterable[tuple[str, int]], *, owner: str) -> None:
        """Give up claims: (hash, attempts) each."""

"""How the engine behaves; the defaults are for production, tests make them quicker."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Times in seconds.

    Attributes
    ----------
    lease, heartbeat : float
        How long a claim holds without a sign of life, and how often one is given. After a kill, work goes on
        when the lease has run out.
    tick : float
        How often cancellation, budget and new runs are looked for.
    group_size : int
        Rows that make a group commit due at once.
    commit_gap : tuple of two floats
        Least and most time between two group commits while requests are in flight. Between them, ten times
        what the last commit took: a tenth of the time may go into commits, and no answer waits long.
    max_attempts : int
        Sends of one request, after which a transient error counts as lasting.
    backoff, backoff_max : float
        Wait after the first failure, doubled after each further one, and its limit. A random part of up to a
        half is taken off, so that requests that failed together do not return together.
    max_pauses : int
        How often one request, or an endpoint without an answer in between, may say to slow down (HTTP 429)
        before that counts as a failure.
    longest_pause : float
        A server that asks for a longer pause is taken to be out of service.
    down_after : int
        Requests that used up their attempts, with no answer in between, that mean the endpoint is down.
    refused_after : int
        Requests refused for good, with no answer at all to them and to those sent beside them, that mean the
        endpoint is not set up right.
    lookahead : int
        Claimed requests that wait, beyond an endpoint's capacity, so that a free place is filled at once. At
        least this many, and half of the capacity; as many as it where the backend sends them itself.
    unreadable_after : int
        Answers to a run after which it may stop because most of them cannot be read.
    cancel_grace, stop_grace : float
        How long answers in flight are waited for after a cancellation, and when the worker shuts down.
    range_items, range_items_in_worker : int
        Items of a run that are taken at a time, of a server's judge and of one whose model is in the worker: each
        worker answers by itself there, and more slowly.
    range_items_in_batches : int
        Items of a run that are taken at a time where requests are sent in batches.
    batch_requests, batch_bytes : int
        The most requests of one batch, and about the most bytes of them: less than the vendors take, since the works
        that wait for them are all in memory until the batch is stored.
    most_in_flight : int
        Requests that one worker has under way at one endpoint; more of them take more workers.
    poll : float
        How often the rows of requests that another worker sends are looked at.
    """

    lease: float = 20.0
    heartbeat: float = 5.0
    tick: float = 1.0
    group_size: int = 1_024
    commit_gap: tuple[float, float] = (0.002, 0.05)
    max_attempts: int = 6
    backoff: float = 0.5
    backoff_max: float = 30.0
    max_pauses: int = 30
    longest_pause: float = 300.0
    down_after: int = 3
    refused_after: int = 20
    lookahead: int = 8
    unreadable_after: int = 20
    cancel_grace: float = 30.0
    stop_grace: float = 4.0
    range_items: int = 2_500
    range_items_in_worker: int = 250
    range_items_in_batches: int = 10_000
    batch_requests: int = 20_000
    batch_bytes: int = 100_000_000
    most_in_flight: int = 1_024
    poll: float = 0.25

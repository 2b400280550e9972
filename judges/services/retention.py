"""Retention: what was asked and answered is deleted, what came of it stays."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from judges.models import ModelRequest, RequestBatch, RequestState, RequestText, TextBlock, Worker
from judges.selectors.requests import least_block_key

CHUNK = 5_000
"""Rows deleted in one transaction, so that workers never wait long."""


@dataclass(frozen=True, slots=True)
class Purged:
    """How many rows went."""

    requests: int = 0
    texts: int = 0
    blocks: int = 0


def requests_purge(*, before: datetime, say: Callable[[str], None] = lambda _: None) -> Purged:
    """Delete requests that ended before a moment, and the texts that no other request has.

    Judgments, generations, costs and counts stay. What is deleted is asked again if it is needed again, and the page of
    a judgment can't show it any more. Requests that a worker has under way stay; so may a text that a worker is just
    asking again, which nothing but that page reads.
    """
    ended = ModelRequest.objects.exclude(state=RequestState.CLAIMED).filter(finished_at__lt=before)
    requests = _deleted(ended, "hash", say)
    # A worker that was killed has its claims taken over by the next worker that needs them; no worker needs these.
    alive = Worker.objects.filter(name=OuterRef("owner"), lease_until__gte=timezone.now())
    in_batch = RequestBatch.objects.filter(key=OuterRef("owner"), ended_at=None)
    lost = ModelRequest.objects.filter(
        ~Exists(alive), ~Exists(in_batch), state=RequestState.CLAIMED, created_at__lt=before
    )
    requests += _deleted(lost, "hash", say)
    Worker.objects.filter(lease_until__lt=before).delete()
    old = least_block_key(before)
    texts = _deleted(_unused(RequestText.objects.filter(block__lt=old)), "digest", say)
    used = RequestText.objects.values("block")
    empty = TextBlock.objects.filter(pk__lt=old)
    empty = (
        empty.filter(~Exists(used.filter(block=OuterRef("pk"))))
        if connection.vendor == "postgresql"
        else empty.exclude(pk__in=used)
    )
    return Purged(requests, texts, _deleted(empty, "pk", say))


def _unused(texts: QuerySet[RequestText]) -> QuerySet[RequestText]:
    asking = ModelRequest.objects.filter(text__isnull=False)
    # What each database does in one pass over both tables, without an index that every request would write to.
    if connection.vendor == "postgresql":
        return texts.filter(~Exists(asking.filter(text=OuterRef("digest"))))
    return texts.exclude(digest__in=asking.values("text"))


def _deleted(rows: QuerySet, name: str, say: Callable[[str], None]) -> int:  # type: ignore[type-arg]
    keys = list(rows.order_by().values_list(name, flat=True))
    for start in range(0, len(keys), CHUNK):
        with transaction.atomic():
            rows.model._default_manager.filter(**{f"{name}__in": keys[start : start + CHUNK]})._raw_delete(
                "default"
            )
        say(
            f"{rows.model._meta.verbose_name_plural}: {min(start + CHUNK, len(keys)):,} of {len(keys):,} deleted"
        )
    return len(keys)

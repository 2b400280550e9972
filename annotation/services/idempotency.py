"""Writes that may be sent twice: the answer to the first is kept for a day, in the transaction of its effect."""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.domain.errors import AnnotationError
from annotation.models import ApiToken, IdempotentAnswer

KEPT = timedelta(days=1)
MOST_KEPT = 10_000
"""Answers of one token that are kept at once."""


class KeyReusedError(AnnotationError):
    """The key came with another request before."""


class TooManyKeysError(AnnotationError):
    """The token has as many answers kept as one may have."""


def answer_begin(
    *, token: ApiToken, key: str, request_hash: str, now: datetime | None = None
) -> IdempotentAnswer:
    """Take the key for a request, in the transaction in which its effect will be; or return what it was answered.

    A request with the same key that is at work elsewhere is waited for: the database has one row for a key. One that
    fails leaves none, as it leaves no effect.

    Raises
    ------
    KeyReusedError
        The key belongs to a request with another address or body.
    TooManyKeysError
        `MOST_KEPT` answers are kept.
    """
    oldest = (now or timezone.now()) - KEPT
    IdempotentAnswer.objects.filter(created_at__lt=oldest).delete()
    mine = IdempotentAnswer.objects.filter(token=token)
    found = mine.filter(key=key).first()
    if found is None:
        if mine.count() >= MOST_KEPT:
            raise TooManyKeysError
        try:
            with transaction.atomic():
                return IdempotentAnswer.objects.create(token=token, key=key, request_hash=request_hash)
        except IntegrityError:  # another one was faster, and has ended
            found = mine.get(key=key)
    if found.request_hash != request_hash:
        raise KeyReusedError
    return found


def answer_keep(*, answer: IdempotentAnswer, status: int, body: str) -> None:
    """Keep what the request was answered."""
    IdempotentAnswer.objects.filter(pk=answer.pk).update(status=status, body=body)

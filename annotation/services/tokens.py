"""Tokens of the API: made, used, revoked. What a token is, is shown once; a hash of it is stored."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from django.db.models import Q
from django.utils import timezone

from annotation.models import ApiToken, User

PREFIX = "tst_"
"""So that a token is recognised where it should not be, such as in a commit."""
SEEN_EVERY = timedelta(minutes=5)
"""How exactly it is noted when a token was last used: not a write for every request."""


def token_create(*, user: User, name: str, days: int | None = None) -> tuple[ApiToken, str]:
    """Make a token for a user; returns it and the secret, which nobody can see again.

    Parameters
    ----------
    days : int, optional
        After so many days it is worth nothing; None: it has no end.

    Raises
    ------
    ValueError
        `days` is not above 0.
    """
    if days is not None and days < 1:
        raise ValueError("days: expected at least 1.")
    secret = PREFIX + secrets.token_urlsafe(32)
    expires_at = None if days is None else timezone.now() + timedelta(days=days)
    token = ApiToken.objects.create(
        user=user,
        name=name.strip()[:100],
        prefix=secret[:12],
        digest=_digest(secret),
        expires_at=expires_at,
    )
    return token, secret


def token_use(*, secret: str, now: datetime | None = None) -> ApiToken | None:
    """Return the token of this secret, with its user; None if there is none, or either is no longer valid."""
    now = now or timezone.now()
    token = (
        ApiToken.objects.select_related("user")
        .filter(Q(expires_at=None) | Q(expires_at__gt=now), digest=_digest(secret), revoked_at=None)
        .first()
    )
    if token is None or not token.user.is_active:
        return None
    if token.last_used_at is None or now - token.last_used_at > SEEN_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def token_revoke(*, token: ApiToken) -> bool:
    """End a token at once; False if it was revoked before."""
    return bool(ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()))


def _digest(secret: str) -> str:
    # A plain hash is enough: unlike a password, the secret is 256 random bits.
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()

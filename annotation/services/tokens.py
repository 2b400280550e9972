"""Tokens of the API: made, used, revoked. What a token is, is shown once; a hash of it is stored."""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from annotation.domain.errors import AnnotationError
from annotation.models import TOKEN_SCOPES, ApiToken, User
from annotation.models.tokens import password_mark
from annotation.selectors.users import tokens_valid
from annotation.services.audit import audit

PREFIX = "tst_"
"""So that a token is recognized where it should not be, such as in a commit."""
SEEN_EVERY = timedelta(minutes=5)
"""How exactly it is noted when a token was last used: not a write for every request."""
DEFAULT_DAYS = 90
"""How long a token is valid unless something else is asked for."""


class TokenNameError(AnnotationError):
    """The user has a valid token of this name already."""


def token_create(
    *,
    user: User,
    name: str,
    days: int | None = DEFAULT_DAYS,
    scopes: Iterable[str] = TOKEN_SCOPES,
    once: bool = False,
) -> tuple[ApiToken, str]:
    """Make a token for a user; returns it and the secret, which nobody can see again.

    Parameters
    ----------
    days : int, optional
        After so many days it is worth nothing; None: it ends only with the user's password.
    scopes : iterable of str
        What it may be used for (`TOKEN_SCOPES`), within what the user may do.
    once : bool
        Refuse a second valid token of the same name, so that a form that is sent twice makes one.

    Raises
    ------
    ValueError
        `days` is not above 0, or there is no such scope.
    TokenNameError
        There is one, and `once` is asked for.
    """
    if days is not None and days < 1:
        raise ValueError("days: expected at least 1.")
    chosen = sorted(set(scopes))
    if unknown := [scope for scope in chosen if scope not in TOKEN_SCOPES]:
        raise ValueError(f"scopes: expected {', '.join(TOKEN_SCOPES)}, found {unknown[0]}.")
    name = name.strip()[:100]
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        # The row of the user is what two halves of a double click wait for.
        locked = User.objects.select_for_update().get(pk=user.pk)
        if once and tokens_valid(locked).filter(name=name).exists():
            raise TokenNameError
        token = ApiToken.objects.create(
            user=locked,
            name=name,
            prefix=secret[:12],
            digest=_digest(secret),
            scopes=chosen,
            password_mark=password_mark(locked.password),
            expires_at=None if days is None else timezone.now() + timedelta(days=days),
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
    if not constant_time_compare(token.password_mark, password_mark(token.user.password)):
        return None
    if token.last_used_at is None or now - token.last_used_at > SEEN_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def token_revoke(*, token: ApiToken) -> bool:
    """End a token at once; False if it was revoked before."""
    with transaction.atomic():
        ended = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
        if ended:
            audit("token.revoked", token)
    return bool(ended)


def _digest(secret: str) -> str:
    # A plain hash is enough: unlike a password, the secret is 256 random bits.
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()

"""Where a person is signed in: rows of `StaffSession` whose session still opens something."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from annotation.models import StaffSession, User

LAST_SEEN = "last_seen_at"
"""Key of a session: seconds since 1970."""


@dataclass(frozen=True)
class OpenSession:
    """A session as its owner sees it."""

    pk: int
    device: str
    network: str
    started_at: datetime
    last_seen_at: datetime | None
    is_this: bool


def session_store() -> Any:
    """Return the class of the engine that keeps the site's sessions."""
    return import_module(settings.SESSION_ENGINE).SessionStore


def session_contents(keys: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """What is stored under these keys of sessions; nothing of one that has ended.

    One query where sessions are rows; with another engine, one look for each.
    """
    store = session_store()
    if settings.SESSION_ENGINE.endswith((".db", ".cached_db")):
        rows = store.get_model_class().objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
        return {row.session_key: row.get_decoded() for row in rows}
    return {key: found for key in keys if (found := store(key).load())}


def is_open_for(user: User, content: Mapping[str, Any]) -> bool:
    """Whether a session is one in which this person is signed in, with the password and the role of now."""
    if str(content.get(SESSION_KEY)) != str(user.pk):
        return False
    return constant_time_compare(str(content.get(HASH_SESSION_KEY, "")), user.get_session_auth_hash())


def sessions_open(user: User, this: str | None = None) -> list[OpenSession]:
    """Return a person's sessions, the one with the key `this` first, then the latest used."""
    rows = list(StaffSession.objects.filter(user=user))
    contents = session_contents([row.session_key for row in rows])
    found = [
        OpenSession(
            pk=row.pk,
            device=row.device,
            network=row.network,
            started_at=row.started_at,
            last_seen_at=_moment(contents[row.session_key].get(LAST_SEEN)),
            is_this=row.session_key == this,
        )
        for row in rows
        if row.session_key in contents and is_open_for(user, contents[row.session_key])
    ]
    return sorted(found, key=lambda one: (one.is_this, one.last_seen_at or one.started_at), reverse=True)


def _moment(seconds: object) -> datetime | None:
    if not isinstance(seconds, int | float) or not math.isfinite(seconds):
        return None
    return datetime.fromtimestamp(seconds, UTC)

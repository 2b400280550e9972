"""Sessions of staff: noted when a person signs in, ended one by one or all at once."""

import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from annotation.models import StaffSession, User
from annotation.selectors.sessions import is_open_for, session_contents, session_store
from annotation.services.audit import audit, network_of
from web.devices import device_name
from web.throttling import client_address


def session_note(request: HttpRequest, user: User) -> StaffSession:
    """Remember that this browser is signed in now, and forget sessions that are over."""
    if not request.session.session_key:
        request.session.save()
    longest = timezone.now() - timedelta(hours=settings.STAFF_SESSION_HOURS)
    StaffSession.objects.filter(started_at__lt=longest).delete()
    _forget_ended(user)
    has_address = "REMOTE_ADDR" in request.META  # a session that a command begins has none
    return StaffSession.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={
            "user": user,
            "device": device_name(request.headers.get("User-Agent", ""))[:60],
            "network": network_of(client_address(request)) if has_address else "",
        },
    )[0]


def _forget_ended(user: User) -> None:
    rows = dict(StaffSession.objects.filter(user=user).values_list("session_key", "pk"))
    if rows:
        open_keys = {key for key, found in session_contents(rows).items() if is_open_for(user, found)}
        StaffSession.objects.filter(pk__in=[pk for key, pk in rows.items() if key not in open_keys]).delete()


def session_moved(old: str, new: str) -> None:
    """Keep the row of a session that got another key."""
    StaffSession.objects.filter(session_key=old).update(session_key=new)


def session_end(*, user: User, pk: int) -> StaffSession:
    """End one session of a person; raises `StaffSession.DoesNotExist` for one that isn't theirs."""
    with transaction.atomic():
        row = StaffSession.objects.select_for_update().get(pk=pk, user=user)
        row_was = {"device": row.device, "network": row.network}
        session_store()(row.session_key).delete()
        row.delete()
        audit("user.session ended", user, before=row_was)
    return row


def sessions_end(user: User, *, keep: HttpRequest | None = None) -> int:
    """End all sessions of a person, but the one of the request `keep`; returns how many the site knew.

    The person's mark changes, so that a session that isn't listed ends too.
    """
    this = None if keep is None else keep.session.session_key
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user.pk)
        user.session_mark = secrets.token_hex(16)
        user.save(update_fields=["session_mark"])
        others = StaffSession.objects.filter(user=user).exclude(session_key=this)
        keys = list(others.values_list("session_key", flat=True))
        n_open = len(session_contents(keys))
        for key in keys:
            session_store()(key).delete()
        others.delete()
        audit("user.sessions ended", user, after={"n_sessions": n_open, "kept_own": keep is not None})
    if keep is not None:
        old = keep.session.session_key
        update_session_auth_hash(keep, user)
        if old and keep.session.session_key:
            session_moved(old, keep.session.session_key)
    return n_open

"""Webhooks: registered by users, told of what has ended, tried again, disabled when nobody listens.

Nothing is told by the code in which something ends. Workers look at each wake-up what has ended and was not told yet:
a message that is lost, or a process that dies, loses no event. Each app says how its events are found
(`event_register`).
"""

import base64
import hashlib
import hmac
import json
import logging
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, close_old_connections, connections, transaction
from django.db.models import F, QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotation.domain.errors import AnnotationError
from annotation.models import Delivery, DeliveryAttempt, DeliveryState, User, Webhook
from annotation.services.audit import audit
from web.deleting import row_delete
from web.outgoing import OutgoingError, post_checked, url_check

logger = logging.getLogger(__name__)

MOST_WEBHOOKS = 20
"""Of one user."""
PAUSES = tuple(
    timedelta(seconds=seconds) for seconds in (5, 60, 300, 1800, 7200, 18_000, 36_000, 50_400, 86_400)
)
"""Before the second try, the third, ...; after the last the delivery has failed."""
LEASE = timedelta(seconds=60)
DISABLED_AFTER = timedelta(days=5)
"""Of failures without a success between them."""
PING = "webhook.test"


class WebhookRuleError(AnnotationError):
    """A webhook that cannot be registered like this; `field` names what is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field, self.message = field, message


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that ended: what it is about, and what is told of it."""

    subject: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventKind:
    """An event: its name, its words, and how those that a user may see are found, from a time on."""

    name: str
    label: str
    find: Callable[[User, datetime], Iterable[Happening]]


EVENTS: dict[str, EventKind] = {}


def event_register(name: str, label: str, find: Callable[[User, datetime], Iterable[Happening]]) -> None:
    """Make an event known."""
    EVENTS[name] = EventKind(name, label, find)


# --- registering ---------------------------------------------------------------------------------------------------


def webhooks_of(user: User) -> QuerySet[Webhook]:
    """A user's own; nobody sees those of others."""
    return Webhook.objects.filter(user=user)


def webhook_get_for(user: User, pk: int) -> Webhook:
    """One of the user's own; else Http404."""
    return get_object_or_404(webhooks_of(user), pk=pk)


def delivery_get_for(user: User, pk: int) -> Delivery:
    """A delivery to one of the user's own webhooks; else Http404."""
    rows = Delivery.objects.filter(webhook__user=user).exclude(state=DeliveryState.BEFORE)
    return get_object_or_404(rows.select_related("webhook"), pk=pk)


def webhook_create(*, user: User, name: str, url: str, events: Iterable[str]) -> Webhook:
    """Register an address; of what had ended before, nothing is told.

    Raises
    ------
    WebhookRuleError
        An internal address, an unknown event, an address that the user has registered, or too many.
    """
    chosen = _events_checked(events)
    _url_checked(url)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        if webhooks_of(user).count() >= MOST_WEBHOOKS:
            raise WebhookRuleError("url", f"You have {MOST_WEBHOOKS} webhooks. Delete one first.")
        try:
            with transaction.atomic():
                made = Webhook.objects.create(
                    user=user, name=name.strip()[:100], url=url, events=chosen, nonce=secrets.token_hex(16)
                )
        except IntegrityError:
            raise WebhookRuleError("url", "You have a webhook with this address.") from None
        _collect(made, EVENTS, state=DeliveryState.BEFORE)
    return made


def webhook_change(
    *,
    webhook: Webhook,
    name: str | None = None,
    events: Iterable[str] | None = None,
    is_enabled: bool | None = None,
) -> Webhook:
    """Rename it, choose its events, disable or enable it. What ended while it was disabled is told when enabled."""
    changes: dict[str, Any] = {}
    if name is not None:
        changes["name"] = name.strip()[:100]
    if events is not None:
        changes["events"] = _events_checked(events)
    if is_enabled is not None:
        changes |= {"disabled_at": None if is_enabled else timezone.now(), "failing_since": None}
    with transaction.atomic():
        Webhook.objects.filter(pk=webhook.pk).update(**changes)
        audit(
            "webhook.changed",
            webhook,
            before={name: getattr(webhook, name) for name in changes},
            after=changes,
        )
    webhook.refresh_from_db()
    return webhook


def webhook_delete(*, webhook: Webhook) -> bool:
    """Delete it with its deliveries; False if it is gone already."""
    return row_delete(webhook)


def webhook_secret(webhook: Webhook) -> str:
    """Its secret in the form of Standard Webhooks. It follows from the site's secret key, so no row has it."""
    key = salted_hmac("annotation.Webhook", f"{webhook.pk}:{webhook.nonce}", algorithm="sha256").digest()
    return "whsec_" + base64.b64encode(key).decode("ascii")


def webhook_test(*, webhook: Webhook) -> Delivery:
    """Send a test message; at most one waits."""
    waiting = webhook.deliveries.filter(event=PING, state=DeliveryState.WAITING).first()
    return waiting or _delivery(webhook, PING, Happening(uuid.uuid4().hex, {"webhook": webhook.name}))


def delivery_replay(*, delivery: Delivery) -> bool:
    """Send a delivery again, with the same id; False if it waits already."""
    ended = Delivery.objects.filter(pk=delivery.pk, state__in=(DeliveryState.DELIVERED, DeliveryState.FAILED))
    return bool(ended.update(state=DeliveryState.WAITING, tries=0, next_at=timezone.now()))


def _events_checked(events: Iterable[str]) -> list[str]:
    chosen = [name for name in EVENTS if name in set(events)]
    if unknown := sorted(set(events) - set(EVENTS)):
        raise WebhookRuleError("events", f"Expected {', '.join(EVENTS)}; found {unknown[0][:60]}.")
    if not chosen:
        raise WebhookRuleError("events", "Choose at least one event.")
    return chosen


def _url_checked(url: str) -> None:
    if len(url) > 500:
        raise WebhookRuleError("url", "Expected at most 500 characters.")
    try:
        url_check(url)
    except OutgoingError as error:
        raise WebhookRuleError("url", str(error)) from None


# --- collecting and sending ----------------------------------------------------------------------------------------


def events_collect() -> int:
    """Write down what has ended, for every webhook that wants to know; returns how many deliveries are new."""
    enabled = Webhook.objects.filter(disabled_at=None, user__is_active=True).select_related("user")
    return sum(_collect(webhook, webhook.events, state=DeliveryState.WAITING) for webhook in enabled)


def _collect(webhook: Webhook, events: Iterable[str], *, state: DeliveryState) -> int:
    new = 0
    for name in events:
        if name not in EVENTS:
            continue
        found = {one.subject: one for one in EVENTS[name].find(webhook.user, webhook.created_at)}
        known = webhook.deliveries.filter(event=name).values_list("subject", flat=True)
        for subject in found.keys() - set(known):
            try:
                with transaction.atomic():
                    _delivery(webhook, name, found[subject], state=state)
            except IntegrityError:  # another worker was faster
                continue
            new += 1
    return new


def _delivery(
    webhook: Webhook, event: str, found: Happening, *, state: DeliveryState = DeliveryState.WAITING
) -> Delivery:
    now = timezone.now()
    payload = {"type": event, "timestamp": now.isoformat(timespec="seconds"), "data": found.data}
    return webhook.deliveries.create(
        event=event,
        subject=found.subject,
        message_id=f"msg_{uuid.uuid4().hex}",
        payload=payload,
        state=state,
        next_at=now,
    )


def deliveries_send(stop: Callable[[], bool] = lambda: False, now: datetime | None = None) -> int:
    """Send what is due; returns how many were tried. Any number of workers may do this."""
    tried = 0
    while not stop() and (delivery := _claim(now or timezone.now())) is not None:
        _try(delivery)
        tried += 1
    return tried


def _due(now: datetime) -> QuerySet[Delivery]:
    rows = Delivery.objects.filter(state=DeliveryState.WAITING, next_at__lte=now, webhook__disabled_at=None)
    return rows.order_by("next_at", "pk").select_related("webhook")


def _claim(now: datetime) -> Delivery | None:
    """Take the next one: whoever moves its time has it, until the lease runs out."""
    while (row := _due(now).first()) is not None:
        mine = Delivery.objects.filter(pk=row.pk, state=DeliveryState.WAITING, next_at=row.next_at)
        if mine.update(next_at=timezone.now() + LEASE, tries=F("tries") + 1):
            row.tries += 1
            return row
    return None


def _try(delivery: Delivery) -> None:
    webhook = delivery.webhook
    body = json.dumps(delivery.payload, separators=(",", ":")).encode()
    began = time.monotonic()
    status, error = None, ""
    try:
        status = post_checked(webhook.url, body, signed_headers(webhook, delivery.message_id, body))
    except OutgoingError as refused:
        error = str(refused)[:300]
    duration = int(1000 * (time.monotonic() - began))
    DeliveryAttempt.objects.create(delivery=delivery, status=status, error=error, duration_ms=duration)
    now = timezone.now()
    mine = Delivery.objects.filter(pk=delivery.pk, state=DeliveryState.WAITING, tries=delivery.tries)
    hook = Webhook.objects.filter(pk=webhook.pk)
    if status is not None and 200 <= status < 300:
        mine.update(state=DeliveryState.DELIVERED)
        hook.update(failing_since=None)
        return
    if delivery.tries > len(PAUSES):
        mine.update(state=DeliveryState.FAILED)
    else:
        mine.update(next_at=now + PAUSES[delivery.tries - 1])
    hook.filter(failing_since=None).update(failing_since=now)
    # 410: whoever is there wants no more of it.
    old = (
        hook.filter(disabled_at=None)
        if status == 410
        else hook.filter(failing_since__lt=now - DISABLED_AFTER)
    )
    old.filter(disabled_at=None).update(disabled_at=now)


def signed_headers(
    webhook: Webhook, message_id: str, body: bytes, at: datetime | None = None
) -> dict[str, str]:
    """The headers of Standard Webhooks: an id, a time, and the signature of both and the body."""
    stamp = str(int((at or timezone.now()).timestamp()))
    key = base64.b64decode(webhook_secret(webhook).removeprefix("whsec_"))
    content = b".".join((message_id.encode(), stamp.encode(), body))
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode("ascii")
    return {
        "Content-Type": "application/json",
        "User-Agent": "Touchstone-Webhooks/1",
        "Webhook-Id": message_id,
        "Webhook-Timestamp": stamp,
        "Webhook-Signature": f"v1,{signature}",
    }


# --- in a worker ---------------------------------------------------------------------------------------------------

_thread: threading.Thread | None = None
_starting = threading.Lock()


def webhooks_start(stop: Callable[[], bool]) -> threading.Thread | None:
    """See to it that this process tells what has ended: beside whatever else it does, one thread at most.

    An address that does not answer holds up nothing but other webhooks.
    """
    global _thread
    with _starting:
        if _thread is not None and _thread.is_alive():
            return _thread
        if stop() or not Webhook.objects.filter(disabled_at=None).exists():
            return None
        _thread = threading.Thread(target=_work, args=(stop,), name="webhooks", daemon=True)
        _thread.start()
        return _thread


def _work(stop: Callable[[], bool]) -> None:
    close_old_connections()
    try:
        events_collect()
        deliveries_send(stop)
    except Exception:
        logger.exception("Webhooks could not be served; the next wake-up tries again")
    finally:
        connections.close_all()

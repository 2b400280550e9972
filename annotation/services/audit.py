"""Writing the audit log.

A row that is saved or deleted through its model is recorded by signals (`audited`), wherever that happens: a page, the
admin, the API, a command. What changes rows by a statement of its own calls `audit` in the same transaction.

Secrets are never among the fields: of a password or a token the log says that it changed.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.db.models import Model
from django.db.models.signals import post_delete, post_save, pre_save

from annotation.models import (
    AccessGrant,
    Adjudication,
    ApiToken,
    AuditEvent,
    Dataset,
    Intervention,
    Invitation,
    PlatformLink,
    Study,
    Team,
    TeamMember,
    User,
    Webhook,
)
from annotation.services.study_rules import RULES
from web.acting import current_request
from web.throttling import client_network
from web.throttling import network_of as network_of

_HELD = "_audited_before"
MOST_TEXT = 2_000
"""Characters of a text in the log; guidelines have versions of their own."""
HIDDEN = "changed"


def audit(
    action: str,
    subject: Model | str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    actor: User | None = None,
) -> AuditEvent:
    """Record an action of the person whose request is answered.

    Parameters
    ----------
    action : str
        The kind of subject and what happened, such as ``"study.closed"``.
    subject : Model or str
        What it happened to.
    before, after : mapping, optional
        The fields that changed.
    actor : User, optional
        Who did it, where that is known and is not the person of the request.
    """
    request = current_request()
    person = actor
    if request is not None and person is None:
        user = getattr(request, "user", None)
        person = user if user is not None and user.pk is not None else None
    is_row = isinstance(subject, Model)
    return AuditEvent.objects.create(
        actor=person.get_username() if person else "",
        actor_key=person.pk if person else None,
        via=_via(),
        network="" if request is None else client_network(request),
        action=action,
        subject=(_name(subject) if is_row else str(subject))[:200],  # type: ignore[arg-type]
        subject_key=str(subject.pk)[:40] if isinstance(subject, Model) else "",
        before=None if before is None else _plain(before),
        after=None if after is None else _plain(after),
    )


def _via() -> str:
    request = current_request()
    if request is not None:
        return "api" if request.path.startswith("/api/") else "page"
    name = Path(sys.argv[0]).name
    return (f"{name} {sys.argv[1]}" if name == "manage.py" and len(sys.argv) > 1 else name or "python")[:60]


def _name(row: Model) -> str:
    for field in ("slug", "username", "name", "title"):
        if found := getattr(row, field, ""):
            return str(found)
    return f"{row._meta.verbose_name} {row.pk}"


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as JSON has them, long texts cut."""
    return {name: _cell(value) for name, value in values.items()}


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, str):
        return value if len(value) <= MOST_TEXT else f"{value[:MOST_TEXT]}… ({len(value):,} characters)"
    if isinstance(value, Mapping):
        return _plain(value)
    if isinstance(value, list | tuple):
        return [_cell(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


# --- rows that are recorded wherever they are saved -------------------------------------------------------------------


@dataclass(frozen=True)
class _Audited:
    """What is recorded of the rows of a model."""

    kind: str
    fields: tuple[str, ...]
    rules: tuple[str, ...]
    secrets: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.fields, *self.rules, *sorted(self.secrets))


def audited(
    model: type[Model],
    kind: str,
    fields: Sequence[str],
    *,
    rules: Sequence[str] = (),
    secrets: Sequence[str] = (),
) -> None:
    """Record each creation, change and deletion of a model's rows, with these fields before and after.

    Parameters
    ----------
    kind : str
        What a row is called in the log: ``"study"`` makes ``study.created``, ``study.changed``, ``study.deleted``.
    fields : sequence of str
        Attributes of the row.
    rules : sequence of str
        Further attributes, which are recorded when they change.
    secrets : sequence of str
        Further attributes of which a change is recorded, and no value.
    """
    held = _Audited(kind, tuple(fields), tuple(rules), frozenset(secrets))
    names = held.names

    def before(instance: Model, raw: bool = False, update_fields: Any = None, **_: Any) -> None:
        touched = update_fields is None or set(update_fields) & _columns(model, names)
        setattr(instance, _HELD, None)
        if not raw and touched and instance.pk is not None and not instance._state.adding:
            setattr(instance, _HELD, model._default_manager.filter(pk=instance.pk).values(*names).first())

    def after(instance: Model, created: bool, raw: bool = False, **_: Any) -> None:
        if raw:
            return
        now = {name: getattr(instance, name) for name in names}
        if created:
            audit(f"{kind}.created", instance, after={name: now[name] for name in held.fields})
            return
        earlier = instance.__dict__.pop(_HELD, None)
        changed = [name for name in names if earlier is not None and earlier[name] != now[name]]
        if changed:
            hidden = dict.fromkeys(held.secrets & set(changed), HIDDEN)
            was, is_now = ({name: values[name] for name in changed} | hidden for values in (earlier, now))
            audit(f"{kind}.changed", instance, before=was, after=is_now)

    def gone(instance: Model, **_: Any) -> None:
        audit(f"{kind}.deleted", instance, before={name: getattr(instance, name) for name in held.fields})

    # Weak receivers would be gone with this call.
    uid = f"audit-{kind}"
    pre_save.connect(_receiver(before), sender=model, weak=False, dispatch_uid=uid)
    post_save.connect(_receiver(after), sender=model, weak=False, dispatch_uid=uid)
    post_delete.connect(_receiver(gone), sender=model, weak=False, dispatch_uid=uid)


def _receiver(act: Callable[..., None]) -> Callable[..., None]:
    def receive(**given: Any) -> None:
        act(**{name: value for name, value in given.items() if name not in ("signal", "sender")})

    return receive


def _columns(model: type[Model], names: Sequence[str]) -> set[str]:
    """Names under which `update_fields` may list these attributes."""
    return {
        one
        for field in model._meta.concrete_fields
        if field.attname in names or field.name in names
        for one in (field.name, field.attname)
    }


def audit_begin() -> None:
    """Record the rows of this half; called once, when the app is ready."""
    audited(User, "user", ("username", "email", "role", "is_active"), secrets=("password",))
    audited(ApiToken, "token", ("user_id", "name", "prefix", "scopes", "expires_at"))
    of_study = ("title", "slug", "owner_id", "dataset_id", "kind", "state")
    audited(Study, "study", of_study, rules=sorted(RULES - {"title"}))
    audited(Dataset, "dataset", ("name", "title", "owner_id", "split", "licence"))
    audited(AccessGrant, "access", ("study_id", "dataset_id", "user_id", "team_id", "role"))
    audited(Team, "team", ("name",))
    audited(TeamMember, "team member", ("team_id", "user_id", "is_admin"))
    audited(Invitation, "invitation", ("study_id", "note", "max_annotators", "expires_at"))
    audited(PlatformLink, "entry link", ("study_id", "platform", "require_signed_token"))
    # The path of an address may be a secret, as chat systems have it.
    audited(Webhook, "webhook", ("user_id", "name", "events"), secrets=("url",))
    audited(Intervention, "intervention", ("enrollment_id", "action", "reason", "n_labels"))
    audited(Adjudication, "adjudication", ("study_id", "item_id", "value"))
    user_logged_in.connect(_logged_in, dispatch_uid="audit-login")


def _logged_in(user: User, **_: Any) -> None:
    audit("user.signed in", user, actor=user)

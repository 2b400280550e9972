"""A person leaves no trace: anonymized, so that labels stay and lead to nobody, or deleted with their labels.

Labels are append-only, so none is changed here: those that stay are written again under a new annotator and a new
number, and the rows that were theirs are deleted, in one transaction. Times become those of days, since a platform
knows to the second when a person began and ended. What was exported before isn't reached (docs/privacy.md).

A person is stopped first, in a transaction of its own, so that nothing is given to them or counted meanwhile; what was
begun and not ended is begun again by the next call. The order of locks is that of `services.quality`.
"""

import random
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Model, QuerySet
from django.db.models.functions import TruncDay
from django.dispatch import Signal
from django.utils import timezone

from annotation.models import (
    Account,
    Annotator,
    AnswerSignals,
    Assignment,
    AssignmentState,
    AuditEvent,
    AuditRedaction,
    Bonus,
    ConsentRecord,
    Enrollment,
    ErasureKind,
    ErasureRequest,
    Intervention,
    ItemReport,
    Label,
    PlatformEvent,
    QualificationAnswer,
    QualificationAttempt,
    Stage,
    StudyState,
    User,
)
from annotation.selectors.dataset_figures import imported_labels_forget
from annotation.services.audit import audit
from annotation.services.claims import Overtaken, transaction_retried
from annotation.services.consent import labels_may_stay
from annotation.services.erasure_log import erasure_note
from annotation.services.leases import leases_release
from annotation.services.places import AT_ONCE, enrollments_locked, places_change, places_locked
from web.batches import batched

ANONYMOUS = "anonymous"
"""Source of annotators of whom nothing is known any more."""
STOPPED = "Their data is being erased."
# These have ended; all others have left.
ENDED = (Stage.DONE, Stage.DECLINED, Stage.SCREENED_OUT, Stage.LEFT)
LABELS_A_STATEMENT = 400

labels_erased = Signal()
"""After labels were written anew or deleted: `study` is its primary key or None, `datasets` those of the items."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What happened to a person of a study."""

    kind: ErasureKind
    n_labels: int
    """Labels that stayed, or were deleted."""


def enrollment_erase(
    *,
    enrollment: Enrollment,
    why: str,
    with_labels: bool = False,
    texts_kept: bool | None = None,
    by: User | None = None,
    now: datetime | None = None,
) -> Erased | None:
    """Anonymize a person of a study; delete them where their labels may not stay, or `with_labels`. None: done before.

    Parameters
    ----------
    why : str
        ``REQUEST``, ``RETENTION`` or ``RESTORE`` of `erasure_log`.
    with_labels : bool
        Delete labels that were allowed to stay, too.
    texts_kept : bool, optional
        Whether comments and marked passages stay with labels; by default as the study says.
    by : User, optional
        Who did it, for the audit log, where it is no request's user.
    """
    now = now or timezone.now()
    held = Enrollment.objects.filter(pk=enrollment.pk, anonymized_on=None, suspended_at=None)
    held.update(suspended_at=now, suspended_because=STOPPED)

    def erase() -> Erased | None:
        leases_release(enrollment=enrollment)
        person = _person_locked(enrollment)
        if person is None or person.anonymized_on is not None:
            return None
        kind = ErasureKind.DELETED if with_labels or not labels_may_stay(person) else ErasureKind.ANONYMIZED
        keeps = person.study.texts_kept if texts_kept is None else texts_kept
        keeps = keeps and kind == ErasureKind.ANONYMIZED
        known, study = person.annotator, person.study
        labels = list(Label.objects.filter(study=study, annotator=known).order_by("pk"))
        _log_redact(person)
        _platform_events(person).delete()
        if kind == ErasureKind.DELETED:
            _enrollment_delete(person, labels)
        else:
            _enrollment_anonymize(person, labels, texts_kept=keeps, now=now)
        erasure_note(
            public_id=known.public_id, study_key=study.pk, kind=kind, texts_kept=keeps, why=why, now=now
        )
        _annotator_tidy(known)
        # Neither who it was nor how many labels: either would lead to what stays.
        audit(f"annotator.{kind.value}", study, after={"why": why, "texts_kept": keeps}, actor=by)
        dataset = study.dataset_id
        transaction.on_commit(
            lambda: labels_erased.send(sender=Enrollment, study=study.pk, datasets=[dataset]), robust=True
        )
        return Erased(kind, len(labels))

    return transaction_retried(erase)


def annotator_erase(
    *,
    annotator: Annotator,
    why: str,
    with_labels: bool = False,
    by: User | None = None,
    now: datetime | None = None,
) -> list[Erased]:
    """Erase a person everywhere: in every study, in imported labels, and with their account. Again: nothing more."""
    now = now or timezone.now()
    people = Enrollment.objects.filter(annotator=annotator, anonymized_on=None).select_related(
        "study", "annotator"
    )
    done = [
        enrollment_erase(enrollment=person, why=why, with_labels=with_labels, by=by, now=now)
        for person in people.order_by("pk")
    ]
    with transaction.atomic():
        Account.objects.filter(annotator=annotator).delete()
        imported_erase(annotator=annotator, with_labels=with_labels, why=why, now=now)
    return [one for one in done if one is not None]


def imported_erase(*, annotator: Annotator, with_labels: bool, why: str, now: datetime | None = None) -> None:
    """Take the person out of labels that belong to no study: imported under their name."""
    now = now or timezone.now()
    with transaction.atomic():
        known = Annotator.objects.select_for_update().filter(pk=annotator.pk).first()
        if known is not None and known.source != ANONYMOUS:
            _imported_erase(known, with_labels=with_labels, why=why, now=now)
            _annotator_tidy(known)


def _person_locked(enrollment: Enrollment) -> Enrollment | None:
    """The person, with all that they were given and the places of labels that count, locked; None if there is none."""
    mine = Assignment.objects.filter(enrollment=enrollment)
    list(mine.select_for_update().order_by("pk").values_list("pk", flat=True))
    counted = Label.objects.current().filter(assignment__enrollment=enrollment)
    places_locked(sorted(set(counted.values_list("assignment__study_item_id", flat=True))))
    if not Enrollment.objects.filter(pk=enrollment.pk).exists():
        return None
    enrollments_locked(enrollment, cursors=counted.exists())
    if mine.filter(state=AssignmentState.OPEN).exists():
        raise Overtaken  # given to them at the moment in which they were stopped
    return Enrollment.objects.select_related("study", "annotator").get(pk=enrollment.pk)


# --- anonymized -------------------------------------------------------------------------------------------------------


def _day(moment: datetime | None) -> datetime | None:
    return (
        None if moment is None else moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    )


def _days(*names: str) -> dict[str, TruncDay]:
    return {name: TruncDay(name, tzinfo=UTC) for name in names}


def _annotator_anonymous(known: Annotator, since: datetime) -> Annotator:
    fresh = Annotator.objects.create(
        source=ANONYMOUS, external_id=secrets.token_hex(16), is_simulated=known.is_simulated
    )
    Annotator.objects.filter(pk=fresh.pk).update(created_at=_day(since))
    return fresh


def _enrollment_anonymize(
    person: Enrollment, labels: Sequence[Label], *, texts_kept: bool, now: datetime
) -> None:
    fresh = _annotator_anonymous(person.annotator, person.created_at)
    _labels_rewrite(labels, fresh, texts_kept=texts_kept)
    fresh_person = _enrollment_rewrite(person, fresh, now)
    given = Assignment.objects.filter(enrollment=person)
    _signals_delete(person)
    # What they did not answer has no meaning without them, and no label.
    given.exclude(state=AssignmentState.SUBMITTED).filter(labels=None).delete()
    moved = {"enrollment": fresh_person}
    given.update(draft=None, release_reason="", **moved, **_days("leased_at", "expires_at", "submitted_at"))
    QualificationAttempt.objects.filter(enrollment=person).update(
        **moved, **_days("started_at", "finished_at")
    )
    QualificationAnswer.objects.filter(enrollment=person).update(**moved, **_days("created_at"))
    told = Intervention.objects.filter(enrollment=person)
    told.update(reason="", text="", **moved, **_days("created_at", "read_at"))
    Bonus.objects.filter(enrollment=person).update(reason="", **moved, **_days("created_at"))
    reports = ItemReport.objects.filter(enrollment=person)
    if not texts_kept:
        reports.update(note="")
    reports.update(**moved, **_days("created_at", "resolved_at"))
    ErasureRequest.objects.filter(enrollment=person).delete()
    _consents_rewrite(person, fresh_person)
    Enrollment.objects.filter(pk=person.pk)._raw_delete("default")


def _enrollment_rewrite(person: Enrollment, annotator: Annotator, now: datetime) -> int:
    """The person under another number, which the API names too, without anything that says who they are."""
    study = person.study
    was_stopped = person.suspended_because == STOPPED
    has_ended = person.stage in ENDED
    # A code of their own was told to their platform; one of the whole study says nothing.
    own_code = person.completion_code != study.completion_code
    fresh = Enrollment(
        study=study,
        annotator=annotator,
        stage=person.stage if has_ended else Stage.LEFT,
        resume_token=secrets.token_urlsafe(24),
        consented_at=_day(person.consented_at),
        consent_sha256=person.consent_sha256,
        guidelines_read_at=_day(person.guidelines_read_at),
        guidelines_read_version=person.guidelines_read_version,
        screened_out_by=person.screened_out_by,
        qualification_score=person.qualification_score,
        completion_code="" if own_code else person.completion_code,
        finished_at=_day(person.finished_at),
        left_at=_day(person.left_at if has_ended else now),
        n_accepted=person.n_accepted,
        n_claimed=person.n_claimed,
        warned_at=_day(person.warned_at),
        suspended_at=None if was_stopped else _day(person.suspended_at),
        anonymized_on=now.astimezone(UTC).date(),
    )
    fresh.created_at = _day(person.created_at)  # type: ignore[assignment]
    (pk,) = _written(Enrollment, [fresh])
    return pk


def _labels_rewrite(labels: Sequence[Label], annotator: Annotator, *, texts_kept: bool) -> None:
    """Write labels again for another annotator, under new numbers and in another order, and delete these rows."""
    _rows_delete(Label.objects.all(), [label.pk for label in labels])
    numbers: dict[int, int] = {}
    waiting = list(labels)
    while waiting:
        ready = [one for one in waiting if one.supersedes_id is None or one.supersedes_id in numbers]
        assert ready, "a label supersedes one that is not among these"
        waiting = [one for one in waiting if one not in ready]
        random.SystemRandom().shuffle(ready)
        for some in batched(ready, LABELS_A_STATEMENT):
            before = [label.pk for label in some]
            numbers.update(zip(before, _inserted(some, numbers, annotator, texts_kept), strict=True))


def _inserted(
    labels: Sequence[Label], numbers: dict[int, int], annotator: Annotator, texts_kept: bool
) -> list[int]:
    for label in labels:
        label.pk = None
        label.annotator = annotator
        label.supersedes_id = None if label.supersedes_id is None else numbers[label.supersedes_id]
        label.created_at = _day(label.created_at)  # type: ignore[assignment]
        label.source = ""  # names a row of a file, which may name the person
        if not texts_kept:
            label.comment, label.evidence = "", None
    # Raw: a field that is set at creation would have this moment.
    return _written(Label, labels)


def _written(model: type[Model], rows: Sequence[Model]) -> list[int]:
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    returned = [model._meta.pk]
    found = model._base_manager.all()._insert(  # type: ignore[attr-defined]  # what save_base calls
        rows, fields=fields, returning_fields=returned, raw=True, using="default"
    )
    return [int(pk) for (pk,) in found]


def _consents_rewrite(person: Enrollment, fresh_person: int) -> None:
    """Consent stays as evidence, with the day on which it was given."""
    records = list(ConsentRecord.objects.filter(enrollment=person).order_by("pk"))
    ConsentRecord.objects.filter(enrollment=person)._raw_delete("default")
    for record in records:
        record.pk, record.enrollment_id = None, fresh_person
        record.at = _day(record.at)  # type: ignore[assignment]
    ConsentRecord.objects.bulk_create(records)


# --- deleted ----------------------------------------------------------------------------------------------------------


def _enrollment_delete(person: Enrollment, labels: Sequence[Label]) -> None:
    """Take the person and their labels out, and count their places as free."""
    mine = [label.pk for label in labels]
    places: list[int] = []
    for some in batched(mine, AT_ONCE):
        counted = Label.objects.current().filter(pk__in=some, assignment__isnull=False)
        places += counted.values_list("assignment__study_item_id", flat=True)
    places_change(places, -1)
    if places and person.study.state != StudyState.CLOSED:
        # Places are free again behind where others have looked.
        Enrollment.objects.filter(study_id=person.study_id, cursor__isnull=False).update(cursor=None)
    _rows_delete(Label.objects.all(), mine)
    _signals_delete(person)
    for model in (
        *(QualificationAnswer, QualificationAttempt, Intervention, ItemReport, Bonus),
        *(ConsentRecord, ErasureRequest, Assignment),
    ):
        # Without signals: the audit log would be told what is deleted.
        model._default_manager.filter(enrollment=person)._raw_delete("default")
    Enrollment.objects.filter(pk=person.pk)._raw_delete("default")


def _signals_delete(person: Enrollment) -> None:
    """How they type and read is theirs, and would tell them apart."""
    AnswerSignals.objects.filter(assignment__enrollment=person)._raw_delete("default")


def _rows_delete(rows: QuerySet[Label], pks: Iterable[int]) -> None:
    for some in batched(list(pks), AT_ONCE):
        rows.filter(pk__in=some)._raw_delete("default")


# --- what is beside the study -----------------------------------------------------------------------------------------


def _imported_erase(known: Annotator, *, with_labels: bool, why: str, now: datetime) -> None:
    """Labels that were imported under the person's name, and belong to no study."""
    labels = list(Label.objects.filter(annotator=known, study=None).order_by("pk"))
    if not labels:
        return
    datasets = sorted(
        {*Label.objects.filter(annotator=known, study=None).values_list("item__dataset", flat=True)}
    )
    if with_labels:
        _rows_delete(Label.objects.all(), [label.pk for label in labels])
    else:
        fresh = _annotator_anonymous(known, known.created_at)
        _labels_rewrite(labels, fresh, texts_kept=False)
    kind = ErasureKind.DELETED if with_labels else ErasureKind.ANONYMIZED
    erasure_note(public_id=known.public_id, study_key=None, kind=kind, texts_kept=False, why=why, now=now)
    audit(f"annotator.{kind.value}", "imported labels", after={"why": why})
    transaction.on_commit(lambda: imported_labels_forget(datasets), robust=True)
    transaction.on_commit(
        lambda: labels_erased.send(sender=Enrollment, study=None, datasets=datasets), robust=True
    )


def _annotator_tidy(known: Annotator) -> None:
    """Delete the row that says who a person is, once nothing refers to it."""
    refers = (
        Enrollment.objects.filter(annotator=known),
        Label.objects.filter(annotator=known),
        Account.objects.filter(annotator=known),
    )
    if not any(rows.exists() for rows in refers):
        Annotator.objects.filter(pk=known.pk)._raw_delete("default")


def _platform_events(person: Enrollment) -> QuerySet[PlatformEvent]:
    """What the platform told of the person's submission."""
    if not person.platform_session:
        return PlatformEvent.objects.none()
    return PlatformEvent.objects.filter(link__study=person.study_id, session=person.platform_session)


def _log_redact(person: Enrollment) -> None:
    """Take out of the audit log what it says of the person: which one, and what researchers wrote."""
    actions = ("intervention.created", "intervention.changed", "intervention.deleted")
    for side in ("before", "after"):
        events = AuditEvent.objects.filter(action__in=actions, **{f"{side}__enrollment_id": person.pk})
        for event in events:
            redaction = AuditRedaction.objects.create(event=event)
            changed = {
                name: None if values is None else {"action": values.get("action")}
                for name, values in (("before", event.before), ("after", event.after))
            }
            AuditEvent.objects.filter(pk=event.pk).update(subject="intervention", subject_key="", **changed)
            AuditRedaction.objects.filter(pk=redaction.pk).update(is_done=True)

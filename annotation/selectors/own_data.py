"""All that the site holds about a person of a study, for them to keep: as JSON.

While a study runs, nothing in it tells a hidden check or a repeat from other work: roles, scores, whether an answer
counts, what rules concluded from checks, and counts of accepted answers come once it has ended. Positions and names of
items are left out for the same reason, and who wrote a response always.
"""

import io
import json
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.forms.models import model_to_dict
from django.utils import timezone

from annotation.kinds import from_canonical
from annotation.kinds.evidence import Mark, marks_shown
from annotation.models import (
    Account,
    AnswerSignals,
    Assignment,
    AssignmentState,
    Bonus,
    ConsentRecord,
    Enrollment,
    ErasureRequest,
    Intervention,
    ItemReport,
    Label,
    PlatformEvent,
    QualificationAnswer,
    QualificationAttempt,
)
from annotation.selectors.steps import is_over

FORMAT = "touchstone.person/1"


def consents_of(enrollment: Enrollment) -> list[ConsentRecord]:
    """What a person agreed to, declined or withdrew, oldest first, each with its text."""
    return list(
        ConsentRecord.objects.filter(enrollment=enrollment).select_related("text").order_by("at", "pk")
    )


def erasure_request_latest(enrollment: Enrollment) -> ErasureRequest | None:
    """What the person last asked for, if anything."""
    return ErasureRequest.objects.filter(enrollment=enrollment).order_by("asked_at", "pk").last()


def own_data(enrollment: Enrollment, *, now: datetime | None = None) -> dict[str, Any]:
    """All that is stored about a person in a study. Thirteen queries at most, however much it is."""
    study, person = enrollment.study, enrollment.annotator
    now = now or timezone.now()
    ended = is_over(study, now)
    found: dict[str, Any] = {
        "format": FORMAT,
        "made_at": now,
        "study": {"name": study.slug, "title": study.title, "has_ended": ended},
        "person": {
            "pseudonym": enrollment.pseudonym,
            "comes_from": person.source,
            "id_there": person.external_id,
            "language": person.language,
            "known_since": person.created_at,
        },
        "participation": _participation(enrollment, ended),
        "consent": [_consent(record) for record in consents_of(enrollment)],
        "test": _test(enrollment, ended),
        "answers": _answers(enrollment, ended),
        "items_open_or_left_out": _unanswered(enrollment),
        "reported_problems": [
            {
                "item": report.study_item.item.instruction.text,
                "reason": report.reason,
                "note": report.note,
                "at": report.created_at,
            }
            for report in ItemReport.objects.filter(enrollment=enrollment)
            .select_related("study_item__item__instruction")
            .order_by("pk")
        ],
        "messages": _messages(enrollment, ended),
        "bonuses": list(
            Bonus.objects.filter(enrollment=enrollment)
            .order_by("pk")
            .values("amount", "reason", "created_at")
        ),
        "deletion_requests": list(
            ErasureRequest.objects.filter(enrollment=enrollment).values(
                "asked_at", "state", "decided_at", "answer"
            )
        ),
    }
    if enrollment.platform_session:
        events = PlatformEvent.objects.filter(link__study=study, session=enrollment.platform_session)
        found["told_by_platform"] = list(
            events.order_by("pk").values("event_id", "channel", "status", "received_at")
        )
    return found


def _participation(enrollment: Enrollment, ended: bool) -> dict[str, Any]:
    names = [
        *("stage", "created_at", "platform_session", "platform_status", "platform_data", "device"),
        *("eligibility", "consented_at", "consent_sha256", "guidelines_read_at", "guidelines_read_version"),
        *("screened_out_by", "retry_at", "qualification_score", "completion_code", "finished_at", "left_at"),
        *("suspended_at", "suspended_because", "anonymized_on"),
    ]
    if ended:
        names += ["n_accepted", "n_claimed", "warned_at"]
    else:
        names.remove("suspended_because")  # a rule's reason names checks
    return {name: getattr(enrollment, name) for name in names} | {
        "invitation": enrollment.invitation.note if enrollment.invitation else None
    }


def _consent(record: ConsentRecord) -> dict[str, Any]:
    text = record.text
    return {
        "event": record.event,
        "at": record.at,
        "language": record.language,
        "sha256": record.sha256,
        "version": text.version if text else None,
        "text": text.text if text else None,
        "labels_kept": text.labels_kept if text else None,
        "retention_days": text.retention_days if text else None,
        "retention_action": text.retention_action if text else None,
    }


def _test(enrollment: Enrollment, ended: bool) -> dict[str, Any]:
    attempts = QualificationAttempt.objects.filter(enrollment=enrollment).order_by("number")
    answers = (
        QualificationAnswer.objects.filter(enrollment=enrollment)
        .select_related("question__item__instruction")
        .order_by("pk")
    )
    return {
        "attempts": list(
            attempts.values("number", "started_at", "finished_at", "n_right", "accuracy", "passed")
        ),
        "answers": [
            {
                "part": answer.question.part,
                "item": answer.question.item.instruction.text,
                "answer": from_canonical(answer.question.item.kind, answer.value, answer.shown_order),
                "at": answer.created_at,
                **({"is_correct": answer.is_correct} if ended else {}),
            }
            for answer in answers
        ],
    }


def _answers(enrollment: Enrollment, ended: bool) -> list[dict[str, Any]]:
    labels: dict[int | None, list[Label]] = defaultdict(list)
    for label in Label.objects.filter(assignment__enrollment=enrollment).order_by("pk"):
        labels[label.assignment_id].append(label)
    given = (
        Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.SUBMITTED)
        .select_related("study_item__item__instruction", "signals")
        .order_by("submitted_at", "pk")
    )
    return [
        {
            "item": one.study_item.item.instruction.text,
            "given_to_you_at": one.leased_at,
            "submitted_at": one.submitted_at,
            **({"role": one.role} if ended else {}),
            "signals": _signals(getattr(one, "signals", None)),
            "said": [_said(enrollment, label, one.shown_order, ended) for label in labels[one.pk]],
        }
        for one in given
    ]


def _signals(found: AnswerSignals | None) -> dict[str, Any] | None:
    """What their browser said of how they gave the answer; None where it said nothing."""
    return None if found is None else model_to_dict(found, exclude=["id", "assignment"])


def _passage(mark: Mark) -> dict[str, Any]:
    found = asdict(mark)
    return {name: value for name, value in found.items() if name != "message" or value is not None}


def _said(enrollment: Enrollment, label: Label, order: Sequence[int], ended: bool) -> dict[str, Any]:
    by_response = order if enrollment.study.kind_info.ordered == "responses" else None
    said = {
        "at": label.created_at,
        "answer": from_canonical(label.kind, label.value, list(order)),
        "passages": [_passage(mark) for mark in marks_shown(label.evidence or [], by_response)],
        "comment": label.comment,
        "pasted_characters": label.pasted_chars,
        "active_ms": label.active_ms,
        "wall_ms": label.wall_ms,
        "guidelines_version": label.guidelines_version,
    }
    if ended:
        said |= {
            "check_score": label.check_score,
            "is_surplus": label.is_surplus,
            "is_excluded": label.is_set_aside,
        }
    return said


def _unanswered(enrollment: Enrollment) -> list[dict[str, Any]]:
    rows = (
        Assignment.objects.filter(enrollment=enrollment)
        .exclude(state=AssignmentState.SUBMITTED)
        .select_related("study_item__item__instruction")
        .order_by("leased_at", "pk")
    )
    return [
        {
            "item": one.study_item.item.instruction.text,
            "state": one.state,
            "given_to_you_at": one.leased_at,
            "draft": one.draft,
            "reason": one.release_reason,
        }
        for one in rows
    ]


def _messages(enrollment: Enrollment, ended: bool) -> list[dict[str, Any]]:
    rows = Intervention.objects.filter(enrollment=enrollment).order_by("created_at", "pk")
    if not ended:
        # A warning is told a while after what caused it.
        rows = rows.filter(read_at__isnull=False).exclude(text="")
    names = ["text", "read_at", *(("action", "reason", "n_labels", "created_at") if ended else ())]
    return list(rows.values(*names))


def account_data(account: Account) -> dict[str, Any]:
    """What is stored about an account, beside the studies."""
    return {
        "format": FORMAT,
        "email": account.email,
        "created_at": account.created_at,
        "last_sign_in": account.last_login,
        "password": "stored as a hash",
    }


def own_data_zip(files: Iterable[tuple[str, dict[str, Any]]]) -> bytes:
    """A ZIP archive with these JSON files, by name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(f"{name}.json", json.dumps(data, default=_plain, ensure_ascii=False, indent=1))
    return packed.getvalue()


def _plain(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)

"""Assignments: an item is claimed, kept for a while, and answered or given back (leases: `services.leases`).

Each service here is one short transaction that works alike on PostgreSQL and SQLite. On PostgreSQL, rows are
locked in the order assignment, study item, enrollment, always, so that no two transactions can wait for each
other; claims and the reaper skip what others have locked. On SQLite, IMMEDIATE transactions run one after the
other. What must never happen (an item given away more often than its overlap, twice to one person, two open
leases of one person) is refused by the constraints of the tables, whatever this code does.

A lease has a role. Work takes a place of its item; a hidden check or a repeat takes none, and its answer counts
neither for the item nor for what one person may label. Which role comes next is decided in `services.claims`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, cast

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Exists, F
from django.utils import timezone

from annotation.compiled import CompiledSelect, CompiledUpdate, Parameter, Write, run_together
from annotation.domain.errors import StageError, StudyNotOpenError, SuspendedError
from annotation.domain.signals import Signals
from annotation.kinds import to_canonical, validate_value
from annotation.kinds.evidence import Mark, Marked
from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    Label,
    Stage,
    Study,
    StudyItem,
    StudyState,
    WorkRole,
)
from annotation.selectors.shown import value_rules
from annotation.selectors.work import WorkStanding, own_label
from annotation.services.checks import checks_follow, checks_may_follow
from annotation.services.claims import (
    PENDING,
    Overtaken,
    claim_check,
    claim_check_again,
    expiry,
    hidden_next,
    is_deadlock,
    is_over,
    own_lease,
    place_take,
    transaction_retried,
)
from annotation.services.enrollment import completion_code_give
from annotation.services.labels import answer_writes, evidence_checked
from annotation.services.leases import leases_reap, leases_renew
from annotation.services.one_statement import answer_and_take, is_plain
from web.measuring import action_measured

ATTEMPTS = 5


@action_measured("claim", lambda found: "nothing" if found is None else "given")
def assignment_claim(*, enrollment: Enrollment, now: datetime | None = None) -> Assignment | None:
    """Give the person their next item: the open lease they have (renewed), one of theirs that expired, or a
    new one, which at its turns is a hidden check or a repeat.

    Returns None when there is nothing for them at the moment. Raises `StageError` before or after the work,
    `SuspendedError` for who is suspended, and `StudyNotOpenError` when the study is paused, closed or past its
    deadline.
    """
    now = now or timezone.now()
    claim_check(enrollment, now)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            found = _claim(enrollment, now)
        except (IntegrityError, OperationalError, Overtaken) as error:
            # Two tabs claimed at once and the other was faster: the next look finds what it was given. Or this claim
            # waited for places in a circle with somebody whose labels are being set aside.
            if attempt == ATTEMPTS or (isinstance(error, OperationalError) and not is_deadlock(error)):
                raise
            claim_check_again(enrollment, now)
        else:
            if found is None:
                # Nothing may also mean that they were suspended or the study closed a moment ago.
                claim_check_again(enrollment, now)
            return found
    raise AssertionError("unreachable")


def _claim(enrollment: Enrollment, now: datetime) -> Assignment | None:
    if enrollment.study.fetch_ahead:
        # What comes next was fetched ahead, whatever its role.
        with transaction.atomic():
            found = own_lease(enrollment, now)
        if found is not None:
            return found
    hidden = hidden_next(enrollment)
    with transaction.atomic():
        # Most claims follow a submit: the person has nothing pending and there are free places.
        found = place_take(enrollment, now, nothing_pending=True, hidden=hidden) or own_lease(enrollment, now)
    if found is not None:
        return found
    # Nothing free that nobody is just working on: take back what was left lying, and wait for the others. In
    # transactions of their own, so that nothing is held while waiting.
    leases_reap(study=enrollment.study, now=now)
    with transaction.atomic():
        return own_lease(enrollment, now) or place_take(enrollment, now, wait=True)


Outcome = Literal["accepted", "late", "capped", "closed", "suspended", "left", "repeated", "different"]


@dataclass(frozen=True, slots=True)
class Submission:
    """What became of a submitted answer.

    `accepted`: counted, or of a hidden item. Kept as surplus: `late`, all places of the item having been given away;
    `capped`, the person having as many items as one may have; `closed`, the study having ended; `suspended` and
    `left`, the person having been suspended or sent back by their platform while they answered. `repeated`: the same
    answer was there already. `different`: another answer was there already and stands; it is changed on its own page
    only.
    """

    label: Label
    outcome: Outcome
    following: Assignment | None = None
    """What the person was given next, by the same transaction; None where `assignment_claim` has to be asked."""
    standing: WorkStanding | None = None
    """How the person stands now; None where `standing_get` has to be asked."""


# All that a submit looks at, and no more: it is read at every answer.
SUBMIT_FIELDS = (
    *("state", "role", "shown_order", "leased_at", "ahead"),
    *(f"study_item__{name}" for name in ("overlap", "n_open", "n_accepted", "probability")),
    *(f"study_item__item__{name}" for name in ("dataset", "instruction", "kind", "gold")),
    *(f"study_item__item__dataset__{name}" for name in ("created_at", "version")),
    *(
        f"enrollment__{name}"
        for name in (
            "study",
            "annotator",
            "stage",
            "completion_code",
            "n_accepted",
            "suspended_at",
            "warned_at",
        )
    ),
    *(
        f"enrollment__study__{name}"
        for name in (
            *(
                "dataset",
                "kind",
                "tie_policy",
                "criteria",
                "preference_points",
                "allow_cannot_tell",
                "response_sets",
                "dimensions",
                "reasons",
                "evidence",
            ),
            *("state", "closes_at", "items_per_annotator", "guidelines_version", "completion_code"),
            *("check_window", "check_minimum", "check_warn_below", "check_suspend_below"),
            *("qualification_rule", "qualification_tolerance", "qualification_from"),
            *("set_aside_on_suspend", "check_rate"),
        )
    ),
)


LOCKED = CompiledSelect(
    lambda: (
        Assignment.objects.select_for_update(of=("self", "study_item"), no_key=True)
        .select_related("enrollment__study", "study_item__item__dataset")
        .only(*SUBMIT_FIELDS)
        .filter(pk=Parameter.of(Assignment, "id"), enrollment=Parameter.of(Enrollment, "id", "enrollment"))
    )
)
PLACE_FILLED = CompiledUpdate(
    lambda: (
        StudyItem.objects.filter(pk=Parameter.of(StudyItem, "id")),
        {
            "n_open": F("n_open") - Parameter.of(StudyItem, "n_open", "held"),
            "n_accepted": F("n_accepted") + Parameter.of(StudyItem, "n_accepted", "accepted"),
        },
    )
)
# The row is read again as it is now: nothing that a suspended person says is counted, and nothing after the end.
COUNTED = CompiledUpdate(
    lambda: (
        Enrollment.objects.filter(
            ~Exists(Study.objects.filter(pk=Parameter.of(Study, "id", "study"), state=StudyState.CLOSED)),
            pk=Parameter.of(Enrollment, "id"),
            suspended_at=None,
        ).exclude(stage=Stage.LEFT),
        {"n_accepted": F("n_accepted") + Parameter.of(Enrollment, "n_accepted", "accepted")},
    )
)


def _locked(assignment: Assignment) -> Assignment:
    locked = LOCKED.first(id=assignment.pk, enrollment=assignment.enrollment_id)
    if locked is None:
        raise Assignment.DoesNotExist
    return locked


def _outcome_of(submission: Submission) -> str:
    return submission.outcome


@action_measured("submit", _outcome_of)
def assignment_submit(
    *,
    assignment: Assignment,
    shown_value: Mapping[str, Any],
    shown_marks: Sequence[Mark] = (),
    comment: str = "",
    pasted_chars: int = 0,
    active_ms: int | None = None,
    wall_ms: int | None = None,
    signals: Signals | None = None,
    goes_on: bool = False,
    now: datetime | None = None,
) -> Submission:
    """Record an answer, given in the order in which the responses were shown. Idempotent: one label an
    assignment.

    `wall_ms` is how long the item was shown: of one fetched ahead as the browser tells it, else by the server's clock
    unless the caller, who is no browser, says it. `signals` are kept beside the label. Who `goes_on` is given their
    next item with it, where it's clear what comes next: one transaction instead of two.

    Raises `LabelValueError` when the value does not fit, and nothing else for what a person did: an answer is
    never lost, only counted or not. The answer to a hidden check is scored, and what follows from it follows here.
    """
    now = now or timezone.now()
    told = {
        "comment": comment,
        "pasted_chars": pasted_chars,
        "active_ms": active_ms,
        "wall_ms": wall_ms,
        "signals": signals,
    }
    if goes_on and _may_go_on(assignment, now):
        try:
            return _submit_and_claim(assignment, shown_value, shown_marks, told, now)
        except (IntegrityError, OperationalError, Overtaken) as error:
            # Something has changed since it was read, and nothing is written: one after the other, under locks.
            if isinstance(error, OperationalError) and not is_deadlock(error):
                raise
    # Again when they were suspended, or the study closed, between the look and the count: the next look sees it.
    return transaction_retried(lambda: _submit(_locked(assignment), shown_value, shown_marks, told, now))


def _may_go_on(assignment: Assignment, now: datetime) -> bool:
    """Whether, as far as was read, the person holds this item and may be given another one after it."""
    study = assignment.enrollment.study
    if assignment.state != AssignmentState.OPEN or study.fetch_ahead or checks_may_follow(study):
        return False
    try:
        claim_check(assignment.enrollment, now)
    except (StageError, SuspendedError, StudyNotOpenError):
        return False
    return True


def _submit_and_claim(
    assignment: Assignment,
    shown_value: Mapping[str, Any],
    shown_marks: Sequence[Mark],
    told: dict[str, Any],
    now: datetime,
) -> Submission:
    """Both in one statement or one transaction, by what was read without a lock: each statement asks again whether it's
    still so.
    """
    if not is_plain(assignment):
        with transaction.atomic():
            submission = _submit(assignment, shown_value, shown_marks, told, now)
            return replace(submission, following=_following(assignment.enrollment, now))
    value, evidence = _canonical(assignment, shown_value, shown_marks)
    told = told | {"wall_ms": _wall_ms(assignment, told["wall_ms"], now)}
    answered, label, *beside = answer_writes(
        assignment=assignment, value=value, evidence=evidence, submitted_at=now, **told
    )
    filled = PLACE_FILLED.write(id=assignment.study_item_id, held=1, accepted=1)
    written, following, standing = answer_and_take(assignment, [answered, label, filled, *beside], now)
    return Submission(written, "accepted", following, standing)


@action_measured("claim", lambda found: "put off" if found is None else "given")
def _following(enrollment: Enrollment, now: datetime) -> Assignment | None:
    return place_take(enrollment, now, nothing_pending=True, hidden=hidden_next(enrollment))


def _canonical(
    lease: Assignment, shown_value: Mapping[str, Any], shown_marks: Sequence[Mark]
) -> tuple[dict[str, Any], list[Marked] | None]:
    """The value and the marks as they are stored; raises `LabelValueError` for what doesn't fit the item."""
    study, item = lease.enrollment.study, lease.study_item.item
    checked = validate_value(shown_value, value_rules(study, item))
    value = to_canonical(study.kind, checked, lease.shown_order)
    return value, evidence_checked(study, item, shown_marks, lease.shown_order)


def _submit(
    lease: Assignment,
    shown_value: Mapping[str, Any],
    shown_marks: Sequence[Mark],
    told: dict[str, Any],
    now: datetime,
) -> Submission:
    study = lease.enrollment.study
    value, evidence = _canonical(lease, shown_value, shown_marks)
    if lease.state == AssignmentState.SUBMITTED:
        standing = own_label(lease)
        assert standing is not None
        is_same = (standing.value, standing.evidence) == (value, evidence)
        return Submission(standing, "repeated" if is_same else "different")
    # From here on, the answer to a hidden item takes the same statements as one to work, and as long.
    held, is_work = lease.state == AssignmentState.OPEN, lease.role == WorkRole.WORK
    if not held:
        # Their count and their stage are about to be read; who answers a lease does not wait here.
        person = Enrollment.objects.select_related("study")
        if is_work:
            person = person.select_for_update(of=("self",), no_key=True)
        lease.enrollment = person.get(pk=lease.enrollment_id)
    outcome = _outcome(lease, held=held, now=now)
    told = told | {"wall_ms": _wall_ms(lease, told["wall_ms"], now)}
    accepted = outcome == "accepted"
    answer = answer_writes(
        assignment=lease,
        value=value,
        evidence=evidence,
        is_surplus=not accepted,
        submitted_at=now,
        **told,
    )
    counts = _counts(lease, held=held, accepted=accepted)
    if accepted and checks_may_follow(study):
        # What follows looks at the label, and locks places before it locks the person. That the study has such rules
        # decides it, and never the item: the time of an answer must not tell a check from work.
        said = run_together(*answer)
        checks_follow(enrollment=lease.enrollment, now=now, answered=lease.role == WorkRole.CHECK)
        said += run_together(*counts)
    else:
        said = run_together(*answer, *counts)
    if not said[0] or (accepted and is_work and not said[-1]):
        raise Overtaken
    label = cast("Label", said[1])
    completion_code_give(enrollment=lease.enrollment)
    return Submission(label, outcome)


def _outcome(assignment: Assignment, *, held: bool, now: datetime) -> Outcome:
    """Whether an answer counts. What was leased does; what had been given back, if there is still room for it."""
    person, place = assignment.enrollment, assignment.study_item
    if is_over(person.study, now):
        return "closed"
    if person.suspended_at is not None:
        return "suspended"
    if person.stage == Stage.LEFT:
        return "left"
    if held or assignment.role != WorkRole.WORK:
        return "accepted"
    if place.n_open + place.n_accepted >= place.overlap:
        return "late"
    cap = person.study.items_per_annotator
    if cap is not None:
        own = Assignment.objects.filter(enrollment=person, state=AssignmentState.OPEN, role=WorkRole.WORK)
        if person.n_accepted + own.count() >= cap:
            return "capped"
    return "accepted"


def _counts(assignment: Assignment, *, held: bool, accepted: bool) -> list[Write]:
    """The statements that count the answer for its item and, the last one, for the person; that to a hidden item counts
    nothing.
    """
    counts = assignment.role == WorkRole.WORK
    writes = []
    if held or accepted:
        writes.append(
            PLACE_FILLED.write(
                id=assignment.study_item_id, held=int(counts and held), accepted=int(counts and accepted)
            )
        )
    if accepted:
        person = assignment.enrollment
        writes.append(COUNTED.write(id=person.pk, study=person.study_id, accepted=int(counts)))
    return writes


def _wall_ms(lease: Assignment, told: int | None, now: datetime) -> int | None:
    """From being given the item to its answer by the server's clock, unless the caller knows better. What was fetched
    ahead was shown later than it was given: of that the browser tells the time, which is no longer than the server's.
    Where it doesn't, it's unknown.
    """
    ours = _milliseconds(now - lease.leased_at)
    if not lease.ahead:
        return ours if told is None else told
    return None if told is None else min(told, ours)


def _milliseconds(duration: timedelta) -> int:
    return max(0, round(duration / timedelta(milliseconds=1)))


def assignment_release(*, assignment: Assignment, reason: str) -> None:
    """Give an item back unanswered; the person is never offered it again. An answered one stays answered."""
    with transaction.atomic():
        locked = _locked(assignment)
        if locked.state not in PENDING:
            return
        if locked.state == AssignmentState.OPEN:
            held = int(locked.role == WorkRole.WORK)
            StudyItem.objects.filter(pk=locked.study_item_id).update(n_open=F("n_open") - held)
        Assignment.objects.filter(pk=locked.pk).update(
            state=AssignmentState.RELEASED, release_reason=reason[:200]
        )


def draft_save(
    *,
    assignment: Assignment,
    fields: Mapping[str, str] | None,
    active_ms: int | None = None,
    now: datetime | None = None,
) -> bool:
    """Keep the fields of the form as typed, complete or not; the last write wins, and the lease is renewed by it.

    `fields` None is a heartbeat: the lease is renewed and the draft stays. What was fetched ahead stays theirs with it.
    Returns False when the item is no longer this person's to answer, which makes a draft pointless.
    """
    now = now or timezone.now()
    changed: dict[str, Any] = {"expires_at": expiry(assignment.enrollment.study, now)}
    if fields is not None:
        changed["draft"] = {"fields": dict(fields), "active_ms": active_ms}
    kept = Assignment.objects.filter(pk=assignment.pk, state__in=PENDING).update(**changed)
    if kept and assignment.enrollment.study.fetch_ahead:
        leases_renew(enrollment=assignment.enrollment, now=now)
    return bool(kept)

"""What a person is given next: a place of an item, a hidden check, or a repeat of an item of their own.

Order of giving out: by position, each item until all of its places are taken, so that items are complete early and
agreement can be read while the study runs. Positions are drawn when a study opens (`services.studies`). The search
begins behind the item that the person took last, so that it passes over nothing that they have had, and begins again
at the front when nothing is found there.

Hidden items come at the turns that `domain.mixing` draws from a key of this site. They take no place. They come only
while there is work for the person, so that nobody is kept for checks alone.

How long a claim takes must not tell what it found: a hidden turn runs the same statements as a turn of work, with
other numbers in them. It looks for the work that would come and adds nothing to its count; a turn of work reads the
hidden items that could have come.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from typing import Any, TypeVar, cast

from django.db import OperationalError, transaction
from django.db.models import BooleanField, Case, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.utils.crypto import salted_hmac

from annotation.compiled import (
    CompiledInsert,
    CompiledRows,
    CompiledSelect,
    CompiledStatement,
    CompiledUpdate,
    Parameter,
)
from annotation.domain.errors import StageError, StudyNotOpenError, SuspendedError
from annotation.domain.mixing import pick, role_of_turn
from annotation.domain.presentation import shown_order
from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    ItemRole,
    Stage,
    Study,
    StudyItem,
    StudyState,
    WorkRole,
)
from annotation.selectors.shown import parts_count
from annotation.selectors.steps import is_over as is_over
from annotation.selectors.work import is_capped, places_shown

PENDING = (AssignmentState.OPEN, AssignmentState.EXPIRED)
REPEAT_AFTER = 5  # answers between the first time and the repeat
REPEAT_AMONG = 200
STILL_FREE = Q(
    study_item__withdrawn_at=None,
    study_item__overlap__gt=F("study_item__n_open") + F("study_item__n_accepted"),
)
# What has run out and may be had again: hidden items need no place.
RENEWABLE = Q(state=AssignmentState.EXPIRED) & (STILL_FREE | ~Q(role=WorkRole.WORK))


class Overtaken(Exception):  # noqa: N818  (not an error: what was begun is tried again)
    """Another request changed what was just read."""


def claim_check(enrollment: Enrollment, now: datetime) -> None:
    """Raise what keeps this person from being given anything, as it was read."""
    if enrollment.stage != Stage.WORK:
        raise StageError(enrollment.stage)
    if enrollment.suspended_at is not None:
        raise SuspendedError(enrollment.suspended_because)
    open_check(enrollment.study, now)


def open_check(study: Study, now: datetime) -> None:
    """Raise `StudyNotOpenError` where a study gives nothing out and takes no change."""
    if is_over(study, now):
        raise StudyNotOpenError(StudyState.CLOSED)
    if study.state != StudyState.OPEN:
        raise StudyNotOpenError(study.state)


def claim_check_again(enrollment: Enrollment, now: datetime) -> None:
    """The same, as it is now: what was read before may have changed meanwhile."""
    enrollment.refresh_from_db(
        fields=["stage", "suspended_at", "suspended_because", "n_accepted", "n_claimed", "cursor"]
    )
    enrollment.study.refresh_from_db(fields=["state", "closes_at", "items_per_annotator"])
    claim_check(enrollment, now)


def expiry(study: Study, now: datetime) -> datetime:
    return now + timedelta(minutes=study.lease_minutes)


def _free(enrollment: Any, study: Any, *, nothing_pending: bool, answered: Any = None) -> QuerySet[StudyItem]:
    """Items with a free place that the person never had, in the order of giving out; none if they may not work.

    The rules that the caller has read a moment ago (stage, state of the study, cap) are asked again in it; with
    `nothing_pending`, so is that no lease of theirs, open or to be renewed, comes first. `enrollment` and `study` are
    their ids, or parameters for these; so is `answered` that of a lease of work that is answered by the same statement.
    """
    given = F("n_accepted") if answered is None else F("n_accepted") + 1
    may_work = Enrollment.objects.alias(given=given).filter(
        Q(study__items_per_annotator=None) | Q(given__lt=F("study__items_per_annotator")),
        pk=enrollment,
        stage=Stage.WORK,
        suspended_at=None,
        study__state=StudyState.OPEN,
    )
    # An EXISTS may be planned as one pass over all assignments there are, or over all of this person's, at every claim;
    # this looks into an index for each item that is passed over. It stands in a CASE because PostgreSQL expects next to
    # nothing of a subquery that IS NULL: it would read and sort all items behind the cursor instead of going through
    # them in their order to the first.
    had = Assignment.objects.filter(study_item=OuterRef("pk"), enrollment=enrollment).values("pk")[:1]
    never_had = Case(When(had=None, then=Value(True)), default=Value(False), output_field=BooleanField())
    free = (
        StudyItem.objects.filter(
            Exists(may_work),
            study_id=study,
            overlap__gt=F("n_open") + F("n_accepted"),
            withdrawn_at=None,
        )
        .alias(had=Subquery(had))
        .filter(never_had)
        .order_by("position")
    )
    if nothing_pending:
        mine = Assignment.objects.filter(enrollment=enrollment)
        opened = mine.filter(state=AssignmentState.OPEN)
        if answered is not None:
            opened = opened.filter(~Q(pk=answered))
        free = free.filter(~Exists(opened), ~Exists(mine.filter(RENEWABLE)))
    return free


def take_statement(
    *, nothing_pending: bool, wait: bool, with_cursor: bool, after: Sequence[str] = ()
) -> tuple[str, list[Any]]:
    """The statement that takes a place, and its parameters.

    `after` names the parts of the same statement that answer the lease `answered`; where one of them returns nothing,
    so does this. That statement doesn't begin at the front again: it's run often, and finds something nearly always.
    """
    enrollment, study = Parameter.of(Enrollment, "id", "enrollment"), Parameter.of(Study, "id", "study")
    answered = Parameter.of(Assignment, "id", "answered") if after else None
    free = _free(enrollment, study, nothing_pending=nothing_pending, answered=answered).values("pk")
    free = free.select_for_update(skip_locked=not wait, no_key=True)
    searches = [free[:1]]
    if with_cursor:
        behind = free.filter(position__gt=Parameter.of(Enrollment, "cursor"))[:1]
        searches = [behind] if after else [behind, *searches]
    statements, found = zip(*(search.query.sql_with_params() for search in searches), strict=True)
    taken = Parameter.of(StudyItem, "n_open", "taken")
    # The second search runs only when the first finds nothing. NULL is what COALESCE wants beside a single one.
    chosen = ", ".join(f"({statement})" for statement in statements)
    only = "".join(f"EXISTS (SELECT FROM {part}) AND " for part in after)
    # The ORM's UPDATE does not say which row it took, so the statement around its SELECT is ours.
    return (
        "UPDATE annotation_studyitem SET n_open = n_open + %s "  # noqa: S608  (no text of others)
        f"WHERE {only}id = COALESCE({chosen}, NULL) RETURNING id, item_id, position",
        [taken, *(value for some in found for value in some)],
    )


def _taking(pending: bool, wait: bool, cursor: bool) -> CompiledStatement:
    return CompiledStatement(lambda: take_statement(nothing_pending=pending, wait=wait, with_cursor=cursor))


TAKE = {key: _taking(*key) for key in product((False, True), repeat=3)}
TURN_COUNTED = CompiledUpdate(
    lambda: (
        Enrollment.objects.filter(pk=Parameter.of(Enrollment, "id"), stage=Stage.WORK, suspended_at=None),
        {"n_claimed": F("n_claimed") + 1, "cursor": Parameter.of(Enrollment, "cursor")},
    )
)
# The same, where nobody else has been given an item for this person since they were read: of what is fetched ahead, how
# many they have decides whether there is a turn.
NEXT_TURN_COUNTED = CompiledUpdate(
    lambda: (
        Enrollment.objects.filter(
            pk=Parameter.of(Enrollment, "id"),
            stage=Stage.WORK,
            suspended_at=None,
            n_claimed=Parameter.of(Enrollment, "n_claimed"),
        ),
        {"n_claimed": F("n_claimed") + 1, "cursor": Parameter.of(Enrollment, "cursor")},
    )
)
LEASE = CompiledInsert(Assignment)
# With the lease comes what its page shows first.
LEASED = CompiledSelect(lambda: places_shown().filter(pk=Parameter.of(StudyItem, "id")))


@dataclass(frozen=True, slots=True)
class Hidden:
    """What comes instead of work at a turn: a hidden check or a repeat."""

    role: WorkRole
    study_item_id: int
    item_id: int


def place_take(
    enrollment: Enrollment,
    now: datetime,
    *,
    nothing_pending: bool = False,
    wait: bool = False,
    hidden: Hidden | None = None,
    ahead: int = 0,
) -> Assignment | None:
    """Take a place of the next free item and lease it. Inside a transaction of the caller.

    Choosing, locking and counting are one statement. `wait` for rows that others have locked, instead of passing them
    over: from the first one on, since who waits may hold some already, and all who do so have to go the same way.
    `hidden` is leased instead, if there is a free item; its place is left to the next turn. `ahead` is the person's own
    place for what is fetched ahead.
    """
    row = TAKE[nothing_pending, wait, enrollment.cursor is not None and not wait].row(
        enrollment=enrollment.pk,
        study=enrollment.study_id,
        cursor=enrollment.cursor,
        taken=int(hidden is None),
    )
    if row is None:
        return None
    study_item_id, item_id, position = row
    if hidden is not None:
        where = hidden.study_item_id, hidden.item_id
        return _lease(enrollment, hidden.role, *where, now, enrollment.cursor, ahead)
    return _lease(enrollment, WorkRole.WORK, study_item_id, item_id, now, position, ahead)


def _lease(
    enrollment: Enrollment,
    role: WorkRole,
    place: int,
    item_id: int,
    now: datetime,
    cursor: int | None,
    ahead: int,
) -> Assignment:
    """Lease the item and count the turn of the person, who gets nothing if they were suspended or left meanwhile.

    The lease has its study item, item and dataset, as each that is given out.
    """
    n_parts = parts_count(enrollment.study, item_id)
    salt = WorkRole.REPEAT.value if role == WorkRole.REPEAT else ""
    # One turn is counted once, however many tabs ask: the constraint on open leases holds the others back.
    turn = (
        NEXT_TURN_COUNTED.write(id=enrollment.pk, n_claimed=enrollment.n_claimed, cursor=cursor)
        if enrollment.study.fetch_ahead
        else TURN_COUNTED.write(id=enrollment.pk, cursor=cursor)
    )
    (n_counted, lease), leased = LEASED.get_after(
        turn,
        LEASE.write(
            study_item_id=place,
            enrollment=enrollment,
            role=role,
            ahead=ahead,
            shown_order=shown_order(enrollment.annotator.public_id, item_id, n_parts, salt=salt),
            leased_at=now,
            expires_at=expiry(enrollment.study, now),
        ),
        id=place,
    )
    if not n_counted:
        raise Overtaken
    lease.study_item = leased
    enrollment.n_claimed += 1
    enrollment.cursor = cursor
    return cast("Assignment", lease)


def hidden_next(enrollment: Enrollment) -> Hidden | None:
    """The hidden check or the repeat whose turn it is, if it is one's and there is one for this person."""
    study = enrollment.study
    if not study.check_rate and not study.repeat_rate:
        return None
    # Whoever knows the code still cannot tell the turns: the key is the site's.
    secret = f"{enrollment.study_id}:{enrollment.annotator.public_id}"
    key = salted_hmac("annotation.mixing", secret, algorithm="sha256").digest()
    role = role_of_turn(key, enrollment.n_claimed, check_rate=study.check_rate, repeat_rate=study.repeat_rate)
    # At every turn, whatever its role.
    candidates = {
        WorkRole.CHECK: _candidates(CHECKS, enrollment) if study.check_rate else {},
        WorkRole.REPEAT: _candidates(REPEATS, enrollment) if study.repeat_rate else {},
    }
    places = {kind: pick(key, items) for kind, items in candidates.items()}
    if role == WorkRole.WORK:
        return None
    place = places[WorkRole(role)]
    return None if place is None else Hidden(WorkRole(role), place, candidates[WorkRole(role)][place])


def _candidates(rows: CompiledRows, enrollment: Enrollment) -> dict[int, int]:
    """Study item to item."""
    return dict(rows.all(enrollment=enrollment.pk, study=enrollment.study_id))


def _checks() -> QuerySet[StudyItem, tuple[int, int]]:
    """(study item, item) of the checks that the person never had."""
    enrollment = Parameter.of(Enrollment, "id", "enrollment")
    had = Assignment.objects.filter(study_item=OuterRef("pk"), enrollment=enrollment)
    checks = StudyItem.objects.filter(
        ~Exists(had), study_id=Parameter.of(Study, "id", "study"), role=ItemRole.CHECK
    )
    return checks.filter(withdrawn_at=None).order_by().values_list("pk", "item_id")


def _repeats() -> QuerySet[Assignment, tuple[int, int]]:
    """(study item, item) of what the person answered a while ago and was not asked again."""
    enrollment = Parameter.of(Enrollment, "id", "enrollment")
    repeated = Assignment.objects.filter(
        study_item=OuterRef("study_item"), enrollment=enrollment, role=WorkRole.REPEAT
    )
    answered = Assignment.objects.filter(
        ~Exists(repeated),
        enrollment=enrollment,
        role=WorkRole.WORK,
        state=AssignmentState.SUBMITTED,
        study_item__withdrawn_at=None,
    )
    latest = answered.order_by("-submitted_at", "-pk").values_list("study_item_id", "study_item__item_id")
    return latest[REPEAT_AFTER : REPEAT_AFTER + REPEAT_AMONG]


CHECKS, REPEATS = CompiledRows(_checks), CompiledRows(_repeats)


def own_lease(enrollment: Enrollment, now: datetime) -> Assignment | None:
    """The lease in hand, renewed; else one that ran out, if its place is still free. Inside a transaction."""
    mine = Assignment.objects.filter(enrollment=enrollment)
    until = expiry(enrollment.study, now)
    shown = mine.select_related("study_item__item__dataset")
    opened = shown.filter(state=AssignmentState.OPEN).order_by("leased_at", "pk").first()
    if opened is not None:
        if not mine.filter(pk=opened.pk, state=AssignmentState.OPEN).update(expires_at=until):
            raise Overtaken
        opened.expires_at, opened.enrollment = until, enrollment
        return opened
    return None if is_capped(enrollment) else lease_renew(enrollment, now)


def lease_renew(enrollment: Enrollment, now: datetime, *, ahead: int = 0) -> Assignment | None:
    """Renew a lease that ran out in its own row: the shown order stays, and so does the draft. Inside a transaction."""
    assignment = (
        Assignment.objects.select_for_update(of=("self", "study_item"), no_key=True)
        .select_related("study_item__item__dataset")
        .filter(RENEWABLE, enrollment=enrollment)
        .filter(
            enrollment__stage=Stage.WORK,
            enrollment__suspended_at=None,
            enrollment__study__state=StudyState.OPEN,
        )
        .order_by("leased_at", "pk")
        .first()
    )
    if assignment is None:
        return None
    taken = int(assignment.role == WorkRole.WORK)
    StudyItem.objects.filter(pk=assignment.study_item_id).update(n_open=F("n_open") + taken)
    assignment.state, assignment.ahead = AssignmentState.OPEN, ahead
    assignment.leased_at, assignment.expires_at = now, expiry(enrollment.study, now)
    assignment.save(update_fields=["state", "ahead", "leased_at", "expires_at"])
    assignment.enrollment = enrollment
    return assignment


ATTEMPTS = 8
DEADLOCK = "40P01"
T = TypeVar("T")


def is_deadlock(error: BaseException) -> bool:
    """Whether PostgreSQL ended this transaction because two waited for each other: the other one goes on."""
    return isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", "") == DEADLOCK


def transaction_retried(act: Callable[[], T]) -> T:
    """Do something in a transaction (or in a savepoint of the caller's), again if it was overtaken meanwhile.

    A claim that waits for a place may hold more than one row, in an order that nobody else can know; so who locks
    many places has to be ready to let go of them and begin again.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction.atomic():
                return act()
        except (Overtaken, OperationalError) as error:
            if attempt == ATTEMPTS or not (isinstance(error, Overtaken) or is_deadlock(error)):
                raise
    raise AssertionError("unreachable")

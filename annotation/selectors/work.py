"""What an annotator may see: their own enrollment, their own assignments, and items without any system's
name.

Permission lives in the fetch: `enrollment_get_for`, `assignment_get_for` and `assignment_get_held` are the only ways to
these rows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.utils.crypto import salted_hmac

from annotation.compiled import CompiledSelect, Parameter
from annotation.kinds import answer_fields, answer_words, from_canonical
from annotation.models import (
    Action,
    Assignment,
    AssignmentState,
    Enrollment,
    Intervention,
    Invitation,
    ItemRole,
    Label,
    Study,
    StudyItem,
)
from annotation.models.rules import EntryRules, PrivacyRules, QualificationRules, SliceRules
from annotation.selectors.shown import item_shown

PLACES_TAKEN = F("n_open") + F("n_accepted")
# Above this many free items a person's own total is not counted: it would cost more than the answer itself.
MANY = 200
MANY_FOR_SECONDS = 20
# A warning is shown after at most this many further answers.
HELD_BACK = 3


ENROLLMENT = CompiledSelect(
    lambda: Enrollment.objects.select_related("study", "annotator").filter(
        resume_token=Parameter.of(Enrollment, "resume_token"), study__slug=Parameter.of(Study, "slug")
    )
)


def enrollment_get_for(held: Mapping[str, str], slug: str) -> Enrollment:
    """The enrollment that this browser holds in the study (slug to the person's token); `Enrollment.DoesNotExist`
    for everybody else.
    """
    token = held.get(slug)
    found = ENROLLMENT.first(resume_token=token, slug=slug) if token else None
    if found is None:
        raise Enrollment.DoesNotExist
    return found


# No page of an item reads what a study says of the time before and after its work, but for these columns, nor what a
# dataset says of itself.
READ_WITH_ITEMS = {
    "eligibility",
    "training_size",
    "qualification_size",
    "qualification_rule",
    "qualification_from",
}
NOT_OF_WORK = tuple(
    field.name
    for rules in (SliceRules, QualificationRules, EntryRules, PrivacyRules)
    for field in rules._meta.get_fields()
    if field.name not in READ_WITH_ITEMS
)
NOT_OF_ITEMS = (
    "title",
    "description",
    "source",
    "licence",
    "documentation",
    "mapping",
    "split",
    "owner",
    "is_staged",
)


def places_shown() -> QuerySet[StudyItem]:
    """Places of items, with what is read to show them."""
    unread = (f"item__dataset__{name}" for name in NOT_OF_ITEMS)
    return StudyItem.objects.select_related("item__dataset").defer(*unread)


def _held() -> QuerySet[Assignment]:
    unread = [f"enrollment__study__{name}" for name in NOT_OF_WORK]
    unread += [f"study_item__item__dataset__{name}" for name in NOT_OF_ITEMS]
    rows = Assignment.objects.select_related(
        "enrollment__study", "enrollment__annotator", "study_item__item__dataset"
    )
    return rows.defer(*unread).filter(
        pk=Parameter.of(Assignment, "id"),
        enrollment__resume_token=Parameter.of(Enrollment, "resume_token"),
        enrollment__study__slug=Parameter.of(Study, "slug"),
    )


HELD = CompiledSelect(_held)


def assignment_get_held(held: Mapping[str, str], slug: str, pk: int) -> Assignment:
    """An assignment of the person whose enrollment this browser holds in the study, with that enrollment: in one query
    what `enrollment_get_for` and `assignment_get_for` say in two. `Assignment.DoesNotExist` for all others.
    """
    token = held.get(slug)
    found = HELD.first(id=pk, resume_token=token, slug=slug) if token else None
    if found is None:
        raise Assignment.DoesNotExist
    return found


def enrollment_get_by_resume_token(token: str) -> Enrollment:
    # PostgreSQL refuses a query with a NUL in it; no token has one.
    return Enrollment.objects.select_related("study", "annotator").get(resume_token=token.replace("\x00", ""))


def invitation_get_by_token(token: str) -> Invitation:
    return Invitation.objects.select_related("study").get(token=token.replace("\x00", ""))


ASSIGNMENT = CompiledSelect(
    lambda: Assignment.objects.select_related("study_item__item__dataset").filter(
        pk=Parameter.of(Assignment, "id"), enrollment=Parameter.of(Enrollment, "id", "enrollment")
    )
)


def assignment_get_for(enrollment: Enrollment, pk: int) -> Assignment:
    """An assignment of this person; `Assignment.DoesNotExist` for anybody else's."""
    assignment = ASSIGNMENT.first(id=pk, enrollment=enrollment.pk)
    if assignment is None:
        raise Assignment.DoesNotExist
    assignment.enrollment = enrollment
    return assignment


@dataclass(frozen=True, slots=True)
class WorkStanding:
    """What a page of the work says of the person: their answers so far, and texts to them that are unread."""

    n_answers: int
    n_unread: int


CHANGING = ("stage", "suspended_at", "suspended_because", "n_accepted", "n_claimed", "cursor")


def standing_numbers(enrollment: Any) -> dict[str, QuerySet[Any, int]]:
    """The numbers of a `WorkStanding` by name, each a query of one row, or of none for 0."""
    answers = Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.SUBMITTED)
    rows: dict[str, QuerySet[Any]] = {
        "n_answers": answers,
        "n_unread": _unread().filter(enrollment=enrollment),
    }
    return {
        name: some.order_by()
        .values("enrollment")
        .annotate(number=Count("pk"))
        .values_list("number", flat=True)
        for name, some in rows.items()
    }


def _standing() -> QuerySet[Enrollment]:
    numbers = {name: Subquery(number) for name, number in standing_numbers(OuterRef("pk")).items()}
    return Enrollment.objects.filter(pk=Parameter.of(Enrollment, "id")).only(*CHANGING).annotate(**numbers)


def _unread() -> QuerySet[Intervention]:
    # What was said at a suspension has its own page, and is the past once the person may go on.
    return Intervention.objects.filter(read_at=None).exclude(text="").exclude(action=Action.SUSPEND)


STANDING = CompiledSelect(_standing)


def standing_get(enrollment: Enrollment) -> WorkStanding:
    """Read again, in one query, what an answer may have changed; the columns of `enrollment` are brought up to date."""
    now = STANDING.first(id=enrollment.pk)
    if now is None:
        raise Enrollment.DoesNotExist
    for name in CHANGING:
        setattr(enrollment, name, getattr(now, name))
    counted = now.__dict__
    return WorkStanding(counted["n_answers"] or 0, counted["n_unread"] or 0)


def _not_met_by(enrollment: Enrollment) -> QuerySet[StudyItem]:
    met = Assignment.objects.filter(study_item=OuterRef("pk"), enrollment=enrollment).exclude(
        state=AssignmentState.EXPIRED
    )
    return StudyItem.objects.filter(~Exists(met), study_id=enrollment.study_id, role=ItemRole.WORK)


def is_capped(enrollment: Enrollment) -> bool:
    """Whether the person has as many items as one may have."""
    cap = enrollment.study.items_per_annotator
    return cap is not None and enrollment.n_accepted >= cap


def items_left_ever(enrollment: Enrollment) -> bool:
    """Whether this person could still be given an item, now or when a lease of somebody else ends.

    What is free has an index; what is only taken for a while is found from the open leases, which are few. So the
    question costs the same however many items are complete.
    """
    if is_capped(enrollment):
        return False
    not_met = _not_met_by(enrollment)
    leased = Assignment.objects.filter(study_item=OuterRef("pk"), state=AssignmentState.OPEN)
    return (
        not_met.filter(overlap__gt=PLACES_TAKEN).exists()
        or not_met.filter(Exists(leased), overlap__gt=F("n_accepted")).exists()
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` answers of a person, of `total` that they can give as it looks now; None where nobody counts that."""

    done: int
    total: int | None


def progress_get(enrollment: Enrollment, standing: WorkStanding | None = None) -> Progress:
    """How far a person is. Answers of every role count alike, so that the bar does not tell a check from work."""
    study = enrollment.study
    done = answers_given(enrollment) if standing is None else standing.n_answers
    if study.check_rate or study.repeat_rate:
        return Progress(done, _total_with_hidden(study, done))
    if _has_many(study):
        cap = study.items_per_annotator
        return Progress(done, cap and max(cap, done))
    free = _not_met_by(enrollment).filter(overlap__gt=PLACES_TAKEN).count()
    mine = Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.OPEN).count()
    cap = study.items_per_annotator
    left = free + mine if cap is None else max(0, min(free + mine, cap - enrollment.n_accepted))
    return Progress(done, done + left)


def _total_with_hidden(study: Study, done: int) -> int | None:
    """From the rules and the number of answers alone: a total that stood still at a check would give it away."""
    cap = study.items_per_annotator
    share_of_work = 1 - study.check_rate - study.repeat_rate
    if cap is None or share_of_work <= 0:
        return None
    return max(ceil(cap / share_of_work), done + 1)


def _has_many(study: Study) -> bool:
    """Whether so much is free that nobody needs the number. Asked once a while, and never counted further."""
    key = f"study-has-many:{study.pk}:{study.created_at.timestamp()}"
    known: bool | None = cache.get(key)
    if known is None:
        free = StudyItem.objects.filter(study=study, overlap__gt=PLACES_TAKEN)
        known = free.order_by()[:MANY].count() >= MANY
        cache.set(key, known, MANY_FOR_SECONDS)
    return known


def last_submitted(enrollment: Enrollment) -> Assignment | None:
    return (
        Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.SUBMITTED)
        .order_by("-submitted_at", "-pk")
        .first()
    )


def submitted_before(assignment: Assignment) -> Assignment | None:
    """What the same person answered just before this answered item."""
    return (
        Assignment.objects.filter(enrollment=assignment.enrollment_id, state=AssignmentState.SUBMITTED)
        .filter(
            Q(submitted_at__lt=assignment.submitted_at)
            | Q(submitted_at=assignment.submitted_at, pk__lt=assignment.pk)
        )
        .order_by("-submitted_at", "-pk")
        .first()
    )


def assignment_in_hand(enrollment: Enrollment) -> int | None:
    """The id of the item that the person has in hand. Nothing is renewed by looking."""
    opened = Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.OPEN)
    return opened.order_by("leased_at", "pk").values_list("pk", flat=True).first()


def answers_list(enrollment: Enrollment) -> QuerySet[Assignment]:
    """What a person has answered, newest first, whatever its role: one of them looks like another."""
    return (
        Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.SUBMITTED)
        .select_related("study_item__item__instruction", "study_item__item__dataset")
        .order_by("-submitted_at", "-pk")
    )


def answers_in_words(enrollment: Enrollment, given: Iterable[Assignment]) -> list[tuple[Assignment, str]]:
    """Each of these answers with what it says now, in words, as this person saw the item."""
    given, study = list(given), enrollment.study
    labels = {label.assignment_id: label for label in Label.objects.standing().filter(assignment__in=given)}
    found = []
    for assignment in given:
        label, words = labels.get(assignment.pk), ""
        if label is not None:
            item = item_shown(study, assignment.study_item.item, assignment.shown_order)
            value = from_canonical(label.kind, label.value, label.shown_order or [])
            parts = answer_words(item, answer_fields(label.kind, value))
            words = ", ".join(f"{part.name}: {part.said}" if part.name else part.said for part in parts)
        found.append((assignment, words))
    return found


def texts_unread(enrollment: Enrollment) -> list[Intervention]:
    """What was written to the person and not read yet, oldest first.

    A warning by the rules of the study comes one to three answers late: at once, it would tell that the item just
    answered was a check, and what was said of it could still be changed.
    """
    unread = _unread().filter(enrollment=enrollment).order_by("created_at", "pk")
    texts = unread.only("pk", "text", "created_at", "action", "by")
    return [text for text in texts if not _is_held_back(enrollment, text)]


def _is_held_back(enrollment: Enrollment, text: Intervention) -> bool:
    if text.action != Action.WARN or text.by_id is not None:
        return False
    wait = 1 + salted_hmac("annotation.warning", str(text.pk), algorithm="sha256").digest()[0] % HELD_BACK
    later = Assignment.objects.filter(
        enrollment=enrollment, state=AssignmentState.SUBMITTED, submitted_at__gt=text.created_at
    )
    return later[:wait].count() < wait


def suspension_text(enrollment: Enrollment) -> str:
    """What the person was told when they were suspended last."""
    told = Intervention.objects.filter(enrollment=enrollment, action=Action.SUSPEND).order_by(
        "-created_at", "-pk"
    )
    return told.values_list("text", flat=True).first() or ""


def own_label(assignment: Assignment) -> Label | None:
    """What the person said last of this item."""
    return Label.objects.standing().filter(assignment=assignment).first()


def answers_given(enrollment: Enrollment) -> int:
    """Answers of this person, those included that came too late to count."""
    return Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.SUBMITTED).count()

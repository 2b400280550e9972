"""A person's own answers, searched and filtered, a page at a time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast

from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    ItemReport,
    ItemResponse,
    Label,
)
from annotation.selectors.work import answers_list

A_PAGE = 50
MOST_REPORTS = 200
CHANGED, COMMENTED, REPORTED = "changed", "commented", "reported"


@dataclass(frozen=True, slots=True)
class AnswersWanted:
    """What is looked for: `text` in the item, the comment or the answer; `only` one of `CHANGED`, `COMMENTED` and
    `REPORTED`, which are no answers (`items_reported`).

    `before` and `after` are ids of answers: the page of older ones than the one, or of newer ones than the other.
    """

    text: str = ""
    only: str = ""
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class AnswersPage:
    """Answers of one page, newest first, of `total` that fit; the pages beside it begin at `newer` and `older`."""

    rows: Sequence[Assignment]
    total: int
    newer: int | None
    older: int | None


def own_answers(enrollment: Enrollment, wanted: AnswersWanted) -> AnswersPage:
    """Four queries at most. A page is found by the answer that it follows, so a new answer moves nothing."""
    fitting = _fitting(enrollment, wanted)
    total = fitting.order_by().count()
    rows, at = fitting, None
    if mark := wanted.before or wanted.after:
        at = Assignment.objects.filter(
            enrollment=enrollment, pk=mark, state=AssignmentState.SUBMITTED
        ).first()
    if at is not None:
        older = Q(submitted_at__lt=at.submitted_at) | Q(submitted_at=at.submitted_at, pk__lt=at.pk)
        newer = Q(submitted_at__gt=at.submitted_at) | Q(submitted_at=at.submitted_at, pk__gt=at.pk)
        rows = rows.filter(older) if wanted.before else rows.filter(newer).order_by("submitted_at", "pk")
    found = list(rows[: A_PAGE + 1])
    has_more, found = len(found) > A_PAGE, found[:A_PAGE]
    is_back = at is not None and not wanted.before
    if is_back:
        found.reverse()
    if not found:
        return AnswersPage([], total, None, None)
    return AnswersPage(
        found,
        total,
        newer=found[0].pk if (has_more if is_back else at is not None) else None,
        older=found[-1].pk if (is_back or has_more) else None,
    )


def _fitting(enrollment: Enrollment, wanted: AnswersWanted) -> QuerySet[Assignment]:
    rows = answers_list(enrollment)
    labels = Label.objects.filter(assignment=OuterRef("pk"))
    if wanted.only == CHANGED:
        rows = rows.filter(Exists(labels.filter(supersedes__isnull=False)))
    elif wanted.only == COMMENTED:
        rows = rows.filter(Exists(labels.standing().exclude(comment="")))
    return rows.filter(_says(enrollment, wanted.text)) if wanted.text else rows


def _says(enrollment: Enrollment, text: str) -> Q:
    """Whether the item, the comment or the answer has these words."""
    responses = ItemResponse.objects.filter(item=OuterRef("study_item__item"), response__text__icontains=text)
    standing = Label.objects.standing().filter(assignment=OuterRef("pk"))
    # SQLite keeps JSON with every letter beyond ASCII written as its number.
    written = json.dumps(text)[1:-1]
    answered = standing.annotate(said=Cast("value", TextField())).filter(
        Q(comment__icontains=text)
        | (
            _picked(text)
            if enrollment.study.kind_info.presented
            else Q(said__icontains=text) | Q(said__icontains=written)
        )
    )
    return (
        Q(study_item__item__instruction__text__icontains=text)
        | Q(study_item__item__instruction__context__icontains=text)
        | Exists(responses)
        | Exists(answered)
    )


def _picked(text: str) -> Q:
    """Answers to pairs by the words that their page has: A and B as they were shown."""
    words, found = text.casefold(), Q(pk__in=[])
    for side, first in (("a", [0, 1]), ("b", [1, 0])):
        # Whole words: an "a" stands in every text.
        if words in (side, f"{side} is better", f"answer {side}"):
            found |= Q(shown_order=first, choice=1) | Q(shown_order=first[::-1], choice=2)
    if words == "tie":
        found |= Q(choice=0) & (Q(value__both_bad__isnull=True) | Q(value__both_bad=False))
    if words in ("both bad", "both are bad"):
        found |= Q(value__both_bad=True)
    return found


def items_reported(enrollment: Enrollment, text: str = "") -> list[ItemReport]:
    """The problems that a person has reported, the latest first: these items they left out. One query."""
    said = Q(study_item__item__instruction__text__icontains=text) | Q(note__icontains=text)
    reports = ItemReport.objects.filter(said if text else Q(), enrollment=enrollment)
    return list(reports.select_related("study_item__item__instruction").order_by("-pk")[:MOST_REPORTS])

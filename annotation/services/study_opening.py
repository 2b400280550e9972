"""Opening a study: its test, its training, its hidden checks and its work are drawn, none of them twice."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import islice

from django.db import connection, transaction
from django.utils import timezone

from annotation.domain.errors import StudyRuleError
from annotation.domain.sampling import draw
from annotation.models import (
    Item,
    ItemRole,
    QualificationQuestion,
    QuestionPart,
    Study,
    StudyItem,
    StudyState,
)
from annotation.selectors.slices import slice_items, study_slice
from annotation.services.sampling import work_draw
from annotation.services.study_rules import study_check, study_check_opening

BATCH = 5_000


def study_open(
    *,
    study: Study,
    qualification_items: Sequence[Item] | None = None,
    shuffle: bool = True,
    now: datetime | None = None,
) -> Study:
    """Open a draft, or a paused study again. Opening an open one changes nothing.

    A draft gets its test (`qualification_items`, or as many items with gold as the test has questions), its
    training and its hidden checks, drawn with the slug as seed and never sharing an item. What is left of the slice
    is the work, or a sample of it (`services.sampling`); where items were chosen one by one (`services.item_choice`),
    these are it. They are given out in a shuffled order, the categories in proportion at any time, so that what is
    labelled is a random sample of the slice at any time; `shuffle=False` keeps the order of the source.

    Raises `StudyRuleError` when there is not enough gold, nothing to label, the deadline has passed, or the study is
    closed.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if locked.state == StudyState.CLOSED:
            raise StudyRuleError("state", "a closed study stays closed; make a new one")
        if locked.state != StudyState.OPEN:
            study_check_opening(locked, now=now or timezone.now())
        if locked.state == StudyState.DRAFT:
            _make(study_check(locked), qualification_items, shuffle=shuffle)
        locked.state = StudyState.OPEN
        locked.save(update_fields=["state"])
    return locked


def _make(study: Study, chosen_questions: Sequence[Item] | None, *, shuffle: bool) -> None:
    chosen = set(StudyItem.objects.filter(study=study).values_list("item_id", flat=True))
    used = set(chosen)
    if study.qualification_from is not None:
        used |= set(study.qualification_from.qualification_questions.values_list("item_id", flat=True))
    else:
        if chosen_questions is None:
            test = _gold_draw(study, "qualification", used)
        else:
            test = _chosen_checked(study, chosen_questions)
        _questions_make(study, QuestionPart.TEST, test)
        used |= set(test)
    training = _gold_draw(study, "training", used)
    _questions_make(study, QuestionPart.TRAINING, training)
    used |= set(training)
    checks = _gold_draw(study, "check", used)
    used |= set(checks)
    if not chosen:
        drawn = work_draw(study=study, leave_out=used, shuffle=shuffle)
        if not drawn:
            raise StudyRuleError("dataset", "there is nothing to label: no items are left beside the test")
        study_items_make(
            StudyItem(
                study=study, item_id=pk, position=position, overlap=study.overlap, probability=probability
            )
            for position, (pk, probability) in enumerate(drawn)
        )
    study_items_make(
        StudyItem(study=study, item_id=pk, role=ItemRole.CHECK, position=position, overlap=0)
        for position, pk in enumerate(checks)
    )


PURPOSES = {"qualification": "the test", "training": "the training", "check": "the hidden checks"}


def _gold_draw(study: Study, purpose: str, used: Collection[int]) -> Sequence[int]:
    """As many items with gold as the purpose needs, of its dataset or of the study's own slice; seeded."""
    size: int = getattr(study, f"{purpose}_size")
    if not size:
        return ()
    source: int = getattr(study, f"{purpose}_dataset_id") or study.dataset_id
    own = source == study.dataset_id
    items = study_slice(study) if own else slice_items(dataset_id=source, kind=study.kind)
    pks = items.filter(gold__isnull=False).order_by("pk").values_list("pk", flat=True)
    usable = [pk for pk in pks.iterator() if pk not in used]
    if len(usable) < size:
        raise StudyRuleError(
            f"{purpose}_size",
            f"{PURPOSES[purpose]} needs {size} items with a known right answer, but {len(usable)} are there for it",
        )
    return draw(usable, size, seed=f"{study.slug}/{purpose}").items


def _chosen_checked(study: Study, chosen: Sequence[Item]) -> list[int]:
    pks = [item.pk for item in chosen]
    size = study.qualification_size
    if len(set(pks)) != size:
        raise StudyRuleError("qualification_size", f"expected {size} questions, got {len(set(pks))}")
    for item in chosen:
        if item.gold is None or item.kind != study.kind:
            raise StudyRuleError("qualification_items", f"item {item} cannot be a question of this study")
    return pks


def _questions_make(study: Study, part: QuestionPart, pks: Iterable[int]) -> None:
    QualificationQuestion.objects.bulk_create(
        QualificationQuestion(study=study, part=part, item_id=pk, position=position)
        for position, pk in enumerate(pks)
    )


def study_items_make(rows: Iterable[StudyItem]) -> None:
    """Store rows in batches, so that a million of them are never in memory at once."""
    rows = iter(rows)
    while batch := list(islice(rows, BATCH)):
        StudyItem.objects.bulk_create(batch)
    statistics_refresh()


def statistics_refresh() -> None:
    """Let the database look at the items of studies, of which there are many more now.

    People come as soon as a study opens. PostgreSQL would look by itself a minute later, and until then plan the search
    for a free place as a pass over all of them.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE annotation_studyitem")

"""Making, opening, changing and ending a study, and the links that let people in.

A study's test, training, hidden checks and work are drawn when it opens, none of them twice.
"""

import copy
import secrets
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.text import slugify

from annotation.domain.errors import StudyRuleError
from annotation.domain.sampling import sample_simple
from annotation.kinds import DEFAULT_KIND, KINDS
from annotation.models import (
    Dataset,
    GuidelinesRevision,
    Invitation,
    Item,
    ItemRole,
    QualificationQuestion,
    QualificationRule,
    QuestionPart,
    Study,
    StudyItem,
    StudyState,
    User,
)
from annotation.selectors.slices import slice_items, study_slice
from annotation.services.audit import audit
from annotation.services.sampling import work_draw
from annotation.services.study_rules import FIXED_ONCE_OPEN, RULES, study_check, study_check_opening
from web.batches import batched
from web.deleting import row_delete

BATCH = 5_000
INVITATION_TOKEN_BYTES = 18
# Addresses beside those of the studies: /studies/new/.
RESERVED_SLUGS = frozenset(["new", "preview", "estimate", "starting-text", "form"])


def study_create(
    *,
    dataset: Dataset,
    title: str,
    slug: str | None = None,
    owner: User | None = None,
    kind: str = DEFAULT_KIND,
    **rules: Any,
) -> Study:
    """Make a study in draft. `rules` are columns of `Study`; without a slug, one is made from the title."""
    if unknown := sorted(set(rules) - RULES):
        raise StudyRuleError(unknown[0], "is not a rule of a study")
    if kind not in KINDS:
        raise StudyRuleError("kind", f"expected one of {', '.join(KINDS)}, got {kind!r}")
    tolerant = rules.get("qualification_rule") == QualificationRule.TOLERANT
    if rules.get("qualification_size") == 0 or tolerant:
        rules.setdefault("qualification_pass", 0)
    rules.setdefault("question", KINDS[kind].question)
    if slug in RESERVED_SLUGS:
        raise StudyRuleError("slug", f"{slug!r} is reserved; choose another one")
    study = Study(
        dataset=dataset, owner=owner, kind=kind, title=title, slug=slug or _slug_make(title), **rules
    )
    study_check(study)
    with transaction.atomic():
        study.save()
        _revision_keep(study)
    return study


def _slug_make(title: str) -> str:
    base = slugify(title)[:50] or "study"
    taken = RESERVED_SLUGS | set(Study.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    return base if base not in taken else f"{base}-{secrets.token_hex(4)}"


def study_duplicate(*, study: Study, owner: User | None, slug: str | None = None) -> Study:
    """A new draft with the same rules and texts, without its items, links and people.

    The deadline is left out: it was another study's. With a slug, copying twice makes one study.
    """
    if slug is not None and (made := Study.objects.filter(slug=slug, owner=owner).first()):
        return made
    rules = {
        name: copy.deepcopy(getattr(study, name)) for name in RULES - {"title", "closes_at", "is_simulated"}
    }
    title = f"Copy of {study.title}"[:200]
    return study_create(dataset=study.dataset, kind=study.kind, title=title, owner=owner, slug=slug, **rules)


def study_update(*, study: Study, **rules: Any) -> Study:
    """Change rules, of a draft its kind too. New guidelines get a new version number, which every label carries; a
    new overlap reaches the items of the study at once, but not below what they already have, and not those that
    were given an overlap of their own.
    """
    if unknown := sorted(set(rules) - RULES - {"kind"}):
        raise StudyRuleError(unknown[0], "is not a rule of a study that can be changed")
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        before = {name: getattr(locked, name) for name in rules}
        fixed_once_open = FIXED_ONCE_OPEN if locked.state != StudyState.DRAFT else set()
        for name, value in rules.items():
            if name in fixed_once_open and value != before[name]:
                raise StudyRuleError(name, "cannot be changed once the study has been open")
        _revision_keep(locked)
        for name, value in rules.items():
            setattr(locked, name, value)
        if locked.guidelines != before.get("guidelines", locked.guidelines):
            locked.guidelines_version += 1
        study_check(locked).save()
        _revision_keep(locked)
        if before.get("kind", locked.kind) != locked.kind:
            StudyItem.objects.filter(study=locked).delete()  # chosen for another kind of work
        if locked.overlap != (old := before.get("overlap", locked.overlap)):
            _overlap_set(locked, old)
    return locked


def _revision_keep(study: Study) -> None:
    """The text of the version that is in force; a version's text never changes."""
    GuidelinesRevision.objects.get_or_create(
        study=study, version=study.guidelines_version, defaults={"text": study.guidelines}
    )


def _overlap_set(study: Study, old: int) -> None:
    items = StudyItem.objects.filter(study=study, role=ItemRole.WORK, overlap=old)
    wanted = items.count()
    # Counted by the UPDATE itself, which sees what a claim has taken while it waited for the row.
    changed = items.filter(n_open__lte=study.overlap - F("n_accepted")).update(overlap=study.overlap)
    if changed < wanted:
        most = items.aggregate(most=Max(F("n_open") + F("n_accepted")))["most"]
        raise StudyRuleError("overlap", f"some items have {most} labels or open leases already")


def study_delete(*, study: Study) -> bool:
    """Delete a draft; False if it is gone already. What was opened stays with its people and labels.

    Raises
    ------
    StudyRuleError
        It is no draft.
    InUseError
        Something depends on it.
    """
    with transaction.atomic():
        state = Study.objects.select_for_update().filter(pk=study.pk).values_list("state", flat=True).first()
        if state not in (None, StudyState.DRAFT):
            raise StudyRuleError("state", "only a draft can be deleted; close the study instead")
        return row_delete(study)


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
            raise StudyRuleError("state", "a closed study can't be reopened; create a new one")
        if locked.state != StudyState.OPEN:
            study_check_opening(locked, now=now or timezone.now())
        if locked.state == StudyState.DRAFT:
            _make(study_check(locked), qualification_items, shuffle=shuffle)
        if locked.dataset_version is None:
            locked.dataset_version = Dataset.objects.values_list("version", flat=True).get(
                pk=locked.dataset_id
            )
        locked.state = StudyState.OPEN
        locked.save(update_fields=["state", "dataset_version"])
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
            raise StudyRuleError(
                "dataset", "there is nothing to label: no items are left apart from the test"
            )
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
    return sample_simple(usable, size, seed=f"{study.slug}/{purpose}").items


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
    for batch in batched(rows, BATCH):
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


def study_pause(*, study: Study) -> Study:
    """Give out nothing for the moment; answers to what is open are still taken."""
    return _state_set(study, to=StudyState.PAUSED, only_from=[StudyState.OPEN])


def study_close(*, study: Study) -> Study:
    """End the study for good; answers that come later are kept, but not counted."""
    return _state_set(study, to=StudyState.CLOSED, only_from=[StudyState.OPEN, StudyState.PAUSED])


def _state_set(study: Study, *, to: StudyState, only_from: list[StudyState]) -> Study:
    changed = False
    for before in only_from:  # one at a time, so that the log has the state that the database had
        with transaction.atomic():
            closed_at = timezone.now() if to == StudyState.CLOSED else None
            standing = Study.objects.filter(pk=study.pk, state=before)
            changed = bool(standing.update(state=to, closed_at=closed_at))
            if changed:
                audit("study.changed", study, before={"state": before}, after={"state": to})
        if changed:
            break
    study.refresh_from_db()
    if not changed and study.state != to:
        raise StudyRuleError("state", f"a study that is {study.state} cannot be {to}")
    return study


def invitation_create(
    *,
    study: Study,
    note: str = "",
    max_annotators: int | None = None,
    expires_at: datetime | None = None,
) -> Invitation:
    """A new link into the study, for everybody who has it."""
    return Invitation.objects.create(
        study=study,
        token=secrets.token_urlsafe(INVITATION_TOKEN_BYTES),
        note=note,
        max_annotators=max_annotators,
        expires_at=expires_at,
    )


def invitation_revoke(*, invitation: Invitation, now: datetime | None = None) -> None:
    """Let nobody in by this link any more; who is in stays in."""
    with transaction.atomic():
        standing = Invitation.objects.filter(pk=invitation.pk, revoked_at=None)
        if standing.update(revoked_at=now or timezone.now()):
            audit("invitation.revoked", invitation, before={"study_id": invitation.study_id})


def studies_close_due(*, now: datetime | None = None) -> int:
    """Close the studies whose deadline has passed; returns how many.

    Nothing is given out and nothing counts from the deadline on, closed or not; this makes it visible.
    """
    due = Study.objects.filter(
        state__in=[StudyState.OPEN, StudyState.PAUSED], closes_at__lte=now or timezone.now()
    )
    closed = 0
    for study in due:
        try:
            study_close(study=study)
        except StudyRuleError:  # somebody was faster, or has put it off
            continue
        closed += 1
    return closed

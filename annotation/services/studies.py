"""Making, opening and ending a study, and the links that let people in."""

import random
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.text import slugify

from annotation.domain.errors import StudyRuleError
from annotation.models import (
    Dataset,
    Invitation,
    Item,
    Kind,
    QualificationQuestion,
    Study,
    StudyItem,
    StudyState,
    User,
)

BATCH = 2_000
INVITATION_TOKEN_BYTES = 18
# Kinds that have pages; the tables hold the others already.
OFFERED_KINDS = (Kind.PAIRWISE,)
RULES = frozenset(
    [
        "title",
        "question",
        "consent",
        "guidelines",
        "overlap",
        "tie_policy",
        "items_per_annotator",
        "lease_minutes",
        "qualification_size",
        "qualification_pass",
        "qualification_dataset",
        "completion_code",
        "pay_per_item",
        "pay_currency",
        "is_simulated",
    ]
)

# Addresses beside those of the studies: /studies/new/.
RESERVED_SLUGS = frozenset(["new", "preview"])
FIXED_ONCE_OPEN = frozenset(["qualification_size", "qualification_dataset", "tie_policy"])


def _checked(study: Study) -> Study:
    """Full validation of the row, as a `StudyRuleError` that names the field."""
    try:
        study.full_clean()
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise StudyRuleError(field, " ".join(messages)) from error
    return study


def study_create(
    *,
    dataset: Dataset,
    title: str,
    slug: str | None = None,
    owner: User | None = None,
    kind: str = Kind.PAIRWISE,
    **rules: Any,
) -> Study:
    """Make a study in draft. `rules` are columns of `Study`; without a slug, one is made from the title."""
    if unknown := sorted(set(rules) - RULES):
        raise StudyRuleError(unknown[0], "is not a rule of a study")
    if kind not in OFFERED_KINDS:
        raise StudyRuleError("kind", f"expected one of {', '.join(OFFERED_KINDS)}, got {kind!r}")
    if rules.get("qualification_size") == 0:
        rules.setdefault("qualification_pass", 0)
    if slug in RESERVED_SLUGS:
        raise StudyRuleError("slug", f"{slug!r} is the address of another page")
    study = Study(
        dataset=dataset, owner=owner, kind=kind, title=title, slug=slug or _slug_make(title), **rules
    )
    _checked(study).save()
    return study


def _slug_make(title: str) -> str:
    base = slugify(title)[:50] or "study"
    taken = RESERVED_SLUGS | set(Study.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    return base if base not in taken else f"{base}-{secrets.token_hex(4)}"


def study_update(*, study: Study, **rules: Any) -> Study:
    """Change rules. New guidelines get a new version number, which every label carries; a new overlap reaches
    the
    items of the study at once, but not below what they already have.
    """
    if unknown := sorted(set(rules) - RULES):
        raise StudyRuleError(unknown[0], "is not a rule of a study that can be changed")
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        before = {name: getattr(locked, name) for name in rules}
        fixed_once_open = FIXED_ONCE_OPEN if locked.state != StudyState.DRAFT else set()
        for name, value in rules.items():
            if name in fixed_once_open and value != before[name]:
                raise StudyRuleError(name, "cannot be changed once the study has been open")
            setattr(locked, name, value)
        if locked.guidelines != before.get("guidelines", locked.guidelines):
            locked.guidelines_version += 1
        _checked(locked).save()
        if locked.overlap != before.get("overlap", locked.overlap):
            _overlap_set(locked)
    return locked


def _overlap_set(study: Study) -> None:
    items = StudyItem.objects.filter(study=study)
    # Counted by the UPDATE itself, which sees what a claim has taken while it waited for the row.
    changed = items.filter(n_open__lte=study.overlap - F("n_accepted")).update(overlap=study.overlap)
    if changed < items.count():
        most = items.aggregate(most=Max(F("n_open") + F("n_accepted")))["most"]
        raise StudyRuleError("overlap", f"some items have {most} labels or open leases already")


def study_open(
    *, study: Study, qualification_items: Sequence[Item] | None = None, shuffle: bool = True
) -> Study:
    """Open a draft, or a paused study again. Opening an open one changes nothing.

    A draft gets its test: `qualification_items`, or as many items with gold as the test has questions, drawn
    with the slug as seed. All other items of the study's kind are its work. They are given out in a shuffled
    order (the slug is the seed), so that what is labelled at any time is a random sample of the dataset;
    `shuffle=False` keeps the order of the source.

    Raises `StudyRuleError` when there is not enough gold, nothing to label, or the study is closed.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if locked.state == StudyState.CLOSED:
            raise StudyRuleError("state", "a closed study stays closed; make a new one")
        if locked.state == StudyState.DRAFT:
            asked = _questions_make(locked, qualification_items)
            _items_make(locked, leave_out=asked, shuffle=shuffle)
        locked.state = StudyState.OPEN
        locked.save(update_fields=["state"])
    return locked


def _questions_make(study: Study, chosen: Sequence[Item] | None) -> set[int]:
    """Make the questions of the test; returns the items that they use."""
    size = study.qualification_size
    if chosen is None:
        source = study.qualification_dataset_id or study.dataset_id
        usable = Item.objects.filter(dataset=source, kind=study.kind, gold__isnull=False)
        pks = sorted(usable.values_list("pk", flat=True))
        if len(pks) < size:
            raise StudyRuleError(
                "qualification_size",
                f"the test has {size} questions, but its dataset has {len(pks)} items "
                "with a known right answer",
            )
        drawn = random.Random(f"{study.slug}/qualification").sample(pks, size)  # noqa: S311  (no secret)
    else:
        drawn = [item.pk for item in chosen]
        if len(set(drawn)) != size:
            raise StudyRuleError("qualification_size", f"expected {size} questions, got {len(set(drawn))}")
        for item in chosen:
            if item.gold is None or item.kind != study.kind:
                raise StudyRuleError("qualification_items", f"item {item} cannot be a question of this study")
    QualificationQuestion.objects.bulk_create(
        QualificationQuestion(study=study, item_id=pk, position=position) for position, pk in enumerate(drawn)
    )
    return set(drawn)


def _items_make(study: Study, *, leave_out: set[int], shuffle: bool) -> None:
    items = Item.objects.filter(dataset=study.dataset_id, kind=study.kind).order_by("position", "pk")
    pks = [pk for pk in items.values_list("pk", flat=True) if pk not in leave_out]
    if not pks:
        raise StudyRuleError("dataset", "there is nothing to label: no items are left beside the test")
    if shuffle:
        random.Random(f"{study.slug}/items").shuffle(pks)  # noqa: S311  (no secret)
    StudyItem.objects.bulk_create(
        (
            StudyItem(study=study, item_id=pk, position=position, overlap=study.overlap)
            for position, pk in enumerate(pks)
        ),
        batch_size=BATCH,
    )


def study_pause(*, study: Study) -> Study:
    """Give out nothing for the moment; answers to what is open are still taken."""
    return _state_set(study, to=StudyState.PAUSED, only_from=[StudyState.OPEN])


def study_close(*, study: Study) -> Study:
    """End the study for good; answers that come later are kept, but not counted."""
    return _state_set(study, to=StudyState.CLOSED, only_from=[StudyState.OPEN, StudyState.PAUSED])


def _state_set(study: Study, *, to: StudyState, only_from: list[StudyState]) -> Study:
    changed = Study.objects.filter(pk=study.pk, state__in=only_from).update(state=to)
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
    Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=now or timezone.now())

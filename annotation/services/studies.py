"""Making, changing and ending a study, and the links that let people in. `study_opening` has what opens it."""

import copy
import secrets
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.text import slugify

from annotation.domain.errors import StudyRuleError
from annotation.kinds import DEFAULT_KIND, KINDS
from annotation.models import (
    Dataset,
    GuidelinesRevision,
    Invitation,
    ItemRole,
    QualificationRule,
    Study,
    StudyItem,
    StudyState,
    User,
)
from annotation.services.study_opening import study_open
from annotation.services.study_rules import FIXED_ONCE_OPEN, RULES, study_check

__all__ = [
    "invitation_create",
    "invitation_revoke",
    "study_close",
    "study_create",
    "study_duplicate",
    "study_open",
    "study_pause",
    "study_update",
]

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
        raise StudyRuleError("slug", f"{slug!r} is the address of another page")
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

"""What the template of the work page is given: `part_context` for every state of it, `item_context` with an item."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from annotation.forms.evidence import marks_written
from annotation.forms.work import WorkForm
from annotation.kinds import answer_fields, from_canonical, kind_of
from annotation.kinds.evidence import KEY as EVIDENCE
from annotation.kinds.evidence import marks_shown
from annotation.models import Assignment, Enrollment, EvidenceRule, Label, Stage, Study, StudyState
from annotation.selectors.shown import item_shown, question_of
from annotation.selectors.work import WorkStanding, progress_get, standing_get, texts_unread
from annotation.views.annotator.common import resume_url
from web.addresses import address, row_address


def live_context(enrollment: Enrollment, standing: WorkStanding | None = None) -> dict[str, Any]:
    """What every answer may change on the page, whichever item it shows: the elements with `data-live`."""
    study = enrollment.study
    standing = standing or standing_get(enrollment)
    return {
        "study": study,
        "enrollment": enrollment,
        "progress": progress_get(enrollment, standing),
        "texts": texts_unread(enrollment) if standing.n_unread else [],
        "guidelines_changed": enrollment.stage == Stage.WORK
        and (enrollment.guidelines_read_version or study.guidelines_version) < study.guidelines_version,
    }


def part_context(
    request: HttpRequest,
    enrollment: Enrollment,
    state: str,
    *,
    standing: WorkStanding | None = None,
    live: Mapping[str, Any] | None = None,
    here: str = "",
) -> dict[str, Any]:
    """For the part in any `state`: `item`, `claim`, `nothing_now` or `offline`; `live` is `live_context`, if known.

    `here` is the page's address, unless it's that of the work.
    """
    study = enrollment.study
    return {
        **(live or live_context(enrollment, standing)),
        "state": state,
        "title": study.title,
        "state_template": f"annotation/annotator/_{state}.html",
        "here": here or address("annotation:work", study.slug),
        "resume_url": resume_url(request, enrollment),
    }


def item_context(
    request: HttpRequest,
    found: Assignment,
    *,
    label: Label | None = None,
    form: WorkForm | None = None,
    error: str = "",
    last: Assignment | None = None,
    standing: WorkStanding | None = None,
    live: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """For the part with an item: the answer of an answered one (`label`), the draft of an open one."""
    enrollment, study = found.enrollment, found.enrollment.study
    draft = found.draft or {}
    stored = _fields_of_label(label) if label else draft.get("fields") or {}
    here = row_address("annotation:assignment", study.slug, found.pk)
    item = item_shown(study, found.study_item.item, found.shown_order)
    question = question_of(study, item)
    return part_context(request, enrollment, "item", standing=standing, live=live, here=here) | {
        "assignment": found,
        "title": gettext("Your answer: %(question)s") % {"question": question} if label else question,
        "item": item,
        "steps_url": f"{here}steps/",
        "fields": form.fields if form else stored,
        "value_fields": stored if label else None,
        "evidence": study.evidence != EvidenceRule.OFF,
        "marking": study.evidence != EvidenceRule.OFF,
        "answered": label,
        "can_change": study.allow_changes and study.state == StudyState.OPEN,
        "submit": gettext("Change my answer") if label else gettext("Submit"),
        "active_ms": draft.get("active_ms") or 0,
        "undo_url": undo_url(study, last),
        "error": error,
        # Then all of the page but the item's own words is the same for all, so its template keeps it.
        "untouched": study.kind_info.kept
        and enrollment.stage == Stage.WORK
        and not (label or form or draft or error),
    }


def undo_url(study: Study, last: Assignment | None) -> str:
    """Where the answer before is changed; empty where there is none or the study doesn't let people."""
    return row_address("annotation:assignment", study.slug, last.pk) if last and study.allow_changes else ""


def _fields_of_label(label: Label) -> dict[str, str]:
    shown = from_canonical(label.kind, label.value, label.shown_order or [])
    fields = answer_fields(label.kind, shown)
    order = label.shown_order if kind_of(label.kind).ordered == "responses" else None
    marks = marks_written(marks_shown(label.evidence or (), order))
    fields |= {"comment": label.comment} if label.comment else {}
    return fields | ({EVIDENCE: marks} if marks else {})

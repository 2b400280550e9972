"""What a person has done: what it earned so far, and their answers, to be found and changed."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.forms.annotator import REPORT_REASONS
from annotation.forms.own_answers import OwnAnswersForm
from annotation.models import Enrollment, Stage
from annotation.selectors.own_answers import REPORTED, items_reported, own_answers
from annotation.selectors.own_work import work_done
from annotation.selectors.work import answers_in_words
from annotation.views.annotator.common import for_enrollment, money, pay_line, study_context

FIGURES = "annotation/annotator/_own_work.html"
PAGE = "annotation/annotator/answers.html"


@require_safe
@for_enrollment
def own_work(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Answers, time and earnings of the session and the study, and what is left: a page, or the part of a dialog."""
    study, done = enrollment.study, work_done(enrollment, timezone.now())
    context: dict[str, Any] = {"study": study, "enrollment": enrollment, "done": done}
    if done.left_minutes is not None:
        context["left_minutes"] = round(done.left_minutes)
    if pay_line(study) or done.study.total:
        context |= {
            "pay_line": pay_line(study),
            "session_earned": money(done.session_earned, study),
            "study_earned": money(done.study.total, study),
            "test": money(done.study.test, study) if done.study.test else "",
            "bonus": money(done.study.bonus, study) if done.study.bonus else "",
        }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, FIGURES, context)
    context = study_context(request, enrollment) | context | {"is_at_work": enrollment.stage == Stage.WORK}
    return render(request, "annotation/annotator/own_work.html", context)


@require_safe
@for_enrollment
def answers(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """What this person has answered, newest first; each can be opened and, where the study allows, changed."""
    form = OwnAnswersForm(request.GET, study=enrollment.study)
    context = study_context(request, enrollment) | {
        "form": form,
        "is_at_work": enrollment.stage == Stage.WORK,
    }
    if form.only == REPORTED:
        context["reports"] = [
            (report, dict(REPORT_REASONS).get(report.reason, report.reason))
            for report in items_reported(enrollment, form.text)
        ]
        return render(request, PAGE, context)
    page = own_answers(enrollment, form.wanted)
    context |= {
        "found": page,
        "given": answers_in_words(enrollment, page.rows),
        "newer_url": form.address(after=page.newer) if page.newer else "",
        "older_url": form.address(before=page.older) if page.older else "",
    }
    return render(request, PAGE, context)

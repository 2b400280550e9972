"""Stored reports: their list, their pages, their files."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.vary import vary_on_headers

from annotation.models import Kind
from annotation.selectors.overview import reader_of
from annotation.selectors.privacy import erasures_since
from metaeval.forms import ReportForm
from metaeval.models import JobState, Report
from metaeval.pictures.picture import Picture
from metaeval.reports.changes import Verification, changes_of, changes_words, verification_words
from metaeval.reports.errors import ReportError
from metaeval.reports.html import context_of
from metaeval.reports.json_values import read_as
from metaeval.reports.pictures import report_pictures
from metaeval.reports.render import FORMATS, formats_here
from metaeval.reports.render import render as render_report
from metaeval.reports.report import ReportContent, report_of
from metaeval.reports.typesetting import MissingPdfError
from metaeval.selectors.annotators import annotators_linked
from metaeval.selectors.preregistrations import preregistration_get_for, preregistrations_visible_to
from metaeval.selectors.reports import (
    ReportTarget,
    report_get_for,
    report_list_for,
    report_targets,
    reports_beside,
)
from metaeval.services.drawings import report_items_behind
from metaeval.services.page_contents import asked_to_verify
from metaeval.services.report_jobs import (
    page_job_get,
    report_job_cancel,
    report_job_get_for,
    report_job_resume,
    report_jobs_of,
    report_request,
    verification_request,
)
from metaeval.views.pictures import picture_response, pictures_shown
from web.access import ResearcherRequest, researcher_action, researcher_page
from web.caching import BoundedCache
from web.files import attachment
from web.loop import LoopPlace

PER_PAGE = 25
JOBS_SHOWN = 10
PLANS_OFFERED = 200
FIGURES_SHOWN = 200
MOST_BODY_CHARACTERS = 16_000_000
LISTED = ("html", "pdf", "zip")
"""Formats in the list of reports; the page of a report has all."""
_bodies: BoundedCache[tuple[str, ...], SafeString] = BoundedCache(limit=MOST_BODY_CHARACTERS, weight=len)


@researcher_page
def report_list(request: ResearcherRequest) -> HttpResponse:
    page = Paginator(report_list_for(request.user), PER_PAGE).get_page(request.GET.get("page"))
    targets = report_targets(request.user)
    asked = {"name": _asked(request, targets), "preregistration": request.GET.get("plan", "")}
    form = ReportForm(names=_choices(targets), plans=_plans(request), initial=asked)
    suffixes = [(suffix, name) for suffix, name in formats_here().items() if suffix in LISTED]
    rows = [(report, _kind_label(report), suffixes) for report in page]
    jobs = report_jobs_of(request.user)[:JOBS_SHOWN]
    context = {"page_obj": page, "rows": rows, "jobs": jobs, "form": form, "section": "reports"}
    return render(request, "metaeval/report_list.html", context)


@researcher_action
def report_new(request: ResearcherRequest) -> HttpResponse:
    targets = report_targets(request.user)
    form = ReportForm(request.POST, names=_choices(targets), plans=_plans(request))
    if form.is_valid():
        chosen = next(target for target in targets if target.key == form.cleaned_data["name"])
        margin, annotators = form.asked()
        plan = form.cleaned_data["preregistration"]
        try:
            made = report_request(
                user=request.user,
                dataset=chosen.dataset,
                kind=chosen.kind,
                study=chosen.study,
                epsilon=form.cleaned_data["epsilon"],
                margin=margin,
                annotators=annotators,
                preregistration=preregistration_get_for(request.user, int(plan)) if plan else None,
                pass_mark=form.cleaned_data["pass_mark"],
                preset=form.cleaned_data["preset"],
                dimension=chosen.dimension,
            )
        except ReportError as error:
            messages.error(request, str(error))
        else:
            if isinstance(made, Report):
                return redirect("metaeval:report-detail", made.pk)
            return redirect("metaeval:report-job", made.pk)
    else:
        wrong = [f"{form[name].label}: {errors[0]}" for name, errors in form.errors.items() if name != "name"]
        messages.error(request, wrong[0] if wrong else "Choose a dataset or a study of the list.")
    return redirect("metaeval:report-list")


def _choices(targets: Sequence[ReportTarget]) -> list[tuple[str, str]]:
    return [(target.key, target.words) for target in targets]


def _plans(request: ResearcherRequest) -> list[tuple[str, str]]:
    """The preregistrations that a report may name."""
    found = preregistrations_visible_to(request.user).select_related("dataset")[:PLANS_OFFERED]
    return [("", "None"), *((str(one.pk), f"{one.title} ({one.dataset.title})") for one in found)]


def _asked(request: ResearcherRequest, targets: Sequence[ReportTarget]) -> str | None:
    """The choice that a page linked to: a study's by ``study`` and ``dimension``, a dataset's first by ``name``."""
    study, name = request.GET.get("study"), request.GET.get("name")
    dimension = request.GET.get("dimension", "")
    wanted = (
        target
        for target in targets
        if (
            (target.study, target.dimension) == (study, dimension)
            if study
            else target.dataset == name and not target.study
        )
    )
    return next((target.key for target in wanted), None)


@never_cache
@vary_on_headers("HX-Request")
@researcher_page
def report_job(request: ResearcherRequest, pk: int) -> HttpResponse:
    """How far a report is: the whole page and, polled, its moving part. It leads to the report when that is there."""
    job = report_job_get_for(request.user, pk)
    part = bool(request.htmx) and not request.htmx.history_restore_request
    if (address := job.result_url) is not None:
        if part:
            return HttpResponse(headers={"HX-Redirect": address})
        return redirect(address)
    context = {
        "section": "reports",
        "crumbs": [("Reports", reverse("metaeval:report-list")), ("In preparation", None)],
        "job": job,
    }
    return render(request, f"metaeval/{'_report_job' if part else 'report_job'}.html", context)


@researcher_action
def report_job_act(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Cancel a report that is being made, or make it after all."""
    job = report_job_get_for(request.user, pk)
    action = request.POST.get("action", "")
    if action == "cancel":
        if report_job_cancel(job=job):
            messages.success(request, "The report was cancelled. You can resume it below.")
    elif action == "resume":
        report_job_resume(job=job)
    else:
        raise Http404("There is no such action.")
    return redirect("metaeval:report-job", job.pk)


@researcher_page
def report_detail(request: ResearcherRequest, pk: int) -> HttpResponse:
    report = report_get_for(request.user, pk)
    content = report_of(report.content)
    context = context_of(content)
    n_erased = erasures_since(report.dataset, report.study, report.created_at)
    context |= {
        "report": report,
        "pictures": pictures_shown(
            request,
            report_pictures(content, report_items_behind(report, content)),
            lambda name, suffix: reverse("metaeval:report-picture", args=[report.pk, name, suffix]),
        ),
        "n_erased": n_erased,
        "body": _body(request, report, context, n_erased),
        "section": "reports",
        "loop": LoopPlace(report.dataset.name, "report"),
        "suffixes": formats_here().items(),
        "verification": _verification(request, report),
    }
    return render(request, "metaeval/report_detail.html", context)


def _body(request: ResearcherRequest, report: Report, context: dict[str, Any], n_erased: int) -> SafeString:
    """Figures and methods, which are most of the page: rendered once a process for all who may see the same labels."""
    study = "" if report.study is None else report.study.slug
    stored = sha256(json.dumps(report.content).encode("ascii")).hexdigest()
    content: ReportContent = context["content"]
    names = annotators_linked(report, content, reader_of(request.user), n_erased=n_erased)

    def rendered() -> SafeString:
        annotators = [(row, names.get(row.number, "")) for row in content.people.annotators]
        own = {"dataset": report.dataset, "study_slug": study, "annotators": annotators, "names": names}
        return render_to_string("metaeval/report_body.html", context | own)

    return _bodies.get((stored, report.dataset.name, study, *names.values()), rendered)


def _verification(request: ResearcherRequest, report: Report) -> dict[str, Any] | None:
    """What the last verification of the report found, or the job that makes it."""
    job = page_job_get(user=request.user, asked=asked_to_verify(report))
    if job is None or job.state != JobState.DONE:
        return None if job is None else {"job": job}
    found = read_as(Verification, job.content or {})
    headline, notes = verification_words(found)
    return {"job": job, "found": found, "headline": headline, "notes": notes, "changes": found.changes}


@researcher_action
def report_verify_page(request: ResearcherRequest, pk: int) -> HttpResponse:
    """Compute the report again and compare: at once where it is small, else by a worker."""
    report = report_get_for(request.user, pk)
    address = f"{reverse('metaeval:report-detail', args=[report.pk])}#verification"
    job = verification_request(user=request.user, report=report, address=address)
    return redirect(address if job.state == JobState.DONE else reverse("metaeval:report-job", args=[job.pk]))


@researcher_page
def report_changes(request: ResearcherRequest, pk: int) -> HttpResponse:
    """What changed from another report on the same dataset to this one, and why."""
    report = report_get_for(request.user, pk)
    others = reports_beside(request.user, report)
    given = request.GET.get("from", "")
    before = next((one for one in others if str(one.pk) == given), None)
    if given and before is None:
        raise Http404("There is no such report on this dataset.")
    if before is None:
        # The one before this one, by default.
        before = next(
            (one for one in others if one.created_at <= report.created_at), next(iter(others), None)
        )
    context: dict[str, Any] = {
        "report": report,
        "section": "reports",
        "loop": LoopPlace(report.dataset.name, "report"),
        "others": others,
        "before": before,
    }
    if before is not None:
        first = report_of(report_get_for(request.user, before.pk).content)
        changes = changes_of(first, report_of(report.content)).shortened(FIGURES_SHOWN)
        context |= {"changes": changes, "words": changes_words(changes)}
    return render(request, "metaeval/report_changes.html", context)


@researcher_page
def report_download(request: ResearcherRequest, pk: int, suffix: str) -> HttpResponse:
    report = report_get_for(request.user, pk)
    name = f"{report.name}-{report.inputs_hash[:8]}"
    return report_file(report_of(report.content), suffix, name)


def report_file(content: ReportContent, suffix: str, name: str) -> HttpResponse:
    """A report in one of the formats. Raises Http404 for one that this installation cannot write, and says why."""
    try:
        written = render_report(content, f".{suffix}")
    except MissingPdfError as error:
        raise Http404(str(error)) from None
    return attachment(written, f"{name}.{suffix}", FORMATS[f".{suffix}"][1])


@researcher_page
def report_picture(request: ResearcherRequest, pk: int, picture: str, file: str) -> HttpResponse:
    """A picture of a report as a file, or as a page shows it."""
    report = report_get_for(request.user, pk)

    def pictures() -> tuple[Picture, ...]:
        content = report_of(report.content)
        return report_pictures(content, report_items_behind(report, content))

    return picture_response(request, picture, file, f"{report.name}-{report.inputs_hash[:8]}", pictures)


def _kind_label(report: Report) -> str:
    return Kind(report.options.get("kind", Kind.PAIRWISE)).label

"""The choice of a judge over the datasets of a sweep."""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.vary import vary_on_headers

from annotation.models import Dataset
from metaeval.forms import PromoteForm
from metaeval.reports.anytime import anytime_meaning
from metaeval.reports.errors import ReportError
from metaeval.reports.planned import planned_context
from metaeval.reports.promotion import chosen_options
from metaeval.reports.report import canonical_json
from metaeval.reports.selection import verdict as sections
from metaeval.reports.selection import words
from metaeval.reports.selection.markdown import selection_markdown
from metaeval.reports.selection.report import SelectionReport
from metaeval.reports.selection.tables import decision_pictures, selection_table
from metaeval.selection_forms import SelectionForm, selection_form
from metaeval.selectors.decisions import decided, decisions_moved
from metaeval.selectors.sweeps import SweepView
from metaeval.services.page_contents import asked_of
from metaeval.services.selections import selection_get, selection_read, selection_with_plan
from metaeval.views.addresses import chosen_url, of_source, part_asked, source_slug, source_url
from metaeval.views.counted import items_of_choice
from metaeval.views.kept import kept_of
from metaeval.views.pictures import picture_response, pictures_shown
from metaeval.views.planned import plan_named, plans_context
from web.access import ResearcherRequest, researcher_page
from web.files import attachment
from web.loop import LoopPlace


@never_cache
@vary_on_headers("HX-Request")
@researcher_page
@of_source
def decision(request: ResearcherRequest, sweep: SweepView) -> HttpResponse:
    if (url := chosen_url(request, sweep, "decision")) is not None:
        return redirect(url)
    return decision_page(request, sweep)


def decision_page(
    request: ResearcherRequest, sweep: SweepView, *, refused: PromoteForm | None = None
) -> HttpResponse:
    """The page of what the address asks; `refused` is a promotion that was, to be shown as it was filled in."""
    form = selection_form(request.GET.dict(), sweep)
    context = {
        "sweep": sweep,
        "loop": LoopPlace(sweep.datasets[0].name, "decide"),
        "progress": sweep.progress,
        "may_promote": request.user.is_administrator,
        "section": "datasets" if sweep.pk is None else "sweeps",
        "refused": refused,
        **_chosen(request, form, sweep, keeps=refused is None),
    }
    report = context.get("report")
    context |= plans_context(request, form_datasets(form, sweep), plan_named(request))
    if report is not None:
        context |= _sections(request, report, form, sweep, context["query"]) | planned_context(report.planned)
    part = part_asked(request) == "decision"
    if part and context.get("kept") and context["kept"].waits:
        return render(request, "metaeval/_report_job.html", {"job": context["kept"].job})
    return render(request, f"metaeval/decision{'_content' if part and report else ''}.html", context)


def _chosen(
    request: ResearcherRequest, form: SelectionForm, sweep: SweepView, *, keeps: bool = True
) -> dict[str, Any]:
    """The form, and the choice by it with its verdict; in its place what a page says where there is none (yet).

    With `keeps` a large one is left to the workers.
    """
    context: dict[str, Any] = {"sweep": sweep, "form": form}
    if not form.datasets:
        nothing = f"No judge has judged {form.words.items} that have human labels or gold answers."
        return context | {"error": nothing}
    if not form.is_valid():
        return context | {"is_invalid": True}
    criteria, kept = form.criteria(), None
    names = {part.dataset for part in criteria.parts}
    datasets = [row for row in sweep.datasets if row.name in names]
    plan = plan_named(request)
    context["query"] = form.query() + ("" if plan is None else f"&plan={plan.pk}")
    if keeps:
        asked = asked_of(sweep, datasets[0], form.kind, criteria=criteria)
        context["kept"] = kept = kept_of(request, datasets, asked, sweep.judge_ids)
    if kept is None:
        try:
            report = selection_get(sweep=sweep, criteria=criteria)
        except ReportError as error:
            return context | {"error": str(error)}
    elif kept.content is None:
        return context
    else:
        report = selection_read(kept.content)
    report = report if plan is None else selection_with_plan(report, plan)
    return context | {
        "report": report,
        "verdict": sections.selection_verdict(report),
        "objective_short": words.objective_short(report),
        "is_optimistic": sections.is_optimistic(report),
    }


def form_datasets(form: SelectionForm, sweep: SweepView) -> list[Dataset]:
    """Those that the form may choose by."""
    names = {row.name for row in form.datasets}
    return [row for row in sweep.datasets if row.name in names]


def _sections(
    request: ResearcherRequest, report: SelectionReport, form: SelectionForm, sweep: SweepView, query: str
) -> dict[str, Any]:
    names = {row.name for row in report.deciding}
    deciding = decided((row for row in sweep.datasets if row.name in names), report.kind)
    # More labels of a dataset help where a sample size is needed; only pairs are drawn for labelling.
    full = {row.name for row in form.datasets if row.is_full}
    open_ones = {row.dataset for row in report.settling if row.n_needed}
    people = [row for row in report.datasets if report.of_pairs and row.role == "people"]
    parts = {} if report.composite is None else report.composite.parts
    counted = items_of_choice(report, sweep)
    return {
        "objective": words.objective_words(report),
        "naive": {"value": report.naive},
        "held_out_words": sections.held_out_words(report),
        "table": selection_table(report),
        "resampled": counted.resampled,
        "all_judges": counted.judges,
        "leader_fingerprint": _fingerprint(report),
        "pictures": pictures_shown(
            request,
            decision_pictures(report),
            lambda name, suffix: f"{source_url(sweep, 'decision-picture', name, suffix)}?{query}",
        ),
        "composite_words": sections.composite_words(report),
        "composite_parts": [(name or "none given", report.name(key)) for name, key in sorted(parts.items())],
        "composed_by": words.composed_by(report),
        "people": [
            (
                row,
                report.replaces.get(row.name),
                sections.replaces_words(report, row.name),
                counted.tested.get(row.name),
            )
            for row in people
            if report.leader is not None
        ],
        "settling": [sections.settling_words(report, row) for row in report.settling],
        "anytime": sections.anytime_sections(report),
        "anytime_meaning": anytime_meaning(report.anytime, report.confidence),
        "more_labels": [(row, row.name in full) for row in people if row.name in open_ones],
        "deciding": deciding,
        "in_use": (in_use := [row.current for row in deciding if row.current is not None]),
        "moved": decisions_moved(in_use),
        "promotable": chosen_options(report),
        "promote_url": f"{source_url(sweep, 'decision-promote')}?{query}",
        "inputs_hash": report.inputs_hash,
    }


def _fingerprint(report: SelectionReport) -> str:
    """Of the leading judge; empty where none leads, or a baseline, which has no judgments."""
    judge = report.by_key.get(report.leader or "")
    return "" if judge is None or judge.baseline else judge.fingerprint


@never_cache
@researcher_page
@of_source
def decision_summary(request: ResearcherRequest, sweep: SweepView) -> HttpResponse:
    """A few sentences, for the page of the sweep: the choice with everything preset."""
    context = _chosen(request, selection_form({}, sweep), sweep)
    return render(request, "metaeval/decision_summary.html", context)


def _report_asked(request: ResearcherRequest, sweep: SweepView) -> SelectionReport:
    """The choice that the page shows; Http404 where there is none."""
    form = selection_form(request.GET.dict(), sweep)
    context = _chosen(request, form, sweep)
    if context.get("kept") and "report" not in context:
        context = _chosen(request, form, sweep, keeps=False)
    report: SelectionReport | None = context.get("report")
    if report is None:
        raise Http404(context.get("error", "There is no such choice."))
    return report


@researcher_page
@of_source
def decision_picture(request: ResearcherRequest, sweep: SweepView, picture: str, file: str) -> HttpResponse:
    """A picture of a decision as a file, or as a page shows it."""
    return picture_response(
        request,
        picture,
        file,
        f"decision-{source_slug(sweep)}",
        lambda: decision_pictures(_report_asked(request, sweep)),
    )


@researcher_page
@of_source
def decision_download(request: ResearcherRequest, sweep: SweepView, suffix: str) -> HttpResponse:
    report = _report_asked(request, sweep)
    filename = f"decision-{source_slug(sweep)}-{report.inputs_hash[:8]}.{suffix}"
    if suffix == "md":
        return attachment(selection_markdown(report), filename, "text/markdown; charset=utf-8")
    return attachment(canonical_json(report.as_json()), filename, "application/json")

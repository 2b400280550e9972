"""The comparison of a sweep on one dataset, and promotion from it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.models import Dataset
from metaeval.figures import KIND_LABELS, PAIRWISE
from metaeval.forms import PromoteForm
from metaeval.reports import tables
from metaeval.reports.comparison import key_figures, table_of
from metaeval.reports.errors import DecisionConflict, DecisionError, NothingJudgedError, ReportError
from metaeval.reports.html import context_of
from metaeval.reports.render import FORMATS
from metaeval.reports.render import render as render_report
from metaeval.reports.report import Report
from metaeval.reports.words import verdict_of
from metaeval.selectors.reports import (
    decision_get_for,
    decision_in_force,
    decisions_of,
    judge_export,
)
from metaeval.selectors.sweeps import SweepView, dataset_of, source_get_for
from metaeval.services.comparisons import comparison_cached, comparison_get, kinds_compared
from metaeval.services.promotions import judge_promote
from metaeval.views.addresses import chosen_url, source_slug, source_url
from web.access import ResearcherRequest, researcher_required
from web.files import attachment


@require_safe
@never_cache
@vary_on_headers("HX-Request")
@researcher_required
def comparison(request: ResearcherRequest, pk: int | None = None, name: str | None = None) -> HttpResponse:
    sweep = source_get_for(request.user, pk, name)
    if (url := chosen_url(request, sweep, "comparison")) is not None:
        return redirect(url)
    return _page(request, sweep, dataset_of(sweep, request.GET.get("dataset")), wait="now" in request.GET)


def _page(
    request: ResearcherRequest,
    sweep: SweepView,
    dataset: Dataset,
    *,
    wait: bool,
    refused: PromoteForm | None = None,
) -> HttpResponse:
    """The page or a part of it; `refused` is a promotion that was, to be shown as it was filled in."""
    context = _about(request, sweep, dataset)
    kinds, has_pairs = kinds_compared(dataset)
    if kinds and (not has_pairs or _part_asked(request) in ("", "kinds")):
        context |= _kinds_context(request, sweep, dataset, kinds, alone=not has_pairs)
    if _part_asked(request) == "kinds" and kinds:
        return render(request, "metaeval/comparison_kinds.html", context)
    if kinds and not has_pairs:
        return render(request, "metaeval/comparison.html", context)
    content = comparison_cached(inputs_hash=request.GET.get("inputs", ""), sweep=sweep, dataset=dataset)
    if content is None:
        try:
            found = comparison_get(sweep=sweep, dataset=dataset, wait=wait)
        except ReportError as error:
            return render(request, "metaeval/comparison.html", context | {"error": str(error)})
        content = found.content
        context |= {"n_items": found.n_items, "n_judges": found.n_judges}
    if content is not None and context.get("kinds") and all(judge.baseline for judge in content.judges):
        # The sweep's judges judge other kinds: there is nothing to say of the pairs.
        context.pop("n_items", None)
        return render(request, "metaeval/comparison.html", context)
    if content is not None:
        context |= _comparison_context(request, dataset, content, refused)
    return render(request, _template(request, content), context)


def _template(request: ResearcherRequest, content: Report | None) -> str:
    """The page, or the part of it that htmx asked for."""
    parts = {"comparison-table": "table", "comparison": "content"}
    part = parts.get(_part_asked(request))
    return f"metaeval/comparison_{part}.html" if part and content is not None else "metaeval/comparison.html"


def _part_asked(request: ResearcherRequest) -> str:
    """The element that htmx is to replace; empty where the whole page is asked for."""
    if not request.htmx or request.htmx.history_restore_request:
        return ""
    return request.htmx.target or ""


def _kinds_context(
    request: ResearcherRequest, sweep: SweepView, dataset: Dataset, kinds: tuple[str, ...], *, alone: bool
) -> dict[str, Any]:
    """A section for each kind other than pairs; beside pairs only for those that judges of the sweep judged."""
    sections: list[dict[str, Any]] = []
    for kind in kinds:
        label = KIND_LABELS[kind]
        try:
            found = comparison_get(
                sweep=sweep,
                dataset=dataset,
                kind=kind,
                against=request.GET.get("against", ""),
                wait="now" in request.GET,
            )
        except NothingJudgedError as error:
            if alone and len(kinds) == 1:
                sections.append({"kind": kind, "label": label, "error": str(error)})
        except ReportError as error:
            sections.append({"kind": kind, "label": label, "error": str(error)})
        else:
            about = {"kind": kind, "label": label, "n_items": found.n_items, "n_judges": found.n_judges}
            sections.append(about | ({} if found.content is None else _kind_section(found.content)))
    if alone and not sections:
        return {"kinds": [], "error": "No judge has judged this dataset yet."}
    return {"kinds": sections}


def _kind_section(content: Report) -> dict[str, Any]:
    people = tables.people_table(content)
    return context_of(content) | {
        "prefix": f"{KIND_LABELS[content.kind]}: ",
        "people": people[0] if people else None,
        "has_tower": any("tower" in judge.measures for judge in content.judges),
    }


def _about(request: ResearcherRequest, sweep: SweepView, dataset: Dataset) -> dict[str, Any]:
    return {
        "sweep": sweep,
        "dataset": dataset,
        "progress": sweep.progress,
        "may_promote": request.user.is_administrator,
        "section": "datasets" if sweep.pk is None else "sweeps",
    }


def _comparison_context(
    request: ResearcherRequest, dataset: Dataset, content: Report, refused: PromoteForm | None
) -> dict[str, Any]:
    table = table_of(
        content,
        measure=request.GET.get("measure", ""),
        group=request.GET.get("group", ""),
        sort=request.GET.get("sort", ""),
    )
    verdict = verdict_of(content, table.primary)
    current = decision_in_force(dataset)
    seen = current.pk if current else None
    return {
        "content": content,
        "table": table,
        "verdict": verdict,
        "figures": [] if verdict.leader is None else key_figures(content, table.primary, verdict.leader),
        "current": current,
        # A composite in use is no judge of the sweep that it was chosen from.
        "is_current_here": current is not None
        and any(judge.fingerprint == current.judge.fingerprint for judge in content.judges),
        "history": decisions_of(dataset),
        "form": promote_form(content, table.primary, dataset, seen, refused),
    }


def promote_form(
    content: Report,
    primary: str,
    dataset: Dataset,
    seen: int | None,
    refused: PromoteForm | None = None,
) -> PromoteForm:
    """The form with the judges that may be promoted: the leading one chosen, or what a refused promotion said.

    What the person looks at is what stands on this page, whatever the refused one was made from.
    """
    choices = [
        (row.judge.fingerprint, row.judge.name)
        for row, _ in table_of(content, measure=primary).rows
        if not row.judge.baseline
    ]
    leader = content.selections[primary].leader
    initial = {
        "judge": None if leader is None else content.judges[leader].fingerprint,
        "dataset": dataset.name,
        "inputs_hash": content.inputs_hash,
        "seen": seen,
    }
    if refused is None:
        return PromoteForm(judges=choices, initial=initial)
    shown = {name: "" if value is None else value for name, value in initial.items() if name != "judge"}
    form = PromoteForm(dict(refused.data.items()) | shown, judges=choices, initial=initial)
    for error in refused.non_field_errors():
        form.add_error(None, error)
    return form


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@researcher_required
def promote(request: ResearcherRequest, pk: int | None = None, name: str | None = None) -> HttpResponseBase:
    """Promote by POST. The page of a refused promotion has this address: to go to it is to look at the comparison."""
    if request.method != "POST":
        source = source_get_for(request.user, pk, name)
        return redirect(f"{source_url(source, 'comparison')}?{request.GET.urlencode()}")
    if not request.user.is_administrator:
        raise PermissionDenied("Only administrators promote a judge.")
    sweep = source_get_for(request.user, pk, name)
    dataset = dataset_of(sweep, request.POST.get("dataset"))
    chosen = request.POST.get("judge", "")
    form = PromoteForm(request.POST, judges=[(chosen, chosen)])
    if not form.is_valid():
        hidden = {"inputs_hash", "seen"} & form.errors.keys()
        form.add_error(
            None, f"Nothing was promoted. {'What was sent is not what this page holds.' if hidden else ''}"
        )
        return _refused(request, sweep, dataset, form, 422)
    try:
        decision = judge_promote(
            sweep=sweep,
            dataset=dataset,
            fingerprint=form.cleaned_data["judge"],
            reason=form.cleaned_data["reason"],
            user=request.user,
            inputs_hash=form.cleaned_data["inputs_hash"],
            seen=form.cleaned_data["seen"],
        )
    except (DecisionError, ReportError) as error:
        form.add_error(None, f"Nothing was promoted. {error}")
        return _refused(request, sweep, dataset, form, 409 if isinstance(error, DecisionConflict) else 422)
    messages.success(request, f"{decision.judge.name} is now the judge for {dataset.name}.")
    return redirect(comparison_url(sweep, dataset))


def _refused(
    request: ResearcherRequest, sweep: SweepView, dataset: Dataset, form: PromoteForm, status: int
) -> HttpResponse:
    """The page with the figures of now, what was filled in, and why nothing was promoted."""
    response = _page(request, sweep, dataset, wait=True, refused=form)
    response.status_code = status
    return response


def comparison_url(sweep: SweepView, dataset: Dataset) -> str:
    """The comparison on one dataset of the sweep."""
    return f"{source_url(sweep, 'comparison')}?{urlencode({'dataset': dataset.name})}"


@require_safe
@researcher_required
def comparison_download(
    request: ResearcherRequest,
    suffix: str,
    pk: int | None = None,
    name: str | None = None,
    kind: str = PAIRWISE,
) -> HttpResponse:
    sweep = source_get_for(request.user, pk, name)
    dataset = dataset_of(sweep, request.GET.get("dataset"))
    against = request.GET.get("against", "")
    try:
        content = comparison_get(sweep=sweep, dataset=dataset, kind=kind, against=against, wait=True).content
    except ReportError as error:
        raise Http404(str(error)) from None
    assert content is not None
    parts = (
        dataset.name,
        *(() if kind == PAIRWISE else (kind,)),
        source_slug(sweep),
        content.inputs_hash[:8],
    )
    filename = f"{'-'.join(parts)}.{suffix}"
    return attachment(render_report(content, f".{suffix}"), filename, FORMATS[f".{suffix}"][1])


@require_safe
@researcher_required
def decision_judge(request: ResearcherRequest, pk: int) -> JsonResponse:
    decision = decision_get_for(request.user, pk)
    response = JsonResponse(judge_export(decision), json_dumps_params={"indent": 2, "sort_keys": True})
    header = content_disposition_header(
        True, f"judge-{decision.dataset.name}-{decision.judge.fingerprint[:8]}.json"
    )
    if header:
        response.headers["Content-Disposition"] = header
    return response

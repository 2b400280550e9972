"""The errors of judges, what their certainty is worth, and what to leave to people."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Dataset
from annotation.selectors.overview import studies_visible_to
from metaeval.forms import ConfidenceForm
from metaeval.inputs import Inputs
from metaeval.reports.confidence import KINDS, ConfidencePage, confidence_page
from metaeval.reports.errors import ReportError
from metaeval.selectors.inputs import inputs_read, kinds_of
from metaeval.selectors.sweeps import SweepView, dataset_of, source_get_for
from metaeval.services.label_next import abstained_key, abstained_send
from metaeval.views.addresses import source_url
from web.access import ResearcherRequest, researcher_required


@require_safe
@never_cache
@researcher_required
def confidence(request: ResearcherRequest, pk: int | None = None, name: str | None = None) -> HttpResponse:
    sweep, dataset, kind = _about(request, pk, name)
    context: dict[str, Any] = {
        "sweep": sweep,
        "dataset": dataset,
        "kind": kind,
        "section": "datasets" if sweep.pk is None else "sweeps",
    }
    try:
        inputs = inputs_read(dataset=dataset, kind=kind, sweep=sweep)
    except ReportError as error:
        return render(request, "metaeval/confidence.html", context | {"error": str(error)})
    form = _form(request, inputs)
    context["form"] = form
    if form.is_valid():
        try:
            page = confidence_page(inputs, form.asked())
        except ReportError as error:
            return render(request, "metaeval/confidence.html", context | {"error": str(error)})
        context |= {"page": page, "draw": _key(page)}
        studies = studies_visible_to(request.user).filter(dataset=dataset, kind=kind)
        context["studies"] = studies.exclude(state="closed").order_by("title")
    return render(request, "metaeval/confidence.html", context)


@require_POST
@researcher_required
def confidence_send(
    request: ResearcherRequest, pk: int | None = None, name: str | None = None
) -> HttpResponseBase:
    sweep, dataset, kind = _about(request, pk, name)
    back = f"{source_url(sweep, 'confidence')}?{request.GET.urlencode()}"
    try:
        inputs = inputs_read(dataset=dataset, kind=kind, sweep=sweep)
        form = _form(request, inputs)
        page = confidence_page(inputs, form.asked()) if form.is_valid() else None
    except ReportError as error:
        messages.error(request, f"Nothing was sent. {error}")
        return redirect(back)
    if page is None or page.certainty is None or not page.certainty.abstained:
        messages.error(request, "Nothing was sent: the judge leaves no item without a label to people.")
        return redirect(back)
    if request.POST.get("draw") != _key(page):
        messages.error(request, "Nothing was sent: labels have come in since you looked. Look again.")
        return redirect(back)
    items = page.certainty.abstained
    try:
        study = abstained_send(
            items=items, dataset=dataset, study=request.POST.get("study", ""), user=request.user
        )
    except ReportError as error:
        messages.error(request, f"Nothing was sent. {error}")
        return redirect(back)
    these = "this item" if len(items) == 1 else f"these {len(items):,} items"
    said = f"exactly {these}" if study.state == "draft" else f"{these} first"
    messages.success(request, f"{study.title} offers {said}.")
    return redirect(f"{reverse('annotation:study-detail', args=[study.slug])}#items")


def _about(request: ResearcherRequest, pk: int | None, name: str | None) -> tuple[SweepView, Dataset, str]:
    sweep = source_get_for(request.user, pk, name)
    dataset = dataset_of(sweep, request.GET.get("dataset"))
    offered = [kind for kind in KINDS if kind in kinds_of(dataset)]
    asked = request.GET.get("kind", "")
    return sweep, dataset, asked if asked in offered else next(iter(offered), KINDS[0])


def _form(request: ResearcherRequest, inputs: Inputs) -> ConfidenceForm:
    judges = [(one.fingerprint, one.name) for one in inputs.judges if not one.baseline]
    return ConfidenceForm(request.GET, judges=judges, targets=inputs.targets())


def _key(page: ConfidencePage) -> str:
    return "" if page.certainty is None else abstained_key(page.certainty.abstained)

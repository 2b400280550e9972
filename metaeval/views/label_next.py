"""What to give to people next, so that their labels say most."""

import math
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache

from annotation.models import Dataset, Study
from annotation.selectors.overview import studies_editable_by
from metaeval.forms import LabelNextForm
from metaeval.reports.errors import ReportError
from metaeval.selectors.inputs import inputs_read
from metaeval.selectors.sweeps import SweepView, dataset_of
from metaeval.services.label_next import (
    ALL_LABELLED,
    draw_csv,
    draw_send,
    judges_with_doubt,
    label_next,
    tower_csv,
    tower_items,
    unlabelled_count,
)
from metaeval.views.addresses import of_source, source_url
from web.access import ResearcherRequest, researcher_action, researcher_page
from web.files import attachment
from web.loop import LoopPlace


@never_cache
@researcher_page
@of_source
def label_next_page(request: ResearcherRequest, sweep: SweepView) -> HttpResponse:
    dataset = dataset_of(sweep, request.GET.get("dataset"))
    context: dict[str, Any] = {
        "sweep": sweep,
        "dataset": dataset,
        "loop": LoopPlace(dataset.name, "compare"),
        "section": "datasets" if sweep.pk is None else "sweeps",
    }
    try:
        form = _form(request, sweep, dataset)
    except ReportError as error:
        return render(request, "metaeval/label_next.html", context | {"error": str(error)})
    context["form"] = form
    if form.is_valid():
        try:
            draw = label_next(dataset=dataset, sweep=sweep, **form.cleaned_data)
        except ReportError as error:
            form.add_error("budget", str(error))
        else:
            studies = studies_editable_by(request.user).filter(dataset=dataset, kind="pairwise")
            context |= {
                "draw": draw,
                "mean_drawn": sum(draw.doubts) / len(draw.doubts) if draw.doubts else 0.0,
                "width_now": None if math.isnan(draw.width_now) else 100 * draw.width_now,
                "width_after": 100 * draw.width_after,
                "width_even": 100 * draw.width_even,
                "query": urlencode({"dataset": dataset.name, **form.cleaned_data}),
                "shown": list(zip(draw.items, draw.doubts, draw.chances, strict=True))[:10],
                "studies": studies.exclude(state="closed").order_by("title"),
            }
    return render(request, "metaeval/label_next.html", context)


@researcher_page
@of_source
def label_next_download(request: ResearcherRequest, sweep: SweepView) -> HttpResponse:
    dataset = dataset_of(sweep, request.GET.get("dataset"))
    draw = _drawn(request, sweep, dataset)
    return attachment(
        draw_csv(draw), f"{dataset.name}-label-next-{draw.key[:8]}.csv", "text/csv; charset=utf-8"
    )


@researcher_action
@of_source
def label_next_send(request: ResearcherRequest, sweep: SweepView) -> HttpResponseBase:
    dataset = dataset_of(sweep, request.GET.get("dataset"))
    back = f"{source_url(sweep, 'label-next')}?{request.GET.urlencode()}"
    draw = _drawn(request, sweep, dataset)
    if request.POST.get("draw") != draw.key:
        messages.error(
            request, "Nothing was sent: labels have arrived since these items were sampled. Check again."
        )
        return redirect(back)
    return send(
        request,
        back,
        len(draw.items),
        lambda study: draw_send(draw=draw, dataset=dataset, study=study, user=request.user)[0],
    )


def send(request: ResearcherRequest, back: str, n: int, to: Callable[[str], Study]) -> HttpResponseBase:
    """Send items to the study that was chosen, and say what it does with them."""
    try:
        study = to(request.POST.get("study", ""))
    except ReportError as error:
        messages.error(request, f"Nothing was sent. {error}")
        return redirect(back)
    these = "this item" if n == 1 else f"these {n:,} items"
    said = f"exactly {these}" if study.state == "draft" else f"{these} first"
    messages.success(request, f"{study.title} offers {said}.")
    return redirect(f"{reverse('annotation:study-detail', args=[study.slug])}#items")


def _form(request: ResearcherRequest, sweep: SweepView, dataset: Dataset) -> LabelNextForm:
    inputs = inputs_read(dataset=dataset, sweep=sweep)
    n_judges = sum(not one.baseline for one in inputs.judges)
    n_unlabelled = unlabelled_count(inputs)
    if not n_unlabelled:
        raise ReportError(ALL_LABELLED)
    return LabelNextForm(
        request.GET if "budget" in request.GET else None,
        judges=judges_with_doubt(inputs),
        may_disagree=n_judges > 1,
        n_unlabelled=n_unlabelled,
    )


def _drawn(request: ResearcherRequest, sweep: SweepView, dataset: Dataset) -> Any:
    """The draw that the address asks for; Http404 where it asks for none that there is."""
    try:
        form = _form(request, sweep, dataset)
        if form.is_valid():
            return label_next(dataset=dataset, sweep=sweep, **form.cleaned_data)
    except ReportError as error:
        raise Http404(str(error)) from None
    raise Http404("There is no such draw.")


@researcher_page
@of_source
def tower_download(request: ResearcherRequest, sweep: SweepView) -> HttpResponse:
    """Checklists on which TOWER and DRFR differ most, as the file that a study takes."""
    dataset = dataset_of(sweep, request.GET.get("dataset"))
    try:
        _, items = tower_items(dataset=dataset, sweep=sweep)
    except ReportError as error:
        raise Http404(str(error)) from None
    return attachment(tower_csv(items), f"{dataset.name}-tower-differences.csv", "text/csv; charset=utf-8")

"""Plan a study: its width, its power and its cost, before anybody labels."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.kinds import DEFAULT_KIND
from annotation.models import Dataset
from annotation.selectors.datasets import datasets_visible_to
from metaeval.inputs import Inputs
from metaeval.planning_forms import PlanForm
from metaeval.reports.errors import ReportError
from metaeval.reports.planning import ESTIMANDS, money_next, pilot_model, plan_page
from metaeval.selectors.planning import pilot_inputs, pilots_for, study_prices, verdict_price
from metaeval.services.report_jobs import is_small
from metaeval.stats import AgreementModel
from web.access import ResearcherRequest, researcher_required

TOO_LARGE = (
    "This pilot is too large to read while you wait. Enter its figures as guesses; a report on it has them."
)


@require_safe
@never_cache
@researcher_required
def plan(request: ResearcherRequest, name: str) -> HttpResponse:
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    context: dict[str, Any] = {"dataset": dataset, "section": "datasets"}
    form, inputs, error = plan_form(request, dataset)
    context |= {"form": form, "error": error}
    if error is None and form.is_valid():
        try:
            asked = form.asked()
            page = plan_page(plan_model(form, inputs), asked)
        except ReportError as refused:
            context["error"] = str(refused)
        else:
            context |= {"page": page, "estimand": ESTIMANDS[asked.figure], "query": form.query()}
            if inputs is not None:
                item_price = asked.n_judges * asked.orders * asked.verdict_price
                context["money"] = money_next(
                    inputs,
                    form.cleaned_data["judge"],
                    money=form.cleaned_data["budget"] or 0.0,
                    label_price=asked.label_price,
                    item_price=item_price,
                )
    return render(request, "metaeval/plan.html", context)


def plan_form(request: ResearcherRequest, dataset: Dataset) -> tuple[PlanForm, Inputs | None, str | None]:
    """(the form, the pilot's labels where one is asked for, why it cannot be read)."""
    pilots = pilots_for(request.user, dataset)
    given = request.GET.dict()
    key = given.get("pilot", "")
    study, inputs, error = pilots.study(key), None, None
    currency, preset = study_prices(study)
    judges: list[tuple[str, str]] = []
    if key in dict(pilots.choices):
        if not is_small([dataset], DEFAULT_KIND):
            error = TOO_LARGE
        else:
            try:
                inputs = pilot_inputs(request.user, dataset, study)
            except ReportError as refused:
                error = str(refused)
    if inputs is not None:
        judges = [(one.fingerprint, one.name) for one in inputs.judges if not one.baseline]
        if judges:
            preset = {"judge": judges[0][0], "rival": judges[-1][0] if len(judges) > 1 else "", **preset}
        price = verdict_price(inputs, given.get("judge", preset.get("judge", "")))
        if price is not None:
            preset["verdict_price"] = f"{price:.6g}"
    return (
        PlanForm(given, pilots=pilots.choices, judges=judges, preset=preset, currency=currency),
        inputs,
        error,
    )


def plan_model(form: PlanForm, inputs: Inputs | None) -> AgreementModel:
    """What is assumed, of a form that is valid. Raises ReportError where the pilot is too small."""
    if inputs is None:
        return form.model()
    return pilot_model(inputs, form.cleaned_data["judge"], form.cleaned_data["rival"])

"""Plan a study: its width, its power and its cost, before anybody labels."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from annotation.models import Dataset
from annotation.selectors.datasets import datasets_visible_to, scales_rated
from metaeval.inputs import Inputs
from metaeval.pictures.picture import Picture
from metaeval.planning_forms import PlanForm, PreregistrationForm
from metaeval.reports.errors import ReportError
from metaeval.reports.planning import money_next, pilot_model, plan_page
from metaeval.reports.planning_pictures import plan_pictures
from metaeval.reports.preregistration import day_text, preregistration_facts
from metaeval.reports.preregistration_file import preregistration_markdown
from metaeval.reports.report import canonical_json
from metaeval.selectors.planning import pilot_inputs, pilots_for, study_prices, verdict_price
from metaeval.selectors.preregistrations import preregistration_get_for, preregistrations_visible_to
from metaeval.services.preregistrations import preregister
from metaeval.services.report_jobs import is_small
from metaeval.stats import AgreementModel
from metaeval.views.pictures import picture_response, pictures_shown
from web.access import ResearcherRequest, researcher_action, researcher_page
from web.files import attachment
from web.loop import LoopPlace

MOST_SHOWN = 20
TOO_LARGE = (
    "This pilot is too large to read while you wait. Enter its figures as guesses; a report on it has them."
)


@never_cache
@researcher_page
def plan(request: ResearcherRequest, name: str) -> HttpResponse:
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    context: dict[str, Any] = {
        "dataset": dataset,
        "loop": LoopPlace(dataset.name, "annotate"),
        "section": "datasets",
    }
    form, inputs, error = plan_form(request, dataset)
    context |= {"form": form, "error": error}
    if error is None and form.is_valid():
        try:
            asked = form.asked()
            page = plan_page(plan_model(form, inputs), asked)
        except ReportError as refused:
            context["error"] = str(refused)
        else:
            words = asked.words
            context |= {"page": page, "estimand": words.estimands[asked.figure], "point": words.point}
            context["caution"] = words.caution if inputs is not None else ""
            query = context["query"] = form.query()
            context["pictures"] = pictures_shown(
                request,
                plan_pictures(page),
                lambda picture, suffix: (
                    f"{reverse('metaeval:plan-picture', args=[dataset.name, picture, suffix])}?{query}"
                ),
            )
            context["register"] = PreregistrationForm(page=page)
            if inputs is not None:
                item_price = asked.n_judges * asked.orders * asked.verdict_price
                context["money"] = money_next(
                    inputs,
                    form.cleaned_data["judge"],
                    money=form.cleaned_data["budget"] or 0.0,
                    label_price=asked.label_price,
                    item_price=item_price,
                )
    context["registered"] = preregistrations_visible_to(request.user).filter(dataset=dataset)[:MOST_SHOWN]
    return render(request, "metaeval/plan.html", context)


@researcher_page
def plan_picture(request: ResearcherRequest, name: str, picture: str, file: str) -> HttpResponse:
    """The picture of the plan that an address holds, as a file or as its page shows it."""
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)

    def pictures() -> tuple[Picture, ...]:
        form, inputs, error = plan_form(request, dataset)
        if error is not None or not form.is_valid():
            return ()
        try:
            return plan_pictures(plan_page(plan_model(form, inputs), form.asked()))
        except ReportError:
            return ()

    return picture_response(request, picture, file, f"{dataset.name}-plan", pictures)


@researcher_action
def plan_register(request: ResearcherRequest, name: str) -> HttpResponseBase:
    """Freeze one of the designs of a plan, which the address holds."""
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    back = f"{reverse('metaeval:plan', args=[dataset.name])}?{request.GET.urlencode()}"
    form, inputs, error = plan_form(request, dataset)
    if error is not None or not form.is_valid():
        messages.error(request, "Nothing was registered: this plan cannot be calculated.")
        return redirect(back)
    try:
        model = plan_model(form, inputs)
        page = plan_page(model, form.asked())
    except ReportError as refused:
        messages.error(request, f"Nothing was registered. {refused}")
        return redirect(back)
    register = PreregistrationForm(request.POST, page=page)
    if not register.is_valid():
        wrong = "; ".join(
            f"{register[field].label}: {errors[0]}" for field, errors in register.errors.items()
        )
        messages.error(request, f"Nothing was registered. {wrong}")
        return redirect(back)
    values = register.cleaned_data
    made = preregister(
        user=request.user,
        dataset=dataset,
        asked=page.asked,
        row=register.row,
        model=model,
        pilot=form.pilot_words,
        title=values["title"],
        question=values["question"],
        epsilon=float(values["epsilon"]) if "epsilon" in values else None,
        stopping=values["stopping"],
        notes=values["notes"],
    )
    return redirect("metaeval:preregistration", made.pk)


@researcher_page
def preregistration(request: ResearcherRequest, pk: int) -> HttpResponse:
    found = preregistration_get_for(request.user, pk)
    context = {
        "found": found,
        "facts": preregistration_facts(found.content),
        "date": day_text(found.created_at),
        "section": "datasets",
    }
    return render(request, "metaeval/preregistration.html", context)


@researcher_page
def preregistration_download(request: ResearcherRequest, pk: int, suffix: str) -> HttpResponse:
    found = preregistration_get_for(request.user, pk)
    name = f"preregistration-{found.sha256[:8]}.{suffix}"
    if suffix == "json":
        return attachment(canonical_json(found.content), name, "application/json")
    text = preregistration_markdown(found.content, day_text(found.created_at))
    return attachment(text, name, "text/markdown; charset=utf-8")


def plan_form(request: ResearcherRequest, dataset: Dataset) -> tuple[PlanForm, Inputs | None, str | None]:
    """(the form, the pilot's labels where one is asked for, why it cannot be read)."""
    given = request.GET.dict()
    pilots = pilots_for(request.user, dataset, given.get("kind", ""))
    key = given.get("pilot", "")
    study, inputs, error = pilots.study(key), None, None
    currency, preset = study_prices(study)
    judges: list[tuple[str, str]] = []
    if key in dict(pilots.choices):
        if not is_small([dataset], pilots.kind):
            error = TOO_LARGE
        else:
            try:
                inputs = pilot_inputs(request.user, dataset, study, pilots.kind)
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
        PlanForm(
            given,
            kind=pilots.kind,
            scales=scales_rated(dataset, pilots.kind),
            kinds=pilots.kinds,
            pilots=pilots.choices,
            judges=judges,
            preset=preset,
            currency=currency,
        ),
        inputs,
        error,
    )


def plan_model(form: PlanForm, inputs: Inputs | None) -> AgreementModel:
    """What is assumed, of a form that is valid. Raises ReportError where the pilot is too small."""
    if inputs is None:
        return form.model()
    return pilot_model(inputs, form.cleaned_data["judge"], form.cleaned_data["rival"])

"""The home page, its example, and the six stages that stand on the pages of a dataset."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache

from annotation.models import User
from annotation.selectors.datasets import datasets_visible_to
from annotation.views.site import home as home_of_others
from judges.forms.sweeps import STATE_CHIPS
from judges.models import SweepState
from metaeval.demo.example import ExampleError, example_load
from metaeval.selectors.home import home_of
from metaeval.selectors.loop import STATES, lanes_of
from web.access import ResearcherRequest, researcher_action, researcher_page
from web.loop import STAGES
from web.second_factor import lacks_second_factor, to_second_factor


@never_cache
def home(request: HttpRequest) -> HttpResponse:
    """Where each person begins: researchers with what is next, the others as they come."""
    if not (isinstance(request.user, User) and request.user.is_researcher):
        return home_of_others(request)
    if lacks_second_factor(request):
        return to_second_factor()
    found = home_of(request.user)
    context = {
        "home": found,
        "states": STATES,
        "stages": STAGES.values(),
        "sweeps": [(sweep, STATE_CHIPS[SweepState(sweep.state)]) for sweep in found.sweeps],
    }
    return render(request, f"metaeval/{'home_empty' if found.is_empty else 'home'}.html", context)


@researcher_action
def example(request: ResearcherRequest) -> HttpResponse:
    """Load the example dataset; twice is once."""
    try:
        sweep = example_load(request.user)
    except ExampleError as refusal:
        messages.error(request, str(refusal))
        return redirect("home")
    messages.success(
        request,
        "The example is loaded. Its judges need no model; the comparison opens when the sweep is finished.",
    )
    return redirect("judges:sweep-detail", sweep.pk)


@never_cache
@researcher_page
def loop(request: ResearcherRequest, name: str) -> HttpResponse:
    """The six stages of a dataset, as a part of another page: `?at=` is the stage of that page."""
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    (lane,) = lanes_of(request.user, [dataset.pk])
    return render(request, "metaeval/loop.html", {"lane": lane, "at": request.GET.get("at", "")})

"""Sweeps: which ones there are, and how far one is."""

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.vary import vary_on_headers

from judges.forms.sweeps import STATE_CHIPS, pages_above
from judges.models import SweepState
from judges.selectors.reading import (
    runs_stopped,
    sweep_list_for,
    sweep_read_for,
    sweep_several,
    sweep_state_counts,
)
from web.access import ResearcherRequest, researcher_page
from web.loop import LoopPlace

PER_PAGE = 25


@researcher_page
def sweep_list(request: ResearcherRequest) -> HttpResponse:
    state = request.GET.get("state", "")
    state = state if state in SweepState.values else ""
    counts = sweep_state_counts(request.user)
    page = Paginator(sweep_list_for(request.user, state=state), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "section": "sweeps",
        "page_obj": page,
        "rows": [(sweep, STATE_CHIPS[SweepState(sweep.state)]) for sweep in page],
        "state": state,
        "states": [(value, SweepState(value).label, n) for value, n in counts.items()],
        "total": sum(counts.values()),
    }
    return render(request, "judges/sweep_list.html", context)


@never_cache
@vary_on_headers("HX-Request")
@researcher_page
def sweep_detail(request: ResearcherRequest, pk: int) -> HttpResponse:
    """How far a sweep is: the whole page and, polled while it runs, its moving part."""
    read = sweep_read_for(request.user, pk)
    context = {
        "section": "sweeps",
        "crumbs": [("Sweeps", reverse("judges:sweep-list")), (read.sweep.name, None)],
        "sweep": read.sweep,
        "progress": read.progress,
        "datasets": read.datasets,
        "loop": LoopPlace(read.datasets[0].name, "judge") if read.datasets else None,
        "chip": STATE_CHIPS[SweepState(read.progress.state)],
        "stopped": list(runs_stopped(read.progress.runs).items()),
        "has_judgments": any(run.n_done and run.kind != "generation" for run in read.progress.runs),
        "above": pages_above(pk),
        "several": [] if read.progress.is_active else sweep_several(read),
    }
    part = bool(request.htmx) and not request.htmx.history_restore_request
    response = render(request, f"judges/sweep_detail.html{'#live' if part else ''}", context)
    if part and not read.progress.is_active:
        # It has just ended: the page's head, its links and the decision are other ones now.
        response.headers["HX-Refresh"] = "true"
    return response

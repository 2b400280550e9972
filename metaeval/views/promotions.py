"""Promotion of the judge that was chosen over several datasets."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from annotation.views.access import ResearcherRequest, researcher_required
from metaeval.forms import SelectionPromoteForm
from metaeval.reports import selection_words as words
from metaeval.reports.errors import DecisionError, ReportError
from metaeval.selectors.sweeps import sweep_get_for
from metaeval.services.promotions import selection_promote
from metaeval.views.decisions import selection_form


@require_POST
@researcher_required
def decision_promote(request: ResearcherRequest, pk: int) -> HttpResponseBase:
    if not request.user.is_administrator:
        raise PermissionDenied("Only administrators promote a judge.")
    sweep = sweep_get_for(request.user, pk)
    asked = selection_form(request, sweep)
    form = SelectionPromoteForm(request.POST)
    if not asked.datasets or not asked.is_valid():
        messages.error(request, "Nothing was promoted. What is asked for has changed: look at it first.")
        return redirect(reverse("metaeval:decision", args=[pk]))
    back = f"{reverse('metaeval:decision', args=[pk])}?{asked.query()}"
    if not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, f"Nothing was promoted. {' '.join(map(str, errors))}")
        return redirect(back)
    values = form.cleaned_data
    try:
        made = selection_promote(
            sweep=sweep,
            choice=asked.choice(),
            fingerprint=values["judge"],
            reason=values["reason"],
            user=request.user,
            inputs_hash=values["inputs_hash"],
            seen=values["seen"],
            although=values["judge"] in request.POST.getlist("although"),
        )
    except (DecisionError, ReportError) as error:
        messages.error(request, f"Nothing was promoted. {error}")
    else:
        names = words.listed(sorted(row.dataset.name for row in made))
        messages.success(request, f"{made[0].judge.name} is now the judge for {names}.")
    return redirect(back)

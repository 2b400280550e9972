"""Promotion of the judge, or the composite, that was chosen over several datasets."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from metaeval.forms import SelectionPromoteForm
from metaeval.models import Decision
from metaeval.reports.decision.words import listed
from metaeval.reports.errors import DecisionConflict, DecisionError, ReportError
from metaeval.selectors.sweeps import SweepView, source_get_for
from metaeval.services.promotions import selection_promote
from metaeval.views.addresses import source_url
from metaeval.views.decisions import decision_page, selection_form
from web.access import ResearcherRequest, researcher_required


@dataclass(frozen=True, slots=True)
class Refused:
    """A promotion that was refused, as it was filled in: the page is shown anew with it."""

    form: SelectionPromoteForm
    although: list[str]


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@researcher_required
def decision_promote(
    request: ResearcherRequest, pk: int | None = None, name: str | None = None
) -> HttpResponseBase:
    """Promote by POST. The page of a refused promotion has this address: to go to it is to look at the choice."""
    if request.method == "POST" and not request.user.is_administrator:
        raise PermissionDenied("Only administrators promote a judge.")
    sweep = source_get_for(request.user, pk, name)
    page = source_url(sweep, "decision")
    if request.method != "POST":
        return redirect(f"{page}?{request.GET.urlencode()}")
    asked = selection_form(request.GET.dict(), sweep)
    if not asked.datasets or not asked.is_valid():
        messages.error(
            request,
            "Nothing was promoted. The selection criteria have changed. Look at the new choice first.",
        )
        return redirect(page)
    form = SelectionPromoteForm(request.POST)
    if not form.is_valid():
        return _refused(request, sweep, form, 422)
    values = form.cleaned_data
    try:
        made = selection_promote(
            sweep=sweep,
            criteria=asked.criteria(),
            fingerprint=values["judge"],
            reason=values["reason"],
            user=request.user,
            inputs_hash=values["inputs_hash"],
            seen=values["seen"],
            although=values["judge"] in request.POST.getlist("although"),
        )
    except (DecisionError, ReportError) as error:
        form.add_error(None, str(error))
        return _refused(request, sweep, form, 409 if isinstance(error, DecisionConflict) else 422)
    messages.success(request, _said(made))
    return redirect(f"{page}?{asked.query()}")


def _refused(
    request: ResearcherRequest, sweep: SweepView, form: SelectionPromoteForm, status: int
) -> HttpResponseBase:
    """The page with the figures of now, what was filled in, and why nothing was promoted."""
    refused = Refused(form, request.POST.getlist("although"))
    response = decision_page(request, sweep, wait=True, refused=refused)
    response.status_code = status
    return response


def _said(made: list[Decision]) -> str | SafeString:
    judge = made[0].judge
    names = listed(sorted(row.dataset.name for row in made))
    said = f"{judge.name} is now the judge for {names}."
    if "composite" not in made[0].evidence:
        return said
    run = f"{reverse('admin:judges_sweep_add')}?{urlencode({'judge': judge.pk, 'like': made[0].sweep_id or ''})}"
    return format_html(
        '<span>{} <a href="{}">Look at it</a>, or <a href="{}">run it</a> over the same items: what its parts have '
        "answered is not asked again.</span>",
        said,
        reverse("admin:judges_judge_change", args=[judge.pk]),
        run,
    )

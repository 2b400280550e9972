"""Promotion of a judge, from its comparison or from a choice, and the promoted judge as a file."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache

from annotation.kinds import DEFAULT_KIND
from annotation.models import Dataset
from judges.exports.writing import ASPECTS
from judges.services.judge_tools import judge_for_tool, tool_archive
from judges.strategies.errors import SpecError
from metaeval.forms import PromoteForm
from metaeval.models import Decision
from metaeval.reports.errors import DecisionAgainst, DecisionConflict, DecisionError, ReportError
from metaeval.reports.report import canonical_json
from metaeval.reports.selection.inputs import Criteria
from metaeval.reports.verdict import listed
from metaeval.selection_forms import selection_form
from metaeval.selectors.decisions import decision_get_for, judge_export
from metaeval.selectors.sweeps import SweepView, dataset_of, source_get_for
from metaeval.services.promotions import judge_promote
from metaeval.views.addresses import source_url
from metaeval.views.comparisons import comparison_page, verdict_form
from metaeval.views.planned import plan_named
from metaeval.views.selections import decision_page
from web.access import ResearcherRequest, researcher_form, researcher_page
from web.files import attachment

OVERRIDE = " To use it nevertheless, tick the box below its name and say why."
PAGES = {"comparison": comparison_page, "decision": decision_page}


@never_cache
@researcher_form
def promote(
    request: ResearcherRequest, page: str, pk: int | None = None, name: str | None = None
) -> HttpResponseBase:
    """Promote by POST. The page of a refused promotion has this address: to go to it is to look at the figures."""
    if request.method == "POST" and not request.user.is_administrator:
        raise PermissionDenied("Only administrators can promote a judge.")
    sweep = source_get_for(request.user, pk, name)
    back = redirect(f"{source_url(sweep, page)}?{request.GET.urlencode()}")
    if request.method != "POST":
        return back
    basis = _basis(request, sweep, page)
    if basis is None:
        messages.error(
            request,
            "Nothing was promoted. The selection criteria have changed. Look at the new choice first.",
        )
        return redirect(source_url(sweep, page))
    form, status = PromoteForm(request.POST), 422
    if form.is_valid():
        values = form.cleaned_data
        try:
            made = judge_promote(
                sweep=sweep,
                basis=basis,
                fingerprint=values["judge"],
                reason=values["reason"],
                user=request.user,
                inputs_hash=values["inputs_hash"],
                seen=values["seen"],
                although=values["judge"] in form.although,
                verdict=verdict_form(request).asked(),
                preset=verdict_form(request).preset_of(DEFAULT_KIND),
                preregistration=plan_named(request),
                risk=values["risk"],
            )
        except (DecisionError, ReportError) as error:
            form.add_error(None, f"{error}{OVERRIDE if isinstance(error, DecisionAgainst) else ''}")
            status = 409 if isinstance(error, DecisionConflict) else 422
        else:
            messages.success(request, _promoted_words(made))
            return back
    # The page with the figures of now, what was filled in, and why nothing was promoted.
    response = PAGES[page](request, sweep, refused=form)
    response.status_code = status
    return response


def _basis(request: ResearcherRequest, sweep: SweepView, page: str) -> Dataset | Criteria | None:
    """What the page that was sent rests on; None where its address is no choice (any more)."""
    if page == "comparison":
        return dataset_of(sweep, request.GET.get("dataset"))
    asked = selection_form(request.GET.dict(), sweep)
    return asked.criteria() if asked.datasets and asked.is_valid() else None


def _promoted_words(made: list[Decision]) -> str | SafeString:
    judge = made[0].judge
    names = listed(sorted(row.dataset.name for row in made))
    words = f"{judge.name} is now the judge for {names}."
    if "composite" not in made[0].evidence:
        anchors = reverse("judges:judge-in-time", args=[judge.pk])
        return format_html(
            '<span>{} <a href="{}">Freeze anchors</a> to see when it changes.</span>', words, anchors
        )
    run = f"{reverse('admin:judges_sweep_add')}?{urlencode({'judge': judge.pk, 'like': made[0].sweep_id or ''})}"
    return format_html(
        '<span>{} <a href="{}">Look at it</a>, or <a href="{}">run it</a> over the same items: what its parts have '
        "answered is not asked again.</span>",
        words,
        reverse("admin:judges_judge_change", args=[judge.pk]),
        run,
    )


@researcher_page
def decision_judge(request: ResearcherRequest, pk: int) -> HttpResponse:
    decision = decision_get_for(request.user, pk)
    name = f"judge-{decision.dataset.name}-{decision.judge.fingerprint[:8]}.json"
    return attachment(canonical_json(judge_export(decision)), name, "application/json")


@researcher_page
def decision_tool(request: ResearcherRequest, pk: int) -> HttpResponse:
    """The promoted judge as files of another tool; what the tool can't carry is said first, and lost once accepted."""
    decision = decision_get_for(request.user, pk)
    accept = ASPECTS if "lossy" in request.GET else ()
    try:
        exported = judge_for_tool(
            judge_export(decision),
            to=request.GET.get("to", ""),
            accept=tuple(accept),
            dataset_id=decision.dataset_id,
        )
    except SpecError as error:
        messages.error(request, error.problem)
        return redirect("metaeval:dataset-comparison", decision.dataset.name)
    name = f"judge-{decision.dataset.name}-{decision.judge.fingerprint[:8]}.zip"
    return attachment(tool_archive(exported), name, "application/zip")

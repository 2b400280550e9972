"""The choice of a judge over the datasets of a sweep."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from metaeval.forms import SelectionForm
from metaeval.reports import selection_words as words
from metaeval.reports.errors import ReportError
from metaeval.reports.report import canonical_json
from metaeval.reports.selection_composite import composite_offer
from metaeval.reports.selection_inputs import PAIRWISE
from metaeval.reports.selection_kinds import kind_of, words_of
from metaeval.reports.selection_markdown import markdown
from metaeval.reports.selection_tables import picture_of, table_of
from metaeval.reports.selection_verdict import verdict_of
from metaeval.selectors.selection_inputs import decisions_in_force, kinds_judged, swept_datasets
from metaeval.selectors.sweeps import SweepView, source_get_for
from metaeval.services.selections import selection_get
from metaeval.views.addresses import chosen_url, source_slug
from web.access import ResearcherRequest, researcher_required
from web.files import attachment


@require_safe
@never_cache
@vary_on_headers("HX-Request")
@researcher_required
def decision(request: ResearcherRequest, pk: int | None = None, name: str | None = None) -> HttpResponse:
    sweep = source_get_for(request.user, pk, name)
    if (url := chosen_url(request, sweep, "decision")) is not None:
        return redirect(url)
    return decision_page(request, sweep, wait="now" in request.GET)


def decision_page(request: ResearcherRequest, sweep: SweepView, *, wait: bool, **also: Any) -> HttpResponse:
    """The page of what the address asks; `also` is what its template is told beside, as of a promotion refused."""
    form = selection_form(request, sweep)
    context = {
        "sweep": sweep,
        "progress": sweep.progress,
        "form": form,
        "may_promote": request.user.is_administrator,
        "section": "datasets" if sweep.pk is None else "sweeps",
        **also,
    }
    if not form.datasets:
        return render(request, "metaeval/decision.html", context | {"error": _nothing(form)})
    if not form.is_valid():
        return render(request, "metaeval/decision.html", context | {"is_invalid": True})
    try:
        found = selection_get(sweep=sweep, choice=form.choice(), wait=wait)
    except ReportError as error:
        return render(request, "metaeval/decision.html", context | {"error": str(error)})
    context |= {"n_items": found.n_items, "n_judges": found.n_judges, "query": form.query()}
    if found.content is not None:
        context |= _found(found.content, sweep, full={row.name for row in form.datasets if row.is_full})
    part = request.htmx and request.htmx.target == "decision" and not request.htmx.history_restore_request
    return render(request, f"metaeval/decision{'_content' if part and found.content else ''}.html", context)


def selection_form(request: ResearcherRequest, sweep: SweepView) -> SelectionForm:
    """What is asked, as the address has it. Raises Http404 for a kind of items that no judge of the sweep judged."""
    return _form(request.GET.dict(), sweep)


def _form(given: dict[str, str], sweep: SweepView) -> SelectionForm:
    """Without a kind it is about the first by which judges can be chosen, pairs before the others."""
    kinds, asked = kinds_judged(sweep), given.get("kind")
    if asked not in (None, PAIRWISE, *kinds):
        raise Http404("No judge has judged items of this kind.")
    # Where judges can be chosen by none of them, the page is about the first, and says why.
    for kind in [asked] if asked else [*kinds, next(iter(kinds), PAIRWISE)]:
        form = SelectionForm(given, datasets=swept_datasets(sweep, kind), kind=kind, kinds=kinds)
        if form.datasets:
            break
    return form


def _nothing(form: SelectionForm) -> str:
    return (
        f"No judge has judged {form.words.items} that have human labels or gold answers, "
        "so there is nothing to choose by."
    )


def _found(content: dict[str, Any], sweep: SweepView, *, full: set[str]) -> dict[str, Any]:
    """What the page says of a choice; `full` names the datasets that have no pair left to label."""
    kind = kind_of(content)
    in_force = decisions_in_force(sweep, kind)
    deciding = [row for row in sweep.datasets if row.name in _deciding(content)]
    current = [in_force[row.pk] for row in deciding if row.pk in in_force]
    table = table_of(content)
    return {
        "content": content,
        "verdict": verdict_of(content),
        "objective": words.objective_words(content),
        "objective_short": words.objective_short(content),
        "kind_words": words_of(content),
        "of_pairs": kind == PAIRWISE,
        "naive": {"value": content["naive"]},
        "leading": _leading(content),
        "is_flattered": words.is_flattered(content),
        "held_out_words": words.held_out_words(content),
        "table": table,
        "picture": picture_of(content),
        "composite_words": words.composite_words(content),
        "composite_parts": _parts(content),
        "composed_by": words.composed_by(content),
        "people": [
            (row, content["replaces"].get(row["name"]), words.replaces_words(content, row["name"]))
            for row in content["datasets"]
            if kind == PAIRWISE and row["role"] == "people" and content["leader"] is not None
        ],
        "settling": [(row, words.settling_words(content, row)) for row in content["settling"]],
        "more_labels": [
            (row, row["name"] in full)  # what to label next is drawn of pairs only
            for row in content["datasets"]
            if kind == PAIRWISE and row["role"] == "people" and _is_open(content, row["name"])
        ],
        "current": current,
        "deciding": deciding,
        "promotable": [row for row in table.rows if not row.judge["baseline"]],
        "composite_offer": composite_offer(content),
        "seen": ",".join(f"{row.pk}:{in_force[row.pk].pk if row.pk in in_force else ''}" for row in deciding),
    }


def _is_open(content: dict[str, Any], dataset: str) -> bool:
    """Whether more labels of the dataset would help to settle the choice."""
    return any(row["dataset"] == dataset and row["n_needed"] for row in content["settling"])


def _leading(content: dict[str, Any]) -> dict[str, Any] | None:
    return None if content["leader"] is None else words.standing_of(content, content["leader"])


def _deciding(content: dict[str, Any]) -> set[str]:
    return {row["name"] for row in content["datasets"] if row["weight"] > 0}


def _parts(content: dict[str, Any]) -> list[tuple[str, str]]:
    """Of the composite, each category and its judge."""
    found = content["composite"]
    parts = {} if found is None else found["parts"]
    return [(name or "none given", words.name_of(content, key)) for name, key in sorted(parts.items())]


@require_safe
@never_cache
@researcher_required
def decision_summary(
    request: ResearcherRequest, pk: int | None = None, name: str | None = None
) -> HttpResponse:
    """A few sentences, for the page of the sweep: the choice with everything preset."""
    sweep = source_get_for(request.user, pk, name)
    form = _form({}, sweep)
    context: dict[str, Any] = {"sweep": sweep, "form": form}
    if form.datasets and form.is_valid():
        try:
            found = selection_get(sweep=sweep, choice=form.choice(), wait="now" in request.GET)
        except ReportError as error:
            context["error"] = str(error)
        else:
            context |= {"n_items": found.n_items, "n_judges": found.n_judges}
            if found.content is not None:
                content = found.content
                context |= {"content": content, "verdict": verdict_of(content)}
                context |= {
                    "objective_short": words.objective_short(content),
                    "of_pairs": form.kind == PAIRWISE,
                    "leading": _leading(content),
                    "is_flattered": words.is_flattered(content),
                }
    else:
        context["error"] = _nothing(form)
    return render(request, "metaeval/decision_summary.html", context)


@require_safe
@researcher_required
def decision_download(
    request: ResearcherRequest, suffix: str, pk: int | None = None, name: str | None = None
) -> HttpResponse:
    sweep = source_get_for(request.user, pk, name)
    form = selection_form(request, sweep)
    if not form.datasets or not form.is_valid():
        raise Http404("There is no such choice.")
    try:
        content = selection_get(sweep=sweep, choice=form.choice(), wait=True).content
    except ReportError as error:
        raise Http404(str(error)) from None
    assert content is not None
    filename = f"decision-{source_slug(sweep)}-{content['inputs_hash'][:8]}.{suffix}"
    if suffix == "md":
        return attachment(markdown(content), filename, "text/markdown; charset=utf-8")
    return attachment(canonical_json(content), filename, "application/json")

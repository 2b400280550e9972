"""The comparison of a sweep on one dataset."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.vary import vary_on_headers

from annotation.kinds import DEFAULT_KIND, kind_of
from annotation.models import Dataset
from annotation.selectors.dimensions import dimensions_of_studies
from metaeval.figures import FIGURES, KIND_LABELS
from metaeval.forms import PromoteForm, PublishedForm
from metaeval.models import Preregistration
from metaeval.pictures.picture import Picture
from metaeval.reports import tables
from metaeval.reports.comparison import key_figures, primaries_of, table_of
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.reports.html import context_of
from metaeval.reports.pictures import report_pictures
from metaeval.reports.planned import planned_context
from metaeval.reports.preregistration import kind_planned
from metaeval.reports.promotion import compared_options
from metaeval.reports.report import ReportContent, report_of
from metaeval.reports.words import verdict_of
from metaeval.selectors.decisions import decided, decisions_moved, decisions_of
from metaeval.selectors.sweeps import SweepView, dataset_of
from metaeval.services.comparisons import comparison_cached, comparison_get, kinds_compared
from metaeval.services.drawings import items_behind
from metaeval.services.page_contents import asked_of
from metaeval.services.reports import content_read, with_plan
from metaeval.views.addresses import chosen_url, of_source, part_asked, source_slug, source_url
from metaeval.views.kept import kept_of
from metaeval.views.pictures import ShownPicture, picture_response, pictures_shown
from metaeval.views.planned import plan_named, plans_context
from metaeval.views.reports import report_file
from web.access import ResearcherRequest, researcher_page
from web.loop import LoopPlace

MOST_KEY = 40  # characters of the key of a dimension


@never_cache
@vary_on_headers("HX-Request")
@researcher_page
@of_source
def comparison(request: ResearcherRequest, sweep: SweepView) -> HttpResponse:
    if (url := chosen_url(request, sweep, "comparison")) is not None:
        return redirect(url)
    return comparison_page(request, sweep)


def comparison_page(
    request: ResearcherRequest, sweep: SweepView, *, refused: PromoteForm | None = None
) -> HttpResponse:
    """The page or a part of it; `refused` is a promotion that was, to be shown as it was filled in."""
    dataset = dataset_of(sweep, request.GET.get("dataset"))
    plan = plan_named(request)
    context = _about(request, sweep, dataset) | {"refused": refused}
    if not part_asked(request) or part_asked(request) == "comparison":
        context |= plans_context(request, [dataset], plan)
    kinds, has_pairs = kinds_compared(dataset)
    if kinds and (not has_pairs or part_asked(request) in ("", "kinds")):
        context |= _kinds_context(request, sweep, dataset, kinds, alone=not has_pairs, plan=plan)
    if part_asked(request) == "kinds" and kinds:
        return render(request, "metaeval/comparison_kinds.html", context)
    if kinds and not has_pairs:
        return render(request, "metaeval/comparison.html", context)
    form = verdict_form(request, (DEFAULT_KIND, *kinds))
    preset, dimension = form.preset_of(DEFAULT_KIND), request.GET.get("dimension", "")[:MOST_KEY]
    context |= {"dimension": dimension, "dimensions": dimensions_of_studies(dataset, sweep.reader)}
    content = comparison_cached(inputs_hash=request.GET.get("inputs", ""), sweep=sweep, dataset=dataset)
    kept = None
    if content is None and refused is None:
        kept = kept_of(
            request,
            [dataset],
            asked_of(sweep, dataset, DEFAULT_KIND, verdict=form.asked(), preset=preset, dimension=dimension),
            sweep.judge_ids,
        )
    if kept is not None:
        if kept.waits and part_asked(request):
            return render(request, "metaeval/_report_job.html", {"job": kept.job})
        content = None if kept.content is None else content_read(kept.content)
        context["kept"] = kept
    elif content is None:
        try:
            content = comparison_get(
                sweep=sweep, dataset=dataset, verdict=form.asked(), preset=preset, dimension=dimension
            )
        except ReportError as error:
            return render(request, "metaeval/comparison.html", context | {"error": str(error)})
    if content is not None and context.get("kinds") and all(judge.baseline for judge in content.judges):
        # The sweep's judges judge other kinds: there is nothing to say of the pairs.
        return render(request, "metaeval/comparison.html", context | {"kept": None})
    if content is not None:
        context |= _comparison_context(request, sweep, dataset, content) | {"form": form}
        context |= _planned(content, plan)
    return render(request, _template(request, content), context)


def verdict_form(request: ResearcherRequest, kinds: Sequence[str] = tuple(FIGURES)) -> PublishedForm:
    """What the address asks of the verdict and of the figures; what cannot be read is not asked."""
    form = PublishedForm(request.GET, kinds=kinds)
    form.is_valid()
    return form


def _template(request: ResearcherRequest, content: ReportContent | None) -> str:
    """The page, or the part of it that htmx asked for."""
    parts = {"comparison-table": "table", "comparison": "content"}
    part = parts.get(part_asked(request))
    return f"metaeval/comparison_{part}.html" if part and content is not None else "metaeval/comparison.html"


def _planned(content: ReportContent, plan: Preregistration | None) -> dict[str, Any]:
    """What was planned of this kind, and what the comparison kept of it."""
    if plan is None or kind_planned(plan.content) != content.kind:
        return {}
    return planned_context(with_plan(content, plan).planned)


def _kinds_context(
    request: ResearcherRequest,
    sweep: SweepView,
    dataset: Dataset,
    kinds: tuple[str, ...],
    *,
    alone: bool,
    plan: Preregistration | None,
) -> dict[str, Any]:
    """A section for each kind other than pairs; beside pairs only for those that judges of the sweep judged."""
    sections: list[dict[str, Any]] = []

    def section_of(content: ReportContent) -> dict[str, Any]:
        ranked = _ranked_by(content, request.GET.get("measure", ""))
        return _kind_section(ranked, plan) | {"pictures": _pictures(request, sweep, dataset, ranked)}

    for kind in kinds:
        label, how = KIND_LABELS[kind], _asked_of_figures(request, kind)
        kept = kept_of(request, [dataset], asked_of(sweep, dataset, kind, **how), sweep.judge_ids)
        if kept is not None:
            shown: dict[str, Any] = {}
            if kept.content is not None:
                shown = section_of(report_of(kept.content))
            sections.append({"kind": kind, "label": label, "kept": kept} | shown)
            continue
        try:
            content = comparison_get(sweep=sweep, dataset=dataset, kind=kind, **how)
        except NothingJudgedError as error:
            if alone and len(kinds) == 1:
                sections.append({"kind": kind, "label": label, "error": str(error)})
        except ReportError as error:
            sections.append({"kind": kind, "label": label, "error": str(error)})
        else:
            sections.append({"kind": kind, "label": label} | section_of(content))
    if alone and not sections:
        return {"kinds": [], "error": "No judge has judged this dataset yet."}
    # Beside pairs their form asks for all.
    query = {f"asked_{name}": request.GET.get(name, "") for name in ("measure", "against")}
    return {"kinds": sections, **({"kinds_form": verdict_form(request, kinds)} if alone else {}), **query}


def _asked_of_figures(request: ResearcherRequest, kind: str) -> dict[str, Any]:
    """What the address asks of the figures of a kind, for `asked_of` and `comparison_get`."""
    form = verdict_form(request)
    return {
        "against": request.GET.get("against", ""),
        "verdict": form.asked(),
        "preset": form.preset_of(kind),
        "dimension": request.GET.get("dimension", "")[:MOST_KEY] if kind_of(kind).presented else "",
    }


def _ranked_by(content: ReportContent, measure: str) -> ReportContent:
    """The same with judges ranked by another of the figures that they may be ranked by."""
    return replace(content, primary=measure) if measure in primaries_of(content) else content


def _kind_section(content: ReportContent, plan: Preregistration | None = None) -> dict[str, Any]:
    people = tables.people_table(content)
    return (
        context_of(content)
        | _planned(content, plan)
        | {
            "prefix": f"{KIND_LABELS[content.kind]}: ",
            "people": people[0] if people else None,
            "primaries": [(name, content.figures.of_judges(name).label) for name in primaries_of(content)],
            "has_tower": any("tower" in judge.measures for judge in content.judges),
        }
    )


def _pictures(
    request: ResearcherRequest, sweep: SweepView, dataset: Dataset, content: ReportContent
) -> list[ShownPicture]:
    """The pictures of a comparison; their addresses ask for what the page asks for."""
    asked = {"dataset": dataset.name, "kind": content.kind, "measure": content.primary}
    kept = ("against", "dimension", *PublishedForm.base_fields)
    asked |= {name: request.GET[name] for name in kept if name in request.GET}
    return pictures_shown(
        request,
        report_pictures(content, items_behind(dataset.name, content)),
        lambda name, suffix: f"{source_url(sweep, 'comparison-picture', name, suffix)}?{urlencode(asked)}",
    )


@researcher_page
@of_source
def comparison_picture(request: ResearcherRequest, sweep: SweepView, picture: str, file: str) -> HttpResponse:
    """A picture of a comparison as a file, or as a page shows it."""
    dataset = dataset_of(sweep, request.GET.get("dataset"))
    kind = request.GET.get("kind", DEFAULT_KIND)
    if kind not in KIND_LABELS:
        raise Http404("There is no such kind of items.")

    def pictures() -> tuple[Picture, ...]:
        content = _ranked_by(_content_asked(request, sweep, dataset, kind), request.GET.get("measure", ""))
        return report_pictures(content, items_behind(dataset.name, content))

    return picture_response(request, picture, file, f"{dataset.name}-{source_slug(sweep)}", pictures)


def _about(request: ResearcherRequest, sweep: SweepView, dataset: Dataset) -> dict[str, Any]:
    return {
        "sweep": sweep,
        "dataset": dataset,
        "loop": LoopPlace(dataset.name, "compare"),
        "progress": sweep.progress,
        "may_promote": request.user.is_administrator,
        "asked_query": _asked_query(request),
        "section": "datasets" if sweep.pk is None else "sweeps",
    }


def _asked_query(request: ResearcherRequest) -> str:
    """What the address asks of the verdict and of the figures, as it goes on in the address of a download."""
    names = (*PublishedForm.base_fields, "plan", "dimension")
    asked = {name: request.GET[name] for name in names if request.GET.get(name)}
    return f"&{urlencode(asked)}" if asked else ""


def _comparison_context(
    request: ResearcherRequest, sweep: SweepView, dataset: Dataset, content: ReportContent
) -> dict[str, Any]:
    table = table_of(
        content,
        measure=request.GET.get("measure", ""),
        group=request.GET.get("group", ""),
        sort=request.GET.get("sort", ""),
    )
    verdict = verdict_of(content, table.primary)
    deciding = decided([dataset])
    current, promotable = deciding[0].current, compared_options(content, table.primary)
    here = {"dataset": dataset.name, "measure": table.primary}
    here |= {name: request.GET[name] for name in (*PublishedForm.base_fields, "plan") if name in request.GET}
    return {
        "content": content,
        "table": table,
        "published": tables.published_tables(content),
        "verdict": verdict,
        "figures": [] if verdict.leader is None else key_figures(content, table.primary, verdict.leader),
        "leader": None if verdict.leader is None else content.judges[verdict.leader],
        "current": current,
        # A composite in use is no judge of the sweep that it was chosen from.
        "no_longer_leads": verdict.kind == "clear"
        and current is not None
        and any(row.key == current.judge.fingerprint and not row.is_proposed for row in promotable),
        "history": decisions_of(dataset),
        "deciding": deciding,
        "in_use": [] if current is None else [current],
        "moved": decisions_moved([] if current is None else [current]),
        # A judge is chosen by the overall answers.
        "promotable": [] if content.dimension else promotable,
        "promote_url": f"{source_url(sweep, 'promote')}?{urlencode(here)}",
        "inputs_hash": content.inputs_hash,
        "pictures": []
        if part_asked(request) == "comparison-table"
        else _pictures(request, sweep, dataset, replace(content, primary=table.primary)),
    }


def _content_asked(
    request: ResearcherRequest, sweep: SweepView, dataset: Dataset, kind: str
) -> ReportContent:
    """The figures that the page shows; Http404 where there are none."""
    how = _asked_of_figures(request, kind)
    kept = kept_of(request, [dataset], asked_of(sweep, dataset, kind, **how), sweep.judge_ids)
    if kept is not None and kept.content is not None:
        return report_of(kept.content)
    try:
        return comparison_get(sweep=sweep, dataset=dataset, kind=kind, **how)
    except ReportError as error:
        raise Http404(str(error)) from None


@researcher_page
@of_source
def comparison_download(
    request: ResearcherRequest, sweep: SweepView, suffix: str, kind: str = DEFAULT_KIND
) -> HttpResponse:
    dataset = dataset_of(sweep, request.GET.get("dataset"))
    content = _content_asked(request, sweep, dataset, kind)
    content = _ranked_by(content, request.GET.get("measure", ""))
    plan = plan_named(request)
    content = content if plan is None else with_plan(content, plan)
    parts = (
        dataset.name,
        *(() if kind_of(kind).presented else (kind,)),
        source_slug(sweep),
        content.inputs_hash[:8],
    )
    return report_file(content, suffix, "-".join(parts))

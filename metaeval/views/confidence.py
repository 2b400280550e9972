"""The errors of judges, what their certainty is worth, and what to leave to people."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from annotation.models import Dataset
from annotation.selectors.overview import studies_editable_by
from judges.selectors.item_addresses import items_url
from judges.selectors.stored import judges_known
from metaeval.forms import ConfidenceForm
from metaeval.inputs import GOLD, PEOPLE
from metaeval.models import JobPage
from metaeval.pictures.picture import Picture
from metaeval.reports.confidence import KINDS, ConfidencePage, confidence_page, needs_mark
from metaeval.reports.confidence_pictures import ItemsOfCell, confidence_pictures
from metaeval.reports.errors import ReportError
from metaeval.reports.json_values import json_of, read_as
from metaeval.reports.report import canonical_json
from metaeval.selectors.inputs import inputs_read, kinds_of
from metaeval.selectors.sweeps import SweepView, dataset_of
from metaeval.services.label_next import abstained_key, abstained_send
from metaeval.services.page_contents import PageAsked
from metaeval.services.report_jobs import is_small
from metaeval.views.addresses import of_source, part_asked, source_slug, source_url
from metaeval.views.kept import Kept, kept_of
from metaeval.views.label_next import send
from metaeval.views.pictures import picture_response, pictures_shown
from web.access import ResearcherRequest, researcher_action, researcher_page
from web.files import attachment
from web.loop import LoopPlace

WRONG_FIRST = {PEOPLE: "disagreement", GOLD: "wrong"}
"""How lists are sorted so that errors come first, by what verdicts are compared with."""


@never_cache
@researcher_page
@of_source
def confidence(request: ResearcherRequest, sweep: SweepView) -> HttpResponse:
    dataset, kind = _about(request, sweep)
    context: dict[str, Any] = {
        "sweep": sweep,
        "dataset": dataset,
        "kind": kind,
        "loop": LoopPlace(dataset.name, "compare"),
        "section": "datasets" if sweep.pk is None else "sweeps",
    }
    form, page, kept, error = _read(request, sweep, dataset, kind)
    context |= {"form": form, "kept": kept, "error": error}
    if kept is not None and kept.waits and part_asked(request):
        return render(request, "metaeval/_report_job.html", {"job": kept.job})
    if page is not None:
        context |= {"page": page, "draw": _key(page)}
        context["pictures"] = pictures_shown(
            request,
            confidence_pictures(page, items_of_page(dataset, page)),
            lambda name, suffix: (
                f"{source_url(sweep, 'confidence-picture', name, suffix)}?{request.GET.urlencode()}"
            ),
        )
        context["rows"] = [(row, items_of_errors(dataset, page, row.key)) for row in page.rows]
        context["leads"] = items_of_judge(dataset, page)
        studies = studies_editable_by(request.user).filter(dataset=dataset, kind=kind)
        context["studies"] = studies.exclude(state="closed").order_by("title")
    return render(request, "metaeval/confidence.html", context)


@researcher_page
@of_source
def confidence_download(request: ResearcherRequest, sweep: SweepView) -> HttpResponse:
    """The figures that the page shows, as JSON."""
    dataset, kind = _about(request, sweep)
    page = _read(request, sweep, dataset, kind).page
    if page is None:
        raise Http404("There are no figures.")
    return attachment(canonical_json(json_of(page)), f"{dataset.name}-confidence.json", "application/json")


@researcher_page
@of_source
def confidence_picture(request: ResearcherRequest, sweep: SweepView, picture: str, file: str) -> HttpResponse:
    """A picture of errors and confidence as a file, or as a page shows it."""
    dataset, kind = _about(request, sweep)

    def pictures() -> tuple[Picture, ...]:
        page = _read(request, sweep, dataset, kind).page
        return () if page is None else confidence_pictures(page, items_of_page(dataset, page))

    return picture_response(request, picture, file, f"{dataset.name}-{source_slug(sweep)}", pictures)


def items_of_errors(dataset: Dataset, page: ConfidencePage, judge: str) -> dict[str, str]:
    """Where the figures of a judge in the table of errors lead: to the items that each counts, errors first."""

    def counted(answer: str, verdict: str = "", **asked: Any) -> str:
        given = {"kind": page.kind, "judge": judge, "mark": page.mark, "sort": WRONG_FIRST[page.against]}
        return items_url(dataset.name, **given | {page.against: answer, "verdict": verdict} | asked)

    return {
        "cost": counted("any"),
        "behind": counted("any", judge=[judge, page.rows[0].key], has="all_judges"),
        "true_positive_rate": counted("1"),
        "true_negative_rate": counted("2"),
        "precision": counted("any", "positive"),
        "f1": counted("any", "either"),
    }


def items_of_judge(dataset: Dataset, page: ConfidencePage) -> dict[str, str]:
    """Where the figures of the judge that the page is about lead: to what it judged, to where it can be wrong, and
    to what it would decide or leave to human annotators.
    """
    asked: dict[str, Any] = {"kind": page.kind, "judge": page.judge.key}
    known = {page.against: "any", "verdict": "read", "sort": WRONG_FIRST[page.against]}
    found = {
        "judged": items_url(dataset.name, **asked, has="judgment"),
        "certain": items_url(dataset.name, **asked, **known),
    }
    least = None if page.certainty is None else page.certainty.threshold["threshold"]
    if least is not None:
        found |= {
            "kept": items_url(dataset.name, **asked, certainty_from=least),
            "kept_known": items_url(dataset.name, **asked, **known, certainty_from=least),
            "left": items_url(dataset.name, **asked, certainty_below=least),
        }
    return found


def items_of_page(dataset: Dataset, page: ConfidencePage, judge: str = "") -> ItemsOfCell:
    """Where the cells of a confusion table lead, of the judge that the page is about or of another."""

    def leads(side: int, is_right: bool) -> str:
        return items_url(
            dataset.name,
            kind=page.kind,
            judge=judge or page.judge.key,
            verdict="right" if is_right else "wrong",
            mark=page.mark,
            **{page.against: str(side + 1)},
        )

    return leads


@researcher_action
@of_source
def confidence_send(request: ResearcherRequest, sweep: SweepView) -> HttpResponseBase:
    dataset, kind = _about(request, sweep)
    back = f"{source_url(sweep, 'confidence')}?{request.GET.urlencode()}"
    _, page, _, error = _read(request, sweep, dataset, kind)
    if error:
        messages.error(request, f"Nothing was sent. {error}")
        return redirect(back)
    if page is None or page.certainty is None or not page.certainty.abstained:
        messages.error(request, "Nothing was sent: the judge leaves no item without a label to people.")
        return redirect(back)
    if request.POST.get("draw") != _key(page):
        messages.error(
            request, "Nothing was sent: labels have arrived since you opened the page. Check again."
        )
        return redirect(back)
    items = page.certainty.abstained
    return send(
        request,
        back,
        len(items),
        lambda study: abstained_send(items=items, dataset=dataset, study=study, user=request.user),
    )


def _about(request: ResearcherRequest, sweep: SweepView) -> tuple[Dataset, str]:
    dataset = dataset_of(sweep, request.GET.get("dataset"))
    offered = [kind for kind in KINDS if kind in kinds_of(dataset)]
    asked = request.GET.get("kind", "")
    return dataset, asked if asked in offered else next(iter(offered), KINDS[0])


class _Found(NamedTuple):
    """The form (None where there is nothing to compute), the figures, how a page too large to wait for stands, and
    what went wrong."""

    form: ConfidenceForm | None
    page: ConfidencePage | None = None
    kept: Kept | None = None
    error: str = ""


def _read(request: ResearcherRequest, sweep: SweepView, dataset: Dataset, kind: str) -> _Found:
    """Compute the figures, or look for those that a worker left."""
    if not is_small([dataset], kind):
        judges = [
            (judge.fingerprint, judge.name) for judge in judges_known(among=sweep.judge_ids).order_by("name")
        ]
        form = _form(request, kind, judges, (PEOPLE, GOLD))
        if not form.is_valid():
            return _Found(form)
        asked = PageAsked(
            JobPage.CONFIDENCE.value, sweep.pk, sweep.source, dataset.name, kind, errors=form.asked()
        )
        kept = kept_of(request, [dataset], asked, sweep.judge_ids)
        if kept is not None:
            page = None if kept.content is None else read_as(ConfidencePage, kept.content)
            return _Found(form, page, kept)
    try:
        inputs = inputs_read(dataset=dataset, kind=kind, sweep=sweep)
        judges = [(one.fingerprint, one.name) for one in inputs.judges if not one.baseline]
        form = _form(request, kind, judges, inputs.targets())
        return _Found(form, confidence_page(inputs, form.asked()) if form.is_valid() else None)
    except ReportError as error:
        return _Found(None, error=str(error))


def _form(
    request: ResearcherRequest, kind: str, judges: list[tuple[str, str]], targets: Sequence[str]
) -> ConfidenceForm:
    return ConfidenceForm(request.GET, judges=judges, targets=targets, has_mark=needs_mark(kind))


def _key(page: ConfidencePage) -> str:
    return "" if page.certainty is None else abstained_key(page.certainty.abstained)

"""Export of a judge: as a `judge.json`, or as files of another tool, with what each tool would lose."""

import json
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.kinds import KINDS
from annotation.models import Dataset
from annotation.selectors.datasets import datasets_visible_to
from judges.exports.writing import ASPECTS
from judges.models import Judge
from judges.selectors.items import judge_kind
from judges.selectors.judges import judge_places
from judges.selectors.reading import judge_get_for
from judges.services.judge_imports import judge_document
from judges.services.judge_tools import judge_for_tool, tool_archive, tool_offers
from judges.strategies.errors import SpecError
from web.access import ResearcherRequest, researcher_page
from web.files import attachment


@researcher_page
def judge_export_page(request: ResearcherRequest, pk: int) -> HttpResponse:
    """The tools that the judge can go into, and what each would lose."""
    judge = judge_get_for(request.user, pk)
    datasets = _datasets(request, judge)
    dataset = _chosen(request, datasets)
    offers, refused = [], ""
    try:
        offers = tool_offers(judge_document(judge), dataset_id=dataset.pk if dataset is not None else None)
    except SpecError as error:
        refused = str(error)
    context: dict[str, Any] = {
        "section": "judges",
        "crumbs": [
            ("Judges", reverse("judges:judge-list")),
            (judge.name, reverse("judges:judge-detail", args=[judge.pk])),
            ("Export", None),
        ],
        "judge": judge,
        "offers": offers,
        "refused": refused,
        "aspects": ASPECTS,
        "datasets": datasets,
        "dataset": dataset,
    }
    return render(request, "judges/judge_export.html", context)


@researcher_page
def judge_export_file(request: ResearcherRequest, pk: int) -> HttpResponseBase:
    """The judge as a file: `judge.json`, or with ``to`` an archive for a tool without what ``accept`` names."""
    judge = judge_get_for(request.user, pk)
    begin = f"judge-{judge.fingerprint[:8]}"
    to = request.GET.get("to", "")
    dataset = _chosen(request, _datasets(request, judge))
    try:
        document = judge_document(judge)
        if not to:
            text = json.dumps(document, indent=2, ensure_ascii=False)
            return attachment(f"{text}\n", f"{begin}.json", "application/json")
        accept = [name for name in request.GET.get("accept", "").split(",") if name]
        exported = judge_for_tool(
            document, to=to, accept=accept, dataset_id=dataset.pk if dataset is not None else None
        )
    except SpecError as error:
        messages.error(request, f"Nothing was exported. {error.problem}")
        return redirect("judges:judge-export", judge.pk)
    return attachment(tool_archive(exported), f"{begin}-{to}.zip", "application/zip")


def _datasets(request: ResearcherRequest, judge: Judge) -> list[Dataset]:
    """The datasets whose criteria a rubric's export can have: those that it judged and that they may see."""
    kind = KINDS.get(judge_kind(judge))
    if kind is None or kind.parts != "criteria":
        return []
    judged = [place.dataset_id for place in judge_places(judge)]
    return list(datasets_visible_to(request.user).filter(pk__in=judged).order_by("name"))


def _chosen(request: ResearcherRequest, datasets: list[Dataset]) -> Dataset | None:
    wanted = request.GET.get("dataset", "")
    return next((each for each in datasets if each.name == wanted), datasets[0] if datasets else None)

"""Judges: which ones there are; what one is, and where it was used."""

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from annotation.selectors.datasets import datasets_visible_to
from judges.backends.answerers import several_of
from judges.forms.judges import judge_shown
from judges.selectors.anchors import judges_moved
from judges.selectors.items import judge_kind
from judges.selectors.judges import judge_answerers, judge_places
from judges.selectors.overview import judge_strategy
from judges.selectors.reading import (
    MOST_COUNTED,
    judge_get_for,
    judge_list_for,
    judges_visible_to,
    judgment_counts,
    sweeps_visible_to,
)
from judges.selectors.strategies import kind_words
from web.access import ResearcherRequest, researcher_page

PER_PAGE = 25
SWEEPS_SHOWN = 25
LONGEST_SEARCH = 200


@researcher_page
def judge_list(request: ResearcherRequest) -> HttpResponse:
    search = request.GET.get("q", "").replace("\x00", "").strip()[:LONGEST_SEARCH]
    page = Paginator(judge_list_for(request.user, search=search), PER_PAGE).get_page(request.GET.get("page"))
    counts = judgment_counts(request.user, [judge.pk for judge in page])
    rows = [
        (judge, judge_strategy(judge), kind_words(judge_kind(judge)), *counts.get(judge.pk, (0, 0)))
        for judge in page
    ]
    context = {
        "section": "judges",
        "page_obj": page,
        "rows": rows,
        "search": search,
        "most_counted": MOST_COUNTED,
    }
    return render(request, "judges/judge_list.html", context)


@researcher_page
def judge_detail(request: ResearcherRequest, pk: int) -> HttpResponse:
    judge = judge_get_for(request.user, pk)
    visible = {dataset.pk: dataset for dataset in datasets_visible_to(request.user)}
    members = list(judge.memberships.select_related("member"))
    known = set(
        judges_visible_to(request.user)
        .filter(pk__in=[row.member_id for row in members])
        .values_list("pk", flat=True)
    )
    context = {
        "section": "judges",
        "crumbs": [("Judges", reverse("judges:judge-list")), (judge.name, None)],
        "judge": judge,
        **judge_shown(judge),
        "members": [(row, row.member_id in known) for row in members],
        "places": [
            (place, visible[place.dataset_id]) for place in judge_places(judge) if place.dataset_id in visible
        ],
        "answerers": (answerers := judge_answerers([judge.pk], visible).get(judge.pk, [])),
        "several": several_of(use.answerer for use in answerers),
        "moved": judges_moved([judge.pk], visible),
        "sweeps": sweeps_visible_to(request.user).filter(judges=judge).order_by("-created_at")[:SWEEPS_SHOWN],
    }
    return render(request, "judges/judge_detail.html", context)

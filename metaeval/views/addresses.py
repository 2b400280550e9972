"""Addresses of the pages of a comparison: those of a sweep, or of all judgments of a dataset."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse

from metaeval.selectors.sweeps import SweepView, judges_chosen_of, source_get_for
from web.access import ResearcherRequest

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)


def of_source(
    view: Callable[Concatenate[ResearcherRequest, SweepView, P], R],
) -> Callable[Concatenate[ResearcherRequest, P], R]:
    """Give a view what its address names: a sweep, or all judgments of a dataset; else Http404."""

    @wraps(view)
    def found(request: ResearcherRequest, /, *args: P.args, **given: P.kwargs) -> R:
        pk, name = given.pop("pk", None), given.pop("name", None)
        return view(request, source_get_for(request.user, pk, name), *args, **given)  # type: ignore[arg-type]

    return found


def source_url(source: SweepView, name: str, *args: object) -> str:
    """The page `name` of what is compared: ``comparison``, ``decision``, ``label-next`` and what belongs to them."""
    if source.pk is None:
        return reverse(f"metaeval:dataset-{name}", args=[source.source, *args])
    return reverse(f"metaeval:{name}", args=[source.pk, *args])


def source_slug(source: SweepView) -> str:
    """What tells the files of one source from those of another, in their names."""
    if source.pk is None:
        return f"{len(source.judge_ids)}-judges" if source.is_choice else "all-judgments"
    return f"sweep-{source.pk}"


def chosen_url(request: HttpRequest, source: SweepView, name: str) -> str | None:
    """Where the form that chooses judges leads: the page `name` of those; None where nothing was sent."""
    asked = request.GET.getlist("judge")
    if source.pk is not None or not asked:
        return None
    rest = request.GET.copy()
    del rest["judge"]
    url = source_url(judges_chosen_of(source, asked), name)
    return f"{url}?{rest.urlencode()}" if rest else url


def part_asked(request: ResearcherRequest) -> str:
    """The element that htmx is to replace; empty where the whole page is asked for."""
    if not request.htmx or request.htmx.history_restore_request:
        return ""
    return request.htmx.target or ""

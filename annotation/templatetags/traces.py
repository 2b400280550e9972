"""Traces as timelines: their steps, cut where the rest can be fetched."""

from dataclasses import dataclass

from django import template

from annotation.domain.conversation import steps_count
from annotation.kinds.shown import ShownItem, ShownResponse
from annotation.kinds.shown_trace import PAGE_BYTES, ShownStep, steps_fitted, steps_shown

register = template.Library()
register.filter("as_steps", steps_shown)


@dataclass(frozen=True, slots=True)
class ShownTrace:
    """The trace of one response; `url` is followed by the number of a step to fetch all of it."""

    steps: tuple[ShownStep, ...]
    n_steps: int
    url: str
    plain: bool
    is_cut: bool


@register.simple_tag
def trace_steps(response: ShownResponse, item: ShownItem, steps_url: str = "") -> ShownTrace:
    """The trace as a page shows it: whole where nothing can be fetched (no `steps_url`), else within a page's size."""
    turns, n_steps = response.turns, steps_count(response.turns)
    if not steps_url:
        return ShownTrace(steps_shown(turns), n_steps, "", item.is_plain, False)
    steps = steps_fitted(turns, PAGE_BYTES // max(1, len(item.responses)))
    place = next(at for at, each in enumerate(item.responses) if each is response)
    is_cut = any(step.is_cut for step in steps)
    return ShownTrace(steps, n_steps, f"{steps_url}{place}/", False, is_cut)

"""Filters for figures of reports; they add the units of judges (money, seconds) to those of `touchstone`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django import template

from annotation.models import Dataset
from judges.exports.targets import TARGETS
from judges.exports.writing import ExportTarget
from judges.selectors.item_addresses import items_url
from judges.selectors.stored import judges_known
from metaeval.inputs import PEOPLE
from metaeval.reports import figures
from metaeval.reports.behind import behind, scoring_asked
from metaeval.reports.changes import Leaf, leaf_text
from metaeval.reports.report import ReportContent
from metaeval.reports.selection.report import StandingEntry
from metaeval.reports.tables import OVERALL, Slice, differences
from metaeval.views import addresses
from web.numbers import UNDEFINED, number_of
from web.templatetags.touchstone import count

register = template.Library()
register.simple_tag(addresses.source_url)
register.filter(count)


@register.simple_tag
def export_targets() -> list[ExportTarget]:
    """The tools that a judge can go into."""
    return list(TARGETS.values())


@register.simple_tag
def cell_items(  # the arguments of `behind`, of a dataset by its name, with the labels of one study or of all
    dataset: str,
    kind: str,
    figure: str = "",
    place: Slice = OVERALL,
    fingerprint: str = "",
    study: str = "",
    estimate: dict[str, Any] | None = None,
    unit: str = "percent",
    against: str = PEOPLE,
    mark: float | None = None,
    **cell: str,
) -> str:
    """The address of the items behind a cell; `cell` is what more its filter has."""
    asked = behind(kind, figure=figure, place=place, fingerprint=fingerprint, against=against, mark=mark)
    came_from = figures.cell_query(figure, estimate, unit)
    return items_url(dataset, **(asked | {"study": study} | cell | came_from))


@register.filter
def compared_with(standing: StandingEntry, judges: Sequence[int]) -> Sequence[int]:
    """The judges who all judged the items on which this one is compared; none of one that isn't."""
    return () if standing.chosen_share is None else judges


@register.simple_tag
def score_items(  # of a dataset of a choice, by its name and role
    dataset: str,
    role: str,
    kind: str,
    fingerprint: str,
    estimate: dict[str, Any] | None,
    judged_by: Sequence[int] = (),
    figure: str = "",
) -> str:
    """The address of the items on which a choice scores a judge: those that all of `judged_by` judged."""
    asked = scoring_asked(kind, role, figure)
    asked["has"] = ["judgment", *asked["has"]]
    came_from = figures.cell_query("", estimate, "percent")
    return items_url(dataset, kind=kind, judge=fingerprint, judged_by=judged_by, **asked, **came_from)


@register.simple_tag
def judges_compared(content: ReportContent) -> list[int]:
    """The primary keys of the judges between which a report has differences, the leader first; one query.

    Their differences are of the items that all of them judged. Fingerprints would make long addresses.
    """
    found = [content.judges[content.selection.leader]] if content.selection.leader is not None else []
    found += [judge for judge, _, _ in differences(content)]
    known = judges_known(judge.fingerprint for judge in found if not judge.baseline)
    return sorted(known.values_list("pk", flat=True))


@register.simple_tag
def difference_items(
    dataset: str, content: ReportContent, fingerprint: str, judged_by: Sequence[int], study: str
) -> str:
    """The address of the items on which a judge is compared with the leader."""
    asked = behind(content.kind, figure=content.primary, fingerprint=fingerprint, against=content.against)
    return items_url(dataset, **asked, judged_by=judged_by, study=study)


@register.simple_tag
def tile_items(dataset: str, kind: str, figure: str, fingerprint: str) -> str:
    """The address of the items that a figure of a judge counts; empty without a dataset or a judge."""
    if not dataset or not fingerprint:
        return ""
    return items_url(dataset, **behind(kind, figure=figure, fingerprint=fingerprint))


@register.simple_tag
def gap_items(dataset: str, kind: str, primary: str, fingerprint: str) -> dict[str, str]:
    """The addresses of the items of an adversarial gap: ``all``, and those of its ``adversarial`` and ``other``
    subsets.
    """
    return {
        side: items_url(
            dataset, **behind(kind, figure=primary, place=Slice("gap", side), fingerprint=fingerprint)
        )
        for side in ("all", "adversarial", "other")
    }


@register.simple_tag
def items_of_test(dataset: Dataset | str, kind: str, judges: Sequence[str], study: str = "") -> str:
    """The address of the items of the alternative annotator test of judges; empty where there is no list of them."""
    if not dataset or isinstance(dataset, str) or not judges:
        return ""
    asked: dict[str, Any] = {"kind": kind, "judge": list(judges), "study": study, "has": "tested"}
    return items_url(dataset.name, **asked, sort="disagreement")


register.filter("figure", figures.value_text)
register.filter("figure_bare", partial(figures.value_text, sign=False))
register.filter("figure_range", figures.range_text)
register.filter("figure_full", figures.full_text)


@register.filter
def figure_alike(estimate: dict[str, Any] | None, unit: str = "percent") -> str:
    """Ends of the interval for annotators like these; empty where there is none."""
    return figures.range_text(figures.alike_of(estimate), unit)


@register.filter
def points(value: object) -> str:
    """A share as points without their unit: "4.5"; a dash where it is not known."""
    number = number_of(value)
    return (
        UNDEFINED if number is None else f"{100 * number + 0.0:.1f}".replace("-0.0", "0.0").replace("-", "−")
    )


@register.filter
def field_text(value: Leaf) -> str:
    """A field of a report, as it is compared with that of another."""
    return leaf_text(value)

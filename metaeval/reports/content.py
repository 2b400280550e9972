"""The whole content of a report: a plain dict in the schema `touchstone.report/1` (docs/report-schema.md)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from metaeval.reports.errors import ReportError
from metaeval.reports.estimates import plain
from metaeval.reports.groups import Layout, layout_of
from metaeval.reports.humans import humans_section, label_slots
from metaeval.reports.inputs import SCHEMA, Booleans, ReportInputs
from metaeval.reports.judges import PRIMARIES, JudgeScores, Primary, judge_scores, judge_section
from metaeval.reports.options import ReportOptions
from metaeval.reports.progress import told
from metaeval.reports.replacement import choice_section, labels_by_person, replacement_section
from metaeval.reports.report import Report, report_of, software_version
from metaeval.selection import compare
from metaeval.stats import Resamples


def build(inputs: ReportInputs, options: ReportOptions, *, inputs_hash: str | None = None) -> Report:
    """Compute a report. The same inputs and options give the same report.

    Raises
    ------
    ReportError
        There are no pairwise items to report on.
    """
    return report_of(content_build(inputs, options, inputs_hash=inputs_hash))


def content_build(
    inputs: ReportInputs, options: ReportOptions, *, inputs_hash: str | None = None
) -> dict[str, Any]:
    """Compute a report. The same inputs and options give the same content.

    Raises
    ------
    ReportError
        There are no pairwise items to report on.
    """
    items = inputs.items
    if not len(items):
        raise ReportError(f"{inputs.name} has no pairwise items, and reports are about pairwise items.")
    layout = layout_of(items)
    resamples = Resamples(items.cluster, options.n_resamples, options.seed)
    slots = label_slots(items, inputs.labels)
    n = len(inputs.judges)
    scores = [judge_scores(judge, items, slots, options) for judge in told("Verdicts", n, inputs.judges)]
    by_person = labels_by_person(items, inputs.labels)
    judges = [
        judge_section(judge, scored, items, layout, resamples, options, inputs.weights)
        | {"replaces": replacement_section(judge, by_person, resamples, options)}
        for judge, scored in told("Judges", n, zip(inputs.judges, scores, strict=True))
    ]
    two_labels = (~np.isnan(slots)).sum(axis=1) > 1
    selection = {
        primary: _selection(inputs, scores, primary, resamples, options)
        for primary in told("Comparison of judges", len(PRIMARIES), PRIMARIES)
    }
    compared = {place: scores[place].agreement for place in selection["agreement"]["ranking"]}
    return {
        "schema": SCHEMA,
        "software": {"name": "touchstone", "version": software_version()},
        "name": inputs.name,
        "inputs_hash": inputs_hash or inputs.hash(options),
        "options": options.as_dict(),
        **inputs.facts,
        "items": _items_section(inputs, layout),
        "humans": humans_section(inputs, slots, layout, resamples, options),
        "judges": judges,
        "primary": _primary(two_labels, ~np.isnan(items.gold)),
        "selection": selection,
        "replacement": choice_section(inputs.judges, compared, by_person, resamples, options),
    }


def _items_section(inputs: ReportInputs, layout: Layout) -> dict[str, Any]:
    items = inputs.items
    return {
        "kind": "pairwise",
        "n_items": len(items),
        "n_instructions": len(set(items.cluster)),
        "n_gold": int((~np.isnan(items.gold)).sum()),
        "categories": _sizes(layout, "category"),
        "subsets": _sizes(layout, "subset"),
    }


def _sizes(layout: Layout, kind: str) -> list[dict[str, Any]]:
    return [
        {"name": group.name, "n_items": int(group.members.sum())}
        for group in layout.groups
        if group.kind == kind
    ]


def _primary(two_labels: Booleans, gold: Booleans) -> Primary:
    """By what judges are ranked: agreement with people, unless more items have a gold answer."""
    return "accuracy" if int(gold.sum()) > int(two_labels.sum()) else "agreement"


def comparable(covered: Mapping[int, Booleans]) -> tuple[list[int], Booleans]:
    """Which judges can be compared with one another, and on which items: those that all of them judged.

    Judges join from the one that judged most items downwards, as long as at least half of its items stay. So one
    that has hardly begun does not take the ground from under the others.

    Parameters
    ----------
    covered : mapping of int to ndarray of shape (n_items,)
        The items that each judged.

    Examples
    --------
    >>> whole, most, few = np.ones(4, bool), np.array([True, True, True, False]), np.array([True, False, False, False])
    >>> judges, common = comparable({0: few, 1: whole, 2: most})
    >>> judges, common.tolist()
    ([1, 2], [True, True, True, False])
    """
    order = sorted(covered, key=lambda place: (-int(covered[place].sum()), place))
    if not order:
        return [], np.zeros(0, dtype=np.bool_)
    common = covered[order[0]]
    enough = int(common.sum()) / 2
    joined = []
    for place in order:
        shared = common & covered[place]
        if shared.sum() >= enough:
            common = shared
            joined.append(place)
    return sorted(joined), common


def _selection(
    inputs: ReportInputs,
    scores: list[JudgeScores],
    primary: Primary,
    resamples: Resamples,
    options: ReportOptions,
) -> dict[str, Any]:
    """Which judge leads by one figure; places in the list of judges, so that equal names do no harm."""
    columns = {place: scored.of(primary) for place, scored in enumerate(scores)}
    candidates = [
        place
        for place, judge in enumerate(inputs.judges)
        if not judge.baseline and not np.isnan(columns[place]).all()
    ]
    # A judge that has judged a part only may look better for the part that it was given.
    complete, common = comparable({place: scores[place].covers(primary) for place in candidates})
    if complete:
        columns = {place: np.where(common, column, np.nan) for place, column in columns.items()}
    found = compare(
        {str(place): columns[place] for place in complete},
        resamples=resamples,
        confidence=options.confidence,
        floors={str(place): columns[place] for place, judge in enumerate(inputs.judges) if judge.baseline},
        weights=inputs.weights if primary == "agreement" else None,
    )
    return {
        "leader": None if found.leader is None else int(found.leader),
        "ranking": [int(place) for place in found.ranking],
        "tied": [int(place) for place in found.tied],
        "clear": found.clear,
        "incomplete": [place for place in candidates if place not in complete],
        "n_compared": int(common.sum()),
        "differences": [
            {"judge": int(place), **plain(difference)} for place, difference in found.differences.items()
        ],
        "best_baseline": None
        if found.floor is None or found.above_floor is None
        else {"judge": int(found.floor), **plain(found.above_floor)},
    }

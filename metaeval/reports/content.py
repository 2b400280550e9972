"""One report from the inputs of any kind: people, judges, and which judge leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metaeval.figures import ANSWER_RANKING, CHECKLIST, FIGURES, IMPORTANCE, KIND_LABELS, PAIRWISE, RUBRIC
from metaeval.reports.errors import ReportError
from metaeval.reports.groups import Layout, layout_of
from metaeval.reports.humans import humans_section
from metaeval.reports.inputs import Booleans, ReportInputs
from metaeval.reports.judges import PRIMARIES, Primary, judge_scores, judge_section
from metaeval.reports.kinds.checklist import checklist_figures
from metaeval.reports.kinds.common import KindResults, Setting
from metaeval.reports.kinds.inputs import KindInputs, KindOptions
from metaeval.reports.kinds.item_scores import rules_of
from metaeval.reports.kinds.people import people_section
from metaeval.reports.kinds.rankings import ranking_figures
from metaeval.reports.kinds.rubric import rubric_figures
from metaeval.reports.leading import select_means
from metaeval.reports.options import ReportOptions
from metaeval.reports.progress import told
from metaeval.reports.replacement import choice_section, labels_by_person, replacement_section
from metaeval.reports.report import Items, JudgeFigures, ReportContent, software_version
from metaeval.stats import Resamples
from metaeval.stats.arrays import slots_of

_FIGURES: dict[str, Callable[[Setting], KindResults]] = {
    RUBRIC: rubric_figures,
    CHECKLIST: checklist_figures,
    IMPORTANCE: ranking_figures,
    ANSWER_RANKING: ranking_figures,
}


def build(
    inputs: ReportInputs | KindInputs,
    options: ReportOptions | KindOptions,
    *,
    inputs_hash: str | None = None,
) -> ReportContent:
    """Compute a report. The same inputs and options give the same report.

    Raises
    ------
    ReportError
        There are no items to report on.
    """
    if isinstance(inputs, ReportInputs):
        assert isinstance(options, ReportOptions)
        kind, made, key = PAIRWISE, _pairs(inputs, options), inputs_hash or inputs.hash(options)
    else:
        assert isinstance(options, KindOptions)
        kind, made, key = inputs.kind, _of_kind(inputs, options), inputs_hash or inputs.hash(options)
    return ReportContent(
        kind=kind,
        name=inputs.name,
        inputs_hash=key,
        software={"name": "touchstone", "version": software_version()},
        options=options.as_dict(),
        **{name: inputs.facts[name] for name in ("dataset", "study", "sweep")},
        **made,
    )


def _of_kind(inputs: KindInputs, options: KindOptions) -> dict[str, Any]:
    if not inputs.items:
        raise ReportError(f"{inputs.name} has no items of the kind {KIND_LABELS[inputs.kind].lower()}.")
    # A baseline of rubrics says one number everywhere, which correlates with nothing.
    rules = rules_of(inputs, options.against) if inputs.judges and inputs.kind != RUBRIC else ()
    setting = Setting.of(inputs, options, rules)
    found = _FIGURES[inputs.kind](setting)
    primary = FIGURES[inputs.kind].primaries[0]
    return {
        "targets": list(inputs.targets()),
        "criteria": list(inputs.criteria),
        "items": Items(
            len(inputs.items), setting.resamples.n_clusters, 0, found.n_target, *_sizes(setting.layout)
        ),
        "people": people_section(setting, found),
        "gold": found.gold,
        "judges": tuple(
            JudgeFigures(
                name=judge.name,
                fingerprint=judge.fingerprint,
                backend=judge.backend,
                model=judge.model,
                strategy=judge.strategy,
                baseline=False,
                n_judgments=len(judge.judged),
                n_items_judged=len(judge.judged),
                n_unparsed=len(judge.unparsed),
                n_failed=len(judge.failed),
                orders="original",
                measures=measures,
            )
            for judge, measures in zip(inputs.judges, found.judges, strict=True)
        ),
        "primary": primary,
        "selections": {primary: found.selection},
        "remarks": found.remarks,
    }


def _pairs(inputs: ReportInputs, options: ReportOptions) -> dict[str, Any]:
    items, judges = inputs.items, inputs.judges
    if not len(items):
        raise ReportError(f"{inputs.name} has no pairwise items, and reports are about pairwise items.")
    layout = layout_of(items)
    resamples = Resamples(items.cluster, options.n_resamples, options.seed)
    slots = slots_of(inputs.labels.item, inputs.labels.choice, len(items))
    n = len(judges)
    scores = [judge_scores(judge, items, slots, options) for judge in told("Verdicts", n, judges)]
    by_person = labels_by_person(items, inputs.labels)
    sections = tuple(
        judge_section(
            judge,
            scored,
            items,
            layout,
            resamples,
            options,
            inputs.weights,
            replacement_section(judge, by_person, resamples, options),
        )
        for judge, scored in told("Judges", n, zip(judges, scores, strict=True))
    )
    baselines = {index: judge.name for index, judge in enumerate(judges) if judge.baseline}
    selections = {}
    for primary in told("Comparison of judges", len(PRIMARIES), PRIMARIES):
        columns = {index: scored.of(primary) for index, scored in enumerate(scores)}
        selections[primary] = select_means(
            {index: column for index, column in columns.items() if index not in baselines},
            {index: scored.covers(primary) for index, scored in enumerate(scores)},
            resamples=resamples,
            confidence=options.confidence,
            floors={index: columns[index] for index in baselines},
            names=baselines,
            weights=inputs.weights if primary == "agreement" else None,
        )
    compared = {index: scores[index].agreement for index in selections["agreement"].ranking}
    two_labels, gold = (~np.isnan(slots)).sum(axis=1) > 1, ~np.isnan(items.gold)
    n_gold = int(gold.sum())
    return {
        "targets": [],
        "criteria": [],
        "items": Items(
            len(items),
            len(set(items.cluster)),
            n_gold,
            max(int(two_labels.sum()), n_gold),
            *_sizes(layout),
        ),
        "people": humans_section(inputs, slots, layout, resamples, options),
        "gold": {},
        "judges": sections,
        "primary": _primary(two_labels, gold),
        "selections": selections,
        "replacement": choice_section(judges, compared, by_person, resamples, options),
    }


def _sizes(layout: Layout) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """How many items each category and each subset has."""

    def of(kind: str) -> list[dict[str, Any]]:
        return [
            {"name": group.name, "n_items": int(group.members.sum())}
            for group in layout.groups
            if group.kind == kind
        ]

    return of("category"), of("subset")


def _primary(two_labels: Booleans, gold: Booleans) -> Primary:
    """By what judges are ranked: agreement with people, unless more items have a gold answer."""
    return "accuracy" if int(gold.sum()) > int(two_labels.sum()) else "agreement"

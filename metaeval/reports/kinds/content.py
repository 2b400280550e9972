"""The whole content of a comparison of one kind: a plain dict, `touchstone.kind-comparison/1`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metaeval.figures import ANSWER_RANKING, CHECKLIST, FIGURES, IMPORTANCE, KIND_LABELS, RUBRIC
from metaeval.reports.errors import ReportError
from metaeval.reports.kinds.checklist import checklist_figures
from metaeval.reports.kinds.common import KindFigures, Setting
from metaeval.reports.kinds.inputs import SCHEMA, KindInputs, KindJudge, KindOptions
from metaeval.reports.kinds.item_scores import rules_of
from metaeval.reports.kinds.people import people_section
from metaeval.reports.kinds.rankings import ranking_figures
from metaeval.reports.kinds.rubric import rubric_figures
from metaeval.reports.report import software_version

_COMPUTE: dict[str, Callable[[Setting], KindFigures]] = {
    RUBRIC: rubric_figures,
    CHECKLIST: checklist_figures,
    IMPORTANCE: ranking_figures,
    ANSWER_RANKING: ranking_figures,
}


def kind_content(
    inputs: KindInputs, options: KindOptions, *, inputs_hash: str | None = None
) -> dict[str, Any]:
    """Compare the judges of one kind. The same inputs and options give the same content.

    Raises
    ------
    ReportError
        There are no items, or judges of this kind are not compared here.
    """
    if inputs.kind not in _COMPUTE:
        raise ReportError(f"Judges of {inputs.kind!r} are not compared here.")
    if not inputs.items:
        raise ReportError(f"{inputs.name} has no items of the kind {KIND_LABELS[inputs.kind].lower()}.")
    # A baseline of rubrics says one number everywhere, which correlates with nothing.
    rules = rules_of(inputs, options.against) if inputs.judges and inputs.kind != RUBRIC else ()
    setting = Setting.of(inputs, options, rules)
    found = _COMPUTE[inputs.kind](setting)
    return {
        "schema": SCHEMA,
        "software": {"name": "touchstone", "version": software_version()},
        "kind": inputs.kind,
        "name": inputs.name,
        "inputs_hash": inputs_hash or inputs.hash(options),
        "options": {
            "against": options.against,
            "confidence": options.confidence,
            "n_resamples": options.n_resamples,
            "seed": options.seed,
        },
        **inputs.facts,
        "targets": list(inputs.targets()),
        "criteria": list(inputs.criteria),
        "items": {
            "n_items": len(inputs.items),
            "n_instructions": setting.resamples.n_clusters,
            "n_with_target": found.n_target,
            "categories": _sizes(setting, "category"),
            "subsets": _sizes(setting, "subset"),
        },
        "people": people_section(setting, found),
        "gold": {"measures": found.gold},
        "judges": [
            {**_about(judge), "measures": measures}
            for judge, measures in zip(inputs.judges, found.judges, strict=True)
        ],
        "primary": FIGURES[inputs.kind].primaries[0],
        "selection": found.selection,
        "remarks": list(found.remarks),
    }


def _sizes(setting: Setting, kind: str) -> list[dict[str, Any]]:
    return [
        {"name": group.name, "n_items": int(group.members.sum())}
        for group in setting.layout.groups
        if group.kind == kind
    ]


def _about(judge: KindJudge) -> dict[str, Any]:
    return {
        "name": judge.name,
        "fingerprint": judge.fingerprint,
        "backend": judge.backend,
        "model": judge.model,
        "strategy": judge.strategy,
        "n_judged": len(judge.judged),
        "n_unparsed": len(judge.unparsed),
        "n_failed": len(judge.failed),
    }

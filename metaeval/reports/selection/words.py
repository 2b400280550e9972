"""The words of a choice of a judge: what each kind's score is called, constraints and how one is broken, names."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from annotation.domain.scales import Scale
from annotation.kinds import DEFAULT_KIND, kind_of
from metaeval.figures import FIGURES, ScoreWords
from metaeval.reports.figures import full_text, value_text
from metaeval.reports.selection.report import FigureJson, SelectionReport, ViolationEntry
from metaeval.selection.types import Constraints


def score_words(kind: str, figure: str = "", scales: Sequence[Scale] = ()) -> ScoreWords:
    """The words of a kind whose judges are ranked by a figure, the first of the kind by default, on these scales."""
    words = FIGURES[kind].on(scales).scores
    return words.get(figure) or next(iter(words.values()))


# Of each constraint: its unit, what it is called, and how a judge that breaks it is said to do so (known, not known).
CONSTRAINTS: dict[str, tuple[str, str, str, str]] = {
    "open_weights": (
        "flag",
        "open weights only",
        "its weights are not open",
        "it is not known whether its weights are open",
    ),
    "local": (
        "flag",
        "models under our own control only",
        "its models run elsewhere",
        "it is not known where its models run",
    ),
    "max_cost_per_1000": (
        "money",
        "at most {limit} per 1,000 judgments",
        "1,000 judgments cost {own}, more than {limit}",
        "its cost is not known (limit {limit})",
    ),
    "max_seconds": (
        "seconds",
        "at most {limit} per judgment",
        "a judgment takes {own}, more than {limit}",
        "its time per judgment is not known (limit {limit})",
    ),
    "min_positional_agreement": (
        "percent",
        "positional agreement of at least {limit}",
        "its positional agreement is {own}, less than {limit}",
        "its positional agreement is not known (at least {limit} required)",
    ),
    "min_accuracy": (
        "percent",
        "accuracy of at least {limit} on each gold dataset",
        "its {of}{on} is {own}, less than {limit}",
        "its {of}{on} is not known (at least {limit} required)",
    ),
    "max_unparsed": (
        "percent",
        "at most {limit} unparsed",
        "{own} of its answers were unparsed, more than {limit}",
        "its share of unparsed answers is not known (limit {limit})",
    ),
}


def constraint_words(constraints: Constraints, kind: str = DEFAULT_KIND) -> list[str]:
    """The constraints that were asked for; empty where there is none."""
    return [
        limit_words(name, limit, kind)
        for name, limit in asdict(constraints).items()
        if limit is not None and limit is not False
    ]


def limit_words(name: str, limit: Any, kind: str = DEFAULT_KIND) -> str:
    """One constraint: "at most $5.00 per 1,000 judgments"."""
    unit, words, *_ = CONSTRAINTS[name]
    if name == "min_accuracy" and not kind_of(kind).presented:
        words = "score of at least {limit} on each gold dataset"
    return words.format(limit=amount(limit, unit))


def violation_words(violation: ViolationEntry) -> str:
    """Which constraint a judge breaks, and by how much: "1,000 judgments cost $7.90, more than $5.00"."""
    unit, _, known, unknown = CONSTRAINTS[violation.name]
    return (unknown if violation.value is None else known).format(
        own=amount(violation.value, unit),
        limit=amount(violation.limit, unit),
        on=f" on {violation.dataset}" if violation.dataset else "",
        of=violation.of,
    )


def violations_words(violations: Sequence[ViolationEntry]) -> tuple[str, ...]:
    """The same of several."""
    return tuple(violation_words(one) for one in violations)


def words_of(report: SelectionReport) -> ScoreWords:
    """The words for the kind of a choice."""
    return score_words(report.kind, report.figure, report.rated_on)


def objective_words(report: SelectionReport) -> str:
    """What judges are ranked by: "agreement with human annotators", "accuracy ...", or a mean of scores."""
    kind, roles = words_of(report), {row.role for row in report.deciding}
    return kind.role(*roles) if len(roles) == 1 else f"mean of {kind.people} and {kind.gold}"


def objective_short(report: SelectionReport) -> str:
    """The same for the head of a column; empty for a mean of scores of two sorts."""
    one_role = len({row.role for row in report.deciding}) == 1
    return words_of(report).short or (objective_words(report) if one_role else "")


def composed_by(report: SelectionReport) -> tuple[str, str]:
    """What composites are made by, as one and as many: "category", "categories"."""
    by_subset = {row.composed_by for row in report.deciding} == {"subset"}
    return ("subset", "subsets") if by_subset else ("category", "categories")


def title_of(report: SelectionReport, dataset: str) -> str:
    """The title of a dataset."""
    return next((row.title for row in report.datasets if row.name == dataset), dataset)


# --- small words ---------------------------------------------------------------------------------------------------


def amount(value: float | None, unit: str) -> str:
    """A limit or a value in its unit; shares without decimals that say nothing."""
    if value is None:
        return "not known"
    if unit == "flag":
        return "yes" if value else "no"
    text = value_text({"value": value}, unit)
    return text.replace(".0%", "%") if unit == "percent" else text


def with_range(estimate: FigureJson) -> str:
    """A share and its interval: "71.2% [62.5, 78.6]"."""
    return full_text(estimate)

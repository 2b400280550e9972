"""The decision in words: which judge leads, how sure that is, and what it rests on."""

import math
from collections.abc import Sequence
from typing import Literal

from metaeval.figures import Figure
from metaeval.reports.figures import alike_of, full_text, value_text
from metaeval.reports.report import EstimateJson, JudgeFigures, ReportContent, known
from metaeval.reports.tables import difference_unit, labels_words
from metaeval.reports.verdict import (
    Compared,
    Rival,
    VerdictText,
    best_words,
    gap_text,
    headline_of,
    listed,
    people_words,
    reasons_of,
    with_ends,
)
from metaeval.selection.verdict import Lead, VerdictKind, verdict_of_leads
from metaeval.stats import PairedDifference

_MUCH_UNPARSED = 0.05
_TARGETS = {"people": "human annotators", "gold": "the gold answers"}


def verdict_of(report: ReportContent, primary: str = "") -> VerdictText:
    """Put the selection by one figure into words."""
    primary = primary or report.primary
    selection, judges = report.selections[primary], report.judges
    cautions = _cautions(report, primary)
    if all(judge.baseline for judge in judges):
        return _of_people(report, primary, cautions)
    if selection.leader is None:
        return _not_compared(report, primary, cautions)
    leader = judges[selection.leader]
    lead = _lead(report, primary, leader)
    found = report_compared(report, primary)
    gap = selection.best_baseline
    floor = _against_floor(report, gap)

    def said(kind: str, headline: str, *sentences: str) -> VerdictText:
        return VerdictText(kind, headline, sentences, cautions, selection.leader)

    if not report.options["n_resamples"]:
        # Without intervals a figure below a baseline's is all that can be seen.
        if gap is not None and gap["value"] is not None and gap["value"] <= 0:
            return said(
                "floor", f"No judge beats the baseline {gap.get('name')}", f"{lead} and leads.", *floor
            )
        why = "No intervals were asked for, so nothing shows a significant difference from the others or from chance."
        return said("open", f"{leader.name} leads, by an unknown difference", f"{lead}.", why)
    reasons = [*reasons_of(found), *_beside_people(report, primary, leader)]
    reasons += _cheapest(judges, selection.leader, selection.tied)
    if found.kind == "floor":
        return said("floor", _floor_headline(report, primary, leader), f"{lead} and leads.", *floor, *reasons)
    if found.kind == "single":
        return said("single", f"{leader.name} is the only judge here", f"{lead}.", *floor, *reasons)
    leads = "" if found.kind in ("clear", "clear_here") else " and leads"
    return said(found.kind, headline_of(found), f"{lead}{leads}.", *floor, *reasons)


def _beside_people(report: ReportContent, primary: str, leader: JudgeFigures) -> list[str]:
    """The leader minus people, where the report has that figure."""
    is_beside = report.against_of(primary) == "people" and primary not in report.figures.further
    gap = leader.overall("minus_people") if is_beside else None
    if gap is None:
        return []
    figure = report.figures.of_judges("minus_people")
    low, high = figure.axis
    # Its axis is of differences, twice as wide as the scale that a margin is a share of.
    margin = float(report.options.get("margin", 0.0)) * (high - low) / 2
    said = people_words(leader.name, gap, gap.get("alike"), margin=margin, unit=figure.unit)
    best = leader.overall("below_best")
    return said + best_words(leader.name, best, alike_of(best), unit=figure.unit)


def is_confidence_set(report: ReportContent, primary: str) -> bool:
    """Whether the leader and those tied with it are a model confidence set; of older reports by a correlation, not."""
    return primary in report.figures.ranking


def report_compared(report: ReportContent, primary: str = "") -> Compared:
    """What the sentences on the verdict by one figure are made from."""
    primary = primary or report.primary
    selection, judges = report.selections[primary], report.judges
    figure, options = report.figures.of_judges(primary), report.options
    low, high = figure.axis
    return Compared(
        kind=selection.verdict or _stored_verdict(report, primary),
        leader="" if selection.leader is None else judges[selection.leader].name,
        rivals=tuple(
            Rival(
                judges[row["judge"] or 0].name,
                row,
                row["judge"] in selection.tied,
                *(row.get(name) for name in _BESIDE),
            )
            for row in selection.differences
        ),
        confidence=float(options["confidence"]),
        margin=float(options.get("margin", 0.0)),
        annotators=str(options.get("annotators", "alike")),
        of_people=report.against_of(primary) == "people",
        unit=difference_unit(report),
        width=high - low,
        is_set=is_confidence_set(report, primary),
    )


_BESIDE: tuple[Literal["practical", "alike", "practical_alike"], ...] = (
    "practical",
    "alike",
    "practical_alike",
)


def _stored_verdict(report: ReportContent, primary: str) -> VerdictKind:
    """Of a report that was stored before verdicts were: by the same rule, from the intervals that it has."""
    selection = report.selections[primary]
    if selection.leader is None:
        return "none"

    def gap(row: EstimateJson) -> PairedDifference:
        value, low, high = (
            math.nan if end is None else end for end in (row["value"], row["low"], row["high"])
        )
        return PairedDifference(value, low, high, row["n"])

    floor = selection.best_baseline
    return verdict_of_leads(
        {str(row["judge"]): Lead(gap(row)) for row in selection.differences},
        [] if floor is None or floor["value"] is None else [gap(floor)],
        leader=str(selection.leader),
        rules={str(place) for place, judge in enumerate(report.judges) if judge.needs_no_model},
    )


def _floor_headline(report: ReportContent, primary: str, leader: JudgeFigures) -> str:
    """Which baseline the leader does not beat: one that was computed, itself, or one that was run as a judge."""
    selection, judges = report.selections[primary], report.judges
    gap = selection.best_baseline
    if gap is not None and gap["value"] is not None and not _above(gap):
        better = "beats" if gap["value"] < 0 else "is significantly better than"
        return f"No judge {better} the baseline {gap.get('name')}"
    if leader.needs_no_model:
        return f"No judge beats the baseline {leader.name}"
    names = (judges[index].name for index in selection.tied if judges[index].needs_no_model)
    return f"No judge is significantly better than the baseline {next(names, '')}"


def _lead(report: ReportContent, primary: str, leader: JudgeFigures) -> str:
    """Its figure beside people's own, which is what it is to be read by."""
    figure = report.figures.of_judges(primary)
    estimate = leader.overall(primary)
    value = full_text(estimate, figure.unit)
    if figure.lead:
        return figure.lead.format(name=leader.name, value=value)
    lead = f"{leader.name}: {figure.label} {value} against {_TARGETS[report.against_of(primary)]}"
    own = _own(report, primary)
    return lead if own is None else f"{lead} (among human annotators: {full_text(own, figure.unit)})"


def _own(report: ReportContent, primary: str) -> EstimateJson | None:
    breakdown = report.beside(primary)
    estimate: EstimateJson | None = None if breakdown is None else breakdown["overall"]
    return estimate if known(estimate) else None


def _of_people(report: ReportContent, primary: str, cautions: tuple[str, ...]) -> VerdictText:
    """No judge has judged these items: what people say of them, and the range in which a judge will lie."""
    people = report.people
    if report.judges:
        why = "No judge has judged this dataset."
        sentences = (why, *_to_beat(report, primary))
        return VerdictText("none", "No judge can be compared yet", sentences, cautions)
    if not people.n_labels:
        why = "These items have neither labels nor judgments yet."
        return VerdictText("none", "There is nothing to report yet", (why,), cautions)
    sentences = (f"{labels_words(report)}.", "No judge has judged these items.")
    if not people.n_items_with_two_labels:
        return VerdictText("none", "No item has labels of two annotators yet", sentences, cautions)
    figure = report.figures.people[0]
    estimate = full_text(people.measures[figure.name]["overall"], figure.unit)
    headline = f"Inter-annotator agreement: {figure.label} {estimate}"
    return VerdictText("people", headline, sentences, cautions)


def _not_compared(report: ReportContent, primary: str, cautions: tuple[str, ...]) -> VerdictText:
    figure = report.figures.of_judges(primary)
    why = figure.lacking
    if not why:
        why = f"{figure.label} with {_TARGETS[report.against]} is undefined for every judge so far."
        said = _of_responses(report)
        if said:
            why = f"{why} So there is no evidence yet how far to trust a judge here."
            return VerdictText("scores", said, (why,), cautions)
    return VerdictText("none", "No judge can be compared yet", (why, *_to_beat(report, primary)), cautions)


def _of_responses(report: ReportContent) -> str:
    """What judges say of the responses, where there is nothing to compare them with; empty where they say nothing."""
    name = report.figures.of_responses
    if not name:
        return ""
    figure: Figure = report.figures.of_judges(name)
    found = [
        (estimate["value"], judge.name, estimate)
        for judge in report.judges
        if (estimate := judge.overall(name)) is not None and estimate["value"] is not None
    ]
    if not found:
        return ""
    if len(found) == 1:
        return f"{figure.label}: {full_text(found[0][2], figure.unit)}, according to {found[0][1]}"
    low, high = (value_text(end(found, key=lambda one: one[0])[2], figure.unit) for end in (min, max))
    return f"{figure.label}: {low} to {high}, according to {len(found)} judges"


def _to_beat(report: ReportContent, primary: str) -> list[str]:
    """What people reach among themselves, and what a baseline reaches."""
    found = []
    own, best = _own(report, primary), report.people.measures.get("best_reachable")
    if own is not None and best is not None:
        found.append(
            f"Human annotators agree with each other on {full_text(own)}; the upper bound for a judge is "
            f"{value_text(best['overall'])}."
        )
    baselines = [
        (estimate["value"], judge, estimate)
        for judge in report.judges
        if judge.baseline and (estimate := judge.overall(primary)) and estimate["value"] is not None
    ]
    if baselines:
        _, judge, estimate = max(baselines, key=lambda one: one[0])
        found.append(
            f"The best baseline (no LLM), {judge.name}, reaches {full_text(estimate)}: a judge must beat that."
        )
    return found


def _cheapest(judges: Sequence[JudgeFigures], leader: int | None, tied: Sequence[int]) -> list[str]:
    def cost(index: int) -> float | None:
        estimate = judges[index].overall("cost_per_1000")
        return None if estimate is None else estimate["value"]

    own = None if leader is None else cost(leader)
    priced = [(amount, index) for index in tied if (amount := cost(index)) is not None]
    if not own or not priced:
        return []
    amount, index = min(priced)
    saving = 1 - amount / own
    if saving < 0.05:
        return []
    price = value_text({"value": amount}, "money")
    name = judges[index].name
    return [
        f"Of these, {name} costs least: {price} per 1,000 judgments, {100 * saving:.0f}% less than the leader."
    ]


def _above(gap: EstimateJson) -> bool:
    """Whether the leader is significantly better than the baseline; not known counts as not."""
    return gap["low"] is not None and gap["low"] > 0


def _against_floor(report: ReportContent, gap: EstimateJson | None) -> list[str]:
    if gap is None or gap["value"] is None:
        return []
    name, unit = gap.get("name"), difference_unit(report)
    if _above(gap):
        return [f"That is {with_ends(gap, unit)} above the best baseline (no LLM), {name}."]
    if gap["value"] < 0:
        return [f"It is {gap_text(-gap['value'], unit)} below the baseline {name} (no LLM)."]
    ends = with_ends(gap, unit)
    return [f"It is not significantly different from the baseline {name} (no LLM; difference {ends})."]


def _cautions(report: ReportContent, primary: str) -> tuple[str, ...]:
    found = [] if report.figures.of_judges(primary).of_gold else simulated_words(report)
    selection, judges = report.selections[primary], report.judges
    if selection.incomplete:
        names = [judges[index].name for index in selection.incomplete]
        found.append(f"Not ranked, because they judged a part of the items only: {listed(names)}.")
    compared = selection.n_compared
    counts = [(judges[index].overall(primary) or {"n": 0})["n"] for index in selection.ranking]
    if compared is not None and any(count > compared for count in counts):
        found.append(
            f"Judges are ranked on the {compared:,} items that all of them judged; "
            "each figure is over all items that the judge itself judged."
        )
    if selection.leader is not None:
        unparsed = judges[selection.leader].overall("unparsed_rate")
        if unparsed is not None and (unparsed["value"] or 0.0) > _MUCH_UNPARSED:
            found.append(f"The leader's answer was unparsed in {value_text(unparsed)} of its judgments.")
    if selection.differences:
        found.append(
            "Selection bias: the leader was chosen on these same items (in-sample), so expect a lower figure on new "
            "ones. The decision page has a held-out estimate."
        )
    return (*found, *report.remarks)


def simulated_words(report: ReportContent) -> list[str]:
    """What to say where labels come from simulated annotators."""
    share = report.people.simulated_share
    if not share:
        return []
    if share == 1:
        return ["All labels come from simulated annotators. The figures say nothing about human annotators."]
    return [f"{100 * share:.0f}% of the labels come from simulated annotators, not from human annotators."]

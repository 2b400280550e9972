"""The decision in words: which judge leads, how sure that is, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaeval.figures import Figure
from metaeval.reports.figures import full_text, points_text, range_text, value_text
from metaeval.reports.report import EstimateJson, JudgeFigures, ReportContent, known
from metaeval.reports.tables import difference_unit, labels_words

_MUCH_UNPARSED = 0.05
_LABELS = {
    "clear": "Clear winner",
    "open": "Undecided",
    "single": "One judge",
    "floor": "Not better than a baseline",
    "none": "No judges",
    "people": "Human annotators only",
    "scores": "Not compared",
}
_TARGETS = {"people": "human annotators", "gold": "the gold answers"}


@dataclass(frozen=True, slots=True)
class ReportVerdict:
    """What a report says.

    Attributes
    ----------
    kind : {"clear", "open", "single", "floor", "none", "people", "scores"}
        A clear winner; several that are not significantly different; only one judge; none that is significantly
        better than every baseline; nothing to compare; people alone; judges, and nothing to compare them with.
    headline : str
    sentences : tuple of str
        Why, most important first.
    cautions : tuple of str
        What a reader must know before relying on it.
    leader : int or None
        Index of the leading judge.
    """

    kind: str
    headline: str
    sentences: tuple[str, ...]
    cautions: tuple[str, ...]
    leader: int | None = None

    @property
    def label(self) -> str:
        """The kind, as a chip says it."""
        return _LABELS[self.kind]


def verdict_of(report: ReportContent, primary: str = "") -> ReportVerdict:
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
    intervals = bool(report.options["n_resamples"])
    gap = selection.best_baseline
    floor = _against_floor(report, gap)
    tied = _tied(report, primary) if selection.tied else []

    def said(kind: str, headline: str, *sentences: str) -> ReportVerdict:
        return ReportVerdict(kind, headline, sentences, cautions, selection.leader)

    # Without intervals a figure below a baseline's is all that can be seen.
    if gap is not None and gap["value"] is not None and not _above(gap) and (intervals or gap["value"] <= 0):
        better = "beats" if gap["value"] < 0 else "is significantly better than"
        headline = f"No judge {better} the baseline {gap.get('name')}"
        return said("floor", headline, f"{lead} and leads.", *floor, *(tied if intervals else []))
    if not intervals:
        why = "No intervals were asked for, so nothing shows a significant difference from the others or from chance."
        return said("open", f"{leader.name} leads; by how much is not known", f"{lead}.", why)
    if leader.needs_no_model and not all(judges[one].needs_no_model for one in selection.ranking):
        headline = f"No judge beats the baseline {leader.name}"
        return said("floor", headline, f"{lead} and leads, without an LLM.", *tied)
    if not selection.differences:
        return said("single", f"{leader.name} is the only judge here", f"{lead}.", *floor)
    if selection.clear:
        nearest = selection.differences[0]
        unit = difference_unit(report)
        behind = (
            f"The next, {judges[nearest['judge'] or 0].name}, is {_gap_text(report, nearest['value'])} behind "
            f"{range_text(nearest, unit)}."
        )
        headline = f"{leader.name} is significantly better than the other judges"
        return said("clear", headline, f"{lead}.", *floor, behind)
    return said("open", "No clear winner", f"{lead} and leads.", *floor, *tied)


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


def _of_people(report: ReportContent, primary: str, cautions: tuple[str, ...]) -> ReportVerdict:
    """No judge has judged these items: what people say of them, and the range in which a judge will lie."""
    people = report.people
    if report.judges:
        why = "No judge has judged this dataset."
        sentences = (why, *_to_beat(report, primary))
        return ReportVerdict("none", "No judge can be compared yet", sentences, cautions)
    if not people.n_labels:
        why = "These items have neither labels nor judgments yet."
        return ReportVerdict("none", "There is nothing to report yet", (why,), cautions)
    sentences = (f"{labels_words(report)}.", "No judge has judged these items.")
    if not people.n_items_with_two_labels:
        return ReportVerdict("none", "No item has labels of two annotators yet", sentences, cautions)
    figure = report.figures.people[0]
    estimate = full_text(people.measures[figure.name]["overall"], figure.unit)
    headline = f"Inter-annotator agreement: {figure.label} {estimate}"
    return ReportVerdict("people", headline, sentences, cautions)


def _not_compared(report: ReportContent, primary: str, cautions: tuple[str, ...]) -> ReportVerdict:
    figure = report.figures.of_judges(primary)
    why = figure.lacking
    if not why:
        why = f"{figure.label} with {_TARGETS[report.against]} is undefined for every judge so far."
        said = _of_responses(report)
        if said:
            why = f"{why} So nothing says how far to trust a judge here."
            return ReportVerdict("scores", said, (why,), cautions)
    return ReportVerdict("none", "No judge can be compared yet", (why, *_to_beat(report, primary)), cautions)


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


def _gap_text(report: ReportContent, value: float | None) -> str:
    unit = difference_unit(report)
    if value is None or unit != "points":
        return value_text({"value": value}, unit)
    return points_text(value)


def _gap_words(report: ReportContent, gap: EstimateJson) -> str:
    ends = range_text(gap, difference_unit(report))
    return f"difference {_gap_text(report, gap['value'])}{' ' + ends if ends else ''}"


def _tied(report: ReportContent, primary: str) -> list[str]:
    selection, judges = report.selections[primary], report.judges
    tied = selection.tied
    names = [judges[index].name for index in tied]
    first = next(row for row in selection.differences if row.get("judge") == tied[0])
    gap = _gap_words(report, first)
    if len(names) == 1:
        sentence = f"{names[0]} is not significantly different from the leader ({gap})."
    else:
        sentence = f"{_listed(names)} are not significantly different from the leader (to {names[0]}: {gap})."
    cheaper = _cheapest(judges, selection.leader, tied)
    return [sentence, cheaper] if cheaper else [sentence]


def _cheapest(judges: Sequence[JudgeFigures], leader: int | None, tied: Sequence[int]) -> str:
    def cost(index: int) -> float | None:
        estimate = judges[index].overall("cost_per_1000")
        return None if estimate is None else estimate["value"]

    own = None if leader is None else cost(leader)
    priced = [(amount, index) for index in tied if (amount := cost(index)) is not None]
    if not own or not priced:
        return ""
    amount, index = min(priced)
    saving = 1 - amount / own
    if saving < 0.05:
        return ""
    price = value_text({"value": amount}, "money")
    name = judges[index].name
    return f"Of these, {name} costs least: {price} per 1,000 judgments, {100 * saving:.0f}% less than the leader."


def _above(gap: EstimateJson) -> bool:
    """Whether the leader is significantly better than the baseline; not known counts as not."""
    return gap["low"] is not None and gap["low"] > 0


def _against_floor(report: ReportContent, gap: EstimateJson | None) -> list[str]:
    if gap is None or gap["value"] is None:
        return []
    name, unit = gap.get("name"), difference_unit(report)
    ends = range_text(gap, unit)
    if _above(gap):
        ends = f" {ends}" if ends else ""
        return [f"That is {_gap_text(report, gap['value'])}{ends} above the best baseline (no LLM), {name}."]
    if gap["value"] < 0:
        return [f"It is {_gap_text(report, -gap['value'])} below the baseline {name} (no LLM)."]
    return [
        f"It is not significantly different from the baseline {name} (no LLM; {_gap_words(report, gap)})."
    ]


def _cautions(report: ReportContent, primary: str) -> tuple[str, ...]:
    found = [] if report.figures.of_judges(primary).of_gold else simulated_words(report)
    selection, judges = report.selections[primary], report.judges
    if selection.incomplete:
        names = [judges[index].name for index in selection.incomplete]
        found.append(f"Not ranked, because they judged a part of the items only: {_listed(names)}.")
    compared = selection.n_compared
    counts = [(judges[index].overall(primary) or {"n": 0})["n"] for index in selection.ranking]
    if compared is not None and any(count > compared for count in counts):
        found.append(
            f"Judges are ranked on the {compared:,} items that all of them judged; "
            "the figure of each is of all the items that it judged itself."
        )
    if selection.leader is not None:
        unparsed = judges[selection.leader].overall("unparsed_rate")
        if unparsed is not None and (unparsed["value"] or 0.0) > _MUCH_UNPARSED:
            found.append(f"The leader's answer could not be read in {value_text(unparsed)} of its judgments.")
    if selection.differences:
        found.append(
            "Selection bias: the leader was chosen on these same items (in-sample), so expect a little less on new "
            "ones."
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


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:3])
    if len(names) > 3:
        rest = len(names) - 3
        return f"{', '.join(shown)} and {rest} other{'s' if rest > 1 else ''}"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]

"""What a promotion rests on: the composite of a choice, what a decision keeps as its evidence, and its summary."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metaeval.figures.estimates import plain
from metaeval.reports.comparison import table_of
from metaeval.reports.figures import points_text
from metaeval.reports.json_values import json_of
from metaeval.reports.report import ReportContent
from metaeval.reports.selection.report import FigureJson, SelectionReport, ViolationEntry
from metaeval.reports.selection.verdict import constraints_sentence, datasets_sentence, selection_verdict
from metaeval.reports.selection.words import (
    composed_by,
    violation_words,
    violations_words,
    with_range,
)
from metaeval.reports.verdict import listed, with_ends
from metaeval.selection.types import COMPOSITE
from metaeval.stats.estimate import no_estimate

IMPORTED = "imported"
"""The backend of judges whose verdicts came from elsewhere: nobody can ask them."""
PRIMARY = {"people": "agreement", "gold": "accuracy"}
_NOT_CHOSEN = "it isn't the judge that the procedure chose, and only that one has a held-out estimate"


@dataclass(frozen=True, slots=True)
class CompositeOffer:
    """The composite that a choice found.

    Attributes
    ----------
    by : {"category", "subset"}
        What of an item says which part judges it.
    parts : mapping of str to str
        Category, or path of a subset, to the key of its judge.
    others : str
        Key of the judge of everything that the parts do not name: the leader of the choice.
    held_out, gain : mapping
        Held-out estimates: of composites, and of how far they are ahead of single judges.
    violations : tuple of (str, ViolationEntry)
        What its parts violate, by the key of the judge.
    although : tuple of str
        What speaks against it, in words; empty where nothing does.
    obstacle : str
        Why it cannot be a judge at all; empty where it can.
    """

    by: str
    parts: Mapping[str, str]
    others: str
    held_out: FigureJson
    gain: FigureJson
    in_sample: float | None
    worth_it: bool
    violations: tuple[tuple[str, ViolationEntry], ...]
    although: tuple[str, ...]
    obstacle: str
    others_name: str

    @property
    def judges(self) -> list[str]:
        """Keys of the judges that it is made of, each once."""
        return list(dict.fromkeys([*self.parts.values(), self.others]))


def composite_offer(report: SelectionReport) -> CompositeOffer | None:
    """The composite of a choice; None where nothing was found to combine."""
    found, leader = report.composite, report.leader
    if found is None or leader is None or len(set(found.parts.values())) < 2:
        return None
    parts = dict(sorted(found.parts.items()))
    judges = list(dict.fromkeys([*parts.values(), leader]))
    violations = tuple((key, one) for key in judges for one in report.standing(key).violations)
    against = [f"{report.name(key)}: {violation_words(one)}" for key, one in violations]
    if not found.worth_it:
        against.append(_not_worth_it(found.gain))
    return CompositeOffer(
        by=composed_by(report)[0],
        parts=parts,
        others=leader,
        held_out=found.held_out,
        gain=found.gain,
        in_sample=found.naive,
        worth_it=found.worth_it,
        violations=violations,
        although=tuple(against),
        obstacle=_obstacle(report, judges),
        others_name=report.name(leader),
    )


def _not_worth_it(gain: FigureJson) -> str:
    if gain["value"] is None:
        return "whether the composite is better is unknown"
    return f"its held-out gain over the best single judge, {with_ends(gain)}, is not significant"


def _obstacle(report: SelectionReport, judges: list[str]) -> str:
    if len({row.composed_by for row in report.deciding}) > 1:
        return (
            "It has a judge for each category of one dataset and for each subset of another, and a judge goes by one "
            "of the two. Leave a dataset out."
        )
    imported = [report.name(key) for key in judges if report.by_key[key].backend == IMPORTED]
    if imported:
        return (
            f"The verdicts of {listed(imported)} were imported, so the composite could not ask for new ones."
        )
    return ""


# --- what can be promoted ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PromotionOption:
    """A judge, or the composite, as the form of a promotion offers it.

    Attributes
    ----------
    figure : mapping or None
        Its figure on the page, of ``of`` what.
    although : tuple of str
        What speaks against it: promoting it has to be confirmed.
    obstacle : str
        Why it cannot be promoted at all.
    is_proposed : bool
        Whether it is chosen to begin with.
    """

    key: str
    name: str
    figure: FigureJson | None
    of: str = ""
    note: str = ""
    although: tuple[str, ...] = ()
    obstacle: str = ""
    is_proposed: bool = False


def compared_options(report: ReportContent, primary: str) -> tuple[PromotionOption, ...]:
    """The judges of a comparison by a figure, best first; the leading one is proposed."""
    leader = report.selections[primary].leader
    return tuple(
        PromotionOption(
            row.judge.fingerprint,
            row.judge.name,
            row.estimate,
            is_proposed=leader is not None and row.judge is report.judges[leader],
        )
        for row, _ in table_of(report, measure=primary).rows
        if not row.judge.baseline
    )


def chosen_options(report: SelectionReport) -> tuple[PromotionOption, ...]:
    """The judges of a choice, best first, and its composite: before them where it is worth it."""
    is_floor = selection_verdict(report).kind == "floor"
    judges = tuple(
        PromotionOption(
            row.judge,
            report.name(row.judge),
            row.objective,
            although=violations_words(row.violations),
            is_proposed=row.judge == report.winner and not is_floor,
        )
        for row in report.candidates
        if row.judge in report.by_key
    )
    offer = composite_offer(report)
    if offer is None:
        return judges
    composite = PromotionOption(
        COMPOSITE,
        f"Composite, {len(offer.parts)} parts",
        offer.held_out,
        of="held-out",
        note=(
            f"Held-out: {with_range(offer.held_out)}, a gain of {with_ends(offer.gain)} over the best single "
            f"judge. Its parts are listed below; {offer.others_name} judges every other {offer.by}."
        ),
        although=offer.although,
        obstacle=offer.obstacle,
        is_proposed=report.chosen == COMPOSITE and not report.winner and not is_floor,
    )
    return (composite, *judges) if offer.worth_it else (*judges, composite)


# --- what a decision keeps -----------------------------------------------------------------------------------------


def composite_facts(report: SelectionReport, offer: CompositeOffer) -> dict[str, Any]:
    """What a decision for the composite keeps as its evidence, as JSON values; ``held_out`` is what to quote."""
    return {
        "held_out": dict(offer.held_out),
        "gain": dict(offer.gain),
        "worth_it": offer.worth_it,
        "in_sample": offer.in_sample,
        "by": offer.by,
        "parts": [
            {offer.by: name, "judge": key, "name": report.name(key)} for name, key in offer.parts.items()
        ],
        "others": {"judge": offer.others, "name": offer.others_name},
    }


def judge_evidence(report: SelectionReport, key: str, dataset: str) -> dict[str, Any]:
    """What the comparison of one dataset shows of a decision for a judge, in the shape that it has there.

    Raises KeyError for a judge that the choice does not know.
    """
    standing, eligible = report.standing(key), report.eligible
    shown = {"scores": standing.scores[dataset]} | {
        name: getattr(standing, name) for name in ("positional_agreement", "cost_per_1000", "seconds")
    }
    return _evidence(
        report,
        dataset,
        judge=json_of(report.by_key[key]),
        measures={name: {"overall": dict(figure)} for name, figure in shown.items()},
        rank=eligible.index(key) + 1 if key in eligible else None,
        clear=report.verdict == "clear" and report.winner == key,
        behind_leader=standing.behind,
        objective=standing.objective,
    )


def composite_evidence(
    report: SelectionReport, offer: CompositeOffer, judge: Mapping[str, Any], dataset: str
) -> dict[str, Any]:
    """The same of a decision for the composite, which has judged nothing yet.

    Its figure is held-out (``is_held_out``). The in-sample one is optimistic, and stands inside ``composite`` alone.
    """
    found = _evidence(
        report,
        dataset,
        judge=dict(judge) | {"baseline": False},
        measures={},
        rank=None,
        clear=offer.worth_it,
        behind_leader=None,
        objective=offer.held_out,
    )
    return found | {"is_held_out": True, "composite": composite_facts(report, offer)}


def _evidence(
    report: SelectionReport,
    dataset: str,
    *,
    judge: dict[str, Any],
    measures: dict[str, Any],
    rank: int | None,
    clear: bool,
    behind_leader: FigureJson | None,
    objective: FigureJson,
) -> dict[str, Any]:
    about = report.dataset(dataset)
    primary = PRIMARY[about.role]
    named = {primary if name == "scores" else name: figure for name, figure in measures.items()}
    return {
        "judge": judge | {"measures": named},
        "primary": primary,
        "rank": rank,
        "of": len(report.eligible),
        "clear": clear,
        "behind_leader": behind_leader,
        "objective": dict(objective),
        "simulated_share": about.simulated_share,
    }


def promoted_facts(report: SelectionReport, key: str) -> dict[str, Any]:
    """What a promotion records of a judge: its own figures, and those of the procedure only where that chose it.

    ``held_out`` is of the procedure: what to expect of the judge that the procedure arrives at, and of no other.
    ``in_sample`` are the figures of this judge on the items of the choice.
    """
    standing, eligible = report.standing(key), report.eligible
    names = ("objective", "scores", "positional_agreement", "unparsed", "cost_per_1000", "seconds")
    return {
        "held_out": report.held_out if report.chosen == key else plain(no_estimate(_NOT_CHOSEN)),
        "in_sample": {
            **{name: getattr(standing, name) for name in names},
            "rank": eligible.index(key) + 1 if key in eligible else None,
            "of": len(eligible),
            "behind_leader": standing.behind,
            "in_confidence_set": standing.in_confidence_set,
        },
    }


def exported_facts(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a judge that was chosen over several datasets takes along, from what its decision keeps.

    ``held_out`` and ``in_sample`` are of the promoted judge. Under ``procedure`` stands what the choice arrived at
    (``chosen``: a fingerprint, or "composite") and what that is worth, whichever judge was promoted.
    """
    report, promoted = SelectionReport.read(content), content["promoted"]
    # A composite has judged nothing yet; decisions of earlier versions did not keep what they hold.
    own = {} if "composite" in promoted else promoted_facts(report, promoted["judge"])
    names = ("name", "role", "weight", "n_items", "n_instructions")
    procedure = ("chosen", "leader", "held_out", "naive", "optimism", "confidence_set")
    return {
        "datasets": [{name: row[name] for name in names} for row in content["datasets"]],
        "constraints": content["constraints"],
        "violations": promoted["violations"],
        "verdict": content["verdict"],
        **own,
        "procedure": {name: content[name] for name in procedure},
    }


# --- a stored choice in short --------------------------------------------------------------------------------------


def summary_lines(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a decision keeps of its choice, in short: what it is about, and what was found."""
    report = SelectionReport.read(content)
    verdict = selection_verdict(report)
    lines = [
        ("Datasets", datasets_sentence(report)),
        ("Constraints", constraints_sentence(report)),
        ("Verdict", f"{verdict.label}: {verdict.headline}. {' '.join(verdict.sentences)}"),
    ]
    if report.held_out["value"] is not None:
        chosen = "the composite" if report.chosen == COMPOSITE else report.name(report.chosen)
        lines.append(
            ("Held-out estimate", f"{with_range(report.held_out)}, of the procedure that chose {chosen}")
        )
    promoted = report.promoted
    if not promoted:
        return lines
    if composite := promoted.get("composite"):
        lines.append(("Promoted", _composite_line(composite)))
    elif promoted["judge"] != report.chosen:
        own = report.standing(promoted["judge"]).objective
        lines.append(("Promoted", f"{report.name(promoted['judge'])}, in-sample {with_range(own)}"))
    if promoted["violations"]:
        broken = [ViolationEntry.read(one) for one in promoted["violations"]]
        lines.append(("Promoted although", listed(violations_words(broken))))
    return lines


def _composite_line(facts: Mapping[str, Any]) -> str:
    """A promoted composite in a line, of what its decision keeps (`composite_facts`)."""
    gain = facts["gain"]
    ahead = "" if gain["value"] is None else f", {points_text(gain['value'])} more than single judges"
    verdict = "worth it" if facts["worth_it"] else "not significant"
    parts = "; ".join(f"{part[facts['by']]}: {part['name']}" for part in facts["parts"])
    reached = with_range(facts["held_out"])
    return (
        f"The composite by {facts['by']}, {len(facts['parts'])} parts: {reached} held-out{ahead}, {verdict}. "
        f"{parts}; all others: {facts['others']['name']}."
    )

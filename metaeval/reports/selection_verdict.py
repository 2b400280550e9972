"""The verdict of a choice of a judge: what to use, and the reasons, most important first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metaeval.reports.figures import points_text, range_text, value_text
from metaeval.reports.selection_composite import composite_line
from metaeval.reports.selection_kinds import kind_of, words_of
from metaeval.reports.selection_words import (
    Content,
    constraint_words,
    is_baseline,
    leads_without_model,
    limit_words,
    listed,
    name_of,
    objective_words,
    standing_of,
    unbeaten_baseline,
    unbroken,
    violation_words,
    with_range,
)
from metaeval.selection.types import COMPOSITE

LABELS = {
    "clear": "Clear winner",
    "open": "Undecided",
    "single": "Only one left",
    "none": "None satisfies",
    "floor": "Not better than a baseline",
}
_MUCH_UNPARSED = 0.05


@dataclass(frozen=True, slots=True)
class SelectionVerdict:
    """What a choice says.

    Attributes
    ----------
    kind : {"clear", "open", "single", "none", "floor"}
        "floor" where the leader is not significantly better than every baseline, which takes no LLM.
    headline : str
    sentences : tuple of str
        Why, most important first.
    cautions : tuple of str
        What a reader must know before relying on it.
    """

    kind: str
    headline: str
    sentences: tuple[str, ...]
    cautions: tuple[str, ...]

    @property
    def label(self) -> str:
        """The kind, as a chip says it."""
        return LABELS[self.kind]


def verdict_of(content: Content) -> SelectionVerdict:
    """The choice, with its reasons."""
    kind = content["verdict"]
    # Choices that were stored before the rule was the library's have another verdict.
    if kind != "none" and (unbeaten_baseline(content) is not None or leads_without_model(content)):
        kind = "floor"
    make = {"clear": _clear, "open": _open, "single": _single, "none": _none, "floor": _below_floor}
    headline, sentences = make[kind](content)
    return SelectionVerdict(kind, headline, unbroken(sentences), unbroken(_cautions(content)))


def _below_floor(content: Content) -> tuple[str, list[str]]:
    """A baseline does as well as the leader: nothing else is the news, whichever judges may be chosen."""
    leader, rule = content["leader"], unbeaten_baseline(content)
    if rule is None:
        name = name_of(content, leader)
        sentences = [f"{name} leads without an LLM.", *_lead(content, leader), *_tied(content, leader)]
        return f"No judge beats the baseline {name}", sentences
    name, own = name_of(content, rule["judge"]), standing_of(content, leader)["objective"]["value"]
    below = own is not None and own < rule["objective"]["value"]
    headline = f"No judge {'beats' if below else 'is significantly better than'} the baseline {name}"
    if any(row["violations"] for row in judges_ranked_or_not(content)):
        headline = headline.replace("No judge", "No judge that satisfies the constraints")
    sentences = [_floor_words(content, leader, rule), *_lead(content, leader), *_tied(content, leader)]
    left_out = _left_out(content)
    return headline, [*sentences, left_out] if left_out else sentences


def _clear(content: Content) -> tuple[str, list[str]]:
    winner = content["winner"]
    sentences = [*_lead(content, winner), *_next(content), *_chosen(content, winner)]
    return f"{name_of(content, winner)} is the judge to use", sentences


def _next(content: Content) -> list[str]:
    behind = [
        row
        for row in content["standings"]
        if row["behind"] is not None and not row["violations"] and not is_baseline(content, row["judge"])
    ]
    if not behind:
        return []
    nearest = min(behind, key=lambda row: _or(row["behind"]["value"], 9.0))
    gap, ends = nearest["behind"], range_text(nearest["behind"], "points")
    if gap["value"] is None:
        return []
    distance = f"{points_text(gap['value'])} behind{f' ({ends})' if ends else ''}"
    return [f"The next, {name_of(content, nearest['judge'])}, is {distance}: more than chance explains."]


def _open(content: Content) -> tuple[str, list[str]]:
    leader = content["leader"]
    sentences = [*_lead(content, leader), *_tied(content, leader), *_cheapest(content)]
    return "No clear winner", [*sentences, *_chosen(content, leader)]


def _tied(content: Content, leader: str) -> list[str]:
    """Who is not significantly different from the leader."""
    others = [key for key in content["confidence_set"] if key != leader]
    if not others:
        return []
    names = listed([name_of(content, key) for key in others])
    return [
        f"{names} {'is' if len(others) == 1 else 'are'} not significantly different from it: with {_sure(content)} "
        f"confidence the best of the judges that may be chosen is one of these {len(others) + 1}."
    ]


def _cheapest(content: Content) -> list[str]:
    priced = [
        (standing["cost_per_1000"]["value"], key)
        for key in content["confidence_set"]
        if (standing := standing_of(content, key))["cost_per_1000"]["value"] is not None
    ]
    own = standing_of(content, content["leader"])["cost_per_1000"]["value"]
    if not priced or not own:
        return []
    cost, key = min(priced)
    if key == content["leader"] or cost > 0.95 * own:
        return []
    price = value_text({"value": cost}, "money")
    saving = f"{100 * (1 - cost / own):.0f} % less than {name_of(content, content['leader'])}"
    return [f"Of them, {name_of(content, key)} costs least: {price} for 1,000 judgments, {saving}."]


def _single(content: Content) -> tuple[str, list[str]]:
    winner = content["winner"]
    left_out = _left_out(content)
    unranked = any(not row["is_ranked"] for row in judges_ranked_or_not(content))
    of_these = " that judged enough to be compared" if unranked else " here"
    if left_out:
        why = [f"Of the judges{of_these} it alone satisfies the constraints. {left_out}"]
    else:
        why = [f"It is the only judge{of_these}, so there was nothing to choose between."]
    return f"{name_of(content, winner)} is the only judge that may be chosen", [*_lead(content, winner), *why]


def _none(content: Content) -> tuple[str, list[str]]:
    rows = judges_ranked_or_not(content)
    if not rows:
        return "There is no judge to choose", ["Only rules without a model have judged these datasets."]
    if not any(row["violations"] for row in rows):
        return "No judge can be compared yet", list(content["notes"]) or [
            "No judge has a figure on every dataset that decides."
        ]
    best = rows[0]
    broken = listed([violation_words(one) for one in best["violations"]])
    nearest = f"The best of them, {name_of(content, best['judge'])}, may not be chosen: {broken}."
    return "No judge satisfies the constraints", [_left_out(content), nearest]


def _left_out(content: Content) -> str:
    """How many judges each constraint rules out."""
    counts: dict[str, int] = {}
    for row in judges_ranked_or_not(content):
        for name in {one["name"] for one in row["violations"]}:
            counts[name] = counts.get(name, 0) + 1
    if not counts:
        return ""
    limits = content["constraints"]
    parts = [
        f"{limit_words(name, limits[name], kind_of(content))} (rules out {n})"
        for name, n in sorted(counts.items(), key=lambda pair: -pair[1])
    ]
    return f"Asked for: {'; '.join(parts)}."


def _lead(content: Content, key: str) -> list[str]:
    objective = standing_of(content, key)["objective"]
    sentences = [f"{name_of(content, key)} reaches {with_range(objective)}, {objective_words(content)}."]
    held_out = content["held_out"]
    if held_out["value"] is not None:
        whose = " of the composite described below" if content["chosen"] == COMPOSITE else ""
        sentences.append(f"On new items like these expect {with_range(held_out)}{whose}.")
    return sentences


def _chosen(content: Content, key: str) -> list[str]:
    share = standing_of(content, key)["chosen_share"]
    if share is None:
        return []
    return [f"In samples drawn anew from these instructions it would have been chosen {_of_hundred(share)}."]


def _of_hundred(share: float) -> str:
    if share >= 0.995:
        return "practically always"
    return f"in {100 * share:.0f} of 100 cases" if share >= 0.005 else "practically never"


def _cautions(content: Content) -> list[str]:
    found = [
        f"{100 * row['simulated_share']:.0f} % of the labels of {row['title']} come from simulated annotators: "
        "they show how the machinery works and nothing about people."
        for row in content["datasets"]
        if row["role"] == "people" and row["simulated_share"]
    ]
    leader = content["leader"]
    if leader is not None:
        unparsed = standing_of(content, leader)["unparsed"]
        if (unparsed["value"] or 0) > _MUCH_UNPARSED:
            name = name_of(content, leader)
            found.append(f"{value_text(unparsed)} of the answers of {name} could not be read.")
    left = [row["judge"] for row in judges_ranked_or_not(content) if not row["is_ranked"]]
    if left and leader is not None:
        names = listed([name_of(content, key) for key in left])
        found.append(f"Not ranked, because they judged a part of the items only: {names}.")
    return found


def _floor_words(content: Content, leader: str, best: Mapping[str, Any]) -> str:
    own, name = standing_of(content, leader)["objective"]["value"], name_of(content, leader)
    rule, reached = name_of(content, best["judge"]), value_text(best["objective"])
    if own is not None and own < best["objective"]["value"]:
        words = f"The baseline {rule} (no LLM) reaches {reached}, more than {name}, the best judge that may be chosen."
    else:
        words = f"{name} is not significantly different from the baseline {rule} (no LLM), which reaches {reached}."
    if best["violations"]:
        broken = listed([violation_words(one) for one in best["violations"]])
        words += f" The baseline itself does not satisfy the constraints: {broken}."
    return words


def judges_ranked_or_not(content: Content) -> list[dict[str, Any]]:
    return [row for row in content["standings"] if not is_baseline(content, row["judge"])]


def _sure(content: Content) -> str:
    return f"{100 * content['confidence']:g} %"


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def summary_lines(content: Content) -> list[tuple[str, str]]:
    """A stored choice in short: what it is about, and what was found."""
    datasets = []
    for row in content["datasets"]:
        role = words_of(content).role(row["role"])
        weight = f"weight {row['weight']:g}" if row["weight"] else "decides nothing"
        datasets.append(f"{row['title']}: {role}, {weight}")
    verdict, constraints = verdict_of(content), constraint_words(content["constraints"], kind_of(content))
    lines = [("Datasets", "; ".join(datasets)), ("Constraints", "; ".join(constraints) or "none")]
    lines += [("Verdict", f"{verdict.label}: {verdict.headline}. {' '.join(verdict.sentences)}")]
    promoted = content.get("promoted")
    if content["held_out"]["value"] is not None:
        chosen = "the composite" if content["chosen"] == COMPOSITE else name_of(content, content["chosen"])
        lines.append(
            ("Held-out estimate", f"{with_range(content['held_out'])}, of the procedure that chose {chosen}")
        )
    if promoted and not promoted.get("composite") and promoted["judge"] != content["chosen"]:
        own = standing_of(content, promoted["judge"])["objective"]
        lines.append(("Promoted", f"{name_of(content, promoted['judge'])}, in-sample {with_range(own)}"))
    if promoted and promoted.get("composite"):
        lines.append(("Promoted", composite_line(promoted["composite"])))
    if promoted and promoted["violations"]:
        broken = listed([violation_words(one) for one in promoted["violations"]])
        lines.append(("Promoted although", broken))
    return lines

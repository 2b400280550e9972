"""A choice of a judge in plain words: what to use, why, and how far that holds. Pure functions of its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.reports.figures import points_text, range_text, value_text
from metaeval.selection.types import COMPOSITE

Content = Mapping[str, Any]
NBSP = "\u00a0"
LABELS = {
    "clear": "Clear winner",
    "open": "Undecided",
    "single": "Only one left",
    "none": "None satisfies",
}
# Of each constraint: its unit, what it is called, and how a judge that breaks it is said to do so.
CONSTRAINTS: dict[str, tuple[str, str]] = {
    "open_weights": ("flag", "only models whose weights are public"),
    "local": ("flag", "only models under our own control"),
    "max_cost_per_1000": ("money", "at most {limit} for 1,000 judgments"),
    "max_seconds": ("seconds", "at most {limit} a judgment"),
    "min_positional_agreement": ("percent", "the same verdict in both orders on at least {limit}"),
    "min_accuracy": ("percent", "right on at least {limit} of each dataset of gold answers"),
    "max_unparsed": ("percent", "at most {limit} of answers unreadable"),
}
_MUCH_UNPARSED = 0.05
_NOTICEABLE = 0.005


@dataclass(frozen=True, slots=True)
class SelectionVerdict:
    """What a choice says.

    Attributes
    ----------
    kind : {"clear", "open", "single", "none"}
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
    headline, sentences = {"clear": _clear, "open": _open, "single": _single, "none": _none}[kind](content)
    return SelectionVerdict(kind, headline, _unbroken(sentences), _unbroken(_cautions(content)))


def objective_words(content: Content) -> str:
    """What judges are ranked by: "agreement with people", "accuracy against gold answers", or a mean of scores."""
    roles = {row["role"] for row in content["datasets"] if row["weight"] > 0}
    if roles == {"people"}:
        words = "agreement with people"
    elif roles == {"gold"}:
        words = "accuracy against gold answers"
    else:
        words = "mean of agreement with people and accuracy against gold answers"
    return words


def constraint_words(constraints: Mapping[str, Any]) -> list[str]:
    """The constraints that were asked for; empty where there is none."""
    return [
        CONSTRAINTS[name][1].format(limit=amount(limit, CONSTRAINTS[name][0]))
        for name, limit in constraints.items()
        if limit is not None and limit is not False
    ]


def violation_words(violation: Mapping[str, Any]) -> str:
    """Which constraint a judge breaks, and by how much: "1,000 judgments cost $7.90, more than $5.00"."""
    name, value = violation["name"], violation["value"]
    unit = CONSTRAINTS[name][0]
    limit, own = amount(violation["limit"], unit), amount(value, unit)
    place = f" on {violation['dataset']}" if violation["dataset"] else ""
    known, unknown = _BROKEN[name]
    return (unknown if value is None else known).format(own=own, limit=limit, place=place)


_BROKEN = {
    "open_weights": ("its weights are not public", "it is not known whether its weights are public"),
    "local": ("its models run elsewhere", "it is not known where its models run"),
    "max_cost_per_1000": (
        "1,000 judgments cost {own}, more than {limit}",
        "its cost is not known, and {limit} is the most",
    ),
    "max_seconds": (
        "a judgment takes {own}, more than {limit}",
        "its time is not known, and {limit} is the most",
    ),
    "min_positional_agreement": (
        "its agreement between the two orders is {own}, less than {limit}",
        "its agreement between the two orders is not known, and {limit} is the least",
    ),
    "min_accuracy": (
        "its accuracy{place} is {own}, less than {limit}",
        "its accuracy{place} is not known, and {limit} is the least",
    ),
    "max_unparsed": (
        "{own} of its answers could not be read, more than {limit}",
        "it is not known how many of its answers could be read",
    ),
}


def amount(value: float | None, unit: str) -> str:
    """A limit or a value in its unit; shares without decimals that say nothing."""
    if value is None:
        return "not known"
    if unit == "flag":
        return "yes" if value else "no"
    text = value_text({"value": value}, unit)
    return text.replace(".0 %", " %") if unit == "percent" else text


def name_of(content: Content, key: str) -> str:
    """The name of a judge."""
    return next((str(judge["name"]) for judge in content["judges"] if judge["key"] == key), key)


def standing_of(content: Content, key: str) -> dict[str, Any]:
    """The standing of a judge. Raises KeyError."""
    for row in content["standings"]:
        if row["judge"] == key:
            return dict(row)
    raise KeyError(key)


# --- the verdict ---------------------------------------------------------------------------------------------------


def _clear(content: Content) -> tuple[str, list[str]]:
    winner = content["winner"]
    sentences = [*_lead(content, winner), *_next(content), *_chosen(content, winner)]
    return f"{name_of(content, winner)} is the judge to use", sentences


def _next(content: Content) -> list[str]:
    behind = [
        row
        for row in content["standings"]
        if row["behind"] is not None and not row["violations"] and not _is_baseline(content, row["judge"])
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
    leader, sure = content["leader"], _sure(content)
    others = [key for key in content["confidence_set"] if key != leader]
    sentences = _lead(content, leader)
    if others:
        names = [name_of(content, key) for key in others]
        sentences.append(
            f"{listed(names)} cannot be told apart from it: with {sure} confidence the best judge is one of "
            f"these {len(others) + 1}."
        )
    sentences += [*_cheapest(content), *_chosen(content, leader)]
    return "No clear winner", sentences


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
    if left_out:
        why = [f"It is the only judge that satisfies the constraints. {left_out}"]
    else:
        why = ["It is the only judge here, so there was nothing to choose between."]
    return f"{name_of(content, winner)} is the only judge that may be chosen", [*_lead(content, winner), *why]


def _none(content: Content) -> tuple[str, list[str]]:
    rows = _eligible_or_not(content)
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
    for row in _eligible_or_not(content):
        for name in {one["name"] for one in row["violations"]}:
            counts[name] = counts.get(name, 0) + 1
    if not counts:
        return ""
    limits = content["constraints"]
    parts = [
        f"{CONSTRAINTS[name][1].format(limit=amount(limits[name], CONSTRAINTS[name][0]))} (rules out {n})"
        for name, n in sorted(counts.items(), key=lambda pair: -pair[1])
    ]
    return f"Asked for: {'; '.join(parts)}."


def _lead(content: Content, key: str) -> list[str]:
    objective = standing_of(content, key)["objective"]
    sentences = [f"{name_of(content, key)} reaches {_with_range(objective)}, {objective_words(content)}."]
    held_out = content["held_out"]
    if held_out["value"] is not None:
        whose = " of the composite described below" if content["chosen"] == COMPOSITE else ""
        sentences.append(f"On new items expect {_with_range(held_out)}{whose}.")
    return sentences


def _chosen(content: Content, key: str) -> list[str]:
    share = standing_of(content, key)["chosen_share"]
    if share is None:
        return []
    return [f"Had other items been drawn, it would have been chosen {_of_hundred(share)}."]


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
        floor = _floor(content, leader)
        found += [floor] if floor else []
        unparsed = standing_of(content, leader)["unparsed"]
        if (unparsed["value"] or 0) > _MUCH_UNPARSED:
            name = name_of(content, leader)
            found.append(f"{value_text(unparsed)} of the answers of {name} could not be read.")
    left = [row["judge"] for row in _eligible_or_not(content) if not row["is_ranked"]]
    if left and leader is not None:
        names = listed([name_of(content, key) for key in left])
        found.append(f"Not ranked, because they judged a part of the items only: {names}.")
    return found


def _floor(content: Content, leader: str) -> str:
    """A warning where the leader is not clearly better than the best rule without a model."""
    rules = [row for row in content["standings"] if _is_baseline(content, row["judge"])]
    rules = [row for row in rules if row["objective"]["value"] is not None]
    if not rules:
        return ""
    best = max(rules, key=lambda row: row["objective"]["value"])
    gap = best["behind"]
    if gap is not None and gap["low"] is not None and gap["low"] > 0:
        return ""
    own = standing_of(content, leader)["objective"]["value"]
    rule, reached = name_of(content, best["judge"]), value_text(best["objective"])
    if own is not None and own < best["objective"]["value"]:
        return f"{rule}, a rule without a model, does better than any of these judges: it reaches {reached}."
    return f"The leading judge cannot be told apart from {rule}, a rule without a model, which reaches {reached}."


# --- the sections --------------------------------------------------------------------------------------------------


def held_out_words(content: Content) -> list[str]:
    """Why the held-out figure is the one to expect, for somebody who is no statistician."""
    held_out, naive = content["held_out"], content["naive"]
    if held_out["value"] is None:
        return [f"There is no held-out estimate: {held_out.get('reason', 'it is not defined')}."]
    options, words = content["options"], objective_words(content)
    folds, repeats = options["n_folds"], options["n_repeats"]
    sentences = []
    if naive is not None:
        what = "the composite" if content["chosen"] == COMPOSITE else "the judge"
        sentences.append(
            f"On the items on which it was chosen, {what} reaches "
            f"{value_text({'value': naive})}. That flatters it: of several judges that are about as good, the "
            "one is picked that was lucky on these items."
        )
    sentences.append(
        f"So the choice was rehearsed: {folds} times one {_part_of(folds)} of the instructions was put aside, "
        "the judge was chosen on the rest by the same rules, and what was chosen was scored on what had been put aside"
        f"{f'; all that {repeats} times over' if repeats > 1 else ''}. That gives {_with_range(held_out)}, {words}: "
        "the figure to expect on new items."
    )
    gap = content["optimism"]
    if gap is not None and gap["value"] is not None:
        ends = range_text(gap, "points")
        size = f"{points_text(gap['value'])}{f' ({ends})' if ends else ''}"
        if abs(gap["value"]) < _NOTICEABLE:
            sentences.append(f"The two hardly differ ({size}): there was little luck to have in this choice.")
        elif gap["value"] > 0:
            sentences.append(f"The flattery is {size}.")
        else:
            sentences.append(
                f"Here the rehearsal came out higher, by {points_text(-gap['value'])}, which is chance."
            )
    return list(_unbroken(sentences))


def _part_of(folds: int) -> str:
    names = {2: "half", 3: "third", 4: "quarter", 5: "fifth", 10: "tenth"}
    return names.get(folds, f"part in {folds}")


def composite_words(content: Content) -> list[str]:
    """Whether asking another judge for each category is worth it."""
    found = content["composite"]
    by = composed_by(content)
    if found is None:
        return [f"There are fewer than two {by[1]}, or fewer than two judges to combine."]
    if len(set(found["parts"].values())) < 2:
        judge = name_of(content, next(iter(found["parts"].values()), ""))
        return [f"{judge} is the best in every {by[0]}, so there is nothing to combine."]
    gain, ends = found["gain"], range_text(found["gain"], "points")
    naive = "" if found["naive"] is None else f" looks like {value_text({'value': found['naive']})}, and"
    first = (
        f"The best judge of each {by[0]} together{naive} holds at {_with_range(found['held_out'])} on items that were "
        "put aside."
    )
    if gain["value"] is None:
        return list(_unbroken([first]))
    size = f"{points_text(gain['value'])}{f' ({ends})' if ends else ''}"
    if found["worth_it"]:
        second = f"That is {size} more than the best single judge: a composite is worth it."
    elif gain["value"] <= 0:
        second = f"Over the single judge that gains nothing, {size}: not worth it."
    else:
        second = f"The gain over the single judge, {size}, may be chance: not worth it on this evidence."
    return list(_unbroken([first, second]))


def composed_by(content: Content) -> tuple[str, str]:
    """What composites are made by, as one and as many: "category", "categories"."""
    kinds = {row["composed_by"] for row in content["datasets"] if row["weight"] > 0}
    return ("subset", "subsets") if kinds == {"subset"} else ("category", "categories")


def settling_words(content: Content, row: Mapping[str, Any]) -> str:
    """What data would tell the leader from one rival."""
    rival, gap = name_of(content, row["rival"]), row["difference"]
    leader = name_of(content, content["leader"]) if content["leader"] else "the leader"
    if not row["n_needed"]:
        words = f"{leader} and {rival} do equally well: no number of items would tell them apart. Take the cheaper."
        return _unbroken([words])[0]
    more = max(0, row["n_needed"] - row["n_now"])
    size = points_text(gap) if gap is not None else "this size"
    alone = ", and those of the other datasets," if row["together"] else ""
    return _unbroken(
        [
            f"To tell {leader} from {rival}: if the lead of {size} is real, about {row['n_needed']:,} instructions of "
            f"{_title(content, row['dataset'])}{alone} would show it {100 * row['power']:.0f} times in 100. There are "
            f"{row['n_now']:,}, so about {more:,} more."
        ]
    )[0]


def replaces_words(content: Content, dataset: str) -> str:
    """Whether the leader may stand in for a person on a dataset, by the alternative annotator test."""
    test = content["replaces"].get(dataset)
    leader = name_of(content, content["leader"]) if content["leader"] else "The judge"
    if not test or test["passed"] is None:
        why = (test or {}).get("reason") or "too few people have labelled the same items"
        return f"{_title(content, dataset)}: not known ({why})."
    rate, needed = value_text({"value": test["winning_rate"]}), amount(test["threshold"], "percent")
    words = (
        f"{_title(content, dataset)}: compared with one person at a time by how well each matches the other people, "
        f"{leader} holds its own against {test['n_won']} of {test['n_tested']} ({rate}; {needed} are needed). "
        f"A judge may be behind by {100 * test['epsilon']:g} points because it costs less. "
    )
    end = (
        f"{leader} may replace a person there."
        if test["passed"]
        else f"{leader} may not replace a person there."
    )
    return _unbroken([words + end])[0]


def summary_lines(content: Content) -> list[tuple[str, str]]:
    """A stored choice in short: what it is about, and what was found."""
    datasets = []
    for row in content["datasets"]:
        role = "agreement with people" if row["role"] == "people" else "gold answers"
        weight = f"weight {row['weight']:g}" if row["weight"] else "decides nothing"
        datasets.append(f"{row['title']}: {role}, {weight}")
    verdict, constraints = verdict_of(content), constraint_words(content["constraints"])
    lines = [("Datasets", "; ".join(datasets)), ("Constraints", "; ".join(constraints) or "none")]
    lines += [("Verdict", f"{verdict.label}: {verdict.headline}. {' '.join(verdict.sentences)}")]
    if content["held_out"]["value"] is not None:
        lines.append(("Held-out estimate", _with_range(content["held_out"])))
    promoted = content.get("promoted")
    if promoted and promoted["violations"]:
        broken = listed([violation_words(one) for one in promoted["violations"]])
        lines.append(("Promoted although", broken))
    return lines


# --- small words ---------------------------------------------------------------------------------------------------


def listed(names: Sequence[str]) -> str:
    """ "A, B and C"; of more than four the first three and how many others."""
    shown = list(names)
    if len(shown) > 4:
        shown = [*shown[:3], f"{len(shown) - 3} others"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def _eligible_or_not(content: Content) -> list[dict[str, Any]]:
    return [row for row in content["standings"] if not _is_baseline(content, row["judge"])]


def _is_baseline(content: Content, key: str) -> bool:
    return any(judge["key"] == key and judge["baseline"] for judge in content["judges"])


def _title(content: Content, dataset: str) -> str:
    return next((str(row["title"]) for row in content["datasets"] if row["name"] == dataset), dataset)


def _sure(content: Content) -> str:
    return f"{100 * content['confidence']:g} %"


def _with_range(estimate: Mapping[str, Any]) -> str:
    ends = range_text(estimate)
    return value_text(estimate) + (f" ({ends})" if ends else "")


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def _unbroken(sentences: Sequence[str]) -> tuple[str, ...]:
    """A number and its sign stay on one line."""
    return tuple(sentence.replace(" %", f"{NBSP}%") for sentence in sentences)

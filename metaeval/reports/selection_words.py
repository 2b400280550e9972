"""A choice of a judge in plain words: what to use, why, and how far that holds. Pure functions of its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.reports.figures import points_text, range_text, value_text
from metaeval.reports.replacement import epsilon_words
from metaeval.reports.report import HEURISTIC
from metaeval.reports.selection_inputs import PAIRWISE
from metaeval.reports.selection_kinds import words_of
from metaeval.selection.held_out import MIN_CLUSTERS
from metaeval.selection.types import COMPOSITE

Content = Mapping[str, Any]
NBSP = "\u00a0"
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
_NOTICEABLE = 0.005


def objective_words(content: Content) -> str:
    """What judges are ranked by: "agreement with people", "accuracy against gold answers", or a mean of scores."""
    kind, roles = words_of(content), {row["role"] for row in content["datasets"] if row["weight"] > 0}
    if len(roles) == 1:
        return kind.role(*roles)
    return f"mean of {kind.people} and {kind.gold}"


def objective_short(content: Content) -> str:
    """The same for the head of a column; empty for a mean of scores of two sorts."""
    roles = {row["role"] for row in content["datasets"] if row["weight"] > 0}
    return words_of(content).short or (objective_words(content) if len(roles) == 1 else "")


def constraint_words(constraints: Mapping[str, Any], kind: str = PAIRWISE) -> list[str]:
    """The constraints that were asked for; empty where there is none."""
    return [
        limit_words(name, limit, kind)
        for name, limit in constraints.items()
        if limit is not None and limit is not False
    ]


def limit_words(name: str, limit: Any, kind: str = PAIRWISE) -> str:
    """One constraint: "at most $5.00 for 1,000 judgments"."""
    unit, words = CONSTRAINTS[name]
    if name == "min_accuracy" and kind != PAIRWISE:
        words = "a score of at least {limit} on each dataset of gold answers"
    return words.format(limit=amount(limit, unit))


def violation_words(violation: Mapping[str, Any]) -> str:
    """Which constraint a judge breaks, and by how much: "1,000 judgments cost $7.90, more than $5.00"."""
    name, value = violation["name"], violation["value"]
    unit = CONSTRAINTS[name][0]
    limit, own = amount(violation["limit"], unit), amount(value, unit)
    place = f" on {violation['dataset']}" if violation["dataset"] else ""
    known, unknown = _BROKEN[name]
    of = violation.get("of", "accuracy")
    return (unknown if value is None else known).format(own=own, limit=limit, place=place, of=of)


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
        "its {of}{place} is {own}, less than {limit}",
        "its {of}{place} is not known, and {limit} is the least",
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


# --- the sections --------------------------------------------------------------------------------------------------


def is_flattered(content: Content) -> bool:
    """Whether the figure on the items that the judge was chosen on is noticeably too high."""
    gap = content["optimism"]
    return gap is not None and (gap["value"] or 0.0) >= _NOTICEABLE


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
            f"{value_text({'value': naive})}. Such a figure tends to flatter: of several judges that are about "
            "as good, the one is picked that was lucky on these items."
        )
    sentences.append(
        f"So the choice was rehearsed: {folds} times one {_part_of(folds)} of the instructions was put aside, "
        "the judge was chosen on the rest by the same rules, and what was chosen was scored on what had been put aside"
        f"{f'; all that {repeats} times over' if repeats > 1 else ''}. That gives {with_range(held_out)}, {words}: "
        "the figure to expect on new items like these."
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
    return list(unbroken(sentences))


def _part_of(folds: int) -> str:
    names = {2: "half", 3: "third", 4: "quarter", 5: "fifth", 10: "tenth"}
    return names.get(folds, f"part in {folds}")


def composite_words(content: Content) -> list[str]:
    """Whether asking another judge for each category is worth it."""
    found = content["composite"]
    by = composed_by(content)
    if content["verdict"] == "none":
        return ["No judge may be chosen, so there is nothing to combine."]
    if found is None:
        return [
            f"Too few {by[1]} have the {MIN_CLUSTERS} instructions that it takes to choose a judge for one, or "
            "there are fewer than two judges to combine."
        ]
    if len(set(found["parts"].values())) < 2:
        judge = name_of(content, next(iter(found["parts"].values()), ""))
        return [f"{judge} does best in every {by[0]} of some size, so there is nothing to combine."]
    gain, ends = found["gain"], range_text(found["gain"], "points")
    naive = "" if found["naive"] is None else f" looks like {value_text({'value': found['naive']})}, and"
    first = (
        f"The best judge of each {by[0]} together{naive} holds at {with_range(found['held_out'])} on items that were "
        "put aside."
    )
    if gain["value"] is None:
        return list(unbroken([first]))
    size = f"{points_text(gain['value'])}{f' ({ends})' if ends else ''}"
    if found["worth_it"]:
        second = f"That is {size} more than the best single judge: a composite is worth it."
    elif gain["value"] <= 0:
        second = f"Over the single judge that gains nothing, {size}: not worth it."
    else:
        second = f"The gain over the single judge, {size}, may be chance: not worth it on this evidence."
    return list(unbroken([first, second]))


def composed_by(content: Content) -> tuple[str, str]:
    """What composites are made by, as one and as many: "category", "categories"."""
    kinds = {row["composed_by"] for row in content["datasets"] if row["weight"] > 0}
    return ("subset", "subsets") if kinds == {"subset"} else ("category", "categories")


def settling_words(content: Content, row: Mapping[str, Any]) -> str:
    """What data would tell the leader from one rival."""
    rival, gap = name_of(content, row["rival"]), row["difference"]
    leader = name_of(content, content["leader"]) if content["leader"] else "the leader"
    if not row["n_needed"]:
        words = (
            f"{leader} and {rival} do equally well on these items, so how many more would tell them apart cannot be "
            "worked out. Until more are labelled, take the cheaper."
        )
        return unbroken([words])[0]
    more = max(0, row["n_needed"] - row["n_now"])
    size = points_text(gap) if gap is not None else "this size"
    alone = ", and those of the other datasets," if row["together"] else ""
    return unbroken(
        [
            f"To tell {leader} from {rival}: if the lead of {size} is real, about {_roughly(row['n_needed']):,} "
            f"instructions of {title_of(content, row['dataset'])}{alone} would show it "
            f"{100 * row['power']:.0f} times in 100. "
            f"There are {row['n_now']:,}, so about {_roughly(more):,} more."
        ]
    )[0]


def _roughly(number: int) -> int:
    """A large number with two digits: how many are needed is known no better."""
    scale = 10 ** max(0, len(str(number)) - 2)
    return number if number < 1_000 else round(number / scale) * scale


def replaces_words(content: Content, dataset: str) -> str:
    """Whether what was chosen may stand in for an annotator of a dataset: the held-out alternative annotator test."""
    test = content["replaces"].get(dataset)
    leader = name_of(content, content["leader"]) if content["leader"] else "The judge"
    if not test or test["passed"] is None:
        why = (test or {}).get("reason") or "too few annotators have labeled the same items"
        return f"{title_of(content, dataset)}: not tested ({why})."
    rate, needed = value_text({"value": test["winning_rate"]}), amount(test["threshold"], "percent")
    words = (
        f"{title_of(content, dataset)}: each item was judged by what was chosen without its fold. Compared with one "
        f"annotator at a time by how well each matches the other annotators, it won {test['n_won']} of "
        f"{test['n_tested']} ({rate}; {needed} are needed). {epsilon_words(test['epsilon'])} "
    )
    rule = unbeaten_baseline(content)
    if not test["passed"]:
        end = f"That does not show that {leader} may replace an annotator there."
    elif leads_without_model(content):
        end = f"But {leader} is a baseline (no LLM), so it is not recommended as a replacement."
    elif rule is not None:
        end = (
            f"But {leader} is not significantly better than the baseline {name_of(content, rule['judge'])}, so it is "
            "not recommended as a replacement."
        )
    else:
        end = f"By this test {leader} may replace an annotator there."
    return unbroken([words + end])[0]


def leads_without_model(content: Content) -> bool:
    """Whether the leader needs no model, where others that are ranked do: a baseline that was judged like any judge."""
    backends = {judge["key"]: judge["backend"] for judge in content["judges"] if not judge["baseline"]}
    ranked = {row["judge"] for row in content["standings"] if row["is_ranked"]}
    return backends.get(content["leader"]) == HEURISTIC and any(
        backend != HEURISTIC for key, backend in backends.items() if key in ranked
    )


def unbeaten_baseline(content: Content) -> dict[str, Any] | None:
    """The best of the baselines that the leader is not significantly better than; None where it beats each."""
    rules = [
        row
        for row in content["standings"]
        if is_baseline(content, row["judge"])
        and row["objective"]["value"] is not None
        and not (row["behind"] and (row["behind"]["low"] or 0.0) > 0)
    ]
    return max(rules, key=lambda row: float(row["objective"]["value"]), default=None)


# --- small words ---------------------------------------------------------------------------------------------------


def listed(names: Sequence[str]) -> str:
    """ "A, B and C"; of more than four the first three and how many others."""
    shown = list(names)
    if len(shown) > 4:
        shown = [*shown[:3], f"{len(shown) - 3} others"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def is_baseline(content: Content, key: str) -> bool:
    return any(judge["key"] == key and judge["baseline"] for judge in content["judges"])


def title_of(content: Content, dataset: str) -> str:
    return next((str(row["title"]) for row in content["datasets"] if row["name"] == dataset), dataset)


def with_range(estimate: Mapping[str, Any]) -> str:
    ends = range_text(estimate)
    return value_text(estimate) + (f" ({ends})" if ends else "")


def unbroken(sentences: Sequence[str]) -> tuple[str, ...]:
    """A number and its sign stay on one line."""
    return tuple(sentence.replace(" %", f"{NBSP}%") for sentence in sentences)

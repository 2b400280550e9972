"""What a choice of a judge says in sentences: the verdict with its reasons, and each section of the page."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from metaeval.reports.anytime import anytime_label, anytime_words
from metaeval.reports.figures import points_text, value_text
from metaeval.reports.replacement import epsilon_words, shown_words
from metaeval.reports.report import HEURISTIC
from metaeval.reports.selection.report import SelectionReport, SettlingEntry, StandingEntry
from metaeval.reports.selection.words import (
    composed_by,
    constraint_words,
    limit_words,
    objective_words,
    title_of,
    violations_words,
    with_range,
    words_of,
)
from metaeval.reports.verdict import (
    Compared,
    Rival,
    VerdictText,
    best_words,
    headline_of,
    listed,
    people_words,
    reasons_of,
    with_ends,
)
from metaeval.selection.held_out import MIN_CLUSTERS
from metaeval.selection.types import COMPOSITE

_MUCH_UNPARSED = 0.05
_NOTICEABLE = 0.005


def selection_verdict(report: SelectionReport) -> VerdictText:
    """The choice, with its reasons."""
    kind = report.verdict
    # Choices that were stored before the rule was the library's have another verdict.
    if kind != "none" and (unbeaten_baseline(report) is not None or leads_without_model(report)):
        kind = "floor"
    make = {"single": _single, "none": _none, "floor": _below_floor}
    headline, sentences = make.get(kind, _compared)(report)
    return VerdictText(kind, headline, tuple(filter(None, sentences)), tuple(_cautions(report)))


def choice_compared(report: SelectionReport) -> Compared:
    """What the sentences on the verdict are made from."""
    rows = [row for row in report.candidates if row.behind is not None and row.judge in report.eligible]
    return Compared(
        kind=report.verdict,
        leader=report.name(report.leader),
        rivals=tuple(
            Rival(
                report.name(row.judge),
                row.behind,
                row.judge in report.confidence_set,
                row.practical,
                row.alike,
                row.practical_alike,
            )
            for row in rows
            if row.behind is not None
        ),
        confidence=report.confidence,
        margin=report.margin,
        annotators=report.annotators,
        of_people=any(row.role == "people" for row in report.deciding),
    )


def _beside_people(report: SelectionReport) -> list[str]:
    """The leader minus people, and below the upper bound, on each dataset that people labeled."""
    leader, several = report.name(report.leader), len(report.minus_people) > 1
    sentences = []
    for name, gap in report.minus_people.items():
        where, alike = f" on {title_of(report, name)}" if several else "", report.minus_people_alike.get(name)
        sentences += people_words(leader, gap, alike, margin=report.margin, where=where)
        best = report.below_best.get(name)
        sentences += best_words(leader, best, report.below_best_alike.get(name), where=where)
    return sentences


def _compared(report: SelectionReport) -> tuple[str, list[str]]:
    leader, found = _leading(report), choice_compared(report)
    sentences = [*_lead(report, leader), *reasons_of(found), *_beside_people(report)]
    if found.kind not in ("clear", "clear_here"):
        sentences += _cheapest(report)
    return headline_of(found), [*sentences, *_frequency(report, leader)]


def _single(report: SelectionReport) -> tuple[str, list[str]]:
    leader, ruled_out = _leading(report), _ruled_out(report)
    unranked = any(not row.is_ranked for row in report.candidates)
    of_these = " that judged enough to be compared" if unranked else " here"
    if ruled_out:
        why = [f"Of the judges{of_these}, only this one satisfies the constraints. {ruled_out}"]
    else:
        why = [f"It is the only judge{of_these}, so there was no choice."]
    return f"{report.name(leader.judge)} is the only eligible judge", [
        *_lead(report, leader),
        *why,
        *_beside_people(report),
    ]


def _none(report: SelectionReport) -> tuple[str, list[str]]:
    rows = report.candidates
    if not rows:
        return "There is no judge to choose", ["Only baselines (no LLM) have judged these datasets."]
    if not any(row.violations for row in rows):
        missing = ["No judge has a score on every dataset with a weight."]
        return "No judge can be compared yet", list(report.notes) or missing
    nearest = (
        f"The best of them, {report.name(rows[0].judge)}, is not eligible: "
        f"{listed(violations_words(rows[0].violations))}."
    )
    return "No judge satisfies the constraints", [_ruled_out(report), nearest]


def _below_floor(report: SelectionReport) -> tuple[str, list[str]]:
    """A baseline does as well as the leader: nothing else is the news, whichever judges are eligible."""
    leader, rule = _leading(report), unbeaten_baseline(report)
    name = report.name(leader.judge)
    more = [*_lead(report, leader), *reasons_of(choice_compared(report)), *_beside_people(report)]
    if rule is None:
        return f"No judge beats the baseline {name}", [f"{name} leads without an LLM.", *more]
    baseline, reached = report.name(rule.judge), value_text(rule.objective)
    below = _or(leader.objective["value"], 1.0) < rule.objective["value"]
    which = "No judge that satisfies the constraints" if _ruled_out(report) else "No judge"
    headline = f"{which} {'beats' if below else 'is significantly better than'} the baseline {baseline}"
    if below:
        first = (
            f"The baseline {baseline} (no LLM) reaches {reached}, more than {name}, the best eligible judge."
        )
    else:
        first = f"{name} is not significantly different from the baseline {baseline} (no LLM), which reaches {reached}."
    if rule.violations:
        first += f" The baseline itself does not satisfy the constraints: {listed(violations_words(rule.violations))}."
    return headline, [first, *more, _ruled_out(report)]


def _leading(report: SelectionReport) -> StandingEntry:
    assert report.leading is not None
    return report.leading


def _lead(report: SelectionReport, leader: StandingEntry) -> list[str]:
    name, reached = report.name(leader.judge), with_range(leader.objective)
    sentences = [f"{name} reaches {reached} {objective_words(report)}."]
    if report.held_out["value"] is not None:
        whose = " (the composite below)" if report.chosen == COMPOSITE else ""
        expected = with_range(report.held_out)
        sentences.append(f"The held-out estimate for new items like these is {expected}{whose}.")
    return sentences


def _cheapest(report: SelectionReport) -> list[str]:
    costs = {key: report.standing(key).cost_per_1000["value"] for key in report.confidence_set}
    own = costs.get(report.leader or "")
    known = {key: cost for key, cost in costs.items() if cost is not None}
    if not known or not own:
        return []
    key = min(known, key=lambda each: (known[each], each))
    if key == report.leader or known[key] > 0.95 * own:
        return []
    price = value_text({"value": known[key]}, "money")
    saving = f"{100 * (1 - known[key] / own):.0f}% less than {report.name(report.leader)}"
    return [f"Of these, {report.name(key)} costs least: {price} per 1,000 judgments, {saving}."]


def _frequency(report: SelectionReport, standing: StandingEntry) -> list[str]:
    share, name = standing.chosen_share, report.name(standing.judge)
    return [] if share is None else [f"The selection frequency (bootstrap) of {name} is {100 * share:.0f}%."]


def _ruled_out(report: SelectionReport) -> str:
    """How many judges each constraint rules out."""
    counts = Counter(name for row in report.candidates for name in {one.name for one in row.violations})
    parts = [
        f"{limit_words(name, getattr(report.constraints, name), report.kind)} (rules out {n})"
        for name, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    return f"Constraints: {'; '.join(parts)}." if parts else ""


def _cautions(report: SelectionReport) -> list[str]:
    found = [
        f"{100 * row.simulated_share:.0f}% of the labels of {row.title} come from simulated annotators: "
        "they show how the site works and say nothing about human annotators."
        for row in report.datasets
        if row.role == "people" and row.simulated_share
    ]
    leader = report.leading
    if leader is not None and _or(leader.unparsed["value"], 0.0) > _MUCH_UNPARSED:
        found.append(
            f"{value_text(leader.unparsed)} of the answers of {report.name(leader.judge)} were unparsed."
        )
    left = [report.name(row.judge) for row in report.candidates if not row.is_ranked]
    if left and leader is not None:
        found.append(f"Not ranked, because they judged a part of the items only: {listed(left)}.")
    return found


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def leads_without_model(report: SelectionReport) -> bool:
    """Whether the leader needs no model, where others that are ranked do: a baseline that was judged like any judge."""
    backends = {row.judge: report.by_key[row.judge].backend for row in report.candidates if row.is_ranked}
    return backends.get(report.leader or "") == HEURISTIC and set(backends.values()) != {HEURISTIC}


def unbeaten_baseline(report: SelectionReport) -> StandingEntry | None:
    """The best of the baselines that the leader is not significantly better than; None where it beats each.

    A rule that was run as a judge, and may be chosen, is one of them unless all that may be chosen are rules.
    """
    eligible = report.eligible
    run = {key for key in eligible if report.by_key[key].backend == HEURISTIC}
    if run == set(eligible) or report.leader in run:
        run = set()
    rules = [
        row
        for row in report.standings
        if (report.is_baseline(row.judge) or row.judge in run)
        and row.objective["value"] is not None
        and not (row.behind and _or(row.behind["low"], 0.0) > 0)
    ]
    return max(rules, key=lambda row: float(row.objective["value"]), default=None)


# --- the sections --------------------------------------------------------------------------------------------------


def is_optimistic(report: SelectionReport) -> bool:
    """Whether the in-sample figure is noticeably too high."""
    return report.optimism is not None and _or(report.optimism["value"], 0.0) >= _NOTICEABLE


def held_out_words(report: SelectionReport) -> list[str]:
    """Why the held-out figure is the one to expect, for somebody who is no statistician."""
    if report.held_out["value"] is None:
        return [f"There is no held-out estimate: {report.held_out.get('reason', 'it is not defined')}."]
    folds, repeats = report.options.n_folds, report.options.n_repeats
    what = "the composite" if report.chosen == COMPOSITE else "the judge"
    times = f", repeated {repeats} times" if repeats > 1 else ""
    sentences = []
    if report.naive is not None:
        sentences.append(
            f"In-sample, on the items it was chosen on, {what} reaches {value_text({'value': report.naive})}. "
            "Such figures tend to be optimistic: among judges that are about equally good, the one with the highest "
            "figure by chance is chosen."
        )
    sentences.append(
        f"Nested cross-validation corrects for this ({folds} folds of instructions{times}): for each fold the judge is "
        "chosen on the other folds by the same rules and scored on the one held out. The held-out estimate is "
        f"{with_range(report.held_out)} {objective_words(report)}."
    )
    gap = report.optimism
    if gap is not None and gap["value"] is not None:
        small = abs(gap["value"]) < _NOTICEABLE
        sentences.append(
            f"Optimism (selection bias): {with_ends(gap)}{', which is negligible' if small else ''}."
        )
    return sentences


def composite_words(report: SelectionReport) -> list[str]:
    """Whether asking another judge for each category is worth it."""
    found, (one, many) = report.composite, composed_by(report)
    if report.verdict == "none":
        return ["No judge is eligible, so there is nothing to combine."]
    if found is None:
        return [
            f"A composite needs two judges, and two {many} with at least {MIN_CLUSTERS} instructions each to choose a "
            "judge on."
        ]
    if len(set(found.parts.values())) < 2:
        judge = report.name(next(iter(found.parts.values()), ""))
        return [f"{judge} does best in every {one} that is large enough, so there is nothing to combine."]
    naive = "" if found.naive is None else f"{value_text({'value': found.naive})} in-sample and "
    first = f"The best judge of each {one} combined reaches {naive}{with_range(found.held_out)} held-out."
    if found.gain["value"] is None:
        return [first]
    size = with_ends(found.gain)
    if found.worth_it:
        return [first, f"Held-out, that is {size} more than the best single judge: a composite is worth it."]
    difference = "a gain" if found.gain["value"] > 0 else "a change"
    return [first, f"Held-out, that is {difference} of {size} over the best single judge: not significant."]


def settling_words(report: SelectionReport, row: SettlingEntry) -> str:
    """How many instructions would show the lead over one rival."""
    rival, leader = report.name(row.rival), report.name(report.leader) or "the leader"
    if not row.n_needed:
        return (
            f"{leader} and {rival} do equally well on these items, so the sample size needed cannot be computed. Until "
            "more items are labeled, use the cheaper one."
        )
    size = "this size" if row.difference is None else points_text(row.difference)
    alone = ", together with those of the other datasets," if row.together else ""
    return (
        f"{leader} vs. {rival}: if the difference of {size} is real, about {_roughly(row.n_needed):,} instructions of "
        f"{title_of(report, row.dataset)}{alone} detect it with {100 * row.power:.0f}% power. There are {row.n_now:,}, "
        f"so about {_roughly(max(0, row.n_needed - row.n_now)):,} more are needed."
    )


def anytime_sections(report: SelectionReport) -> list[tuple[str, list[str]]]:
    """Of each dataset that studies ask labels of: whether labeling may stop, in a word or two, and why."""
    leader = report.name(report.leader)
    return [
        (
            anytime_label(row),
            anytime_words(
                leader, report.name(row.rival), row, margin=report.margin, where=title_of(report, row.dataset)
            ),
        )
        for row in report.anytime
    ]


def _roughly(number: int) -> int:
    """A large number with two digits: how many are needed is known no better."""
    scale = 10 ** max(0, len(str(number)) - 2)
    return number if number < 1_000 else round(number / scale) * scale


def replaces_words(report: SelectionReport, dataset: str) -> str:
    """Whether what was chosen may stand in for an annotator of a dataset: the held-out alternative annotator test."""
    test: Mapping[str, Any] = report.replaces.get(dataset) or {}
    leader, title = report.name(report.leader) or "The judge", title_of(report, dataset)
    if test.get("passed") is None:
        return (
            f"{title}: not tested ({test.get('reason') or 'too few annotators have labeled the same items'})."
        )
    words = (
        f"{title}: each item was judged by what was chosen without its fold. {shown_words(leader, test)} "
        f"{epsilon_words(test['epsilon'])}"
    )
    rule = unbeaten_baseline(report)
    if not test["passed"]:
        return words
    if leads_without_model(report):
        return f"{words} But {leader} is a baseline (no LLM), so it is not recommended as a replacement."
    if rule is not None:
        return (
            f"{words} But {leader} is not significantly better than the baseline {report.name(rule.judge)}, so it is "
            "not recommended as a replacement."
        )
    return words


def weight_words(weight: float) -> str:
    """What share a dataset has: "weight 2"."""
    return f"weight {weight:g}" if weight else "reported only (weight 0)"


def constraints_sentence(report: SelectionReport) -> str:
    """All constraints, or that there is none."""
    return "; ".join(constraint_words(report.constraints, report.kind)) or "none"


def datasets_sentence(report: SelectionReport) -> str:
    """Every dataset with its role and weight."""
    roles = words_of(report)
    return "; ".join(
        f"{row.title}: {roles.role(row.role)}, {weight_words(row.weight)}" for row in report.datasets
    )

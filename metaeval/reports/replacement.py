"""May a judge replace an annotator? The alternative annotator test of each judge and of the choice, for a report."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from metaeval.figures import JudgeSample, Sample
from metaeval.figures.estimates import plain
from metaeval.inputs import Floats, Inputs, JudgeAnswers
from metaeval.reports.figures import value_text
from metaeval.reports.report import JudgeFigures, ReportContent
from metaeval.selection.replacement import chosen_elsewhere, replacement_test
from metaeval.stats import AlternativeAnnotatorTest, adjust_p_values
from metaeval.stats.arrays import Integers
from metaeval.stats.counts import LongLabels, read_labels
from metaeval.stats.errors import quiet
from metaeval.stats.estimate import no_estimate

# Beyond it the people of a study are a crowd of whom each labelled a handful.
_MOST_CELLS = 20_000_000
# Who the annotators are, by the epsilon that the authors of the test advise.
ADVICE = {0.1: "crowdworkers", 0.15: "skilled annotators", 0.2: "experts"}


def labels_by_person(inputs: Inputs) -> LongLabels | None:
    """Labels with who gave them, read once for all judges; None of more people than are of use, a crowd."""
    items, labels = inputs.items, inputs.labels
    n_people = int(labels.annotator.max(initial=-1)) + 1
    if len(items) * n_people > _MOST_CELLS:
        return None
    table = np.full((len(items), n_people), np.nan)
    table[labels.item, labels.annotator] = labels.choice
    return read_labels(table)


def replacement_section(one: JudgeSample, by_person: LongLabels | None) -> dict[str, Any]:
    """The test of one judge on all items; with a reason where that cannot be tested.

    Verdicts that were never asked for take no part; what could not be read loses against the person.
    """
    return _tested(one.sample, [one.judge], np.zeros(one.sample.n_items, dtype=np.intp), by_person)


def choice_section(
    sample: Sample, scores: Mapping[int, Floats], by_person: LongLabels | None
) -> dict[str, Any]:
    """The test of whichever judge leads on the other folds: what may be said of the leading judge.

    Parameters
    ----------
    scores : mapping of int to ndarray of shape (n_items,)
        Of the judges that are compared, by their place.
    """
    places = list(scores)
    if not places:
        return {**_not_tested("no judge to choose"), "n_folds": 0}
    resamples = sample.resamples
    codes = np.arange(resamples.n_items) if resamples.codes is None else resamples.codes
    columns = np.stack([scores[place] for place in places], axis=1)
    chosen, n_folds = chosen_elsewhere(columns, codes, rng=sample.options.seed)
    judges = [sample.inputs.judges[place] for place in places]
    return {**_tested(sample, judges, chosen, by_person), "n_folds": n_folds}


def _tested(
    sample: Sample, judges: list[JudgeAnswers], chosen: Integers, by_person: LongLabels | None
) -> dict[str, Any]:
    if by_person is None:
        return _not_tested("too many annotators for a table")
    if not any(judge.judged.any() for judge in judges):
        return _not_tested("nothing was judged")
    with quiet():  # the reason is kept with the result
        found = replacement_test(
            by_person,
            {place: (judge.verdicts, judge.judged) for place, judge in enumerate(judges)},
            chosen,
            clusters=sample.resamples,
            epsilon=sample.options.epsilon,
            confidence=sample.options.confidence,
        )
    return _plain(found)


def _plain(found: AlternativeAnnotatorTest) -> dict[str, Any]:
    return {
        "passed": found.passed,
        "winning_rate": None if np.isnan(found.winning_rate) else found.winning_rate,
        "advantage_probability": plain(found.advantage_probability),
        "n_tested": found.n_tested,
        "n_won": found.n_won,
        "epsilon": found.epsilon,
        "alpha": found.alpha,
        "threshold": found.threshold,
        "p_value": None if np.isnan(found.p_value) else found.p_value,
        "reason": found.reason,
    }


def corrected(judges: Sequence[JudgeFigures]) -> tuple[JudgeFigures, ...]:
    """The judges with the p values of their tests corrected for their number (Holm), baselines left out.

    Of many judges at the boundary one passes by chance: without a correction the best of 20 does in 9.7% of datasets.
    """
    tested = [
        place
        for place, judge in enumerate(judges)
        if judge.replaces and judge.replaces["p_value"] is not None and not judge.needs_no_model
    ]
    if not tested:
        return tuple(judges)
    raw = [(judges[place].replaces or {})["p_value"] for place in tested]
    adjusted = dict(zip(tested, adjust_p_values(raw, method="holm").tolist(), strict=True))
    return tuple(
        judge
        if judge.replaces is None
        else replace(judge, replaces=judge.replaces | {"adjusted_p_value": adjusted.get(place)})
        for place, judge in enumerate(judges)
    )


def _not_tested(reason: str) -> dict[str, Any]:
    return {
        "passed": None,
        "winning_rate": None,
        "advantage_probability": plain(no_estimate(reason)),
        "n_tested": 0,
        "n_won": 0,
        "epsilon": None,
        "alpha": None,
        "threshold": None,
        "p_value": None,
        "reason": reason,
    }


# --- in words ------------------------------------------------------------------------------------------------------

TITLE = "Alternative annotator test"
HEADS = ("Judge", "Passes", "Annotators won", "Advantage probability")


class Replacement(NamedTuple):
    """A row of the table of tests: who is tested, whether it passes, the test.

    ``judges`` are the fingerprints of those whose items the test counts; none of a baseline, and of the choice where
    not all judged all items, so that its items depend on which judge is tested on which.
    """

    name: str
    word: str
    test: dict[str, Any]
    judges: tuple[str, ...]


def replacements(report: ReportContent) -> list[Replacement]:
    """The choice first, then each judge that was tested, as ranked.

    A baseline is never a replacement, whatever it passes; the leader's own row is of the data that it was chosen on, so
    its word is the choice's; and of several judges each must pass after correction for their number.
    """
    rows: list[Replacement] = []
    choice = report.replacement
    if choice is not None and choice["passed"] is not None:
        name = f"Judge chosen on the other folds ({choice['n_folds']}-fold, held-out)"
        rows.append(Replacement(name, _yes(choice), choice, _judges_of_choice(report)))
    leader = report.selections["agreement"].leader if "agreement" in report.selections else None
    for index, judge in report.ranked():
        test = judge.replaces
        if test is None or test["passed"] is None:
            continue
        word = "no (baseline)" if judge.needs_no_model else "in-sample" if index == leader else _yes(test)
        adjusted = test.get("adjusted_p_value")
        if word == "yes" and adjusted is not None and adjusted > test["alpha"]:
            word = "not after correction"
        rows.append(Replacement(judge.name, word, test, () if judge.baseline else (judge.fingerprint,)))
    return rows


def _judges_of_choice(report: ReportContent) -> tuple[str, ...]:
    judges = [report.judges[place] for place in report.selections["agreement"].ranking]
    if any(judge.n_items_judged < report.items.n_items for judge in judges):
        return ()
    return tuple(judge.fingerprint for judge in judges if not judge.baseline)


def _yes(test: Mapping[str, Any]) -> str:
    return "yes" if test["passed"] else "no"


def replacement_words(report: ReportContent) -> list[str]:
    """What the test asks, with which allowance, and what it does not show. Empty where nobody was tested."""
    rows = replacements(report)
    if not rows:
        return []
    test = rows[0].test
    found = [
        "Calderon et al., ACL 2025. Null hypothesis, annotator by annotator: the judge represents the other annotators "
        "worse than this annotator does, by epsilon or more. A judge wins an annotator if that is rejected "
        f"(Benjamini-Yekutieli, {100 * test['alpha']:g}%), and passes if it wins at least "
        f"{value_text({'value': test['threshold']})} of the annotators tested. Passing shows that it is less than "
        "epsilon worse than those annotators. Failing doesn't show that it is worse. The advantage probability is the "
        "mean share of items on which it does at least as well as the annotator.",
        epsilon_words(test["epsilon"]),
        "Where several judges are tested, each must also pass after correction for their number (Holm).",
    ]
    if report.replacement is not None and report.replacement["passed"] is not None:
        found.append(
            "Testing the leading judge on the items that it was chosen on would favor it, so each item is judged by "
            "the judge that leads on the other folds."
        )
        found.append(recommendation_words(report, report.replacement))
    passing = [
        judge.name
        for judge in report.judges
        if judge.needs_no_model and judge.replaces and judge.replaces["passed"]
    ]
    if passing:
        found.append(
            f"The baseline {passing[0]} (no LLM) passes as well, so passing doesn't show here that a judge reads the "
            "items. No baseline is recommended as a replacement."
        )
    return found


def recommendation_words(report: ReportContent, choice: Mapping[str, Any]) -> str:
    """What the test shows of the leading judge: only if the choice passes and beats the baselines is it recommended."""
    selection = report.selections["agreement"]
    if selection.leader is None:
        return f"Held-out: the choice wins {choice['n_won']} of {choice['n_tested']} annotators."
    leader = report.judges[selection.leader]
    found = f"Held-out: {shown_words(leader.name, choice)}"
    if not choice["passed"]:
        return found
    if leader.needs_no_model:
        return f"{found} But it is a baseline (no LLM), so it is not recommended as a replacement."
    floor = selection.best_baseline
    if floor is not None and not (floor["low"] or 0.0) > 0:
        return (
            f"{found} But {leader.name} is not significantly better than the baseline {floor.get('name')}, so it is "
            "not recommended as a replacement."
        )
    return found


def shown_words(name: str, test: Mapping[str, Any]) -> str:
    """What the test shows: that the judge is within epsilon of half of these people, or that this isn't shown."""
    needed = math.ceil(test["threshold"] * test["n_tested"] - 1e-9)
    half = "at least half of" if test["threshold"] == 0.5 else f"at least {needed} of"
    of = f"{test['n_won']} of {test['n_tested']} annotators won, {needed} needed"
    if test["passed"]:
        within = f"less than epsilon ({test['epsilon']:g}) worse than {half} these annotators"
        return f"{name} is shown to be {within} ({of})."
    return (
        f"It is not shown that {name} is less than epsilon ({test['epsilon']:g}) worse than {half} these annotators "
        f"({of}). That doesn't show that it is worse."
    )


def epsilon_words(epsilon: float) -> str:
    """What the allowance is, and what it is meant for."""
    who = ADVICE.get(round(epsilon, 6))
    meant = f", the authors' advice for {who}" if who else ""
    return (
        f"Epsilon is {epsilon:g}{meant}: a judge may be up to {100 * epsilon:g} points worse than an annotator, "
        "because it costs less. The authors advise 0.1 for crowdworkers, 0.15 for skilled annotators and 0.2 for "
        "experts; the default is 0.1, the strictest."
    )

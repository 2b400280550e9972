"""The figures of pairs that papers print, each by the paper's own convention (`metaeval.stats.presets`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from metaeval.figures.figure import GROUPS, Figure, PublishedConvention
from metaeval.figures.pairwise import PairJudge, PairSample
from metaeval.figures.published_replacement import OF_PAIRS as ALTERNATIVE
from metaeval.figures.sample import ByGroup, Ratio, mean_of
from metaeval.inputs import Booleans, Floats
from metaeval.stats import (
    Estimate,
    SectionAccuracy,
    accuracy_contributions,
    leave_one_out_contributions,
    positional_agreement_contributions,
    preset,
    section_accuracy,
    vote_agreement,
)
from metaeval.stats.estimate import no_estimate

_NO_GOLD = "no judged item has a gold answer"
_NO_LABELS = "no labels"
_NO_PAIR = "no item has two labels"
_NO_SUBSET = "no item is of a subset of this benchmark"
_OF_ALL = "of all items, not of a group"


def _accuracy(name: str) -> Callable[[PairJudge], Ratio]:
    """Accuracy by a preset, of the items that were judged."""
    options = preset(name).of("accuracy")

    def figure(one: PairJudge) -> Ratio:
        right = accuracy_contributions(one.verdicts, one.sample.items.gold[:, 0], **options)
        return mean_of(np.where(one.judge.asked, right, np.nan), _NO_GOLD)

    return figure


def _gold(name: str, label: str, estimand: str, function: Callable[[PairJudge], Any], **also: Any) -> Figure:
    return Figure(name, label, estimand, function, of_gold=True, **also)


# --- MT-bench ------------------------------------------------------------------------------------------------------


def _votes(setup: str, subject: PairJudge | PairSample) -> ByGroup:
    """Agreement of single votes: with a judge, or of people with one another."""
    judge = subject if isinstance(subject, PairJudge) else None
    sample: PairSample = subject.sample if judge is not None else subject  # type: ignore[union-attr, assignment]
    options = preset(setup).of("vote_agreement")

    def figure(members: Booleans) -> Estimate:
        if not sample.slots.shape[1]:
            return no_estimate(_NO_LABELS)
        return vote_agreement(
            sample.slots,
            None if judge is None else _in_both_orders(judge),
            where=members if judge is None else members & judge.judge.asked,
            resamples=sample.resamples,
            weights=sample.drawn,
            confidence=sample.options.confidence,
            **options,
        )

    return ByGroup(figure)


def _in_both_orders(one: PairJudge) -> Floats:
    """Its verdicts by order; where it judged in one order alone, as MT-bench's files have it, that verdict in both.

    Else an order that was never asked would be one that couldn't be read, and every verdict a tie.
    """
    other = ~one.judged & one.judged[:, ::-1]
    return np.where(other, one.verdicts[:, ::-1], one.verdicts)


def _mt_bench(setup: str, ties: str) -> PublishedConvention:
    function = partial(_votes, f"mt_bench_{setup.lower()}")
    ended = f"(MT-bench, setup {setup})"
    return PublishedConvention(
        f"MT-bench setup {setup}",
        "Agreement is the share of all pairs of a verdict and a vote that are the same, so that an item with many "
        f"votes weighs more; verdicts that differ between the two orders are ties, and {ties}.",
        ("zheng2023mtbench",),
        (
            Figure(
                f"mt_bench_{setup.lower()}_agreement",
                f"Agreement with votes {ended}",
                "Share of the pairs of a verdict and a vote on the same item that are the same.",
                function,
                axes=GROUPS,
                short="Agreement with votes",
                compares=True,
                only_these="the convention pools the votes of these annotators",
            ),
        ),
        (
            Figure(
                f"mt_bench_{setup.lower()}_human_agreement",
                f"Agreement of votes {ended}",
                "Share of the pairs of votes on the same item that are the same.",
                function,
                axes=GROUPS,
                only_these="the convention pools the votes of these annotators",
                in_pages=False,
            ),
        ),
    )


# --- benchmarks with gold answers ----------------------------------------------------------------------------------


def _sections(name: str, section: str, one: PairJudge) -> ByGroup:
    """A section's accuracy, or of all: ""; undefined where the items are not the benchmark's."""
    options = preset(name).of(section_accuracy)
    sample = one.sample
    known = {subset for weights in options["sections"].values() for subset in weights}
    there = np.array([subset in known for subset in sample.items.subset], dtype=np.bool_)

    def whole() -> SectionAccuracy | None:
        if not there.any():
            return None
        rows = np.flatnonzero(there)
        return section_accuracy(
            one.verdicts[rows],
            np.where(one.judge.asked, sample.items.gold[:, 0], np.nan)[rows],
            [sample.items.subset[row] for row in rows.tolist()],
            resamples=sample.resamples.of_rows(sample.clusters[rows]),
            confidence=sample.options.confidence,
            **options,
        )

    def figure(members: Booleans) -> Estimate:
        if not members.all():
            return no_estimate(_OF_ALL)
        found: SectionAccuracy | None = one.once(name, whole)
        if found is None:
            return no_estimate(_NO_SUBSET)
        return found.row(section).accuracy if section else found.overall

    return ByGroup(figure)


def _benchmark(name: str, title: str, convention: str, cite: str) -> PublishedConvention:
    """A benchmark that is the mean of its sections."""
    figures = [
        _gold(
            f"{name}_score",
            f"{title} score",
            f"Unweighted mean of the sections of {title}.",
            partial(_sections, name, ""),
            short="Score",
        )
    ]
    figures += [
        _gold(
            f"{name}_{section.lower().replace(' ', '_')}",
            f"{title}: {section}",
            f"Accuracy of the section {section} of {title}, the mean of its subsets with the published weights.",
            partial(_sections, name, section),
            short=section,
        )
        for section in preset(name).of(section_accuracy)["sections"]
    ]
    return PublishedConvention(title, convention, (cite,), tuple(figures))


def _positional(name: str, one: PairJudge) -> Ratio:
    both = one.judged.all(axis=1)
    agree = positional_agreement_contributions(one.verdicts, **preset(name).of("positional_agreement"))
    return mean_of(np.where(both, agree, np.nan), "no item is judged in both orders")


# --- agreement with people by other conventions --------------------------------------------------------------------


def _leave_one_out(name: str, subject: PairJudge | PairSample) -> Ratio:
    options = preset(name).of("leave_one_out_agreement")
    if isinstance(subject, PairJudge):
        sample: PairSample = subject.sample
        if not sample.slots.shape[1]:
            return mean_of(np.full(sample.n_items, np.nan), _NO_LABELS)
        each = partial(leave_one_out_contributions, sample.slots, **options, rng=sample.options.seed)
        return mean_of(subject.over_orders(each), _NO_PAIR)
    if not subject.slots.shape[1]:
        return mean_of(np.full(subject.n_items, np.nan), _NO_LABELS)
    return mean_of(leave_one_out_contributions(subject.slots, **options, rng=subject.options.seed), _NO_PAIR)


def _agreement(name: str, title: str, convention: str, cites: tuple[str, ...]) -> PublishedConvention:
    function = partial(_leave_one_out, name)
    why = "the convention breaks ties among the labels of these annotators"
    return PublishedConvention(
        title,
        convention,
        cites,
        (
            Figure(
                f"{name}_agreement",
                f"Agreement ({title})",
                f"Leave-one-out agreement of the verdicts with the labels, by the convention of {title}.",
                function,
                axes=GROUPS,
                short="Agreement",
                compares=True,
                only_these=why,
            ),
        ),
        (
            Figure(
                f"{name}_human_agreement",
                f"Leave-one-out agreement ({title})",
                f"Leave-one-out agreement of human annotators, by the convention of {title}.",
                function,
                axes=GROUPS,
                only_these=why,
                in_pages=False,
            ),
        ),
    )


PUBLISHED: Mapping[str, PublishedConvention] = {
    "mt_bench_s1": _mt_bench("S1", "a tie is a vote like any other"),
    "mt_bench_s2": _mt_bench("S2", "every tie, of a judge or of a person, is left out"),
    "judgebench": PublishedConvention(
        "JudgeBench",
        "An order that says the right response adds one and an order that says the other takes one away; an item is "
        "right above zero, so ties and unparsed verdicts are wrong.",
        ("tan2025judgebench",),
        (
            _gold(
                "judgebench_accuracy",
                "Accuracy (JudgeBench)",
                "Share of the items with a gold answer on which more presentation orders give it than the other one.",
                _accuracy("judgebench"),
                axes=GROUPS,
                short="Accuracy",
            ),
        ),
    ),
    "rewardbench": _benchmark(
        "rewardbench",
        "RewardBench",
        "A section is the mean of its subsets, weighted by published counts, and the score is the unweighted mean of "
        "the four sections; a verdict that is neither response counts one half.",
        "lambert2025rewardbench",
    ),
    "rm_bench": _benchmark(
        "rm_bench",
        "RM-Bench",
        "A domain is the mean of its levels and the score is the unweighted mean of the four domains; the right "
        "response must score more, so a tie is wrong.",
        "liu2025rmbench",
    ),
    "llmbar": PublishedConvention(
        "LLMBar",
        "A hedge counts one half, an unparsed verdict is wrong, and two unparsed verdicts agree.",
        ("zeng2024llmbar",),
        (
            _gold(
                "llmbar_accuracy",
                "Accuracy (LLMBar)",
                "Mean over presentation orders of the share of verdicts that are the gold answer; a hedge counts half.",
                _accuracy("llmbar"),
                axes=GROUPS,
                short="Accuracy",
            ),
            Figure(
                "llmbar_positional_agreement",
                "Positional agreement (LLMBar)",
                "Share of the items whose two orders have equal verdicts, two unparsed ones included.",
                partial(_positional, "llmbar"),
                axes=GROUPS,
                short="Positional agreement",
            ),
        ),
    ),
    "alpaca_eval": _agreement(
        "alpaca_eval",
        "AlpacaEval",
        "Human annotators are compared with the mode of the other labels and judges with the mode of all; ties between "
        "two modes go to the second output, and unparsed verdicts are left out.",
        ("dubois2023alpacafarm",),
    ),
    "href": _agreement(
        "href",
        "HREF",
        "Judges and human annotators are compared with the mode of the other labels; one of several modes is drawn at "
        "random.",
        ("lyu2024href",),
    ),
    **ALTERNATIVE,
}
"""By the name of a preset."""

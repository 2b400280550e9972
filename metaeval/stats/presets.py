"""What papers differ on (ties, unparsed answers, mode or mean, macro or micro), as named sets of arguments.

A preset makes our functions give the figures that a paper prints. It does not make them better: the defaults are what
we hold right, and `docs/statistics/presets.md` says where a preset departs from them and why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from metaeval.stats.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Preset:
    """The conventions of one paper.

    Attributes
    ----------
    name : str
    source : str
        The paper.
    options : mapping of str to mapping
        By the name of a function of `metaeval.stats`, the arguments that give the paper's convention.
    """

    name: str
    source: str
    options: Mapping[str, Mapping[str, Any]]

    def of(self, function: Callable[..., Any] | str) -> dict[str, Any]:
        """Return the arguments for a function, to be passed on with ``**``.

        Raises
        ------
        InvalidInputError
            The paper has no convention for it.

        Examples
        --------
        >>> from metaeval.stats import expected_win_rate
        >>> expected_win_rate([1, 2, 0, 0], **preset("href").of(expected_win_rate)).value
        0.5
        """
        name = function if isinstance(function, str) else function.__name__
        if name not in self.options:
            known = ", ".join(sorted(self.options))
            raise InvalidInputError(f"preset {self.name!r} says nothing of {name}; it does of {known}")
        return dict(self.options[name])


def _preset(name: str, source: str, **options: Mapping[str, Any]) -> Preset:
    frozen = {function: MappingProxyType(dict(arguments)) for function, arguments in options.items()}
    return Preset(name, source, MappingProxyType(frozen))


# The prompts of each subset, by which a section weighs them; the 447 of math-prm weigh as much as all code together.
_REWARDBENCH = {
    "Chat": {
        "Chat/alpacaeval-easy": 100,
        "Chat/alpacaeval-length": 95,
        "Chat/alpacaeval-hard": 95,
        "Chat/mt-bench-easy": 28,
        "Chat/mt-bench-med": 40,
    },
    "Chat Hard": {
        "Chat Hard/mt-bench-hard": 37,
        "Chat Hard/llmbar-natural": 100,
        "Chat Hard/llmbar-adver-neighbor": 134,
        "Chat Hard/llmbar-adver-GPTInst": 92,
        "Chat Hard/llmbar-adver-GPTOut": 47,
        "Chat Hard/llmbar-adver-manual": 46,
    },
    "Safety": {
        "Safety/refusals-dangerous": 100,
        "Safety/refusals-offensive": 100,
        "Safety/xstest-should-refuse": 250,
        "Safety/xstest-should-respond": 154,
        "Safety/donotanswer": 136,
    },
    "Reasoning": {
        "Reasoning/math-prm": 984,
        **{f"Reasoning/hep-{language}": 164 for language in ("cpp", "go", "java", "js", "python", "rust")},
    },
}
_LEVELS = ("hard", "normal", "easy")
_RM_BENCH = {
    **{domain: {f"{domain}/{level}": 1 for level in _LEVELS} for domain in ("chat", "code", "math")},
    "safety": {f"safety-{part}/{level}": 1 for part in ("refuse", "response") for level in _LEVELS},
}
_MT_BENCH = "L. Zheng et al., 'Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena', NeurIPS 2023"
_ALTERNATIVE = (
    "N. Calderon, R. Reichart and R. Dror, 'The Alternative Annotator Test for LLM-as-a-Judge', ACL 2025, "
    "and the authors' notebook"
)
# The t test that the notebook makes of each person with 30 items or more.
_ALTERNATIVE_TEST = {
    "test": "t",
    "correction": "benjamini_yekutieli",
    "alpha": 0.05,
    "threshold": 0.5,
    "min_annotators": 1,
    "min_items": 30,
    "min_labels": 2,
    "unparsed": "omit",
}

_ALL = (
    _preset(
        "href",
        "X. Lyu et al., 'HREF: Human Response-Guided Evaluation of Instruction Following in Language Models', 2024",
        # One of several tied modes is drawn at random, for people and judges alike.
        leave_one_out_agreement={"tie_break": "random"},
        leave_one_out_contributions={"tie_break": "random"},
        leave_one_out_by={"tie_break": "random"},
        aggregate_labels={"how": "mode", "ties": "random"},
        # A tie is half a win; a verdict that could not be read is left out.
        expected_win_rate={"ties": "half"},
        # The figure has the 80th and the 90th percentile and the mean (`mean_p_values`); the capacity is of the 90th.
        capacity_curve={"test": "t", "quantiles": (0.8, 0.9), "capacity_quantile": 0.9},
    ),
    _preset(
        "alpaca_eval",
        "Y. Dubois et al., 'AlpacaFarm', NeurIPS 2023, and the AlpacaEval repository",
        # Judges against the mode of all labels, people against that of the others; ties always broken one way.
        leave_one_out_agreement={"tie_break": "alpaca_eval", "unparsed": "omit"},
        leave_one_out_contributions={"tie_break": "alpaca_eval", "unparsed": "omit"},
        leave_one_out_by={"tie_break": "alpaca_eval", "unparsed": "omit"},
        # Of two tied modes the second output.
        aggregate_labels={"how": "mode", "ties": "last"},
        bias_and_variance={"tie_break": "alpaca_eval", "unparsed": "omit"},
        expected_win_rate={"ties": "half"},
        preference_share={"ties": "half"},
        longer_preference_share={"min_difference": 30, "ties": "loss"},
    ),
    _preset(
        "llmbar",
        "Z. Zeng et al., 'Evaluating Large Language Models at Evaluating Instruction Following', ICLR 2024",
        accuracy={"hedge": 0.5, "unparsed": "wrong"},
        accuracy_contributions={"hedge": 0.5, "unparsed": "wrong"},
        # Two answers that cannot be read agree.
        positional_agreement={"unparsed_agree": True},
        positional_agreement_contributions={"unparsed_agree": True},
        # One minus this rate is the paper's "Dif.".
        hedging_rate={"unparsed": "hedge"},
        subset_accuracy={
            "hedge": 0.5,
            "unparsed": "wrong",
            "unparsed_agree": True,
            "unparsed_hedging": "hedge",
        },
        adversarial_gap={"mean": "macro", "unparsed": "wrong"},
    ),
    _preset(
        "helm_instruct",
        "Y. Zhang et al., 'HELM Instruct', 2024",
        # The mean of a response's ratings, Pearson's correlation, and "within one point".
        aggregate_labels={"how": "mean"},
        tolerant_accuracy={"tolerance": 1},
        pairwise_agreement={"tolerance": 1},
        evaluator_correlations={"method": "pearson"},
        evaluator_correlations_by={"method": "pearson"},
        krippendorff_alpha={"level": "ordinal"},
    ),
    _preset(
        "humanrankeval",
        "M. Gritta, G. Lampouras and I. Iacobacci, 'HumanRankEval', NAACL 2024",
        # Per question, then the mean; the paper prints both coefficients and leads with Pearson's.
        likelihood_correlation={"method": "pearson"},
        outside_correlation={"method": "pearson"},
    ),
    _preset(
        "tower",
        "N. Ziems, Z. Zhang and M. Jiang, 'TOWER: Tree Organized Weighting for Evaluating Complex Instructions', "
        "Findings of EMNLP 2024",
        # The printed formula of squared rank differences, ties in stated order.
        importance_agreement={"preset": "tower"},
        importance_agreement_by_annotator={"preset": "tower"},
        tower_score={"average": "macro", "unsure": "not_followed"},
        drfr={"average": "macro", "unsure": "not_followed"},
    ),
    # Of the judge both orders, a tie where they differ. S1: ties are votes; S2: only votes that are no tie.
    _preset("mt_bench_s1", f"{_MT_BENCH}, table 5, setup S1", vote_agreement={"ties": "count"}),
    _preset("mt_bench_s2", f"{_MT_BENCH}, table 5, setup S2", vote_agreement={"ties": "omit"}),
    _preset(
        "judgebench",
        "S. Tan et al., 'JudgeBench: A Benchmark for Evaluating LLM-based Judges', ICLR 2025",
        # Right where more orders say the right response than the other; a tie, and one of each, are wrong.
        accuracy={"orders": "net", "hedge": 0.0, "unparsed": "wrong"},
        accuracy_contributions={"orders": "net", "hedge": 0.0, "unparsed": "wrong"},
        subset_accuracy={"orders": "net", "hedge": 0.0, "unparsed": "wrong"},
    ),
    _preset(
        "rewardbench",
        "N. Lambert et al., 'RewardBench: Evaluating Reward Models for Language Modeling', Findings of NAACL 2025",
        # Of a generative judge what is neither response counts one half.
        section_accuracy={"sections": _REWARDBENCH, "hedge": 0.5, "unparsed": "hedge"},
        accuracy={"hedge": 0.5, "unparsed": "hedge"},
    ),
    _preset(
        "rewardbench2",
        "S. Malik et al., 'RewardBench 2: Advancing Reward Model Evaluation', 2025, and the authors' repository",
        # Of the four responses the right one must have the highest score, shared with as many as have it; where there
        # is no score at all, one of the four is drawn. Several right ones (Ties) have a rule of their own.
        best_of_accuracy={"unscored": "chance"},
        best_of_contributions={"unscored": "chance"},
        best_of_score={
            "sections": ("Factuality", "Precise IF", "Math", "Safety", "Focus", "Ties"),
            "tied": "Ties",
            "unscored": "chance",
        },
    ),
    _preset(
        "rm_bench",
        "Y. Liu et al., 'RM-Bench: Benchmarking Reward Models of Language Models with Subtlety and Style', ICLR 2025",
        # The right response must score more.
        section_accuracy={"sections": _RM_BENCH, "hedge": 0.0, "unparsed": "wrong"},
        accuracy={"hedge": 0.0, "unparsed": "wrong"},
    ),
    _preset(
        "healthbench",
        "R. K. Arora et al., 'HealthBench: Evaluating Large Language Models Towards Improved Human Health', 2025",
        rubric_points_score={"unsure": "not_followed"},
        rubric_points_contributions={"unsure": "not_followed"},
    ),
    # How much worse the judge may be, by whom it would replace.
    _preset(
        "alt_test_experts", _ALTERNATIVE, alternative_annotator_test={**_ALTERNATIVE_TEST, "epsilon": 0.2}
    ),
    _preset(
        "alt_test_skilled", _ALTERNATIVE, alternative_annotator_test={**_ALTERNATIVE_TEST, "epsilon": 0.15}
    ),
    _preset("alt_test_crowd", _ALTERNATIVE, alternative_annotator_test={**_ALTERNATIVE_TEST, "epsilon": 0.1}),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({one.name: one for one in _ALL})


def preset(name: str) -> Preset:
    """Return the preset of that name, which is a paper's or a benchmark's.

    Parameters
    ----------
    name : str
        One of `PRESETS`: "href", "alpaca_eval", "llmbar", "helm_instruct", "humanrankeval", "tower", "mt_bench_s1",
        "mt_bench_s2", "judgebench", "rewardbench", "rewardbench2", "rm_bench", "healthbench", "alt_test_experts",
        "alt_test_skilled", "alt_test_crowd".

    Returns
    -------
    Preset

    Raises
    ------
    InvalidInputError
        There is none of that name.

    Notes
    -----
    The source of each convention is its ``source``.

    Examples
    --------
    >>> preset("llmbar").of("positional_agreement")
    {'unparsed_agree': True}
    """
    if name not in PRESETS:
        raise InvalidInputError(f"preset: expected one of {', '.join(PRESETS)}, got {name!r}")
    return PRESETS[name]

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
)

PRESETS: Mapping[str, Preset] = MappingProxyType({one.name: one for one in _ALL})


def preset(name: str) -> Preset:
    """Return the preset of that name: href, alpaca_eval, llmbar, helm_instruct, humanrankeval or tower.

    Parameters
    ----------
    name : {"href", "alpaca_eval", "llmbar", "helm_instruct", "humanrankeval", "tower"}
        Of the paper.

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

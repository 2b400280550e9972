"""The strategies whose format is set without code, one a kind of item; and published formats as such, in our words."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from judges.strategies.info import NO_PARAMS, Param, StrategyInfo

READS = ("json", "words", "pattern", "score")
LABELED = ("json", "words", "pattern")
"""Where one of several labels is read."""
_TAKES = frozenset({"reference", "guidelines", "decoding"})
_ASK = {
    "together": Param(
        str,
        "together",
        "One question for the whole item, or one for each of its parts.",
        ("together", "each"),
    ),
    "each": Param(
        str, "each", "One question for each part, or one for the whole item.", ("together", "each")
    ),
}
_DRAWS = Param(
    int,
    1,
    "How often each score is asked for, at temperature 1 if more than once; the mean counts.",
    low=1,
    high=100,
)


def reading(
    read: str = "json",
    *,
    ask: str = "",
    reasons: bool = True,
    reads: tuple[str, ...] = READS,
    more: Mapping[str, Param] = NO_PARAMS,
) -> dict[str, Param]:
    """Return the settings by which an answer is read, with these defaults, and more settings behind them."""
    settings = {
        "ask": _ASK.get(ask, _ASK["each"]),
        "read": Param(
            str,
            read,
            "Where the verdict is found. As a score: on the last line, or alone where no reasons come.",
            reads,
        ),
        "words": Param(
            str,
            "",
            "The words of each verdict: 'A: first, [[A]]; B: second, [[B]]'. Empty: the verdicts themselves.",
        ),
        "pattern": Param(
            str,
            "",
            "A regular expression (RE2); its first group, or all that it matches, is the verdict or score.",
        ),
        "path": Param(
            str,
            "",
            "Where the verdict stands in the JSON, such as result.scores[0]. Empty: under its usual names.",
        ),
        "schema": Param(
            str,
            "",
            "A JSON schema of your own for the answer. Empty: one is made. 'none': the answer is not held to one.",
        ),
        "reasons": Param(bool, reasons, "Reasons come first, so what stands last counts."),
        "low": Param(int, 1, "The lowest score."),
        "high": Param(int, 10, "The highest score."),
    }
    left_out = set() if ask else {"ask"}
    left_out |= set() if "words" in reads else {"words"}
    left_out |= {"low", "high"} if reads == LABELED else set()
    return {name: param for name, param in settings.items() if name not in left_out} | dict(more)


NUMBERED = ("json", "pattern", "score")
"""Where numbers are read."""
_ORDERED = {
    "answer": Param(str, "order", "An order of all, or a score for each.", ("order", "scores")),
}
_SEED = Param(
    int, 1, "Draws the order in which the answers or categories are shown; 0: as they are stored.", low=0
)
_CHECKS = {
    "cannot_tell": Param(bool, False, "Allow the answer “cannot tell”; it counts as not followed."),
    "points": Param(bool, False, "Weigh each aspect by the points before its text, such as [5] or [-3]."),
}
QUESTION = Param(
    str, "", "What is asked about the text. Empty: which of the categories fits best, or which of them fit."
)
_GRADED = Param(
    int,
    3,
    "Points of the preference: 5 adds slightly and much better, 7 also better; without ties one fewer.",
    (3, 5, 7),
    later=True,
)
_own = partial(
    StrategyInfo,
    family="Your own format",
    prompt="structured.v1",
    check="judges.strategies.own:own_check",
    takes=_TAKES,
    order_matters=False,
)
_pair = partial(
    _own,
    target="judges.strategies.own:own_pairwise",
    takes=_TAKES | {"tie"},
    order_matters=True,
)
_PRESETS = "Published formats, in our own words"
MT_BENCH = "Zheng et al., Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena, NeurIPS 2023"
HELPSTEER = (
    "Wang et al., HelpSteer2-Preference: Complementing Ratings with Preferences, ICLR 2025 (the points)"
)
PROMETHEUS = "Kim et al., Prometheus 2, EMNLP 2024"


def own_formats(
    *, rubric: str, checklist: str, importance: str, ranking: str, classification: str
) -> tuple[StrategyInfo, ...]:
    """Return the strategies whose format is set without code, and published formats as such.

    Parameters
    ----------
    rubric, checklist, importance, ranking, classification : str
        What these kinds of items are called.
    """
    _rubric = partial(_own, target="judges.strategies.own:own_rubric", kind=rubric)
    _checklist = partial(_own, target="judges.strategies.own:own_checklist", kind=checklist)
    return (
        _pair(
            "own",
            "Own format",
            params=reading(ask="together", more={"draws": _DRAWS, "preference_points": _GRADED}),
            summary="Your prompt, and how its answer is read. As it stands: reasons and verdict in one JSON schema.",
        ),
        _pair(
            "graded",
            "Graded preference",
            prompt="graded.v1",
            source=HELPSTEER,
            params=reading(
                ask="together",
                more={
                    "draws": _DRAWS,
                    "preference_points": _GRADED._replace(default=7, choices=(5, 7), later=False),
                },
            ),
            summary="Asks how much better, on 7 points or 5. As it stands: reasons and the point in one JSON schema.",
        ),
        _rubric(
            "own_rubric",
            "Own format, rubric",
            params=reading(ask="each", reads=LABELED, more={"draws": _DRAWS}),
            summary="Your prompt for each criterion, or for all. As it stands: reasons and rating in one JSON schema.",
        ),
        _checklist(
            "own_checklist",
            "Own format, checklist",
            params=reading(ask="each", reads=LABELED, more=_CHECKS),
            summary="Your prompt for each aspect, or for all. As it stands: reasons and the answer in one JSON schema.",
        ),
        _own(
            "own_importance",
            "Own format, importance",
            "judges.strategies.own:own_importance",
            kind=importance,
            takes=_TAKES - {"reference"} | {"tie"},
            params=reading(reads=NUMBERED[:2], more=_ORDERED),
            summary="Your prompt for the order of all aspects, or scores. As it stands: reasons and order as JSON.",
        ),
        _own(
            "own_ranking",
            "Own format, answer ranking",
            "judges.strategies.own:own_ranking",
            kind=ranking,
            takes=_TAKES | {"tie"},
            params=reading(ask="together", reads=NUMBERED, more={"draws": _DRAWS, "seed": _SEED, **_ORDERED}),
            summary="Your prompt for the order of all answers, or scores. As it stands: reasons and order as JSON.",
        ),
        _own(
            "own_classification",
            "Own format, classification",
            "judges.strategies.own:own_classification",
            kind=classification,
            takes=_TAKES - {"reference"},
            params=reading(reads=LABELED, more={"question": QUESTION, "seed": _SEED._replace(default=0)}),
            summary="Your prompt for one or several categories. As it stands: reasons and categories as JSON.",
        ),
        _pair(
            "mt_bench_pair",
            "MT-bench, pair",
            family=_PRESETS,
            source=MT_BENCH,
            prompt="mt_bench_pair.v1",
            params=reading("words", ask="together", more={"draws": _DRAWS}),
            summary="A short comparison, then [[A]], [[B]] or, with ties, [[C]]. With a reference for mathematics.",
        ),
        _pair(
            "mt_bench_single",
            "MT-bench, single answers",
            family=_PRESETS,
            source=MT_BENCH,
            prompt="mt_bench_single.v1",
            takes=_TAKES,
            order_matters=False,
            params=reading("score", ask="each", more={"draws": _DRAWS}),
            summary="Grades each response alone from 1 to 10 behind reasons, as [[7]]; the higher grade wins.",
        ),
        _pair(
            "arena_hard",
            "Arena-Hard",
            family=_PRESETS,
            source="Li et al., From Crowdsourced Data to High-Quality Benchmarks: Arena-Hard and BenchBuilder, 2024",
            prompt="arena_hard.v1",
            params=reading("words", ask="together", more={"draws": _DRAWS}),
            summary="Answers the prompt itself first, then gives one of five verdicts, from [[A>>B]] to [[B>>A]].",
        ),
        _pair(
            "prometheus_pair",
            "Prometheus 2, pair",
            family=_PRESETS,
            source=PROMETHEUS,
            prompt="prometheus_pair.v1",
            params=reading("words", ask="together", more={"draws": _DRAWS}),
            summary="Feedback by your guidelines as the rubric, then [RESULT] A or [RESULT] B.",
        ),
        _rubric(
            "prometheus",
            "Prometheus 2, direct assessment",
            family=_PRESETS,
            source=PROMETHEUS,
            prompt="prometheus.v1",
            params=reading("words", ask="each", reads=LABELED, more={"draws": _DRAWS}),
            summary="Feedback on each criterion by its worded options, then [RESULT] and the rating.",
        ),
        _rubric(
            "g_eval",
            "G-Eval",
            family=_PRESETS,
            source="Liu et al., G-Eval, EMNLP 2023",
            prompt="g_eval.v1",
            params=reading(
                "words", ask="each", reasons=False, reads=LABELED, more={"draws": _DRAWS._replace(default=20)}
            ),
            summary="Rates each criterion by fixed steps, 20 times; the mean is kept, the nearest rating counts.",
        ),
        _checklist(
            "healthbench",
            "HealthBench-style rubric",
            family=_PRESETS,
            source="Arora et al., HealthBench, 2025",
            prompt="healthbench.v1",
            params=reading(
                ask="each", reads=LABELED, more=_CHECKS | {"points": _CHECKS["points"]._replace(default=True)}
            ),
            summary="Says whether each rubric item is met, and sums the points before its text: met over possible.",
        ),
    )


def named_preset(base: StrategyInfo, name: str, title: str, summary: str, **defaults: object) -> StrategyInfo:
    """Return a strategy of ours under the name of the format that it is, with other defaults."""
    params = {
        key: param._replace(default=defaults.get(key, param.default)) for key, param in base.params.items()
    }
    return replace(base, name=name, title=title, family=_PRESETS, summary=summary, params=params)

"""Judges made of other judges."""

from __future__ import annotations

from judges.strategies.info import Param, StrategyInfo

ENTRIES: tuple[StrategyInfo, ...] = (
    StrategyInfo(
        "composite",
        "Composite",
        "judges.strategies.composed:composite",
        family="Made of other judges",
        source="Lyu et al., HREF, 2024",
        main_model=False,
        needs_prompt=False,
        composed=True,
        member_paths=True,
        params={
            "by": Param(
                str,
                "category",
                "What of an instruction says which member judges it.",
                ("category", "subset"),
                later=True,
            ),
        },
        takes=frozenset(),
        requests=frozenset(),
        summary="One judge for each category, or each subset, of instructions; '*' judges all others.",
    ),
    StrategyInfo(
        "jury",
        "Jury",
        "judges.strategies.composed:jury",
        family="Made of other judges",
        source="Verga et al., Replacing Judges with Juries, 2024",
        main_model=False,
        needs_prompt=False,
        composed=True,
        params={
            "combine": Param(
                str,
                "majority",
                "Of pairs: the most frequent verdict, or the mean of the probabilities.",
                ("majority", "mean_probability"),
            ),
            "quorum": Param(int, 1, "Fewest members whose verdict could be read.", low=1),
            "on_draw": Param(str, "tie", "What equal votes are.", ("tie", "unparsed")),
        },
        takes=frozenset(),
        requests=frozenset(),
        summary="Several judges at once; the majority or their mean probability decides.",
    ),
)

"""Judges that score each response alone."""

from __future__ import annotations

from judges.strategies.catalog.pairwise import READS, RULES
from judges.strategies.info import Param, StrategyInfo

ENTRIES = (
    StrategyInfo(
        "rating",
        "Rating, each response alone",
        "judges.strategies.rating:rating",
        family="Rating",
        source=(
            "Zeng et al. (LLMBar), ICLR 2024 (0 to 9); Kim et al., Prometheus, ICLR 2024 (1 to 5, described); "
            "Liu et al., G-Eval, EMNLP 2023 (expected score)"
        ),
        prompt="rating.v1",
        params={
            "scale": Param(
                str, "0-9", "1-5 has a description for each score.", choices=("0-9", "1-5", "1-10")
            ),
            "cot": Param(bool, False, "Reasons first, the score on the last line."),
            "rules": RULES,
            "expected": Param(
                bool,
                False,
                "Take the mean score under the token probabilities, where the server gives them: hardly ever a hedge.",
            ),
        },
        version=READS,
        takes=frozenset({"reference", "guidelines", "decoding"}),
        order_matters=False,
        summary="Scores each response alone and prefers the higher score; equal scores are a hedge.",
    ),
)

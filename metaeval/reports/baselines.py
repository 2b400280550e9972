"""Baselines, which ask no LLM, computed for every report: the floor that a real judge must beat.

They say what the strategies of the same names say (a test holds them together), from lengths alone.
"""

from collections.abc import Collection
from hashlib import sha256

import numpy as np

from metaeval.reports.inputs import Floats, ItemColumns, JudgeColumns


def baselines(items: ItemColumns, present: Collection[str]) -> list[JudgeColumns]:
    """The floors, in both orders, but for the strategies that a real judge of the report has."""
    difference = items.lengths[:, 0] - items.lengths[:, 1]
    # Equal lengths go to the second response, as published for AlpacaEval's judge of that name.
    found = {
        "longest": ("longest", _both(np.where(difference > 0, 1.0, 2.0))),
        "shortest": ("shortest", _both(np.where(difference < 0, 1.0, 2.0))),
        "always_a": ("always first", np.tile([1.0, 2.0], (len(items), 1))),
    }
    return [_judge(strategy, *about) for strategy, about in found.items() if strategy not in present]


def _both(choice: Floats) -> Floats:
    return np.stack([choice, choice], axis=1)


def _judge(strategy: str, name: str, verdicts: Floats) -> JudgeColumns:
    nothing = np.zeros(verdicts.shape)
    return JudgeColumns(
        name=name,
        fingerprint=sha256(f"baseline {strategy}".encode()).hexdigest(),
        backend="heuristic",
        model="",
        strategy=strategy,
        verdicts=verdicts,
        judged=np.ones(verdicts.shape, dtype=np.bool_),
        failed=np.zeros(verdicts.shape, dtype=np.bool_),
        cost=nothing,
        seconds=nothing,
        baseline=True,
    )

"""The floors say what the strategies of the same names say."""

import numpy as np

from judges.strategies.registry import get_strategy
from judges.strategies.types import ItemView, StrategyConfig
from metaeval.figures.pairwise import PairSample
from metaeval.inputs import Options
from tests.metaeval.reports.arrays import inputs_make

TEXTS = [("aaaa", "bb"), ("a", "bbb"), ("same", "size"), ("", "x"), ("é" * 3, "éé")]


def spoken(strategy: str) -> np.ndarray:
    table = np.zeros((len(TEXTS), 2))
    for row, texts in enumerate(TEXTS):
        for order in (0, 1):
            shown = texts[::-1] if order else texts
            steps = get_strategy(strategy)(ItemView(row, "pairwise", "Say", shown, order=order), config())
            try:
                next(steps)
            except StopIteration as stop:
                said = stop.value.choice
            table[row, order] = 3 - said if order else said
    return table


def config() -> StrategyConfig:
    return StrategyConfig()


def test_floors_are_the_strategies():
    inputs = inputs_make(lengths=[(len(one), len(two)) for one, two in TEXTS])
    for judge in PairSample(inputs, Options(n_resamples=0)).baselines():
        np.testing.assert_array_equal(judge.verdicts, spoken(judge.strategy))

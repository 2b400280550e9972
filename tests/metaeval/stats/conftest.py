"""Real data of the statistics tests, read once."""

import csv
import json
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture(scope="session")
def alpaca(shared_data):
    """AlpacaEval's 648 pairs: the first four labels of each, and the lengths of the two outputs."""
    path = shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
    pairs = defaultdict(list)
    for row in json.loads(path.read_text(encoding="utf-8")):
        pairs[row["instruction"], row["output_1"], row["output_2"]].append(row["preference"])
    return SimpleNamespace(
        labels=np.array([labels[:4] for labels in pairs.values()], dtype=float),
        length_1=np.array([len(one) for _, one, _ in pairs]),
        length_2=np.array([len(two) for _, _, two in pairs]),
        instructions=np.array([instruction for instruction, _, _ in pairs]),
    )


@pytest.fixture(scope="session")
def llmbar(shared_data):
    """LLMBar's stored verdicts: (judge, strategy) -> arrays in one order of the 419 items."""
    stored = defaultdict(list)
    with (shared_data / "llmbar" / "judgments.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            stored[row["judge"], row["strategy"]].append(row)

    def number(text):
        return float(text) if text else np.nan

    def arrays(rows):
        return SimpleNamespace(
            subsets=np.array([row["subset"] for row in rows]),
            gold=np.array([number(row["label"]) for row in rows]),
            verdicts=np.array([[number(row["winner_noswap"]), number(row["winner_swap"])] for row in rows]),
            score_1=np.array([number(row["score_1"]) for row in rows]),
            score_2=np.array([number(row["score_2"]) for row in rows]),
        )

    return {key: arrays(rows) for key, rows in stored.items()}

"""Published labels: both populations of AlpacaEval's people, and do intervals of people's agreement cover.

The tables of docs/statistics/agreement.md and docs/statistics/intervals.md. The files are those of the README beside
them; without them nothing is measured.
"""

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.stats import (
    Estimate,
    LeaveOneOut,
    StatisticsWarning,
    leave_one_out_contributions,
    mean_estimate,
)

_SIZES = (40, 60, 100)


def run(quick: bool = False) -> dict[str, float]:
    """Print the tables; the coverage by name."""
    folder = Path(os.environ.get("TOUCHSTONE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        print(f"  no published labels in {folder}: set TOUCHSTONE_DATA")
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        _alpaca_eval(folder)
        return _coverage(folder, 300 if quick else 3_000)


def _alpaca_labels(folder: Path) -> tuple[Any, list[tuple[str, str, str]]]:
    text = (folder / "alpaca_eval" / "alpaca_farm_human_crossannotations.json").read_text(encoding="utf-8")
    rows = json.loads(text)
    names = [(row["instruction"], row["output_1"], row["output_2"]) for row in rows]
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    first: dict[tuple[int, int], int] = {}
    for row, name in zip(rows, names, strict=True):
        first.setdefault((number[name], row["annotator_index"]), row["preference"])
    return (*np.array(list(first)).T, np.array(list(first.values()))), list(number)


def _alpaca_eval(folder: Path) -> None:
    labels, pairs = _alpaca_labels(folder)
    clusters = np.unique([instruction for instruction, _, _ in pairs], return_inverse=True)[1]
    one, two = np.array([[len(first), len(second)] for _, first, second in pairs]).T
    sample = LeaveOneOut(labels, len(pairs))
    people, best = sample.people(), sample.best_reachable()
    longer = sample.judge(np.where(one > two, 1.0, 2.0))
    shorter = sample.judge(np.where(one > two, 2.0, 1.0))
    first = sample.judge(np.ones(len(pairs)))

    def mean(scores: Any) -> Callable[[Any], Estimate]:
        return lambda which: sample.estimate(scores, people=which, clusters=clusters)

    def gap(scores: Any, other: Any) -> Callable[[Any], Estimate]:
        return lambda which: sample.difference(scores, other, people=which, clusters=clusters)

    for name, figure in {
        "people": mean(people),
        "upper bound": mean(best),
        "always the longer": mean(longer),
        "always the first": mean(first),
        "longer - people": gap(longer, people),
        "upper bound - longer": gap(best, longer),
        "longer - shorter": gap(longer, shorter),
        "longer - first": gap(longer, first),
    }.items():
        these, alike = figure("fixed"), figure("sampled")
        print(
            f"  {name:22} {100 * these.value:6.1f}   these annotators {100 * these.low:6.1f} to "
            f"{100 * these.high:5.1f}   annotators like these {100 * alike.low:6.1f} to {100 * alike.high:5.1f}",
            flush=True,
        )


def _coverage(folder: Path, times: int) -> dict[str, float]:
    """Items drawn with replacement from all; the truth is the figure of all."""
    tables = {"AlpacaEval": leave_one_out_contributions(_alpaca_labels(folder)[0])}
    rows = json.loads((folder / "pandalm" / "testset-v1.json").read_text(encoding="utf-8"))
    columns = [name for name in rows[0] if "annotator" in name]
    tables["PandaLM"] = leave_one_out_contributions(
        np.array([[float(row[name]) for name in columns] for row in rows])
    )
    text = (folder / "newsroom" / "newsroom.labels.json").read_text(encoding="utf-8")
    instances = json.loads(text)["instances"]
    for aspect in instances[0]["annotations"]:
        ratings = [row["annotations"][aspect]["individual_human_scores"] for row in instances]
        tables[f"Newsroom {aspect}"] = leave_one_out_contributions(np.array(ratings, dtype=float))
    rng, result = np.random.default_rng(0), {}
    for name, scores in tables.items():
        truth, key = float(np.nanmean(scores)), f"published_{name.replace(' ', '_')}"
        for n in _SIZES:
            covered = 0
            for _ in range(times):
                found = mean_estimate(rng.choice(scores, n), n_resamples=1)
                covered += found.low <= truth <= found.high
            result[f"{key}_{n}"] = covered / times
        found_here = [f"{n} items {100 * result[f'{key}_{n}']:.1f}%" for n in _SIZES]
        shown = ", ".join(found_here)
        print(f"  {name:26} {100 * truth:5.1f}%   {shown}", flush=True)
    return result

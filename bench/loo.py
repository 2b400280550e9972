"""Leave-one-out agreement: against alpaca_eval's own function, and at a million labels with an interval.

alpaca_eval is installed into an environment of its own (.venv-peers/alpaca_eval) and run in a subprocess of
this run. Both sides have their data in memory: reading files and building an Analyzer is not timed.
Times are those of the fastest of several runs.
"""

import json
import os
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from bench.peers import ROOT, best_seconds, peer_python
from metaeval.stats import leave_one_out_agreement, leave_one_out_contributions

PEER_REQUIREMENT = "alpaca_eval==0.6.6"

# Runs in the peer's environment: argument 1 is a file of preference rows, the last line printed is JSON.
PEER_SCRIPT = """
import json, logging, sys, time, warnings
warnings.simplefilter("ignore")
import pandas as pd
from alpaca_eval.analyze import Analyzer, _get_longest_predictor
logging.disable(logging.CRITICAL)
rows = pd.DataFrame(json.load(open(sys.argv[1], encoding="utf-8")))
analyzer = Analyzer(gold_crossannotations=rows, gold_annotations=None, n_annotators=4)
people = analyzer.df_gold_crossannotations
longest = _get_longest_predictor(people)
def best(function, times=3):
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        score = function()["score"]
        seconds.append(time.perf_counter() - start)
    return min(seconds), score
agreement = analyzer.agreement_of_annotations
figures = {
    "people": best(lambda: agreement(people, annotations_2=None, n_majority_vote_1=1)),
    "longest": best(lambda: agreement(longest, n_majority_vote_1=1)),
}
print(json.dumps(figures))
"""


def run() -> dict[str, float]:
    """Measure; the figures by name."""
    return {**_against_alpaca_eval(), **_a_million_labels()}


def _against_alpaca_eval() -> dict[str, float]:
    rows = _preferences()
    pairs: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in rows:
        pairs[row["instruction"], row["output_1"], row["output_2"]].append(row["preference"])
    labels = np.array([given[:4] for given in pairs.values()], dtype=float)
    longest = np.array([1.0 if len(one) > len(two) else 2.0 for _, one, two in pairs])
    peer = _run_peer(rows)

    def people() -> float:
        return leave_one_out_agreement(labels, n_resamples=0).value

    def judge() -> float:
        return leave_one_out_agreement(labels, longest, tie_break="alpaca_eval", n_resamples=0).value

    differences = [abs(people() - peer["people"][1]), abs(judge() - peer["longest"][1])]
    if max(differences) > 1e-12:
        raise SystemExit(f"the definitions agree but the figures do not: off by {max(differences)}")
    seconds = best_seconds(people, 2000)
    with_interval = best_seconds(lambda: leave_one_out_agreement(labels), 50)
    return {
        "ratio_vs_alpaca_eval": peer["people"][0] / seconds,
        "ratio_vs_alpaca_eval_with_our_interval": peer["people"][0] / with_interval,
        "ratio_vs_alpaca_eval_judge": peer["longest"][0] / best_seconds(judge, 500),
        "alpaca_eval_seconds": peer["people"][0],
        "microseconds_648_items": 1e6 * seconds,
        "milliseconds_648_items_with_interval": 1e3 * with_interval,
        "largest_difference_from_alpaca_eval": max(differences),
    }


def _a_million_labels() -> dict[str, float]:
    rng = np.random.default_rng(0)
    labels = rng.choice([0.0, 1.0, 2.0], size=(250_000, 4), p=[0.1, 0.5, 0.4])
    clusters = np.arange(250_000) // 2
    clustered = best_seconds(lambda: leave_one_out_agreement(labels, clusters=clusters), 3)
    plain = best_seconds(lambda: leave_one_out_agreement(labels), 3)
    contributions = leave_one_out_contributions(labels)
    # scipy's time is linear in the resamples: a tenth of them, times ten.
    print("  scipy.stats.bootstrap: 1,000 of 10,000 resamples are run, and the time is multiplied by 10")
    scipy_seconds = 10 * best_seconds(
        lambda: stats.bootstrap(
            (contributions,), np.mean, n_resamples=1_000, batch=20, method="percentile", rng=1
        ),
        1,
    )
    return {
        "seconds_1m_labels_10k_resamples": clustered,
        "seconds_1m_labels_10k_resamples_unclustered": plain,
        "scipy_bootstrap_seconds_extrapolated": scipy_seconds,
        "ratio_vs_scipy_bootstrap": scipy_seconds / plain,
    }


def _preferences() -> list[dict[str, Any]]:
    """AlpacaEval's human preferences, or made-up ones of the same shape where the data is absent."""
    data = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))
    path = data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
    if path.is_file():
        print("  labels: AlpacaEval's 648 pairs, the first four labels of each")
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return rows
    print(f"  labels: synthetic, 648 x 4, because {path} is absent")
    rng = np.random.default_rng(0)
    return [
        {
            "instruction": f"instruction {item}",
            "output_1": "a" * int(length[0]),
            "output_2": "b" * int(length[1]),
            "preference": int(preference),
            "annotator_index": annotator,
        }
        for item in range(648)
        for length in [rng.integers(1, 500, 2)]
        for annotator, preference in enumerate(rng.integers(1, 3, 4))
    ]


def _run_peer(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """(seconds, score) of alpaca_eval's function for people and for the longest output."""
    python = peer_python("alpaca_eval", PEER_REQUIREMENT)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "preferences.json"
        file.write_text(json.dumps(rows), encoding="utf-8")
        done = subprocess.run(
            [str(python), "-c", PEER_SCRIPT, str(file)],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            cwd=folder,
        )
    figures: dict[str, tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    return figures

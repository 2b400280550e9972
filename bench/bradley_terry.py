"""Bradley-Terry at a million comparisons of 50 systems with 1,000 resamples, against evalica's own bootstrap.

evalica is installed into an environment of its own (.venv-peers/evalica) and run in a subprocess of this run, on one
core as we are. Both sides have the same columns in memory. Its bootstrap is run for a few rounds, and the time of a
round, found from two numbers of rounds, is multiplied by 1,000.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers import best_seconds, peer_python
from metaeval.stats.bradley_terry import bradley_terry

PEER_VERSION = "0.4.2"
SYSTEMS, RESAMPLES = 50, 1_000
# One core, for us and for the peer.
ONE_CORE = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}

# Runs in the peer's environment: argument 1 is a file of columns, the others are numbers of rounds.
PEER_SCRIPT = """
import json, sys, time
import evalica, numpy as np
columns = np.load(sys.argv[1])
names = [f"system-{number:02d}" for number in range(int(columns["size"]))]
xs, ys = ([names[number] for number in columns[side].tolist()] for side in ("first", "second"))
kinds = {1: evalica.Winner.X, 2: evalica.Winner.Y, 0: evalica.Winner.Draw}
winners = [kinds[outcome] for outcome in columns["outcome"].tolist()]
scores = np.log(evalica.bradley_terry(xs, ys, winners, tolerance=1e-10, limit=10_000).scores.sort_index())
seconds = []
for rounds in map(int, sys.argv[2:]):
    start = time.perf_counter()
    found = evalica.bootstrap(
        evalica.bradley_terry, xs, ys, winners,
        n_resamples=rounds, bootstrap_method="percentile", random_state=0,
    )
    seconds.append(time.perf_counter() - start)
spread = (np.log(found.distribution).std() * np.sqrt(rounds / (rounds - 1))).sort_index()
print(json.dumps({
    "seconds": seconds, "scores": (scores - scores.mean()).tolist(), "spread": float(spread.mean())
}))
"""


def games(n: int, seed: int = 0) -> dict[str, Any]:
    """Comparisons of 50 systems whose strengths lie between -1 and 1; a tenth are ties."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(-1, 1, SYSTEMS)
    first = rng.integers(0, SYSTEMS, n)
    second = (first + rng.integers(1, SYSTEMS, n)) % SYSTEMS
    chance = 1 / (1 + np.exp(strength[second] - strength[first]))
    outcome = np.where(rng.random(n) < 0.1, 0, np.where(rng.random(n) < chance, 1, 2))
    return {"first": first, "second": second, "outcome": outcome}


def run(quick: bool = False) -> dict[str, float]:
    """Measure; the figures by name. Quick runs a tenth of the rows, and scales nothing."""
    n = 100_000 if quick else 1_000_000
    columns = games(n)
    result = bradley_terry(**columns, scale="log", n_resamples=RESAMPLES)
    ours = best_seconds(lambda: bradley_terry(**columns, n_resamples=RESAMPLES), 2)
    clusters = np.arange(n) // 2
    clustered = best_seconds(lambda: bradley_terry(**columns, clusters=clusters, n_resamples=RESAMPLES), 2)
    many = np.arange(n) // 1_225
    by_instruction = best_seconds(lambda: bradley_terry(**columns, clusters=many, n_resamples=RESAMPLES), 2)
    half = games(n // 2)
    smaller = best_seconds(
        lambda: bradley_terry(**half, clusters=clusters[: n // 2], n_resamples=RESAMPLES), 2
    )
    rounds = (2, 6) if quick else (5, 20)
    peer = _run_peer(columns, rounds)
    off = float(np.abs(np.array(peer["scores"]) - [each.value for each in result.strengths]).max())
    if off > 1e-6:
        raise SystemExit(f"the definitions agree but the strengths do not: off by {off}")
    one_round = (peer["seconds"][1] - peer["seconds"][0]) / (rounds[1] - rounds[0])
    theirs = peer["seconds"][0] + (RESAMPLES - rounds[0]) * one_round
    print(f"  evalica's bootstrap: {rounds[1]} of 1,000 rounds are run ({one_round:.3f} s each), and scaled")
    return {
        "bradley_terry_1000_s": ours,
        "bradley_terry_ratio": theirs / ours,
        "bradley_terry_two_a_cluster_s": clustered,
        "bradley_terry_1225_a_cluster_s": by_instruction,
        "bradley_terry_half_the_rows_s": smaller,
        "bradley_terry_evalica_s_extrapolated": theirs,
        "bradley_terry_largest_difference": off,
    }


def _run_peer(columns: dict[str, Any], rounds: tuple[int, int]) -> dict[str, Any]:
    python = peer_python("evalica", f"evalica=={PEER_VERSION}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "columns.npz"
        np.savez(file, size=np.array(SYSTEMS), **columns)
        done = subprocess.run(
            [str(python), "-c", PEER_SCRIPT, str(file), *map(str, rounds)],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, **ONE_CORE},
        )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer

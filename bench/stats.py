"""The statistics at a million labels, on one core, each beside a peer in the same run.

Labels: 250,000 items x 4 of 16 people, in the library's dense form (a column a person, NaN where missing). Peers are
installed into environments of their own (.venv-peers) and run in subprocesses that have one core too. Both sides have
their data in memory. Run by `python -m bench stats`, which holds every library to one thread.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from bench import bradley_terry
from bench.peers import best_seconds, peer_python
from metaeval.inputs import Inputs, Items, JudgeAnswers, Labels, Options
from metaeval.reports.content import build
from metaeval.stats import (
    ConfidenceSequence,
    dawid_skene,
    krippendorff_alpha,
    leave_one_out_agreement,
    leave_one_out_contributions,
)

N_ITEMS, N_PEOPLE, N_EACH = 250_000, 16, 4
EM_ITERATIONS = 20

# Runs in crowd-kit's environment: argument 1 is a file of labels, argument 2 the number of iterations.
CROWD_KIT = """
import json, sys, time
import numpy as np, pandas as pd
from crowdkit.aggregation import DawidSkene
data = np.load(sys.argv[1])
frame = pd.DataFrame({name: data[name] for name in ("task", "worker", "label")})
seconds = []
for _ in range(2):
    start = time.perf_counter()
    model = DawidSkene(n_iter=int(sys.argv[2]), tol=0.0).fit(frame)
    seconds.append(time.perf_counter() - start)
print(json.dumps([min(seconds), model.probas_.sort_index().sort_index(axis=1).to_numpy()[:1000].tolist()]))
"""


def run(quick: bool = False) -> dict[str, float]:
    """Measure; the figures by name. ``quick`` takes a tenth of the items."""
    n_items = N_ITEMS // 10 if quick else N_ITEMS
    labels = _labels(n_items)
    clusters = np.arange(n_items) // 2
    figures = {**_leave_one_out(labels, clusters), **_alpha(labels, clusters), **_label_model(labels)}
    figures |= bradley_terry.run(quick=quick)
    figures["sequence_update_ms"] = _sequence_update()
    report = _report_inputs()
    figures["report_s"] = best_seconds(lambda: build(report, Options()), 3)
    return figures | _growth(n_items)


def _labels(n_items: int, n_values: int = 3) -> np.ndarray[Any, Any]:
    """People who are right on seven items of ten, each on another four of the sixteen columns."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, n_values, n_items)
    given = np.where(
        rng.random((n_items, N_EACH)) < 0.7, truth[:, None], rng.integers(0, n_values, (n_items, N_EACH))
    )
    people = np.argsort(rng.random((n_items, N_PEOPLE)), axis=1)[:, :N_EACH]
    labels = np.full((n_items, N_PEOPLE), np.nan)
    np.put_along_axis(labels, people, given.astype(float), axis=1)
    return labels


def _leave_one_out(labels: Any, clusters: Any) -> dict[str, float]:
    seconds = best_seconds(lambda: leave_one_out_agreement(labels, clusters=clusters), 3)
    plain = best_seconds(lambda: leave_one_out_agreement(labels), 3)
    two_way = best_seconds(lambda: leave_one_out_agreement(labels, clusters=clusters, people="sampled"), 3)
    contributions = leave_one_out_contributions(labels)
    # scipy's time is linear in the resamples: a tenth of them, times ten.
    print("  scipy.stats.bootstrap: 1,000 of 10,000 resamples are run, and the time is multiplied by 10")

    def bootstrap() -> None:
        options: dict[str, Any] = {"n_resamples": 1_000, "batch": 20, "method": "percentile"}
        stats.bootstrap((contributions,), np.mean, rng=1, **options)

    return {
        "loo_1m_s": seconds,
        "two_way_1m_s": two_way,
        "ratio_vs_scipy": 10 * best_seconds(bootstrap, 1) / plain,
    }


def _alpha(labels: Any, clusters: Any) -> dict[str, float]:
    def alpha(level: Any) -> float:
        return best_seconds(
            lambda: krippendorff_alpha(labels, level=level, clusters=clusters, n_resamples=1_000), 3
        )

    return {"alpha_1000_resamples_s": alpha("nominal"), "alpha_ordinal_1000_resamples_s": alpha("ordinal")}


def _label_model(labels: Any) -> dict[str, float]:
    task, worker = np.nonzero(~np.isnan(labels))
    python = peer_python("crowd_kit", "crowd-kit==1.4.2")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "labels.npz"
        np.savez(file, task=task, worker=worker, label=labels[task, worker].astype(int))
        command = [str(python), "-c", CROWD_KIT, str(file), str(EM_ITERATIONS)]
        done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
    theirs, probabilities = json.loads(done.stdout.splitlines()[-1])
    found = dawid_skene(labels, n_iter=EM_ITERATIONS, tol=0.0)
    apart = float(np.abs(found.probabilities[: len(probabilities)] - probabilities).max())
    if apart > 1e-6:
        raise SystemExit(f"the same iterations of Dawid-Skene give other probabilities: off by {apart}")
    ours = best_seconds(lambda: dawid_skene(labels, n_iter=EM_ITERATIONS, tol=0.0), 2)
    return {"dawid_skene_ratio": theirs / ours, "dawid_skene_s": ours, "crowd_kit_s": theirs}


def _sequence_update() -> float:
    """Milliseconds that one more label takes, with its interval and the decision, after 100,000 of them."""
    values = (np.random.default_rng(0).random(100_000) < 0.7).astype(float)
    sequence = ConfidenceSequence()
    sequence.update(values)

    def more() -> None:
        for value in values[:100]:
            sequence.update([value])
            sequence.decide(margin=0.02, reference=0.7, budget=200_000)

    return 10 * best_seconds(more, 3)


def _growth(n_items: int) -> dict[str, float]:
    """Exponents of the time in the number of labels: 1 is linear."""
    sizes = [n_items // 2, n_items, 2 * n_items]
    data = {size: _labels(size) for size in sizes}

    def seconds(function: Any) -> list[float]:
        """Of the processor: what else runs on it must not look like growth."""
        found = []
        for size in sizes:
            spent = []
            for _ in range(6):
                start = time.process_time()
                function(data[size])
                spent.append(time.process_time() - start)
            found.append(min(spent))
        return found

    return {
        "loo_growth": exponent(sizes, seconds(leave_one_out_agreement)),
        "alpha_growth": exponent(
            sizes, seconds(lambda labels: krippendorff_alpha(labels, n_resamples=1_000))
        ),
        "dawid_skene_growth": exponent(sizes, seconds(lambda labels: dawid_skene(labels, n_iter=5, tol=0.0))),
    }


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _report_inputs() -> Inputs:
    """20 judges in both orders x 2,000 pairs x 4 labels, two pairs an instruction, five categories."""
    rng = np.random.default_rng(0)
    n = 2_000
    truth = rng.integers(1, 3, n).astype(float)

    def answers(share: float, width: int) -> Any:
        return np.where(rng.random((n, width)) < share, truth[:, None], 3 - truth[:, None])

    items = Items(
        external_id=tuple(f"item-{k}" for k in range(n)),
        cluster=tuple(str(k // 2) for k in range(n)),
        category=tuple(f"category {k % 5}" for k in range(n)),
        subset=("",) * n,
        parts=(("",),) * n,
        gold=np.full((n, 1), np.nan),
        lengths=rng.integers(10, 500, (n, 2)),
        parents=(("",),) * n,
        voted=np.zeros(n, dtype=bool),
    )
    people = Labels(
        item=np.repeat(np.arange(n), 4),
        # Sixteen people, so that intervals speak of others too.
        annotator=(np.repeat(np.arange(n), 4) + 4 * np.tile(np.arange(4), n)) % 16,
        values=answers(0.75, 4).reshape(-1, 1),
        simulated=np.zeros(4 * n, dtype=bool),
    )
    judges = tuple(
        _judge(k, np.where(rng.random((n, 2)) < 0.02, np.nan, answers(0.6 + 0.015 * k, 2))) for k in range(20)
    )
    return Inputs("pairwise", "bench", {"dataset": {}, "study": None, "sweep": None}, items, people, judges)


def _judge(k: int, verdicts: Any) -> JudgeAnswers:
    shape = verdicts.shape
    return JudgeAnswers(
        name=f"judge {k}",
        fingerprint=f"{k:064d}",
        backend="openai",
        model="model",
        strategy="vanilla",
        values=verdicts[:, :, None],
        judged=np.ones(shape, dtype=bool),
        unparsed=np.isnan(verdicts),
        failed=np.zeros(shape, dtype=bool),
        cost=np.full(shape, 0.001),
        seconds=np.full(shape, 0.5),
    )

"""Report inputs straight from arrays and from the public files, without a database."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.inputs import Inputs, Items, JudgeAnswers, Labels, Options
from metaeval.reports.content import build


def content_build(inputs: Inputs, options: Options) -> dict[str, Any]:
    """The report as it is stored."""
    return build(inputs, options).as_json()


def inputs_make(
    *,
    lengths: Any,
    gold: Any = None,
    subset: Any = None,
    category: Any = None,
    cluster: Any = None,
    labels: Any = (),
    judges: tuple[JudgeAnswers, ...] = (),
    name: str = "pairs",
) -> Inputs:
    """`labels` are triples (item, annotator, choice)."""
    n = len(lengths)
    names = tuple(f"i{k}" for k in range(n))
    triples = np.array(list(labels), dtype=float).reshape(-1, 3)
    return Inputs(
        kind="pairwise",
        name=name,
        facts=facts(name),
        items=Items(
            names,
            tuple(cluster) if cluster is not None else names,
            tuple(category) if category is not None else ("",) * n,
            tuple(subset) if subset is not None else ("",) * n,
            (("",),) * n,
            (np.full(n, np.nan) if gold is None else np.asarray(gold, dtype=float))[:, np.newaxis],
            np.asarray(lengths, dtype=np.intp),
            (("",),) * n,
            np.zeros(n, dtype=bool),
        ),
        labels=Labels(
            triples[:, 0].astype(np.intp),
            triples[:, 1].astype(np.intp),
            triples[:, 2:],
            np.zeros(len(triples), dtype=bool),
        ),
        judges=judges,
    )


def facts(name: str) -> dict[str, Any]:
    dataset = {"name": name, "title": name, "version": 1, "split": "public", "licence": "", "source": ""}
    return {"dataset": dataset, "study": None, "sweep": None}


def judge_make(
    name: str, verdicts: Any, *, judged: Any = None, baseline: bool = False, **fields: Any
) -> JudgeAnswers:
    verdicts = np.asarray(verdicts, dtype=float)
    nothing = np.full(verdicts.shape, np.nan)
    about = {"fingerprint": f"f-{name}", "backend": "imported", "model": "", "strategy": name} | fields
    asked = np.ones(verdicts.shape, bool) if judged is None else np.asarray(judged, bool)
    return JudgeAnswers(
        name=name,
        values=verdicts[:, :, np.newaxis],
        judged=asked,
        unparsed=asked & np.isnan(verdicts),
        failed=np.zeros(verdicts.shape, bool),
        cost=nothing,
        seconds=nothing.copy(),
        baseline=baseline,
        **about,
    )


SUBSETS = {
    "Natural": "Natural",
    "Adversarial/Neighbor": "Neighbor",
    "Adversarial/GPTInst": "GPTInst",
    "Adversarial/GPTOut": "GPTOut",
    "Adversarial/Manual": "Manual",
}


def llmbar_inputs(data: Path) -> Inputs:
    rows = []
    for path, short in SUBSETS.items():
        for place, row in enumerate(
            json.loads((data / "llmbar/Dataset/LLMBar" / path / "dataset.json").read_text())
        ):
            rows.append((path, short, place, row))
    place_of = {(short, place): k for k, (_, short, place, _) in enumerate(rows)}
    verdicts: dict[str, Any] = {}
    with (data / "llmbar/judgments.csv").open() as file:
        for row in csv.DictReader(file):
            name = f"{row['judge']} {row['strategy']}"
            table = verdicts.setdefault(name, np.full((len(rows), 2), np.nan))
            item = place_of[row["subset"], int(row["idx"])]
            table[item] = [float(row[side] or "nan") for side in ("winner_noswap", "winner_swap")]
    return inputs_make(
        name="llmbar",
        lengths=[(len(row["output_1"]), len(row["output_2"])) for *_, row in rows],
        gold=[row["label"] for *_, row in rows],
        subset=[path for path, *_ in rows],
        judges=tuple(judge_make(name, table) for name, table in verdicts.items()),
    )


def alpaca_inputs(data: Path) -> Inputs:
    rows = json.loads((data / "alpaca_eval/alpaca_farm_human_crossannotations.json").read_text())
    pairs: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for row in rows:
        key = (row["instruction"], row["output_1"], row["output_2"])
        pairs.setdefault(key, []).append((row["annotator_index"], row["preference"]))
    lengths = [(len(one), len(two)) for _, one, two in pairs]
    longest = [[1.0, 1.0] if one > two else [2.0, 2.0] for one, two in lengths]
    return inputs_make(
        name="alpaca",
        lengths=lengths,
        cluster=[instruction for instruction, *_ in pairs],
        labels=[
            (k, annotator, choice)
            for k, given in enumerate(pairs.values())
            for annotator, choice in given[:4]
        ],
        judges=(judge_make("longest", longest, baseline=True),),
    )

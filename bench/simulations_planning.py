"""Is a study as precise, and does it find as much, as `metaeval.stats.planning` says before it?

The table of docs/statistics/planning.md. Labels are those of `bench.simulations_people`: people with tastes and noise
of their own, ties, clusters, crowds. What is assumed comes from one large pilot of *another* overlap, and once from
four plain numbers of it. Seen are the mean half width, and how often the interval shows what is asked, of studies made
with the public functions.
"""

import time
import warnings
from typing import Any

import numpy as np

from bench.simulations_people import Setting, dataset
from metaeval.stats import (
    Estimate,
    StatisticsWarning,
    StudyDesign,
    agreement_model,
    agreement_model_from,
    generalizability_study,
    leave_one_out_agreement,
    leave_one_out_difference,
    pairwise_agreement,
)
from metaeval.stats.planned_scores import FIGURES

# (pilot, study): the pilot is large, so that what is wrong is the planning and not the pilot.
STUDIES = {
    "3 -> 5 of 5": (Setting(30_000, 300, 3), Setting(200, 5, 5)),
    "3 -> 16 of 16": (Setting(30_000, 300, 3), Setting(150, 16, 16)),
    "5 -> 3 of 12": (Setting(30_000, 300, 5), Setting(400, 12, 3)),
    "5 -> 2 of 40": (Setting(30_000, 300, 5), Setting(200, 40, 2)),
    "2 -> 4 of 16": (Setting(30_000, 300, 2), Setting(300, 16, 4)),
    "3 -> 4 of 16, all alike": (
        Setting(30_000, 300, 3, taste=0, noise=0),
        Setting(300, 16, 4, taste=0, noise=0),
    ),
    "3 -> 5 of 10, clusters of 4": (
        Setting(30_000, 300, 3, clusters="of 4"),
        Setting(400, 10, 5, clusters="of 4"),
    ),
}
# (figure, question, margin): with a power somewhere between 10 and 90%.
ASKED = (
    ("judge_minus_people", "not_inferior", 0.0),
    ("judge_minus_judge", "superior", 0.0),
    ("judge_minus_judge", "not_inferior", 0.02),
    ("judge_minus_judge", "equivalent", 0.15),
)


def run(quick: bool = False, only: tuple[str, ...] = ()) -> dict[str, float]:
    """Print the table; predicted over seen half width by study, figure and population."""
    result: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        for name in only or STUDIES:
            start = time.process_time()
            result |= _study(name, *STUDIES[name], 40 if quick else 400)
            print(f"    ({time.process_time() - start:.0f} s)", flush=True)
    return result


def _study(name: str, pilot: Setting, study: Setting, times: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    labels, judges, clusters = dataset(rng, pilot)
    models = {
        "pilot": agreement_model_from(labels, judges[0], judges[1], clusters=clusters),
        "guess": _guessed(labels, judges, pilot),
    }
    design = StudyDesign(study.n_items, study.each, study.n_people)
    seen: dict[tuple[str, str], list[Estimate]] = {}
    for _ in range(times):
        labels, judges, clusters = dataset(rng, study)
        for people in ("fixed", "sampled"):
            for confidence in (0.95, 0.9):
                options: dict[str, Any] = {
                    "people": people, "clusters": clusters, "n_resamples": 1, "confidence": confidence
                }  # fmt: skip
                found = {
                    "judge_minus_people": leave_one_out_difference(labels, judges[0], "people", **options),
                    "judge_minus_judge": leave_one_out_difference(labels, judges[0], judges[1], **options),
                }
                if confidence == 0.95:
                    found |= {
                        "people": leave_one_out_agreement(labels, **options),
                        "judge": leave_one_out_agreement(labels, judges[0], **options),
                    }
                for figure, estimate in found.items():
                    seen.setdefault((figure, f"{people} {confidence}"), []).append(estimate)
    result = {}
    print(f"  {name}: {times} datasets")
    for figure in FIGURES:
        line = f"    {figure:20}"
        for people in ("fixed", "sampled"):
            width = float(np.mean([(one.high - one.low) / 2 for one in seen[figure, f"{people} 0.95"]]))
            line += f"  {people} seen {100 * width:5.2f}"
            for source, model in models.items():
                expected = model.interval(figure, design)
                half = expected.half_width if people == "fixed" else expected.half_width_alike
                line += f" {source} {100 * half:5.2f}"
                result[f"width {source} {figure} {people} {name}"] = half / width
                if people == "sampled" and source == "pilot":
                    inside = [
                        expected.low_alike <= (one.high - one.low) / 2 <= expected.high_alike
                        for one in seen[figure, f"{people} 0.95"]
                    ]
                    line += f" ({100 * expected.low_alike:.2f} to {100 * expected.high_alike:.2f}"
                    line += f" of {100 * np.mean(inside):.0f}%)"
        print(line)
    for figure, question, margin in ASKED:
        line = f"    {figure:20} {question:12} {margin:4.2f}"
        values = [one.value for one in seen[figure, "fixed 0.95"]]
        for people in ("fixed", "sampled"):
            level = "0.9" if question == "equivalent" else "0.95"
            share = float(
                np.mean([_shows(one, question, margin) for one in seen[figure, f"{people} {level}"]])
            )
            line += f"  {people} seen {100 * share:5.1f}%"
            for source, model in models.items():
                power = model.power(
                    figure,
                    design,
                    question=question,
                    margin=margin,
                    difference=float(np.mean(values)),  # type: ignore[arg-type]
                )
                chance = power.these if people == "fixed" else power.alike
                line += f" {source} {100 * chance:5.1f}%"
                result[f"power {source} {figure} {question} {people} {name}"] = chance - share
        print(line)
    return result


def _guessed(labels: Any, judges: Any, pilot: Setting) -> Any:
    """The same from four numbers, as somebody would state them who has read them elsewhere."""
    options: dict[str, Any] = {"n_labels": 2, "n_resamples": 0}
    first, second = (leave_one_out_agreement(labels, judge, **options).value for judge in judges)
    item, person = np.nonzero(~np.isnan(labels))
    study = generalizability_study(labels[item, person] == judges[0][item], item, person)
    return agreement_model(
        people=pairwise_agreement(labels, n_resamples=0).value,
        judge=first,
        difference=first - second,
        discordance=float(np.mean(judges[0] != judges[1])),
        person_sd=float(np.sqrt(study.person)),
        cluster_size=4.0 if pilot.clusters == "of 4" else 1.0,
        intraclass=0.2 if pilot.clusters == "of 4" else 0.0,
    )


def _shows(estimate: Estimate, question: str, margin: float) -> bool:
    if question == "equivalent":
        return -margin < estimate.low and estimate.high < margin
    return estimate.low > (margin if question == "superior" else -margin)

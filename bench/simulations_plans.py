"""Are studies of ratings, checklists and rankings as wide as planned, from a large pilot with other numbers of labels?

The second table of docs/statistics/planning.md. Labels are those of `bench.simulations_kinds`; the plan is that of the
page (`metaeval.figures.planned`), and what is seen are the intervals of a report.
"""

import time
from typing import Any

import numpy as np

from bench.simulations_kinds import dataset
from bench.simulations_people import Setting
from metaeval.figures import FIGURES
from metaeval.figures.planned import plan_parts, planned_figures
from metaeval.figures.sample import CrossedRatio, Sample
from metaeval.inputs import Options
from metaeval.stats import StudyDesign
from metaeval.stats.crossed_sums import sums_difference, sums_estimate
from metaeval.stats.errors import quiet
from metaeval.stats.intervals import ratio_estimate

KINDS = ("rubric", "checklist", "importance")
# (pilot, study): the pilot is large, so that what is wrong is the planning and not the pilot.
STUDIES = {
    "3 -> 5 of 5": (Setting(3_000, 60, 3), Setting(150, 5, 5)),
    "5 -> 3 of 12": (Setting(3_000, 60, 5), Setting(300, 12, 3)),
    "3 -> 4 of 16": (Setting(3_000, 60, 3), Setting(200, 16, 4)),
    "2 -> 5 of 20": (Setting(3_000, 60, 2), Setting(200, 20, 5)),
}


def run(quick: bool = False, kinds: tuple[str, ...] = KINDS) -> dict[str, float]:
    """Print the table; planned over seen half width by kind, study, figure and population."""
    result: dict[str, float] = {}
    for kind in kinds:
        for name, (pilot, study) in STUDIES.items():
            start = time.process_time()
            result |= _study(kind, name, pilot, study, 30 if quick else 300)
            print(f"    ({time.process_time() - start:.0f} s)", flush=True)
    return result


def _study(kind: str, name: str, pilot: Setting, study: Setting, times: int) -> dict[str, float]:
    rng, figures = np.random.default_rng(1), FIGURES[kind]
    with quiet():
        model = planned_figures(dataset(rng, kind, pilot), "judge 0", "judge 1")
    design = StudyDesign(study.n_items, study.each, study.n_people)
    seen: dict[str, list[tuple[float, float]]] = {}
    for _ in range(times):
        sample = figures.sample(dataset(rng, kind, study), Options(n_resamples=1))
        with quiet():
            for figure, part in plan_parts(sample, figures.primaries[0], known=True):
                seen.setdefault(figure, []).append(_halves(sample, part))
    print(f"  {kind}, {name}: {times} datasets")
    result = {}
    for figure, halves in seen.items():
        planned = model.interval(figure, design)  # type: ignore[arg-type]
        line = f"    {figure:20}"
        for place, (people, half) in enumerate(
            (("these", planned.half_width), ("others", planned.half_width_alike))
        ):
            width = float(np.mean([each[place] for each in halves]))
            line += f"  {people} seen {100 * width:5.2f} planned {100 * half:5.2f}"
            result[f"width {figure} {people} {kind} {name}"] = half / width
        inside = [planned.low_alike <= each[1] <= planned.high_alike for each in halves]
        print(f"{line}  in range {100 * np.mean(inside):3.0f}%")
    return result


def _halves(sample: Sample, part: CrossedRatio) -> tuple[float, float]:
    options: dict[str, Any] = {"resamples": sample.resamples, "bounds": part.bounds}
    if part.minus is None:
        these: Any = ratio_estimate(part.sums.top, part.sums.bottom, **options)
        alike: Any = sums_estimate(part.sums, part.crossing, **options)
    else:
        these, alike = (
            sums_difference(part.sums, part.minus, part.crossing, people=people, **options)
            for people in ("fixed", "sampled")
        )
    return (these.high - these.low) / 2, (alike.high - alike.low) / 2


if __name__ == "__main__":
    run()

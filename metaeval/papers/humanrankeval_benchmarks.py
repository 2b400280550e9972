"""HumanRankEval beside other benchmarks: normalized scores, their correlations, base models and tuned variants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metaeval.inputs import Floats
from metaeval.papers.humanrankeval_models import RankedModel
from metaeval.papers.matrix import matrix_table
from metaeval.papers.paper import PaperPart
from metaeval.papers.table_pictures import with_bars, with_matrix
from metaeval.papers.tables import (
    MissingPart,
    PaperCell,
    PaperTable,
    count_cell,
    number_cell,
    slug,
    word_cell,
)
from metaeval.pictures.curves import CurveAxes, MarkedPoint, scatter_spec
from metaeval.pictures.picture import Picture, PictureColumn
from metaeval.reports.systems import OutsideTable
from metaeval.stats import evaluator_correlations, outside_correlation
from metaeval.stats.errors import quiet

HRE = "HRE"
_NO_RATINGS = (
    "It compares HRE with other benchmarks, and none is imported.",
    "Import a leaderboard of these models: manage.py import_ratings FILE --name NAME.",
)


class Benchmarks:
    """HRE beside other benchmarks: by benchmark the score of each model, NaN where it has none."""

    def __init__(self, tables: Sequence[OutsideTable], models: Sequence[RankedModel]) -> None:
        self.models, self.tables = models, tables
        scores = {_column(table): self._matched(table) for table in self.tables}
        scores[HRE] = np.array([model.value("pearson") for model in self.models])
        self.scores: dict[str, Floats] = dict(sorted(scores.items()))

    def _matched(self, table: OutsideTable) -> Floats:
        known = {name.strip().casefold(): score for name, score in table.scores.items()}
        found = []
        for model in self.models:
            answered = model.judge.judge.model
            names = (model.name, model.judge.judge.name, answered, answered.rpartition("/")[2])
            own = [known[name.strip().casefold()] for name in names if name.strip().casefold() in known]
            found.append(own[0] if own else np.nan)
        return np.array(found, dtype=np.float64)

    @property
    def unmatched(self) -> tuple[str, ...]:
        """What share of the models each benchmark has, and names that are nearly the same."""
        notes = []
        ours = {model.name: score for model, score in zip(self.models, self.scores[HRE], strict=True)}
        for table in self.tables:
            n = int((~np.isnan(self.scores[_column(table)])).sum())
            text = f"{_column(table)} has {n:,} of the {len(self.models):,} models."
            with quiet():
                near = outside_correlation(ours, table.scores, n_resamples=0).near_misses
            if near:
                text += (
                    " Nearly the same names: "
                    + ", ".join(f"{one} and {other}" for one, other in near[:3])
                    + "."
                )
            notes.append(text)
        return tuple(notes)


def _column(table: OutsideTable) -> str:
    return table.title or table.name


def benchmark_parts(tables: Sequence[OutsideTable], models: Sequence[RankedModel]) -> Iterator[PaperPart]:
    """Figures 8 to 10."""
    if not tables:
        for name, title in (
            ("f8", "Figure 8: Normalized scores by benchmark"),
            ("f9", "Figure 9: Correlations of benchmarks"),
            ("f10", "Figure 10: Base models and tuned variants"),
        ):
            yield MissingPart(name, title, *_NO_RATINGS)
        return
    benchmarks = Benchmarks(tables, models)
    scores = benchmarks.scores
    normal = {name: _normalized(values) for name, values in scores.items()}
    table = PaperTable(
        "f8",
        "Figure 8: Normalized scores by benchmark",
        "Each benchmark's scores of these models, from 0 (its lowest) to 1 (its highest).",
        ("Model", *scores),
        tuple(
            (word_cell(model.name), *(number_cell(values[k], 2, percent=False) for values in normal.values()))
            for k, model in enumerate(models)
        ),
        ("How the paper normalizes is not stated.", *benchmarks.unmatched),
    )
    yield from with_bars(table, ("Model", "Benchmark", "Normalized score"))
    with quiet():
        whole = evaluator_correlations(scores, method="pearson", n_resamples=0)
    counts = _pairs_counted(whole.names, whole.n)
    table = matrix_table(
        "f9",
        "Figure 9: Correlations of benchmarks",
        "Pearson's correlation of two benchmarks over the models that both have.",
        whole,
        (counts, *benchmarks.unmatched),
    )
    yield from with_matrix(table)
    yield _tuned(models, scores)
    yield from _scatters(models, scores)


def _normalized(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    if not len(known) or np.ptp(known) == 0:
        return np.full(len(values), np.nan)
    return np.asarray((values - known.min()) / np.ptp(known))


def _pairs_counted(names: Sequence[str], n: Any) -> str:
    pairs = [
        f"{names[a]} and {names[b]} {int(n[a, b])}"
        for a in range(len(names))
        for b in range(a + 1, len(names))
    ]
    return f"Models in common: {', '.join(pairs)}."


def _tuned(models: Sequence[RankedModel], scores: dict[str, Floats]) -> PaperTable:
    tuned = np.array([model.read.tuned for model in models])
    groups = {
        "All models": np.ones(len(models), dtype=np.bool_),
        "Base models": ~tuned,
        "Tuned models": tuned,
    }
    others = [name for name in scores if name != HRE]
    rows, notes = [], []
    for group, members in groups.items():
        with quiet():
            found = evaluator_correlations(scores, method="pearson", where=members, n_resamples=0)
        cells: list[PaperCell] = [word_cell(group), count_cell(int(members.sum()))]
        for name in others:
            estimate = found.estimate(HRE, name)
            cells.append(number_cell(estimate.value, 2, percent=False))
            if not estimate.defined:
                notes.append(f"{group}, {name}: {estimate.reason}.")
        rows.append(tuple(cells))
    listed = ", ".join(model.name for model in models if model.read.tuned) or "none"
    notes.append(f"Tuned models are recognized by their names (chat, instruct, it, sft, dpo): {listed}.")
    return PaperTable(
        "f10",
        "Figure 10: Base models and tuned variants",
        "Pearson's correlation of HRE with each benchmark, over base models and over tuned variants.",
        ("", "Models", *others),
        tuple(rows),
        tuple(notes),
    )


def _scatters(models: Sequence[RankedModel], scores: dict[str, Floats]) -> Iterator[Picture]:
    """HRE against each benchmark, a point a model."""
    for name in scores:
        known = np.flatnonzero(~np.isnan(scores[name]) & ~np.isnan(scores[HRE])).tolist()
        if name == HRE or not known:
            continue
        rows = [
            (models[k].name, _variant(models[k]), float(scores[name][k]), float(scores[HRE][k]))
            for k in known
        ]
        points = [
            MarkedPoint(x, y, None, None, variant, f"{model}, {variant}: {name} {x:g}, {HRE} {y:.2f}", model)
            for model, variant, x, y in rows
        ]
        x_ends, y_ends = (_with_room(values) for values in zip(*((x, y) for _, _, x, y in rows), strict=True))
        axes = CurveAxes(name, HRE, "number", "number", x_ends, y_ends)
        yield Picture(
            f"f10-{slug(name)}-points",
            f"Figure 10: {HRE} and {name}",
            f"{HRE} against {name}, a point a model, base models and tuned variants: {len(rows)} models.",
            scatter_spec(points, axes),
            (
                PictureColumn("Model"),
                PictureColumn("Variant"),
                PictureColumn(name, "number"),
                PictureColumn(HRE, "number"),
            ),
            tuple(rows),
            narrow=scatter_spec(points, axes, narrow=True),
        )


def _with_room(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis that no point lies on."""
    room = 0.06 * (max(values) - min(values)) or 1.0
    return min(values) - room, max(values) + room


def _variant(model: RankedModel) -> str:
    return "Tuned models" if model.read.tuned else "Base models"

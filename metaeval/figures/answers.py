"""What judges answered as arrays, from rows of a database or of a file of verdicts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotation.kinds import ItemKind
from metaeval.figures import FIGURES
from metaeval.figures.grades import judge_grades
from metaeval.inputs import (
    GRADES,
    Booleans,
    Floats,
    Integers,
    Items,
    JudgeAnswers,
    Parts,
    Stored,
    columns_of,
    numbers_row,
)

PARSED, FAILED = "parsed", "failed"


@dataclass(frozen=True, slots=True, eq=False)
class JudgmentColumns:
    """Judgments by column; what was not read has no value. Choices are numbers, other values as they are stored."""

    item: Integers
    order: Integers
    value: NDArray[Any]
    parsed: Booleans
    failed: Booleans
    cost: Floats
    latency: Floats
    chance: Floats

    def among(self, rows: Integers) -> "JudgmentColumns":
        """Some of them."""
        return JudgmentColumns(*(getattr(self, each.name)[rows] for each in fields(self)))

    @classmethod
    def together(cls, parts: Sequence["JudgmentColumns"]) -> "JudgmentColumns":
        """One after the other."""
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))


def judgment_columns(
    kind: ItemKind,
    item: Integers,
    order: ArrayLike,
    stored: Sequence[Any] | NDArray[Any],
    status: ArrayLike,
    cost: ArrayLike,
    latency: ArrayLike,
    chance: ArrayLike,
) -> JudgmentColumns:
    """Return judgments by column.

    Parameters
    ----------
    item : ndarray of shape (n_judgments,)
        Row of each item in `Items`.
    stored : sequence
        What the column that the kind reads says.
    status : sequence of {"parsed", "unparsed", "failed"}
    cost, latency, chance : sequence of float or None, or array with NaN
        US dollars, milliseconds, and the stored probability of a pair.
    """
    states = np.array(status)
    parsed = states == PARSED
    if kind.column == "choice":
        value: NDArray[Any] = np.where(parsed, np.array(stored, dtype=np.float64), np.nan)
        parsed = ~np.isnan(value)
    else:
        value = np.empty(len(stored), dtype=np.object_)
        value[:] = stored
        value[~parsed] = None
        parsed = np.array([one is not None for one in value], dtype=np.bool_)
    numbers = (np.array(column, dtype=np.float64) for column in (cost, latency, chance))  # None is NaN
    return JudgmentColumns(item, np.array(order, dtype=np.intp), value, parsed, states == FAILED, *numbers)


def judge_answers(
    kind: ItemKind,
    said: Sequence[JudgmentColumns],
    items: Items,
    shape: tuple[int, ...],
    *,
    name: str,
    fingerprint: str,
    backend: str,
    model: str,
    strategy: str,
    is_measured: bool = True,
    samples: Floats | None = None,
    graded: Iterable[tuple[int, int, Stored]] | None = None,
) -> JudgeAnswers:
    """Return what a judge said of items.

    Parameters
    ----------
    shape : (int, int)
        Items and presentation orders.
    is_measured : bool
        Whether costs and times were measured: nobody measured those of imported verdicts.
    samples : ndarray or None
        As `samples_of` returns them.
    graded : iterable of (int, int, mapping) or None
        Of pairs, row of the item, presentation order and value of the judgments that say how strong a preference is,
        which then count; None: they don't.
    """
    read = JudgmentColumns.together(said or [judgment_columns(kind, np.zeros(0, dtype=np.intp), *[()] * 6)])

    def table(values: Any, empty: float, *more: int) -> Floats:
        filled = np.full((*shape, *more), empty)
        filled[read.item, read.order] = values
        return filled

    # Nobody measured what an imported verdict cost.
    measured = 1.0 if is_measured else np.nan
    finer = None
    if kind.column == "choice":
        values = read.value[:, np.newaxis]
        chances = np.where(read.parsed, read.chance, np.nan)[:, np.newaxis]
    else:
        parts, stored = [items.parts[row] for row in read.item.tolist()], read.value.tolist()
        values = columns_of(kind, stored, parts, items.width)
        chances = probabilities_of(kind, stored, read.chance.tolist(), parts, items.width)
        if FIGURES[kind.name].finer:
            finer = finer_of(kind, [value or {} for value in stored], parts, items.width)
    probability = None if np.isnan(chances).all() else table(chances, np.nan, items.width)
    grades, grade_scale = None, GRADES
    if graded is not None:
        chance = None if probability is None else probability[:, :, 0]
        grades, grade_scale = judge_grades(table(values, np.nan, items.width)[:, :, 0], chance, graded)
    return JudgeAnswers(
        name=name,
        fingerprint=fingerprint,
        backend=backend,
        model=model,
        strategy=strategy,
        values=table(values, np.nan, items.width),
        judged=table(1.0, 0.0).astype(np.bool_),
        unparsed=table(~read.parsed, 0.0).astype(np.bool_),
        failed=table(read.failed, 0.0).astype(np.bool_),
        cost=table(read.cost * measured, np.nan),
        seconds=table(read.latency * measured / 1000, np.nan),
        finer=None if finer is None else table(finer, np.nan, items.width),
        probability=probability,
        samples=samples,
        grades=grades,
        grade_scale=grade_scale,
    )


def samples_of(
    kind: ItemKind,
    rows: Sequence[tuple[int, int, Any]],
    items: Items,
    shape: tuple[int, ...],
    *,
    n_samples: int,
) -> Floats:
    """Return what each sample of a request said, (n_items, n_orders, n_samples, n_parts): the votes of judgments.

    Parameters
    ----------
    rows : sequence of (int, int, mapping or None)
        Row of the item, presentation order, and the stored value of the judgment.
    """
    found = np.full((*shape, n_samples, items.width), np.nan)
    for item, order, value in rows:
        votes = value.get("votes") if isinstance(value, Mapping) else None
        if not isinstance(votes, Mapping):
            continue
        for sample in range(n_samples):
            if (said := votes.get(str(sample))) is None:
                continue
            if kind.column == "choice":
                found[item, order, sample, 0] = said
            else:
                numbers = kind.numbers({kind.field: said})  # type: ignore[attr-defined]
                found[item, order, sample] = numbers_row(kind, numbers, items.parts[item], items.width)
    return found


def finer_of(kind: ItemKind, values: Sequence[Stored], parts: Parts, width: int) -> Floats | None:
    """What is finer than the values of judgments, by the first of the kind's fields that says it of an item."""
    finer = FIGURES[kind.name].finer
    found = np.full((len(values), width), np.nan)
    for k, (value, names) in enumerate(zip(values, parts, strict=True)):
        for field in finer:
            given = value.get(field)
            if isinstance(given, list):  # imported verdicts have scores by position
                given = {name: score for name, score in enumerate(given) if len(given) == len(names)}
            if not isinstance(given, Mapping):
                continue
            numbers = {
                str(key): float(said)
                for key, said in given.items()
                if isinstance(said, int | float) and not isinstance(said, bool) and math.isfinite(said)
            }
            found[k] = numbers_row(kind, numbers, names, width)
            if not np.isnan(found[k]).all():
                break
    return None if np.isnan(found).all() else found


def probabilities_of(
    kind: ItemKind, values: Sequence[Any], stored: Sequence[float], parts: Parts, width: int
) -> Floats:
    """What judgments say of their own certainty: the stored probability of a pair, the votes of a jury on each part."""
    found = np.full((len(values), width), np.nan)
    for k, (value, chance, names) in enumerate(zip(values, stored, parts, strict=True)):
        if value is not None and not math.isnan(chance):
            found[k, 0] = chance
        elif kind.scale == "nominal" and isinstance(value, Mapping):
            found[k, : len(names)] = _vote_shares(value.get("votes"), names)
    return found


def _vote_shares(votes: Any, names: Sequence[str]) -> list[float]:
    """The share of a jury's members who say yes to each part; one who cannot tell counts one half."""
    members = (
        [one for one in votes.values() if isinstance(one, Mapping)] if isinstance(votes, Mapping) else []
    )
    found = []
    for name in names:
        said = [0.5 if one[name] is None else float(bool(one[name])) for one in members if name in one]
        found.append(sum(said) / len(said) if said else math.nan)
    return found

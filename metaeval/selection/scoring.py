"""One dataset: what each judge said there, as scores of items and sums that figures are ratios of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from metaeval.selection.types import Booleans, Floats, JudgedDataset
from metaeval.stats import (
    InvalidInputError,
    accuracy_contributions,
    leave_one_out_contributions,
    positional_agreement_contributions,
)
from metaeval.stats.alignment import align
from metaeval.stats.arrays import as_items, as_mapping, as_mask, as_matrix, as_weights, check_choices
from metaeval.stats.ids import as_ids
from metaeval.stats.options import as_number

_NOT_BY_ITEM = {"name", "role", "weight", "people_apart", "scored_labels"}


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One dataset's arrays; all over items and judges, the orders of presentation added up."""

    scores: Floats
    scorable: Booleans
    covered: Booleans
    weights: Floats
    measures: list[tuple[Floats, Floats]]  # sums and numbers of positional agreement, unparsed, cost, seconds


def in_one_order(dataset: JudgedDataset) -> JudgedDataset:
    """The dataset with the rows of all that is indexed in one order, and the columns of frames by name.

    Raises
    ------
    InvalidInputError
        Naming the dataset.
    """
    names = [each.name for each in fields(dataset) if each.name not in _NOT_BY_ITEM]
    try:
        mappings = {
            name: as_mapping(getattr(dataset, name), name)
            for name in ("verdicts", "judged", "costs", "seconds", "unparsed")
        }
        if dataset.scores is not None:
            mappings["scores"] = as_mapping(dataset.scores, "scores")
        found = align({name: getattr(dataset, name) for name in names} | mappings)
        for name in ("clusters", "categories"):
            distinct, codes = as_ids(found[name], name)
            # The same name in two datasets is the same one, so names are texts.
            found[name] = np.array([str(each) for each in distinct.tolist()], dtype=np.str_)[codes]
    except InvalidInputError as error:
        raise InvalidInputError(f"dataset {dataset.name!r}: {error}") from error
    return replace(dataset, **found)


def block_of(dataset: JudgedDataset, judges: Sequence[str]) -> Block:
    """Score the judges on one dataset.

    Raises
    ------
    InvalidInputError
        Naming the dataset, and the judge if it is about one.
    """
    try:
        return _block_unnamed(dataset, judges)
    except InvalidInputError as error:
        raise InvalidInputError(f"dataset {dataset.name!r}: {error}") from error


def _block_unnamed(dataset: JudgedDataset, judges: Sequence[str]) -> Block:
    n = len(dataset.clusters)
    if len(dataset.categories) != n:
        raise InvalidInputError(f"categories: {len(dataset.categories)} items, where clusters has {n}")
    for name in ("clusters", "categories"):
        as_ids(getattr(dataset, name), name, n)  # refuses an item without one
    as_number(dataset.weight, "weight", 0)
    if dataset.scores is None:
        score, scorable = _scorer(dataset, n)
        columns = [_judge(dataset, key, n, score) for key in judges]
    else:
        scorable = _scorable(dataset, n)
        columns = [_scored(dataset, key, n, scorable) for key in judges]
    scores = np.stack([column[0] for column in columns], axis=1)
    asked = np.stack([column[1].any(axis=1) for column in columns], axis=1)
    if dataset.scores is not None:
        asked &= ~np.isnan(scores)
    measures = [
        (
            np.stack([column[2][place][0] for column in columns], axis=1),
            np.stack([column[2][place][1] for column in columns], axis=1),
        )
        for place in range(4)
    ]
    return Block(scores, scorable, asked & scorable[:, np.newaxis], _item_weights(dataset, n), measures)


def _scorer(dataset: JudgedDataset, n: int) -> tuple[Callable[[Floats], Floats], Booleans]:
    """How verdicts in one order are scored, and which items can be scored at all."""
    if dataset.role == "gold":
        gold = np.full(n, np.nan) if dataset.gold is None else as_items(dataset.gold, "gold", n)
        check_choices(gold, "gold")
        return (lambda verdicts: accuracy_contributions(verdicts, gold)), ~np.isnan(gold)
    if dataset.role != "people":
        raise InvalidInputError(f"role: expected 'people' or 'gold', got {dataset.role!r}")
    labels = np.full((n, 0), np.nan) if dataset.labels is None else as_matrix(dataset.labels, "labels")
    if len(labels) != n:
        raise InvalidInputError(f"labels: expected {n} items, got {len(labels)}")
    check_choices(labels, "labels")
    two = (~np.isnan(labels)).sum(axis=1) > 1
    if not two.any():
        return (lambda _: np.full(n, np.nan)), two
    return (lambda verdicts: leave_one_out_contributions(labels, verdicts)), two


def _item_weights(dataset: JudgedDataset, n: int) -> Floats:
    weights = as_weights(dataset.weights, n)
    if weights is None or not weights.any():
        return np.ones(n) if weights is None else weights
    return np.asarray(weights / weights.mean())


def _judge(dataset: JudgedDataset, key: str, n: int, score: Callable[[Floats], Floats]) -> tuple[Any, ...]:
    """(scores, judged, measures) of one judge; one that is not in the dataset judged nothing."""
    verdicts, judged = judged_verdicts(dataset, key)
    parsed = ~np.isnan(verdicts)
    # Not judged is not the same as unparsed: what was not judged takes no part.
    each = np.stack([score(column) for column in verdicts.T], axis=1)
    counted = judged & ~np.isnan(each)
    number = counted.sum(axis=1)
    scores = np.where(number > 0, np.where(counted, each, 0.0).sum(axis=1) / np.maximum(number, 1), np.nan)
    both: Booleans = np.asarray(judged.all(axis=1))
    # A judge that never gives a readable verdict is not a consistent one.
    both &= bool((parsed & both[:, np.newaxis]).any())
    same = positional_agreement_contributions(verdicts) * both
    n_judged = judged.sum(axis=1).astype(np.float64)
    measures = [
        (same, both.astype(np.float64)),
        ((judged & ~parsed).sum(axis=1).astype(np.float64), n_judged),
        _amounts(dataset.costs, key, n, judged, "costs", 1000.0),
        _amounts(dataset.seconds, key, n, judged, "seconds", 1.0),
    ]
    return scores, judged, measures


def _scorable(dataset: JudgedDataset, n: int) -> Booleans:
    """Which items there is something to score against, where scores of items are given."""
    assert dataset.scores is not None
    if dataset.role not in ("people", "gold"):
        raise InvalidInputError(f"role: expected 'people' or 'gold', got {dataset.role!r}")
    given = [name for name in ("verdicts", "labels", "gold") if _is_given(getattr(dataset, name))]
    if given:
        raise InvalidInputError(f"scores: expected no {given[0]} beside them")
    if dataset.scorable is not None:
        return _booleans(dataset.scorable, n, "scorable")
    columns = [as_items(column, f"scores of {key!r}", n) for key, column in dataset.scores.items()]
    found: Booleans = (
        np.any([~np.isnan(column) for column in columns], axis=0) if columns else np.zeros(n, bool)
    )
    return found


def _is_given(value: Any) -> bool:
    return value is not None and len(value) > 0


def _scored(dataset: JudgedDataset, key: str, n: int, scorable: Booleans) -> tuple[Any, ...]:
    """(scores, judged, measures) of one judge whose scores of items are given."""
    assert dataset.scores is not None
    scores = as_items(dataset.scores.get(key, np.full(n, np.nan)), f"scores of {key!r}", n)
    if ((scores < 0) | (scores > 1)).any():
        raise InvalidInputError(f"scores of {key!r}: expected numbers from 0 to 1")
    unread = _booleans(dataset.unparsed.get(key, np.zeros(n, np.bool_)), n, f"unparsed of {key!r}")
    judged = np.stack([~np.isnan(scores) | unread, np.zeros(n, np.bool_)], axis=1)
    if key in dataset.judged:
        judged = _judged(dataset, key, n)
        if judged[:, 1].any():
            raise InvalidInputError(f"judged of {key!r}: scores of items are of one presentation order")
    asked: Booleans = judged[:, 0]
    unread = unread & asked
    scores = np.where(asked & scorable, np.where(unread, 0.0, scores), np.nan)
    nothing = np.zeros(n)
    measures = [
        (nothing, nothing),
        (unread.astype(np.float64), asked.astype(np.float64)),
        _amounts(dataset.costs, key, n, judged, "costs", 1000.0),
        _amounts(dataset.seconds, key, n, judged, "seconds", 1.0),
    ]
    return scores, judged, measures


def _booleans(values: Any, n: int, what: str) -> Booleans:
    found = as_mask(values, n, what)
    assert found is not None
    return found


def judged_verdicts(dataset: JudgedDataset, key: str) -> tuple[Floats, Booleans]:
    """One judge's verdicts, NaN where there are none, and whether there is a judgment: both (n_items, 2)."""
    n = len(dataset.clusters)
    verdicts = _two_orders(dataset.verdicts, key, n, "verdicts")
    check_choices(verdicts, f"verdicts of {key!r}")
    judged = ~np.isnan(verdicts)
    if key in dataset.judged:
        judged = _judged(dataset, key, n)
    return np.where(judged, verdicts, np.nan), judged


def _judged(dataset: JudgedDataset, key: str, n: int) -> Booleans:
    judged = np.asarray(dataset.judged[key])
    columns = judged.reshape(n, 1) if judged.shape == (n,) else judged
    if judged.dtype != np.bool_ or columns.shape not in ((n, 1), (n, 2)):
        raise InvalidInputError(f"judged of {key!r}: expected booleans of shape ({n},) or ({n}, 2)")
    return np.append(columns, np.zeros((n, 1), np.bool_), axis=1)[:, :2]


def _two_orders(columns: Any, key: str, n: int, what: str) -> Floats:
    """One column a presentation order; of a judge asked in one order, the other is empty."""
    if key not in columns:
        return np.full((n, 2), np.nan)
    array = as_matrix(columns[key], f"{what} of {key!r}")
    if array.shape not in ((n, 1), (n, 2)):
        raise InvalidInputError(
            f"{what} of {key!r}: expected shape ({n},) or ({n}, 2), got {np.shape(columns[key])}"
        )
    return np.append(array, np.full((n, 1), np.nan), axis=1)[:, :2]


def _amounts(
    columns: Any, key: str, n: int, judged: Booleans, what: str, scale: float
) -> tuple[Floats, Floats]:
    amounts = _two_orders(columns, key, n, what)
    measured = judged & ~np.isnan(amounts)
    return scale * np.where(measured, amounts, 0.0).sum(axis=1), measured.sum(axis=1).astype(np.float64)

"""What a report is computed from, as arrays, and the hash that names it.

Rows are known by their external names, never by database keys, so the same files imported on another machine
have the same hash.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.reports.options import ReportOptions

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.intp]

SCHEMA = "touchstone.report/1"


@dataclass(frozen=True, slots=True)
class ItemColumns:
    """The pairwise items in source order; every column has n_items rows.

    Attributes
    ----------
    external_id, cluster, category, subset : tuple of str
        ``cluster`` is the instruction: items that share one are resampled together.
    gold : ndarray of shape (n_items,)
        1, 2, 0 for a tie; NaN where there is none.
    lengths : ndarray of shape (n_items, 2)
        Characters of the first and second response.
    """

    external_id: tuple[str, ...]
    cluster: tuple[str, ...]
    category: tuple[str, ...]
    subset: tuple[str, ...]
    gold: Floats
    lengths: Integers

    def __len__(self) -> int:
        return len(self.external_id)


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """Labels, one row each, ordered by item and then by when they were given.

    Attributes
    ----------
    item : ndarray of shape (n_labels,)
        Row of the item in `ItemColumns`.
    annotator : ndarray of shape (n_labels,)
        Number of the annotator, counted by first appearance.
    choice : ndarray of shape (n_labels,)
        1, 2, or 0 for a tie, in canonical order.
    simulated : ndarray of shape (n_labels,)
        Whether the annotator is a simulated one.
    n_repeated : int
        Labels left out because their annotator had labelled the item before, in another study.
    ties_allowed : bool
        Whether a study that labels come from offers a tie. Labels from elsewhere could be ties if one of them is.
    """

    item: Integers
    annotator: Integers
    choice: Floats
    simulated: Booleans
    n_repeated: int = 0
    ties_allowed: bool = False

    def __len__(self) -> int:
        return len(self.item)

    @property
    def values(self) -> tuple[float, ...]:
        """All that could be said of a pair, said or not."""
        return (0.0, 1.0, 2.0) if self.ties_allowed or bool((self.choice == 0).any()) else (1.0, 2.0)


@dataclass(frozen=True, slots=True)
class JudgeColumns:
    """A judge and what it said; arrays are (n_items, 2), a column for each presentation order.

    Attributes
    ----------
    verdicts : float
        Canonical 1, 2, 0; NaN where unparsed or not judged.
    judged, failed : bool
        Whether there is a judgment; whether it is one that never came (a permanent error of the endpoint).
    cost, seconds : float
        US dollars and model time of each judgment; NaN where nothing was measured (imported verdicts).
    baseline : bool
        Computed on the fly as a floor; there is no such judge in the database.
    """

    name: str
    fingerprint: str
    backend: str
    model: str
    strategy: str
    verdicts: Floats
    judged: Booleans
    failed: Booleans
    cost: Floats
    seconds: Floats
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """All that a report depends on.

    ``facts`` are what its header says of the dataset, study and sweep. ``weights``, shape (n_items,), are one over the
    chance with which each item was drawn for labelling; None where all were certain.
    """

    name: str
    facts: dict[str, Any]
    items: ItemColumns
    labels: LabelColumns
    judges: tuple[JudgeColumns, ...]
    weights: Floats | None = None

    def hash(self, options: ReportOptions) -> str:
        """SHA-256 of the ordered rows and the options, in hexadecimal."""
        digest = sha256()
        # One encoder: `json.dumps` makes one for each of a million rows.
        encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
        for row in self._rows(options):
            # A verdict comes as text: there are many, and the encoder's own start costs more than the row.
            line = row if isinstance(row, str) else encode(row)
            # ASCII: a lone surrogate in a name must not stop a report.
            digest.update(line.encode("ascii"))
            digest.update(b"\n")
        return digest.hexdigest()

    def _rows(self, options: ReportOptions) -> Iterator[object]:
        yield [SCHEMA, self.name, self.facts, options.as_dict()]
        items = self.items
        columns = (items.external_id, items.cluster, items.category, items.subset)
        for row, texts in enumerate(zip(*columns, strict=True)):
            yield ["item", *texts, number(items.gold[row]), items.lengths[row].tolist()]
        labels = self.labels
        for item, annotator, choice, simulated in zip(
            labels.item.tolist(),
            labels.annotator.tolist(),
            labels.choice.tolist(),
            labels.simulated.tolist(),
            strict=True,
        ):
            yield ["label", items.external_id[item], annotator, choice, simulated]
        yield ["repeated", labels.n_repeated]
        yield ["values", *labels.values]
        if self.weights is not None:
            yield ["weights", *self.weights.tolist()]
        for judge in self.judges:
            yield [
                "judge",
                judge.name,
                judge.fingerprint,
                judge.backend,
                judge.model,
                judge.strategy,
                judge.baseline,
            ]
            yield from self._verdict_rows(judge)

    def _verdict_rows(self, judge: JudgeColumns) -> Iterator[str]:
        ids = [json.dumps(name) for name in self.items.external_id]
        rows, orders = np.nonzero(judge.judged)
        failed = np.where(judge.failed[rows, orders], "true", "false").tolist()
        columns = (judge.verdicts, judge.cost, judge.seconds)
        verdicts, cost, seconds = (_texts(column[rows, orders]) for column in columns)
        for row, order, verdict, fails, price, time in zip(
            rows.tolist(), orders.tolist(), verdicts, failed, cost, seconds, strict=True
        ):
            yield f'["verdict",{ids[row]},{order},{verdict},{fails},{price},{time}]'


def _texts(values: Floats) -> list[str]:
    """Floats as JSON has them; each distinct one is written once."""
    distinct, places = np.unique(values, return_inverse=True)
    texts = ["null" if math.isnan(value) else float.__repr__(value) for value in distinct.tolist()]
    return [texts[place] for place in places.tolist()]


def number(value: float) -> float | None:
    """A float as JSON knows it: NaN becomes null."""
    return None if math.isnan(value) else float(value)

"""What a comparison of a kind is computed from, and the hash that names it. Rows are known by external names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Literal

import numpy as np

from judges.strategies.types import AspectView
from metaeval.reports.errors import ReportError
from metaeval.reports.inputs import Floats, ItemColumns
from metaeval.reports.options import MOST_RESAMPLES

SCHEMA = "touchstone.kind-comparison/1"

Value = Mapping[str, Any]
Against = Literal["people", "gold"]
PEOPLE: Against = "people"
GOLD: Against = "gold"


@dataclass(frozen=True, slots=True)
class KindItem:
    """An item of a kind other than pairs.

    Attributes
    ----------
    cluster : str
        The instruction: items that share one are resampled together.
    gold : mapping or None
        In the form of a label.
    votes : tuple of float or None
        Of a ranking of answers: people's votes for each response, in canonical order.
    aspects : tuple of AspectView
        Of checklists and importance.
    n_responses : int
    """

    external_id: str
    cluster: str
    category: str = ""
    subset: str = ""
    gold: Value | None = None
    votes: tuple[float, ...] | None = None
    aspects: tuple[AspectView, ...] = ()
    n_responses: int = 0

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of what is ranked or answered: the aspects' keys, or the positions of the responses."""
        if self.aspects:
            return tuple(aspect.key for aspect in self.aspects)
        return tuple(str(place) for place in range(self.n_responses))


@dataclass(frozen=True, slots=True)
class KindLabel:
    """What a person said: `item` is a row of the items, `annotator` a number by first appearance."""

    item: int
    annotator: int
    value: Value
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class KindJudge:
    """A judge and what it said, by row of the item.

    Attributes
    ----------
    values : mapping of int to mapping
        Parsed judgments, in the form of labels beside what else the judge found out.
    unparsed, failed : frozenset of int
        Items whose answer could not be read, or never came.
    """

    name: str
    fingerprint: str
    backend: str
    model: str
    strategy: str
    values: Mapping[int, Value]
    unparsed: frozenset[int] = frozenset()
    failed: frozenset[int] = frozenset()

    @property
    def judged(self) -> frozenset[int]:
        """Items with a judgment, be it readable or not."""
        return frozenset(self.values) | self.unparsed | self.failed


@dataclass(frozen=True, slots=True)
class KindOptions:
    """How a comparison is computed: against people or gold, the level of intervals, the resamples and their seed."""

    against: Against = PEOPLE
    confidence: float = 0.95
    n_resamples: int = 2_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.against not in (PEOPLE, GOLD):
            raise ReportError(f"against: expected people or gold, got {self.against!r}.")
        if not 0 < self.confidence < 1:
            raise ReportError(f"confidence: expected a level between 0 and 1, got {self.confidence}.")
        if not 0 <= self.n_resamples <= MOST_RESAMPLES:
            raise ReportError(f"resamples: expected 0 to {MOST_RESAMPLES:,}, got {self.n_resamples}.")
        if self.seed < 0:
            raise ReportError(f"seed: expected 0 or more, got {self.seed}.")

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class KindInputs:
    """All that a comparison of one kind depends on.

    Attributes
    ----------
    facts : dict
        What its header says of the dataset, the study and the sweep.
    criteria : tuple of str
        Keys of the dataset's criteria, in their order; of rubrics only.
    n_repeated : int
        Labels left out because their annotator had labelled the item before, in another study.
    weights : ndarray of shape (n_items,) or None
        One over the chance with which each item was drawn for labelling; None where all were certain.
    """

    kind: str
    name: str
    facts: dict[str, Any]
    items: tuple[KindItem, ...]
    labels: tuple[KindLabel, ...] = ()
    judges: tuple[KindJudge, ...] = ()
    criteria: tuple[str, ...] = ()
    n_repeated: int = 0
    weights: Floats | None = None

    def targets(self) -> tuple[Against, ...]:
        """What judges can be compared with: the one that more items have first, people where both have as many."""
        people = len({label.item for label in self.labels})
        gold = sum(has_gold(item, self.kind) for item in self.items)
        found: list[tuple[Against, int]] = [(PEOPLE, people), (GOLD, gold)]
        return tuple(name for name, n in sorted(found, key=lambda entry: -entry[1]) if n)

    def columns(self) -> ItemColumns:
        """The items as reports group them."""
        n = len(self.items)
        return ItemColumns(
            external_id=tuple(item.external_id for item in self.items),
            cluster=tuple(item.cluster for item in self.items),
            category=tuple(item.category for item in self.items),
            subset=tuple(item.subset for item in self.items),
            gold=np.full(n, np.nan),
            lengths=np.zeros((n, 2), dtype=np.intp),
        )

    def hash(self, options: KindOptions) -> str:
        """SHA-256 of the ordered rows and the options, in hexadecimal."""
        digest = sha256()
        encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=list).encode
        for row in self._rows(options):
            digest.update(encode(row).encode("ascii"))
            digest.update(b"\n")
        return digest.hexdigest()

    def _rows(self, options: KindOptions) -> Iterator[object]:
        yield [SCHEMA, self.kind, self.name, self.facts, asdict(options), self.criteria]
        for item in self.items:
            tree = [[aspect.key, aspect.parent] for aspect in item.aspects]
            place = [item.external_id, item.cluster, item.category, item.subset]
            yield ["item", *place, item.gold, item.votes, tree, item.n_responses]
        for label in self.labels:
            yield ["label", self.items[label.item].external_id, label.annotator, label.value, label.simulated]
        yield ["repeated", self.n_repeated]
        if self.weights is not None:
            yield ["weights", *self.weights.tolist()]
        for judge in self.judges:
            yield ["judge", judge.name, judge.fingerprint, judge.backend, judge.model, judge.strategy]
            for row in sorted(judge.judged):
                status = (
                    "failed" if row in judge.failed else "unparsed" if row in judge.unparsed else "parsed"
                )
                yield ["said", self.items[row].external_id, status, judge.values.get(row)]


def has_gold(item: KindItem, kind: str) -> bool:
    """Whether there is something beside labels that judges can be compared with."""
    return item.gold is not None or (kind == "answer_ranking" and item.votes is not None)

"""What a choice of a judge is computed from, and the hash that names it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from metaeval.reports.inputs import Floats, ItemColumns, ReportInputs, number
from metaeval.reports.kinds.inputs import KindInputs, KindJudge, KindOptions, has_gold
from metaeval.reports.options import ReportOptions
from metaeval.selection.replacement import EPSILON
from metaeval.selection.types import Candidate, Constraints, Role

SCHEMA = "touchstone.selection/1"
PAIRWISE = "pairwise"


@dataclass(frozen=True, slots=True)
class Part:
    """A dataset, in which role it takes part, and its share in the objective (0: shown, decides nothing)."""

    dataset: str
    role: Role
    weight: float


@dataclass(frozen=True, slots=True)
class Choice:
    """What is asked: which datasets in which roles, under which constraints, with which confidence.

    ``kind`` is that of the items that judges are chosen by: a judge of rubrics judges nothing else. ``epsilon`` is that
    of the alternative annotator test.
    """

    parts: tuple[Part, ...]
    constraints: Constraints = field(default_factory=Constraints)
    confidence: float = 0.95
    kind: str = PAIRWISE
    epsilon: float = EPSILON

    @property
    def deciding(self) -> tuple[str, ...]:
        """Names of the datasets that have a share in the objective."""
        return tuple(part.dataset for part in self.parts if part.weight > 0)


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """How the figures of a choice are computed; part of its hash."""

    n_resamples: int = 2000
    n_folds: int = 5
    n_repeats: int = 5
    seed: int = 0


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """A judge of one dataset: who it is, and how many items it judged."""

    name: str
    fingerprint: str
    backend: str
    model: str
    strategy: str
    baseline: bool
    n_judged: int


@dataclass(frozen=True, slots=True)
class LabelFacts:
    """How much there is to compare judges with."""

    n_gold: int
    n_labels: int
    n_annotators: int
    n_simulated: int


@dataclass(frozen=True, slots=True)
class PartInputs:
    """The rows of one dataset of pairs.

    Attributes
    ----------
    instructions : tuple of str
        By item, a name of what is asked that is the same in every dataset.
    weights : ndarray of shape (n_items,) or None
        Inverse chances with which items were drawn for labelling; None where every item was.
    """

    part: Part
    inputs: ReportInputs
    instructions: tuple[str, ...]
    weights: Floats | None = None

    @property
    def columns(self) -> ItemColumns:
        """The items."""
        return self.inputs.items

    @property
    def judges(self) -> tuple[JudgeFacts, ...]:
        """Who judged, rules without a model too."""
        return tuple(
            JudgeFacts(
                judge.name,
                judge.fingerprint,
                judge.backend,
                judge.model,
                judge.strategy,
                judge.baseline,
                int(judge.judged.any(axis=1).sum()),
            )
            for judge in self.inputs.judges
        )

    @property
    def about_labels(self) -> LabelFacts:
        """How much there is to compare judges with."""
        labels = self.inputs.labels
        return LabelFacts(
            n_gold=int((~np.isnan(self.inputs.items.gold)).sum()),
            n_labels=len(labels),
            n_annotators=int(labels.annotator.max(initial=-1)) + 1,
            n_simulated=int(labels.simulated.sum()),
        )

    def rows(self) -> list[object]:
        """What the hash of a choice covers of it."""
        weights = None if self.weights is None else self.weights.tolist()
        return [self.inputs.hash(_ROWS), self.instructions, weights]


@dataclass(frozen=True, slots=True)
class KindPartInputs:
    """The rows of one dataset's items of a kind other than pairs.

    Attributes
    ----------
    rules : tuple of KindJudge
        Without a model: compared with, never chosen.
    instructions : tuple of str
        As of `PartInputs`.
    costs, seconds : mapping of str to ndarray of shape (n_items,)
        By the judge's fingerprint: US dollars and model time of its judgment; NaN where nobody measured.
    """

    part: Part
    inputs: KindInputs
    rules: tuple[KindJudge, ...]
    instructions: tuple[str, ...]
    costs: Mapping[str, Floats]
    seconds: Mapping[str, Floats]

    @property
    def weights(self) -> None:
        """None: figures of these kinds weigh no item by the chance with which it was drawn."""
        return None

    @property
    def columns(self) -> ItemColumns:
        """The items."""
        return self.inputs.columns()

    @property
    def with_rules(self) -> KindInputs:
        """The rows, with the rules as judges."""
        return replace(self.inputs, judges=(*self.inputs.judges, *self.rules))

    @property
    def judges(self) -> tuple[JudgeFacts, ...]:
        """Who judged, rules without a model too."""
        rules = {rule.fingerprint for rule in self.rules}
        return tuple(
            JudgeFacts(
                judge.name,
                judge.fingerprint,
                judge.backend,
                judge.model,
                judge.strategy,
                judge.fingerprint in rules,
                len(judge.judged),
            )
            for judge in self.with_rules.judges
        )

    @property
    def about_labels(self) -> LabelFacts:
        """How much there is to compare judges with."""
        labels = self.inputs.labels
        return LabelFacts(
            n_gold=sum(has_gold(item, self.inputs.kind) for item in self.inputs.items),
            n_labels=len(labels),
            n_annotators=len({label.annotator for label in labels}),
            n_simulated=sum(label.simulated for label in labels),
        )

    def rows(self) -> list[object]:
        """What the hash of a choice covers of it."""
        amounts = [
            [key, [number(value) for value in column.tolist()]]
            for columns in (self.costs, self.seconds)
            for key, column in sorted(columns.items())
        ]
        options = KindOptions(against=self.part.role, n_resamples=0)
        return [self.with_rules.hash(options), self.instructions, amounts]


@dataclass(frozen=True, slots=True)
class SelectionInputs:
    """All that a choice depends on. ``sweep`` is what its header says of the sweep."""

    sweep: Mapping[str, Any]
    parts: tuple[PartInputs, ...] | tuple[KindPartInputs, ...]
    candidates: tuple[Candidate, ...]
    choice: Choice
    options: SelectionOptions = SelectionOptions()

    @property
    def size(self) -> int:
        """Items times judges."""
        return self.n_items * len(self.candidates)

    @property
    def n_items(self) -> int:
        """Items of all datasets."""
        return sum(len(part.inputs.items) for part in self.parts)

    def hash(self) -> str:
        """SHA-256 of the rows, the roles, the constraints and the options, in hexadecimal."""
        digest = sha256()
        head = [SCHEMA, asdict(self.choice), asdict(self.options), [asdict(one) for one in self.candidates]]
        digest.update(_line(head))
        for part in self.parts:
            digest.update(_line(part.rows()))
        return digest.hexdigest()


# The hash of the rows of a dataset is that of its report with the default options.
_ROWS = ReportOptions()


def _line(row: object) -> bytes:
    return json.dumps(row, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n"

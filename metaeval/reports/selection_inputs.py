"""What a choice of a judge is computed from, and the hash that names it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from metaeval.reports.inputs import Floats, ReportInputs
from metaeval.reports.options import ReportOptions
from metaeval.selection.types import Candidate, Constraints, Role

SCHEMA = "touchstone.selection/1"


@dataclass(frozen=True, slots=True)
class Part:
    """A dataset, in which role it takes part, and its share in the objective (0: shown, decides nothing)."""

    dataset: str
    role: Role
    weight: float


@dataclass(frozen=True, slots=True)
class Choice:
    """What is asked: which datasets in which roles, under which constraints, with which confidence.

    ``kind`` is that of the items that judges are chosen by: a judge of rubrics judges nothing else.
    """

    parts: tuple[Part, ...]
    constraints: Constraints = field(default_factory=Constraints)
    confidence: float = 0.95
    kind: str = "pairwise"

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
class PartInputs:
    """The rows of one dataset.

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


@dataclass(frozen=True, slots=True)
class SelectionInputs:
    """All that a choice depends on. ``sweep`` is what its header says of the sweep."""

    sweep: Mapping[str, Any]
    parts: tuple[PartInputs, ...]
    candidates: tuple[Candidate, ...]
    choice: Choice
    options: SelectionOptions = SelectionOptions()

    @property
    def size(self) -> int:
        """Items times judges."""
        return sum(len(part.inputs.items) for part in self.parts) * len(self.candidates)

    def hash(self) -> str:
        """SHA-256 of the rows, the roles, the constraints and the options, in hexadecimal."""
        digest = sha256()
        head = [SCHEMA, asdict(self.choice), asdict(self.options), [asdict(one) for one in self.candidates]]
        digest.update(_line(head))
        for part in self.parts:
            weights = None if part.weights is None else part.weights.tolist()
            digest.update(_line([part.inputs.hash(_ROWS), part.instructions, weights]))
        return digest.hexdigest()


# The hash of the rows of a dataset is that of its report with the default options.
_ROWS = ReportOptions()


def _line(row: object) -> bytes:
    return json.dumps(row, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n"

"""Items from traces of agents: what is judged of each trace, and what nobody who judges sees of it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from annotation.domain.conversation import Turn
from annotation.importers.build import BundleBuilder, content_key
from annotation.importers.categories import STEPS
from annotation.importers.errors import Faults, ImportFileError
from annotation.importers.generic import item_row_add
from annotation.importers.records import CriterionRecord, DatasetBundle
from annotation.importers.rows import MAX_ID, MAX_SYSTEM, Row
from annotation.importers.turns import TRACE, trace_apart
from annotation.kinds.checklist import Checklist
from annotation.kinds.classification import Classification
from annotation.kinds.pairwise import Pairwise
from annotation.kinds.rubric import Rubric

Judged: TypeAlias = Literal["first-wrong-step", "steps", "outcome", "ratings", "pairs"]
JUDGED: tuple[Judged, ...] = get_args(Judged)
JUDGED_WORDS: dict[Judged, str] = {
    "first-wrong-step": "The first wrong step of each trace",
    "steps": "Each step: is it right?",
    "outcome": "The outcome: success or failure",
    "ratings": "Ratings by criteria",
    "pairs": "Pairs of traces of the same task",
}
Hidden: TypeAlias = Literal["system", "tool-results"]
HIDDEN: tuple[Hidden, ...] = get_args(Hidden)
HIDDEN_WORDS: dict[Hidden, str] = {"system": "Messages of the system", "tool-results": "Results of tools"}
HIDDEN_ROLES: dict[Hidden, str] = {"system": "system", "tool-results": "tool"}
OUTCOMES = (
    {"key": "success", "definition": "The task was done as it was asked."},
    {"key": "failure", "definition": "The task was not done, or not as it was asked."},
)


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """What becomes of traces.

    Attributes
    ----------
    judged : {"first-wrong-step", "steps", "outcome", "ratings", "pairs"}
    hide : collection of {"system", "tool-results"}
        What neither people nor judges see.
    criteria : sequence of CriterionRecord
        Of ratings.
    """

    judged: Judged = "first-wrong-step"
    hide: Collection[Hidden] = ()
    criteria: Sequence[CriterionRecord] = ()


DEFAULT = TraceOptions()


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """A trace of a file: its turns with the prompt, and where it stood there (`field` of `row`)."""

    row: Row
    field: str
    id: str
    turns: Sequence[Turn]
    system: str = ""
    category: str = ""
    metadata: dict[str, Any] | None = None

    @property
    def is_answered(self) -> bool:
        """Whether there is anything to judge: the assistant said something after a message of the user."""
        roles = [turn.role for turn in self.turns]
        return "user" in roles and "assistant" in roles[roles.index("user") :]


def traces_add(
    builder: BundleBuilder, records: Iterable[TraceRecord], options: TraceOptions, faults: Faults
) -> int:
    """Add the items of traces; return how many traces were left out because nobody answers in them."""
    builder.criteria.update({record.key: record for record in options.criteria})
    n_left = 0
    by_task: dict[str, list[tuple[TraceRecord, dict[str, Any]]]] = defaultdict(list)
    for record in records:
        if not record.is_answered:
            n_left += 1
            continue
        with faults:
            data = _apart(record, options)
            if options.judged == "pairs":
                asked = content_key(data["instruction"], data.get("conversation"), data.get("category"))
                by_task[asked].append((record, data))
            else:
                item_row_add(builder, Row(record.row.origin, data | _kind(options.judged)), False)
    for same in by_task.values():
        for (first, one), (second, two) in combinations(same, 2):
            both = {"response_2": two["response_1"], "system_2": two["system_1"], "kind": Pairwise.name}
            pair = one | both | {"id": _named(f"{first.id} | {second.id}")}
            pair["metadata"] = {"traces": [one["metadata"], two["metadata"]]}
            with faults:
                item_row_add(builder, Row(first.row.origin, pair), False)
    return n_left


def traces_finish(
    builder: BundleBuilder, file: Path, name: str, options: TraceOptions, n_left: int
) -> DatasetBundle:
    """The bundle, whose source says what is hidden and how many traces were left out.

    Raises
    ------
    ImportFileError
        There is nothing to judge.
    """
    if builder.is_empty:
        message = "expected two traces of the same task or more, found none." if not n_left else ""
        message = message or f"expected a trace in which an assistant answers; none of {n_left:,} has one."
        raise ImportFileError(file, None, None, message)
    hidden = " and ".join(HIDDEN_WORDS[each].lower() for each in HIDDEN if each in options.hide)
    hidden = f"; hidden from annotators and judges: {hidden}" if hidden else ""
    left = f" (without {n_left:,} {'trace' if n_left == 1 else 'traces'} in which no assistant answers)"
    remark = f"{left if n_left else ''}{hidden}"
    builder.source = f"{name}: {file.name}{remark}"
    return replace(builder.finish(file), remark=remark)


def _kind(judged: Judged) -> dict[str, Any]:
    if judged == "steps":
        return {"kind": Checklist.name, "aspects": STEPS}
    if judged == "ratings":
        return {"kind": Rubric.name}
    return {"kind": Classification.name, "categories": list(OUTCOMES) if judged == "outcome" else STEPS}


def _apart(record: TraceRecord, options: TraceOptions) -> dict[str, Any]:
    hidden = {HIDDEN_ROLES[name] for name in options.hide}
    turns = [replace(turn, hidden=turn.hidden or turn.role in hidden) for turn in record.turns]
    data: dict[str, Any] = {
        "id": _named(record.id),
        "system_1": record.system[:MAX_SYSTEM],
        "category": record.category[:100],
        "metadata": record.metadata or {},
    }
    row = Row(record.row.origin, data, named={TRACE: record.field})
    trace_apart(row, data, turns)
    return data


def _named(name: str) -> str:
    """A name that fits; of a longer one the beginning and a hash of all of it."""
    name = " ".join(name.split())
    return name if len(name) <= MAX_ID else f"{name[: MAX_ID - 17]}-{content_key(name)}"

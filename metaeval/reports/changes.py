"""What differs between two reports: data, options, software, and every figure, matched by name and not by place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from metaeval.reports.report import JudgeFigures, ReportContent

TOLERANCE = 1e-9
"""Below this, two figures are equal: processors sum in different orders."""
Leaf = str | float | bool | None

# What says where a report comes from; it is compared by itself, not among the figures.
_HEADER = (
    "schema",
    "software",
    "inputs_hash",
    "options",
    "dataset",
    "study",
    "sweep",
    "planned",
    "parts",
    "name",
)
_ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of two reports. ``moved`` is how far a number moved, None of what is no number."""

    field: str
    before: Leaf
    after: Leaf
    moved: float | None = None


@dataclass(frozen=True, slots=True)
class ReportChanges:
    """How the second of two reports differs from the first.

    Attributes
    ----------
    same_inputs : bool
        Whether rows and options are the same: their hashes are equal.
    data, options, software : tuple of FieldChange
        What was added, removed or changed, which is why figures moved.
    figures : tuple of FieldChange
        Fields that differ by more than the tolerance, those of the largest move first.
    n_fields : int
        Fields of the first that were compared.
    new_fields : tuple of str
        Those that only the second has.
    n_more : int
        Fields that differ and were left out of ``figures``.
    """

    same_inputs: bool
    data: tuple[FieldChange, ...]
    options: tuple[FieldChange, ...]
    software: tuple[FieldChange, ...]
    figures: tuple[FieldChange, ...]
    n_fields: int
    new_fields: tuple[str, ...] = ()
    n_more: int = 0

    @property
    def n_differ(self) -> int:
        """Fields that differ, those that were left out here as well."""
        return len(self.figures) + self.n_more

    def shortened(self, most: int) -> ReportChanges:
        """The same with the `most` figures of the largest move."""
        left = max(0, len(self.figures) - most)
        return replace(self, figures=self.figures[:most], n_more=self.n_more + left, new_fields=())

    @property
    def why(self) -> tuple[str, ...]:
        """Which of data, options and software differ."""
        return tuple(
            name
            for name, found in (("data", self.data), ("options", self.options), ("software", self.software))
            if found
        )


def changes_of(before: ReportContent, after: ReportContent, *, tolerance: float = TOLERANCE) -> ReportChanges:
    """Compare two reports field by field."""
    first, second = report_fields(before), report_fields(after)
    moved = [
        FieldChange(name, value, second.get(name, _ABSENT), _distance(value, second.get(name)))
        for name, value in first.items()
        if name not in second or not _equal(value, second[name], tolerance)
    ]
    moved.sort(key=lambda one: -(math.inf if one.moved is None else one.moved))
    return ReportChanges(
        same_inputs=before.inputs_hash == after.inputs_hash,
        data=tuple(_data(before, after)),
        options=tuple(_members("", before.options, after.options)),
        software=tuple(_members("", before.software, after.software)),
        figures=tuple(moved),
        n_fields=len(first),
        new_fields=tuple(name for name in second if name not in first),
    )


def report_fields(report: ReportContent) -> dict[str, Leaf]:
    """Every figure of a report by its path: ``judges / GPT-4 / accuracy / overall / value``."""
    content = report.as_json()
    # Judges have places in a report, and other places in one that has more judges.
    names = judge_names(report)
    judges = dict(zip(names, content["judges"], strict=True))
    selections = {
        name: one
        | {
            "leader": None if one["leader"] is None else names[one["leader"]],
            **{key: [names[place] for place in one[key]] for key in ("ranking", "tied", "incomplete")},
            "differences": {
                "" if row.get("judge") is None else names[row["judge"]]: {
                    key: value for key, value in row.items() if key != "judge"
                }
                for row in one["differences"]
            },
            "best_baseline": one["best_baseline"]
            and {key: value for key, value in one["best_baseline"].items() if key != "judge"},
        }
        for name, one in content["selections"].items()
    }
    kept = {name: value for name, value in content.items() if name not in _HEADER}
    return dict(_leaves(kept | {"judges": judges, "selections": selections}))


def judge_names(report: ReportContent) -> list[str]:
    """The name of each judge; of several with one name, with the start of the fingerprint."""
    names = [judge.name for judge in report.judges]
    return [
        judge.name if names.count(judge.name) == 1 else f"{judge.name} ({judge.fingerprint[:8]})"
        for judge in report.judges
    ]


def _leaves(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Leaf]]:
    if isinstance(node, Mapping):
        for name, child in node.items():
            yield from _leaves(child, (*path, str(name)))
    elif isinstance(node, list) and all(isinstance(one, str) for one in node):
        yield " / ".join(path), ", ".join(node)
    elif isinstance(node, list):
        for place, child in enumerate(node):
            named = isinstance(child, Mapping) and child.get("name", child.get("number"))
            yield from _leaves(child, (*path, str(named or place)))
    else:
        yield " / ".join(path), node


def _equal(before: Leaf, after: Leaf, tolerance: float) -> bool:
    if isinstance(before, bool) or isinstance(after, bool) or before is None or after is None:
        return before is after
    if isinstance(before, str) or isinstance(after, str):
        return before == after
    return math.isclose(before, after, rel_tol=tolerance, abs_tol=tolerance)


def _distance(before: Leaf, after: Leaf) -> float | None:
    if isinstance(before, int | float) and isinstance(after, int | float):
        return abs(after - before)
    return None


# --- why ------------------------------------------------------------------------------------------------------------

_COUNTS = (
    ("Items", "items", "n_items"),
    ("Instructions", "items", "n_instructions"),
    ("Items with gold answers", "items", "n_gold"),
    ("Labels", "people", "n_labels"),
    ("Annotators", "people", "n_annotators"),
    ("Items with labels", "people", "n_items_labelled"),
)
_OF_A_JUDGE = (("judgments", "n_judgments"), ("unparsed", "n_unparsed"), ("failed", "n_failed"))
_PARTS = {"items": "Items", "gold": "Gold answers", "labels": "Labels", "weights": "Sampling weights"}


def _data(before: ReportContent, after: ReportContent) -> Iterator[FieldChange]:
    """Data that was added, removed or changed: counts first, then content whose count is the same."""
    for what in ("dataset", "study", "sweep"):
        yield from _members(f"{what.title()} ", getattr(before, what) or {}, getattr(after, what) or {})
    counted = set()
    for label, part, name in _COUNTS:
        one, other = getattr(getattr(before, part), name), getattr(getattr(after, part), name)
        if one != other:
            counted.add(label)
            yield FieldChange(label, one, other, abs(other - one))
    first, second = _by_fingerprint(before), _by_fingerprint(after)
    for fingerprint, (name, judge) in first.items():
        if fingerprint not in second:
            yield FieldChange(f"Judge {name}", f"{judge.n_judgments:,} judgments", "removed")
            continue
        now = second[fingerprint][1]
        for label, member in _OF_A_JUDGE:
            one, other = getattr(judge, member), getattr(now, member)
            if one != other:
                counted.add(fingerprint)
                yield FieldChange(f"Judge {name}: {label}", one, other, abs(other - one))
    for fingerprint, (name, judge) in second.items():
        if fingerprint not in first:
            yield FieldChange(f"Judge {name}", "added", f"{judge.n_judgments:,} judgments")
    yield from _contents(before, after, counted)


def _contents(before: ReportContent, after: ReportContent, counted: set[str]) -> Iterator[FieldChange]:
    """Parts that have as many rows as before, and others in them."""
    if before.parts is None or after.parts is None:
        if before.inputs_hash != after.inputs_hash and not counted and before.options == after.options:
            yield FieldChange("Inputs", before.inputs_hash[:12], after.inputs_hash[:12])
        return
    for part, label in _PARTS.items():
        one, other = before.parts.get(part), after.parts.get(part)
        if one != other and label not in counted:
            yield FieldChange(f"{label}: content", (one or "none")[:12], (other or "none")[:12])
    first, second = _by_fingerprint(before), _by_fingerprint(after)
    for fingerprint in first.keys() & second.keys() - counted:
        one, other = (report.parts["judges"].get(fingerprint) for report in (before, after))  # type: ignore[index]
        if one != other:
            name = first[fingerprint][0]
            yield FieldChange(f"Judge {name}: content", (one or "none")[:12], (other or "none")[:12])


def _by_fingerprint(report: ReportContent) -> dict[str, tuple[str, JudgeFigures]]:
    rows = zip(judge_names(report), report.judges, strict=True)
    return {judge.fingerprint: (name, judge) for name, judge in rows if not judge.baseline}


def _members(prefix: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[FieldChange]:
    for name in [*before, *(name for name in after if name not in before)]:
        one, other = _plain(before.get(name)), _plain(after.get(name))
        if one != other:
            yield FieldChange(f"{prefix}{name}", one, other, _distance(one, other))


def _plain(value: Any) -> Leaf:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


# --- whether a stored report holds -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a stored report can be made again from the rows as they are.

    ``why_not`` says why it cannot be computed at all; ``added`` are judges that the report does not have, which were
    left out again.
    """

    changes: ReportChanges | None
    added: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def holds(self) -> bool:
        """Whether every field is what it was."""
        return self.changes is not None and not self.changes.n_differ


def verification_words(found: Verification) -> tuple[str, tuple[str, ...]]:
    """The answer, and what a reader has to know beside it."""
    if found.changes is None:
        return "The report can't be recomputed", (found.why_not,)
    changes = found.changes
    notes = []
    if changes.same_inputs:
        notes.append("Data and options are the same.")
    elif changes.data:
        notes.append("The data changed since.")
    else:
        notes.append("The inputs have another hash, because they were hashed by another version.")
    if changes.software:
        notes.append("It was made by another version of the software.")
    if found.added:
        notes.append(f"Judges that the report doesn't have were left out: {', '.join(found.added)}.")
    if found.holds:
        return f"The report holds: all {changes.n_fields:,} fields are the same", tuple(notes)
    n = changes.n_differ
    verb = "differs" if n == 1 else "differ"
    return f"The report no longer holds: {n:,} of {changes.n_fields:,} fields {verb}", tuple(notes)


def changes_words(changes: ReportChanges) -> str:
    """What changed and why, in a sentence."""
    n = changes.n_differ
    if not n:
        same = f"All {changes.n_fields:,} fields are the same"
        return f"{same}, although the {_and(changes.why)} changed." if changes.why else f"{same}."
    reason = (
        f"the {_and(changes.why)} changed"
        if changes.why
        else "nothing in data, options or software explains it"
    )
    return f"{n:,} of {changes.n_fields:,} fields {'differs' if n == 1 else 'differ'}: {reason}."


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))


def leaf_text(value: Leaf) -> str:
    """A field as text: ``71.2`` stays a share, since it is compared with what is stored."""
    if value is None:
        return "undefined"
    if isinstance(value, float) and not isinstance(value, bool):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

"""Responses, labels and verdicts of a generic row, from their nested or their flat form, and the values in them."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from annotation.domain.conversation import flatten
from annotation.domain.errors import LabelValueError
from annotation.importers.chat import read_turns
from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.records import Origin, Turns, Value
from annotation.importers.rows import MAX_ID, MAX_JUDGE, MAX_SYSTEM, Row, whole
from annotation.kinds import ValueRules, kind_of, raw_value, validate_value
from annotation.kinds.evidence import KEY as EVIDENCE
from annotation.kinds.evidence import Markable, Marked, marks_checked
from annotation.kinds.grades import BETWEEN

RESPONSE = re.compile(r"response_([1-9][0-9]?)\Z")
SYSTEM = re.compile(r"system_([1-9][0-9]?)\Z")
UNPARSED = "unparsed"
RAW_SUFFIX = ":raw"
SWAPPED_SUFFIX = ":swapped"
MAX_STRATEGY = 64
MAX_KNOWN = 1_000
"""Values that a reader keeps, and readers that an import keeps."""


@dataclass(frozen=True, slots=True)
class LabelCell:
    """`row` and `field` say where the value stood, whichever form it had."""

    row: Row
    field: str
    annotator: str
    value: Any
    is_simulated: bool = False
    evidence: Any = None


@dataclass(frozen=True, slots=True)
class VerdictCell:
    row: Row
    field: str
    judge: str
    order: int
    value: Any
    raw: str = ""
    scores: Any = None
    model: str = ""
    strategy: str = "imported"
    by_scores: bool = False  # the scores say which response is better
    probability: float | None = None
    """That the first response is better."""


@dataclass(frozen=True, slots=True)
class ResponseCell:
    """Of a response of several turns, `text` has all the `messages`."""

    system: str
    text: str
    messages: Turns = ()


def read_responses(row: Row, least: int) -> list[ResponseCell]:
    """The responses of a row. Empty columns after the last response count only up to `least`."""
    flat = {int(match[1]): name for name in row.data if (match := RESPONSE.match(name))}
    systems = {int(match[1]): name for name in row.data if (match := SYSTEM.match(name))}
    for number in systems:
        if number not in flat:
            row.fail(systems[number], f"expected a column response_{number} beside it, found none.")
    if row.get("responses") is not None:
        if any(row.get(name) for name in flat.values()):
            row.fail("responses", "expected either responses or response_1, response_2, ...; found both.")
        return [_nested_response(row, position, data) for position, data in enumerate(row.items("responses"))]
    if sorted(flat) != list(range(1, len(flat) + 1)):
        row.fail(f"response_{max(flat)}", "expected response_1, response_2, ... without a gap.")
    last = len(flat)
    while last > least and not row.get(f"response_{last}") and not row.get(f"system_{last}"):
        last -= 1
    return [_flat_response(row, number) for number in range(1, last + 1)]


def _flat_response(row: Row, number: int) -> ResponseCell:
    field = f"response_{number}"
    system = row.text(f"system_{number}", limit=MAX_SYSTEM)
    if isinstance(row.get(field), list):
        return _of_turns(row, field, system)
    return ResponseCell(system, row.answer(field))


def _nested_response(row: Row, position: int, data: object) -> ResponseCell:
    if isinstance(data, str):
        return ResponseCell("", data)
    response = row.within(f"responses[{position}]", data)
    response.only(("system", "text", "messages"))
    system = response.text("system", limit=MAX_SYSTEM)
    if response.get("messages") is None:
        return ResponseCell(system, response.answer("text"))
    if response.get("text") is not None:
        response.fail("messages", "expected either text or messages; found both.")
    return _of_turns(response, "messages", system)


def _of_turns(row: Row, field: str, system: str) -> ResponseCell:
    messages = read_turns(row, field)
    if not any(message["role"] == "assistant" for message in messages):
        row.fail(field, "expected at least one message of the assistant, found none.")
    return ResponseCell(system, flatten(messages), messages)


def label_cells(row: Row) -> Iterator[LabelCell]:
    for position, data in enumerate(row.items("labels")):
        label = row.within(f"labels[{position}]", data)
        label.only(("annotator", "value", "simulated", EVIDENCE))
        name, value = label.identifier("annotator"), label.require("value")
        yield LabelCell(label, "value", name, value, label.flag("simulated"), label.get(EVIDENCE))
    for column, value in row.data.items():
        if column.startswith("annotator:") and value is not None:
            yield LabelCell(row, column, _name(row, column, "annotator:", MAX_ID), value)


def verdict_cells(row: Row) -> Iterator[VerdictCell]:
    for position, data in enumerate(row.items("verdicts")):
        verdict = row.within(f"verdicts[{position}]", data)
        verdict.only(("judge", "order", "value", "raw", "scores", "model", "strategy", "probability"))
        yield verdict_cell(verdict, "value", verdict.get("scores"))
    yield from _flat_verdicts(row)


def verdict_cell(row: Row, field: str, scores: Any) -> VerdictCell:
    """The verdict of a row that is one, which stands in `field`; without that field, a number between the two
    responses in a field of its own, or else what the scores say.
    """
    numbers = [name for name in BETWEEN if row.get(name) is not None]
    if len(numbers) > 1 or (numbers and row.get(field) is not None):
        others = [each for each in (field, *numbers) if row.get(each) is not None]
        row.fail(numbers[0], f"expected one verdict, found {' and '.join(others)}.")
    by_scores = scores is not None and field not in row.data
    if field not in row.data and not numbers and not by_scores and not row.data.keys() & set(BETWEEN):
        row.fail(field, "expected a verdict, or null where the judge's answer could not be read.")
    value = {numbers[0]: row.get(numbers[0])} if numbers else readable(row.get(field))
    return VerdictCell(
        row,
        numbers[0] if numbers else field,
        row.identifier("judge", limit=MAX_JUDGE),
        0 if row.get("order") is None else row.number_in("order", (0, 1)),
        value,
        row.text("raw"),
        scores,
        row.text("model", limit=MAX_JUDGE),
        row.text("strategy", limit=MAX_STRATEGY) or "imported",
        by_scores=by_scores and not numbers,
        probability=_probability(row, field),
    )


def _probability(row: Row, field: str) -> float | None:
    value = row.get("probability")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        row.fail("probability", f"expected a number from 0 to 1, found {quoted(value)}.")
    if readable(row.get(field)) is None:
        row.fail("probability", "expected a verdict beside it, found none.")
    return float(value)


def _flat_verdicts(row: Row) -> Iterator[VerdictCell]:
    for column, value in row.data.items():
        if not column.startswith("judge:"):
            continue
        if column.endswith(RAW_SUFFIX):
            verdict_column = column.removesuffix(RAW_SUFFIX)
            if verdict_column not in row.data:
                row.fail(column, f"expected a column {verdict_column!r} beside it, found none.")
            if row.get(column) and row.get(verdict_column) is None:
                row.fail(verdict_column, f"expected a verdict, or {UNPARSED}, beside its raw text.")
        elif value is not None:
            stem = column.removesuffix(SWAPPED_SUFFIX)
            judge = _name(row, stem, "judge:", MAX_JUDGE)
            raw = row.text(f"{column}{RAW_SUFFIX}")
            yield VerdictCell(row, column, judge, int(stem != column), readable(value), raw)


def readable(value: Any) -> Any:
    """A verdict as it stands in a cell; the word "unparsed" means that it could not be read."""
    return None if isinstance(value, str) and value.strip().lower() == UNPARSED else value


def _name(row: Row, column: str, prefix: str, limit: int) -> str:
    name = column.removeprefix(prefix)
    return name if _is_name(name, limit) else Row(row.origin, {column: name}).identifier(column, limit=limit)


@lru_cache(maxsize=4096)
def _is_name(name: str, limit: int) -> bool:
    try:
        return Row(Origin("", 0), {"": name}).identifier("", limit=limit) == name
    except ImportFileError:
        return False


def read_scores(row: Row, raw: Any, n_responses: int) -> list[float | None] | None:
    """A score for each response, null where it could not be read; or None where there are no scores."""
    if raw is None:
        return None
    if not isinstance(raw, list) or len(raw) != n_responses:
        row.fail("scores", f"expected a list of {n_responses} numbers, found {quoted(raw)}.")
    for score in raw:
        if score is not None and (
            isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score)
        ):
            row.fail("scores", f"expected numbers or null, found {quoted(score)}.")
    return [None if score is None else float(score) for score in raw]


def read_scored(row: Row, scores: list[float | None] | None, rules: ValueRules) -> Value | None:
    """The verdict of a judge that scored each response by itself: equal scores are a hedge. None if one is missing."""
    if scores is None or None in scores:
        return None
    try:
        return kind_of(rules.kind).of_scores([score for score in scores if score is not None])
    except LabelValueError as error:
        row.fail(error.field, error.message)


class ValueReader:
    """`read_value` by one set of rules, which reads what it has read before once."""

    def __init__(self, rules: ValueRules) -> None:
        self.rules = rules
        self._known: dict[int | str, Value] = {}

    def __call__(self, row: Row, field: str, raw: object) -> Value:
        if raw.__class__ is not int and raw.__class__ is not str:
            return read_value(row, field, raw, self.rules)
        assert isinstance(raw, int | str)
        known = self._known.get(raw)
        if known is None:
            known = read_value(row, field, raw, self.rules)
            if len(self._known) < MAX_KNOWN:
                self._known[raw] = known
        return dict(known)


def read_value(row: Row, field: str, raw: object, rules: ValueRules) -> Value:
    """The canonical value of a label, a verdict or gold.

    Parameters
    ----------
    raw
        A value of the kind, or what it reads as one (`ItemKind.raw`): a bare number of a pair, words ("Yes", "Unsure")
        of a checklist. 1.0, as tables write it beside gaps, is the number 1.

    Raises
    ------
    ImportFileError
        Naming the field and what was expected.
    """
    bare = not isinstance(raw, dict)
    try:
        return validate_value(_whole_numbers(raw_value(raw, rules)), rules)
    except LabelValueError as error:
        row.fail(
            field if bare or error.field in ("value", field) else f"{field}.{error.field}", error.message
        )


def read_evidence(row: Row, raw: object, texts: Sequence[Markable], rules: ValueRules) -> list[Marked] | None:
    """The passages that a label marks as reasons, or None where it says nothing of any.

    Parameters
    ----------
    texts
        What can be marked of the item's responses, in canonical order.
    """
    if raw is None:
        return None
    kind = kind_of(rules.kind)
    reasons = kind.evidence_reasons({key: key for key in (*rules.criteria, *rules.aspects)})
    try:
        given = [_whole_numbers(one) for one in raw] if isinstance(raw, list) else raw
        return marks_checked(given, texts, reasons)
    except LabelValueError as error:
        row.fail(error.field, error.message)


def _whole_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole_numbers(inner) for key, inner in value.items()}
    number = whole(value)
    return value if number is None else number

"""What a Potato project asked, by its `annotation_schemes`, and what answers to them mean."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from annotation.domain.scales import MAX_OPTIONS, STANDARD
from annotation.importers.errors import quoted
from annotation.importers.records import Value
from annotation.importers.rows import Row, one_of, whole, whole_text
from annotation.kinds import KINDS
from annotation.kinds.grades import MOST, graded_value
from annotation.kinds.pairwise import Pairwise
from annotation.kinds.reasonable import KEY as REASONABLE
from annotation.kinds.reasonable import PREFIX
from annotation.kinds.rubric import rating_typed
from annotation.peers.potato import (
    ANSWERED,
    ANSWERS,
    BOTH_BAD,
    CATEGORIES,
    CHOICE,
    GRADE,
    RANKS,
    RATINGS,
    SIDES,
    STRENGTH,
    part_labels,
    scheme_of,
)
from annotation.peers.records import add_set, json_fields

CHOICES: Mapping[Any, int] = {side: choice for choice, side in SIDES.items()}
ANSWER_OF: Mapping[Any, bool | None] = {words: answer for answer, words in ANSWERS.items()}
NO_SLUG = re.compile(r"[^A-Za-z0-9_-]+")
BAD_TEXT = "bad_text"
SIZES = range(2, MAX_OPTIONS + 1)
"""Points of a scheme of ratings that can be read."""
Said = Mapping[str, Value]
"""What somebody said of an item: by field of a value; parts by the labels of their rows."""


class Schemes:
    """The schemes of a configuration that have a meaning here; others are left out."""

    def __init__(self, config: Row) -> None:
        self._read: dict[str, tuple[str, Row]] = {}
        """Field of a value and scheme, by the scheme's name."""
        self._points: dict[str, dict[str, int | str]] = {}
        """Of schemes of ratings, the points by answer."""
        self._items_key = ""
        self.criteria: list[dict[str, Any]] = []
        self._declared = False
        for number, data in enumerate(config.items("annotation_schemes")):
            scheme = config.within(f"annotation_schemes[{number}]", data)
            self._add(scheme.identifier("name"), scheme)
        pairs = [name for name, (field, _) in self._read.items() if field == CHOICE]
        if len(pairs) > 1 and CHOICE not in pairs:
            config.fail("annotation_schemes", f"expected one scheme of pairs, found {', '.join(pairs)}.")

    def _add(self, name: str, scheme: Row) -> None:
        type = scheme.get("annotation_type")
        if type == "pairwise" and scheme.get("mode") in (None, "binary", "scale"):
            self._read[name] = CHOICE, scheme
            self._items_key = scheme.text("items_key")
        elif (type == "radio" and name in (STRENGTH, BOTH_BAD)) or (type == "number" and name == GRADE):
            self._read[name] = name, scheme
        elif type == "multiselect" and (name == REASONABLE or name.startswith(PREFIX)):
            self._read[name] = REASONABLE, scheme
        elif type == "likert" and isinstance(size := scheme.get("size"), int) and size in SIZES:
            self._read[name] = RATINGS, scheme
            points: dict[str, int | str] = {str(point): point for point in range(1, size + 1)}
            ends = {"1": scheme.get("min_label"), str(size): scheme.get("max_label")}
            words = {point: point for point in points} | {
                point: str(end) for point, end in ends.items() if end
            }
            self._rated(name, scheme.text("description"), words)
            self._points[name] = points
        elif (
            type == "multirate"
            and name in (ANSWERED, CATEGORIES, RANKS, RATINGS)
            and "options_from_data" in scheme.data
        ):
            self._read[name] = name, scheme
            self._points[name] = {
                label: rating
                for label, _ in _names(scheme, "labels")
                if name == RATINGS and (rating := rating_typed(label)) is not None
            }
        elif type == "multirate" and len(labels := list(_names(scheme, "labels"))) in SIZES:
            self._read[name] = RATINGS, scheme
            self._points[name] = {label: points for points, (label, _) in enumerate(labels, start=1)}
            words = {str(points): label for points, (label, _) in enumerate(labels, start=1)}
            for option, question in _names(scheme, "options"):
                self._rated(option, question, words)

    def _rated(self, option: str, question: str, words: Mapping[str, str]) -> None:
        criterion = {"key": _slug(option), "question": question or option, "options": dict(words)}
        if len(words) != STANDARD.n_points:
            criterion["scale"] = {"low": 1, "high": len(words)}
        self.criteria.append(criterion)

    def said(self, state: Row) -> Said:
        """What a row of an annotator's answers says: choices as they are stored, parts by the labels of their rows."""
        found: dict[str, Value] = {}
        for name, given in _given(state).items():
            if name not in self._read or not given:
                continue
            field, scheme = self._read[name]
            if field in (CHOICE, STRENGTH, GRADE, BOTH_BAD):
                found.setdefault(CHOICE, {}).update(_chosen(state, name, field, given, scheme))
            elif field == REASONABLE:
                answers = [answer for answer, said in given.items() if said not in (None, "", False, "false")]
                add_set(found.setdefault(REASONABLE, {}), state, name, answers)
            elif scheme.get("annotation_type") == "likert":
                answer = _single(state, name, given)
                found.setdefault(field, {})[_slug(name)] = self._answer(state, name, field, answer)
            else:
                own = "options_from_data" in scheme.data
                for label, answer in given.items():
                    key = label if own else _slug(label)
                    found.setdefault(field, {})[key] = self._answer(state, name, field, answer)
        return found

    def _answer(self, state: Row, name: str, field: str, answer: Any) -> Any:
        if field == RANKS:
            rank = whole_text(answer) or whole(answer)
            if rank is None or rank < 1:
                state.fail(name, f"expected a rank, found {quoted(answer)}.")
            return rank
        known: Mapping[Any, Any] = ANSWER_OF if field in (ANSWERED, CATEGORIES) else self._points[name]
        if not isinstance(answer, str) or answer not in known:
            state.fail(name, f"expected {one_of(known)}, found {quoted(answer)}.")
        return known[answer]

    def fields(self, row: Row, text_key: str) -> dict[str, Any]:
        """The fields of an item in the generic format: those that the row has, and what the schemes say of others."""
        data = json_fields(row)
        shown, text = data.get(self._items_key), data.get(text_key)
        asked = " ".join(scheme.text("description") for _, scheme in self._read.values())
        rated = any(field == RATINGS for field, _ in self._read.values())
        if "response_1" not in data and not data.get("responses"):
            if not isinstance(shown, list) and "left" in data and "right" in data:
                shown = [data["left"], data["right"]]
            if isinstance(shown, list):
                data["responses"] = shown
            elif rated and not data.get("instruction"):
                data |= {"responses": [text], "instruction": asked}
        if not data.get("instruction"):
            data["instruction"] = asked if isinstance(text, list) else text
        if not data.get("kind"):
            fields = [field for field, _ in self._read.values()]
            data["kind"] = next((kind for kind in KINDS if scheme_of(kind) in fields), Pairwise.name)
        if not isinstance(data["kind"], str) or data["kind"] not in KINDS:
            row.fail("kind", f"expected {one_of(KINDS)}, found {quoted(data['kind'])}.")
        if data.get("criteria"):
            self.criteria, self._declared = data["criteria"], True
        elif self.criteria and not self._declared:
            data["criteria"], self._declared = self.criteria, True
        return data

    def value(self, data: Mapping[str, Any], said: Said) -> Value:
        """The value of a label of an item, from what was said of it; empty where nothing was said that counts."""
        field = scheme_of(data["kind"])
        given = said.get(field)
        if not given:
            return {}
        sets = said.get(REASONABLE, {})
        if field == CHOICE:
            return {**given, **sets}
        n_responses = sum(name.startswith("response_") for name in data) or len(data.get("responses") or ())
        labels = part_labels(data["kind"], self.criteria, data.get("aspects") or (), n_responses)
        keys = {label: key for key, label in labels.items()}
        return {field: {keys.get(label, label): answer for label, answer in given.items()}, **sets}


def _given(state: Row) -> dict[str, dict[str, Any]]:
    """Answers by scheme and name, from either form in which Potato keeps them."""
    answers = state.get("answers")
    if isinstance(answers, dict):
        return {name: given for name, given in answers.items() if isinstance(given, dict)}
    found: dict[str, dict[str, Any]] = {}
    for number, pair in enumerate(state.items("answers")):
        if not isinstance(pair, list) or len(pair) != 2:
            state.fail(f"answers[{number}]", f"expected a label and its value, found {quoted(pair)}.")
        label = state.within(f"answers[{number}]", pair[0])
        found.setdefault(label.identifier("schema", limit=1000), {})[label.text("name")] = pair[1]
    return found


def _chosen(state: Row, name: str, field: str, given: Mapping[str, Any], scheme: Row) -> Value:
    if field == STRENGTH:
        return {STRENGTH: _single(state, name, given)}
    if field == GRADE:
        return {GRADE: _number(state, name, _single(state, name, given))}
    if field == BOTH_BAD:
        return {BOTH_BAD: True} if _single(state, name, given) == "yes" else {}
    if "scale_value" in given:
        return _of_scale(state, name, _number(state, name, given["scale_value"]), scheme)
    side = given.get("selection")
    if not isinstance(side, str) or side not in CHOICES:
        state.fail(name, f"expected {one_of(CHOICES)}, found {quoted(side)}.")
    return {CHOICE: CHOICES[side]}


def _of_scale(state: Row, name: str, said: float, scheme: Row) -> Value:
    """A place on a slider, which is negative towards the first response, as a choice and its grade."""
    ends = scheme.mapping("scale")
    known = (ends.get("min"), ends.get("max"))
    widest = (
        max((abs(_number(scheme, "scale", end)) for end in known if end is not None), default=MOST) or MOST
    )
    if abs(said) > widest:
        state.fail(name, f"expected a number from {-widest:g} to {widest:g}, found {quoted(said)}.")
    return graded_value("grade", -said * MOST / widest if said else 0.0)


def _number(state: Row, name: str, said: object) -> float:
    try:
        number = float(said)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        state.fail(name, f"expected a number, found {quoted(said)}.")
    return number


def _single(state: Row, name: str, given: Mapping[str, Any]) -> Any:
    answers = [answer for label, answer in given.items() if label != BAD_TEXT]
    if len(answers) != 1:
        state.fail(name, f"expected one answer, found {len(answers)}; `potato repair-annotations` mends it.")
    return answers[0]


def _names(scheme: Row, field: str) -> Iterator[tuple[str, str]]:
    """Name and words of labels or options, each text or an object."""
    for number, one in enumerate(scheme.items(field)):
        if isinstance(one, dict):
            option = scheme.within(f"{field}[{number}]", one)
            name = option.identifier("name")
            yield name, option.text("label") or name
        else:
            yield str(one), str(one)


def _slug(name: str) -> str:
    return NO_SLUG.sub("-", name).strip("-")[:64] or "criterion"

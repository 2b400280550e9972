"""Label Studio's JSON of tasks with annotations, both ways.

Pairs are the control tag Pairwise, with Choices of another name for a tie; ratings Rating, answers Choices, ranks
Number, each named after the criterion, aspect or response; response sets Choices, of a rubric one for each criterion.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from annotation.domain.scales import NOT_APPLICABLE
from annotation.importers.fields import LEAVE_OUT
from annotation.importers.mapping import TableMapping
from annotation.importers.records import EMPTY, DatasetBundle
from annotation.importers.rows import Row
from annotation.kinds.reasonable import KEY as REASONABLE
from annotation.kinds.reasonable import PREFIX
from annotation.peers.items import PeerItem
from annotation.peers.records import (
    add_set,
    bundle_of_rows,
    fields_of_item,
    json_list,
    row_of_fields,
    set_questions,
)

SIDES = {1: "left", 2: "right"}
TIE, STRENGTH, GRADE, BOTH_BAD, CHOICE = "Tie", "strength", "grade", "both_bad", "choice"
CATEGORIES = "categories"
TIED = "tie"
"""The control of ties: in a labeling interface no two controls have one name."""
ANSWERS = {True: "Yes", False: "No", None: "Cannot tell"}
TARGETS = ("response_1", "instruction")
"""What is labeled: the first of these fields that an item has."""
PART = "part:"
"""Before the name of a part that is a number: Label Studio reads such a name as one."""
SIMULATED = "simulated"
"""In the task's `meta`, the annotators who are no people."""
PARTS = {"ratings": ("rating", "rating"), "ranks": ("number", "number"), "answers": ("choices", "choices")}


def label_studio_write(items: Iterable[PeerItem], declared: Mapping[str, object] = EMPTY) -> Iterator[bytes]:
    """The tasks, as Label Studio imports and exports them."""
    return json_list(_tasks(items, declared))


def _tasks(items: Iterable[PeerItem], declared: Mapping[str, object]) -> Iterator[dict[str, Any]]:
    people: dict[str, int] = {}
    for number, item in enumerate(items, start=1):
        for label in item.labels:
            people.setdefault(label.annotator, len(people) + 1)
        simulated = sorted({people[one.annotator] for one in item.labels if one.is_simulated})
        data = fields_of_item(item, declared if number == 1 else EMPTY)
        target = next(name for name in TARGETS if name in data or name == TARGETS[-1])
        yield {
            "id": number,
            "data": data,
            "meta": {
                "annotators": {str(people[one.annotator]): one.annotator for one in item.labels},
                **({SIMULATED: simulated} if simulated else {}),
            },
            "annotations": [
                {
                    "completed_by": people[label.annotator],
                    "result": [{"to_name": target, **one} for one in _result(label.value)],
                    **({} if label.active_ms is None else {"lead_time": label.active_ms / 1000}),
                }
                for label in item.labels
            ],
        }


def _result(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if CHOICE in value:
        if side := SIDES.get(value[CHOICE]):
            yield {"from_name": CHOICE, "type": "pairwise", "value": {"selected": side}}
        else:
            yield {"from_name": TIED, "type": "choices", "value": {"choices": [TIE]}}
        for name in (STRENGTH, BOTH_BAD):
            if value.get(name):
                yield {"from_name": name, "type": "choices", "value": {"choices": [str(value[name])]}}
        if GRADE in value:
            yield {"from_name": GRADE, "type": "number", "value": {"number": value[GRADE]}}
    if CATEGORIES in value:
        chosen = [name for name, is_chosen in value[CATEGORIES].items() if is_chosen]
        yield {"from_name": CATEGORIES, "type": "choices", "value": {"choices": chosen}}
    for field, (type, key) in PARTS.items():
        for name, said in value.get(field, {}).items():
            answer = [ANSWERS[said]] if field == "answers" else said
            is_rated = said != NOT_APPLICABLE
            yield {
                "from_name": _control(name),
                "type": type if is_rated else "choices",
                "value": {key: answer} if is_rated else {"choices": [NOT_APPLICABLE]},
            }
    for control, answers in set_questions(value):
        yield {"from_name": control, "type": "choices", "value": {"choices": answers}}


def _control(part: str) -> str:
    """The name of the control of a criterion, aspect or response."""
    try:
        float(part)
    except ValueError:
        taken = part.startswith((PART, REASONABLE)) or part.lower() in ("true", "false")
        return f"{PART}{part}" if taken else part
    return f"{PART}{part}"


def read_label_studio(path: str | Path, mapping: TableMapping | None = None) -> DatasetBundle:
    """Read tasks with the fields of the generic format in `data` and annotations as `label_studio_write` has them.

    Parameters
    ----------
    mapping : optional
        What the data and the controls (`from_name`) of a project of one's own are here.
    """
    return bundle_of_rows(Path(path), "label-studio", partial(_row, mapping), mapping)


def _row(mapping: TableMapping | None, row: Row) -> Row:
    data = row.mapping("data")
    names = row.mapping("meta").get("annotators")
    people = names if isinstance(names, dict) else {}
    simulated = row.mapping("meta").get(SIMULATED)
    machines = {str(one) for one in simulated} if isinstance(simulated, list) else set()
    labels = []
    for number, one in enumerate(row.items("annotations")):
        annotation = row.within(f"annotations[{number}]", one)
        by = annotation.get("completed_by")
        if isinstance(by, dict):
            by = by.get("email") or by.get("id")
        said = _value(annotation, mapping or TableMapping())
        if annotation.get("was_cancelled") or not said:
            continue
        who = str(people.get(str(by), by))
        labels.append({"annotator": who, "value": said, "simulated": str(by) in machines})
    return row_of_fields(row, data, labels, mapping)


def _value(annotation: Row, mapping: TableMapping) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for number, one in enumerate(annotation.items("result")):
        result = annotation.within(f"result[{number}]", one)
        given, said = result.identifier("from_name").removeprefix(PART), result.mapping("value")
        name = mapping.question(given)
        choices = said.get("choices")
        chosen = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
        if given in mapping.answers:
            said, chosen = _meant(result, mapping, given, said, chosen)
        if name == LEAVE_OUT:
            continue
        if _is_set(name, result) and isinstance(choices, list):
            add_set(value, result, name, mapping.answer(result, given, choices))
        elif name == CHOICE and isinstance(chosen, int) and chosen in (0, *SIDES):
            value[CHOICE] = int(chosen)
        elif "selected" in said:
            sides = {side: choice for choice, side in SIDES.items()}
            if not isinstance(said["selected"], str) or said["selected"] not in sides:
                result.fail("value", "expected left or right as selected.")
            value[CHOICE] = sides[said["selected"]]
        elif name in (TIED, CHOICE) and chosen == TIE:
            value[CHOICE] = 0
        elif name == CATEGORIES:
            value[CATEGORIES] = choices
        elif name in (STRENGTH, BOTH_BAD):
            value[name] = chosen == "True" if name == BOTH_BAD else chosen
        elif name == GRADE and "number" in said:
            value[GRADE] = said["number"]
        elif "rating" in said:
            value.setdefault("ratings", {})[name] = said["rating"]
        elif "number" in said:
            value.setdefault("ranks", {})[name] = said["number"]
        elif chosen == NOT_APPLICABLE:
            value.setdefault("ratings", {})[name] = chosen
        elif chosen in ANSWERS.values():
            answer = next(key for key, words in ANSWERS.items() if words == chosen)
            value.setdefault("answers", {})[name] = answer
    return value


def _is_set(name: str, result: Row) -> bool:
    """Whether a control is a response set, and no criterion or aspect that is called so."""
    return (name == REASONABLE or name.startswith(PREFIX)) and not result.identifier("from_name").startswith(
        PART
    )


def _meant(
    result: Row, mapping: TableMapping, name: str, said: dict[str, Any], chosen: Any
) -> tuple[dict[str, Any], Any]:
    """What the words of a control mean: its choice, the side that it selects, its rating or its number."""
    for key in ("selected", "rating", "number"):
        if key in said:
            meant = mapping.answer(result, name, said[key])
            return ({}, meant) if key == "selected" else ({**said, key: meant}, chosen)
    meant = mapping.answer(result, name, chosen)
    # A choice of words may be a rating.
    return ({"rating": meant} if isinstance(meant, int | float) else {}), meant

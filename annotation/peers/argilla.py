"""Argilla's records as JSON (`rg.Dataset.records.to_json`), both ways.

A question `choice` for pairs; a rating, label or ranking question for the other kinds, named after the criterion or
aspect, or `ranks`; of response sets a question of several labels, of a rubric one for each criterion.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from annotation.domain.scales import NOT_APPLICABLE
from annotation.importers.fields import LEAVE_OUT
from annotation.importers.files import parse_json
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

CHOICES = {1: "response_1", 2: "response_2", 0: "tie"}
ANSWERS = {True: "yes", False: "no", None: "cannot tell"}
CHOICE, STRENGTH, GRADE, BOTH_BAD, RANKS = "choice", "strength", "grade", "both_bad", "ranks"
CATEGORIES = "categories"
"""A question of several labels, whose value is a list of names."""
SIMULATED = "simulated_annotators"
"""In a record's metadata, the users who are no people: a list as JSON, since metadata has no lists of text."""
SHOWN = ("instruction", "context", "conversation")
"""Fields that annotators see, beside the responses; the others are metadata."""


def argilla_write(items: Iterable[PeerItem], declared: Mapping[str, object] = EMPTY) -> Iterator[bytes]:
    """The records, as Argilla imports and exports them."""
    return json_list(_records(items, declared))


def _records(items: Iterable[PeerItem], declared: Mapping[str, object]) -> Iterator[dict[str, Any]]:
    for number, item in enumerate(items):
        data = fields_of_item(item, EMPTY if number else declared)
        shown = {name for name in data if name in SHOWN or name.startswith("response_")}
        responses: dict[str, list[dict[str, Any]]] = {}
        for label in item.labels:
            for question, answer in _answers(label.value):
                responses.setdefault(question, []).append({"value": answer, "user_id": label.annotator})
        if simulated := sorted({one.annotator for one in item.labels if one.is_simulated}):
            data[SIMULATED] = json.dumps(simulated)
        yield {
            "id": item.id,
            "fields": {name: data[name] for name in data if name in shown},
            "metadata": {name: data[name] for name in data if name not in shown and name != "id"},
            "suggestions": {},
            "responses": responses,
            "vectors": {},
        }


def _answers(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if CHOICE in value:
        yield CHOICE, CHOICES[value[CHOICE]]
        if value.get(STRENGTH):
            yield STRENGTH, value[STRENGTH]
        if GRADE in value:
            yield GRADE, value[GRADE]
        if value.get(BOTH_BAD):
            yield BOTH_BAD, "yes"
    yield from value.get("ratings", {}).items()
    yield from ((name, ANSWERS[said]) for name, said in value.get("answers", {}).items())
    if CATEGORIES in value:
        yield CATEGORIES, [name for name, chosen in value[CATEGORIES].items() if chosen]
    if RANKS in value:
        yield RANKS, [{"value": name, "rank": rank} for name, rank in value[RANKS].items()]
    yield from set_questions(value)


def read_argilla(path: str | Path, mapping: TableMapping | None = None) -> DatasetBundle:
    """Read records with the fields of the generic format, and responses as `argilla_write` has them.

    Parameters
    ----------
    mapping : optional
        What the fields, metadata and questions of a project of one's own are here.
    """
    return bundle_of_rows(Path(path), "argilla", partial(_row, mapping), mapping)


def _row(mapping: TableMapping | None, row: Row) -> Row:
    asked = mapping or TableMapping()
    values: dict[str, dict[str, Any]] = {}
    responses = row.mapping("responses")
    for name in responses:
        for number, one in enumerate(row.within("responses", responses).items(name)):
            answer = row.within(f"responses.{name}[{number}]", one)
            who = answer.identifier("user_id")
            said = asked.answer(answer, name, answer.get("value"))
            _add(values.setdefault(who, {}), asked.question(name), said, answer)
    data = row.mapping("metadata") | row.mapping("fields")
    own = {"id": row.identifier("id")}
    simulated = _simulated(row, data.pop(SIMULATED, None))
    labels = [
        {"annotator": who, "value": value, "simulated": who in simulated}
        for who, value in values.items()
        if value
    ]
    if mapping is None or "id" in mapping.columns:
        return row_of_fields(row, data | own, labels, mapping)
    # What becomes of other columns says nothing of the record's own name.
    found = row_of_fields(row, data, labels, mapping)
    return replace(found, data={**own, **found.data})


def _simulated(row: Row, given: Any) -> Collection[str]:
    """The users who are no people."""
    if isinstance(given, str) and given:
        given = parse_json(given, row.origin.file, row.origin.row, f"metadata.{SIMULATED}")
    return [str(one) for one in given] if isinstance(given, list) else ()


def _add(value: dict[str, Any], question: str, said: Any, answer: Row) -> None:
    if question == LEAVE_OUT:
        return
    if question == CHOICE:
        known = {words: choice for choice, words in CHOICES.items()}
        if isinstance(said, int) and said in CHOICES:
            value[CHOICE] = int(said)
            return
        if not isinstance(said, str) or said not in known:
            answer.fail("value", f"expected {', '.join(known)}.")
        value[CHOICE] = known[said]
    elif question in (STRENGTH, GRADE):
        value[question] = said
    elif question == BOTH_BAD:
        value[BOTH_BAD] = said == "yes"
    elif question == CATEGORIES:
        value[CATEGORIES] = said if isinstance(said, list) else [said]
    elif isinstance(said, list) and (question == REASONABLE or question.startswith(PREFIX)):
        add_set(value, answer, question, said)
    elif question == RANKS:
        parts = [answer.within("value", one) for one in answer.items("value")]
        value[RANKS] = {part.identifier("value"): part.get("rank") for part in parts}
    elif isinstance(said, str) and said != NOT_APPLICABLE:
        known_answers = {words: one for one, words in ANSWERS.items()}
        if said in known_answers:
            value.setdefault("answers", {})[question] = known_answers[said]
    else:
        value.setdefault("ratings", {})[question] = said

"""Potato's projects, written: configuration, items, and the answers of each annotator, as a zip of a folder.

Pairs are the scheme `pairwise`. Ratings, answers and ranks are `multirate`, with a row per criterion, aspect or
response; its name and its text are the row's label. Response sets are `multiselect`, of a rubric one per criterion.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import yaml

from annotation.domain.conversation import flatten
from annotation.domain.scales import NOT_APPLICABLE, STANDARD, Scale
from annotation.importers.records import EMPTY
from annotation.kinds import kind_of
from annotation.kinds.grades import MOST, STRENGTHS
from annotation.kinds.parts import PartsKind
from annotation.kinds.reasonable import PREFIX
from annotation.peers.benchmarks import member_path
from annotation.peers.items import PeerItem
from annotation.peers.records import fields_of_item, set_questions

CONFIG, ITEMS, STATES, STATE = "config.yaml", "data/items.jsonl", "annotation_output", "user_state.json"
CHOICE, STRENGTH, GRADE, BOTH_BAD = "choice", "strength", "grade", "both_bad"
RATINGS, ANSWERED, RANKS, CATEGORIES = "ratings", "answers", "ranks", "categories"
SIDES = {1: "A", 2: "B", 0: "tie"}
ANSWERS = {True: "Yes", False: "No", None: "Cannot tell"}
TEXT, CANDIDATES, PARTS = "text", "candidates", "parts"
"""Fields that Potato shows, beside those of the generic format."""
Answer = tuple[str, str, str]
"""Scheme, name in it, and what was said."""


def potato_write(file: IO[bytes], items: Iterable[PeerItem], declared: Mapping[str, Any] = EMPTY) -> None:
    """Write a project that Potato starts, shows and exports."""
    project = _Project(declared)
    with ZipFile(file, "w") as archive:

        def member(name: str) -> IO[bytes]:
            info = ZipInfo(name)
            info.compress_type = ZIP_DEFLATED
            return archive.open(info, "w", force_zip64=True)

        with member(ITEMS) as out:
            for row in project.rows(items):
                out.write(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n".encode())
        for who, answers in project.answers.items():
            with member(f"{STATES}/{member_path(who)}/{STATE}") as out:
                for piece in answers.state(who):
                    out.write(piece)
        with member(CONFIG) as out:
            out.write(yaml.safe_dump(project.configuration(), sort_keys=False, allow_unicode=True).encode())


@dataclass(slots=True)
class _Answers:
    """What one annotator said, as it will be written: many labels take little memory so."""

    is_simulated: bool
    items: bytearray = field(default_factory=bytearray)
    values: bytearray = field(default_factory=bytearray)

    def add(self, item: str, answers: Iterable[Answer]) -> None:
        said = [[{"schema": scheme, "name": name}, value] for scheme, name, value in answers]
        comma = b", " if self.items else b""
        self.items += comma + json.dumps(item).encode()
        self.values += comma + f"{json.dumps(item)}: {json.dumps(said)}".encode()

    def state(self, who: str) -> Iterator[bytes]:
        yield f'{{"user_id": {json.dumps(who)}, "origin": '.encode()
        yield json.dumps(
            {"kind": "tool", "tool": "simulation"} if self.is_simulated else {"kind": "human"}
        ).encode()
        yield b', "instance_id_ordering": ['
        yield bytes(self.items)
        yield b'], "instance_id_to_label_to_value": {'
        yield bytes(self.values)
        yield b"}}\n"


class _Project:
    """A project, as its items are read: which schemes it needs is known after the last of them."""

    def __init__(self, declared: Mapping[str, Any]) -> None:
        self.declared, self.criteria = declared, declared.get("criteria", ())
        self.answers: dict[str, _Answers] = {}
        self.schemes: set[str] = set()
        self.sets: dict[str, dict[str, None]] = {}
        """The answers that response sets have, by their scheme."""
        self.most_parts = 2

    def rows(self, items: Iterable[PeerItem]) -> Iterator[dict[str, Any]]:
        """The items as Potato's data file has them; their labels are kept in `answers`."""
        for number, item in enumerate(items):
            row: dict[str, Any] = fields_of_item(item, EMPTY if number else self.declared)
            parts = part_labels(item.kind, self.criteria, item.aspects, len(item.responses))
            row |= {TEXT: _shown(item), PARTS: list(parts.values())}
            if scheme := scheme_of(item.kind):
                self.schemes.add(scheme)
            if scheme == CHOICE:
                row[CANDIDATES] = [_response(one) for one in item.responses]
            self.most_parts = max(self.most_parts, len(parts))
            yield row
            for label in item.labels:
                said = list(_said(label.value, parts))
                self.schemes |= {scheme for scheme, _, _ in said}
                for scheme, answers in set_questions(label.value):
                    self.sets.setdefault(scheme, {}).update(dict.fromkeys(answers))
                    said += [(scheme, answer, answer) for answer in answers]
                self.answers.setdefault(label.annotator, _Answers(label.is_simulated)).add(item.id, said)

    def configuration(self) -> dict[str, Any]:
        schemes = [make(self) for name, make in SCHEMES.items() if name in self.schemes]
        schemes += [_set_scheme(name, tuple(answers)) for name, answers in sorted(self.sets.items())]
        display = [{"key": TEXT, "type": "text", "label": "Item"}]
        if CHOICE in self.schemes:
            display.append({"key": CANDIDATES, "type": "pairwise", "label": "Responses"})
        return {
            "annotation_task_name": "Items",
            "task_dir": ".",
            "data_files": [ITEMS],
            "item_properties": {"id_key": "id", "text_key": TEXT},
            "output_annotation_dir": f"{STATES}/",
            "output_annotation_format": "jsonl",
            "user_config": {"allow_all_users": True, "users": []},
            "require_password": False,
            "site_dir": "default",
            "instance_display": {"layout": {"direction": "vertical"}, "fields": display},
            "annotation_schemes": schemes,
        }


def scheme_of(kind: str) -> str:
    """The scheme that the items of a kind need; empty where there is none."""
    rules = kind_of(kind)
    if isinstance(rules, PartsKind):
        return rules.field
    return CHOICE if rules.responses == (2, 2) else ""


def part_labels(
    kind: str, criteria: Sequence[Mapping[str, Any]], aspects: Sequence[Mapping[str, Any]], n_responses: int
) -> dict[str, str]:
    """The labels of the rows that are rated, answered or ranked, by criterion, aspect or position of the response."""
    return {
        "criteria": {one["key"]: f"{one['key']}: {one['question']}" for one in criteria},
        "aspects": {one["key"]: f"{one['key']}: {one['text']}" for one in aspects},
        "responses": {str(number): f"Response {number + 1}" for number in range(n_responses)},
    }.get(kind_of(kind).parts, {})


def rating_labels(criteria: Sequence[Mapping[str, Any]]) -> list[str]:
    """What may be said of some criterion, the lowest rating first: one scheme has the rows of all of them."""
    scales = [Scale.of_json(one.get("scale") or {}) for one in criteria] or [STANDARD]
    points = sorted({point for scale in scales for point in scale.points})
    return [*map(str, points), *([NOT_APPLICABLE] if any(scale.not_applicable for scale in scales) else [])]


def _said(value: Mapping[str, Any], parts: Mapping[str, str]) -> Iterator[Answer]:
    if CHOICE in value:
        yield CHOICE, "selection", SIDES[value[CHOICE]]
        if value.get(STRENGTH):
            yield STRENGTH, value[STRENGTH], value[STRENGTH]
        if GRADE in value:
            yield GRADE, GRADE, str(value[GRADE])
        if value.get(BOTH_BAD):
            yield BOTH_BAD, "yes", "yes"
    for scheme in (RATINGS, ANSWERED, CATEGORIES, RANKS):
        for key, said in value.get(scheme, {}).items():
            answer = ANSWERS[said] if scheme in (ANSWERED, CATEGORIES) else str(said)
            yield scheme, parts.get(key, key), answer


def _shown(item: PeerItem) -> str:
    """What annotators read, as one text; a pair's responses stand beside it."""
    said = [item.context, flatten(item.conversation), item.instruction]
    if scheme_of(item.kind) != CHOICE:
        several = len(item.responses) > 1
        said += [
            f"Response{f' {number}' if several else ''}: {_response(one)}"
            for number, one in enumerate(item.responses, start=1)
        ]
    return "\n\n".join(text for text in said if text)


def _response(one: Mapping[str, Any]) -> str:
    text: str = flatten(one["messages"]) if "messages" in one else one["text"]
    return text


def _rows_scheme(name: str, description: str, labels: Sequence[str]) -> dict[str, Any]:
    return {
        "annotation_type": "multirate",
        "name": name,
        "description": description,
        "options_from_data": PARTS,
        "labels": list(labels),
    }


def _radio_scheme(name: str, description: str, labels: Sequence[str]) -> dict[str, Any]:
    return {"annotation_type": "radio", "name": name, "description": description, "labels": list(labels)}


def _set_scheme(name: str, labels: Sequence[str]) -> dict[str, Any]:
    part = name.removeprefix(PREFIX) if name.startswith(PREFIX) else ""
    description = f"Which answers are reasonable{f' ({part})' if part else ''}?"
    return {
        "annotation_type": "multiselect",
        "name": name,
        "description": description,
        "labels": list(labels),
    }


SCHEMES: Mapping[str, Callable[[_Project], dict[str, Any]]] = {
    CHOICE: lambda _: {
        "annotation_type": "pairwise",
        "name": CHOICE,
        "description": "Which response is better?",
        "mode": "binary",
        "items_key": CANDIDATES,
        "allow_tie": True,
    },
    STRENGTH: lambda _: _radio_scheme(STRENGTH, "How much better?", tuple(STRENGTHS)),
    GRADE: lambda _: {
        "annotation_type": "number",
        "name": GRADE,
        "description": f"How much better is the first response, from {-MOST:g} to {MOST:g}?",
    },
    BOTH_BAD: lambda _: _radio_scheme(BOTH_BAD, "Are both responses bad?", ("yes", "no")),
    RATINGS: lambda project: _rows_scheme(
        RATINGS, "Rate the response on each criterion.", rating_labels(project.criteria)
    ),
    ANSWERED: lambda _: _rows_scheme(ANSWERED, "Answer each question.", tuple(ANSWERS.values())),
    CATEGORIES: lambda _: _rows_scheme(
        CATEGORIES, "Say of each category whether it fits.", (ANSWERS[True], ANSWERS[False])
    ),
    RANKS: lambda project: _rows_scheme(
        RANKS, "Rank each: 1 is the best.", [str(rank + 1) for rank in range(project.most_parts)]
    ),
}
"""The schemes that a project may need, in the order in which annotators see them."""

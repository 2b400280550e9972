"""Labels, and the people who gave them, as CSV and JSONL, streamed so that memory does not grow with the study.

`docs/exports.md` says what each column means. Annotators are pseudonyms unless the caller asks otherwise, and the
caller is who checks that it may.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from annotation.domain.pseudonyms import pseudonym
from annotation.kinds import KINDS, kind_of, kinds_with
from annotation.models import (
    Adjudication,
    Aspect,
    Criterion,
    Enrollment,
    ItemResponse,
    QualificationAttempt,
    Study,
)
from annotation.models.work import LabelQuerySet
from web.batches import batched
from web.csv_text import CONTENT_TYPE, csv_lines

CHUNK = 1_000
MADE = ""
# Each column with where it is read from, or that `_row` makes it.
SOURCES = {
    "label_id": "pk",
    "study": "study__slug",
    "dataset": "item__dataset__name",
    "item": "item__external_id",
    "instruction": "item__instruction__external_id",
    "category": "item__instruction__category",
    "subset": "item__instruction__subset",
    "kind": "kind",
    "annotator": MADE,
    "is_simulated": "annotator__is_simulated",
    "value": "value",
    "choice": "choice",
    "strength": MADE,
    "both_bad": MADE,
    "chosen_system": MADE,
    "systems": MADE,
    "comment": "comment",
    "pasted_chars": "pasted_chars",
    "adjudicated": MADE,
    "shown_order": "shown_order",
    "guidelines_version": "guidelines_version",
    "active_ms": "active_ms",
    "wall_ms": "wall_ms",
    "probability": "probability",
    "created_at": MADE,
    "role": "role",
    "check_score": "check_score",
    "superseded": MADE,
    "is_surplus": "is_surplus",
    "is_set_aside": "is_set_aside",
}
IDENTITY = {
    "annotator_source": "annotator__source",
    "annotator_external_id": "annotator__external_id",
    "source": "source",
}
COLUMNS = tuple(SOURCES)
ALL_SOURCES = SOURCES | IDENTITY
# What the other columns are made of.
MADE_OF = (
    *("item_id", "item__instruction_id", "item__dataset_id", "study_id"),
    *("annotator__public_id", "created_at", "superseded_by"),
)
# Of the shape with a row a part: after what identifies the label.
PART_COLUMNS = ("part", "part_text", "part_system", "part_value")
SHAPES = ("labels", "parts")
RATING = "rating."
FORMATS = {"csv": CONTENT_TYPE, "jsonl": "application/jsonl; charset=utf-8"}


def export_columns(*, identify: bool, shape: str = "labels", criteria: Iterable[str] = ()) -> tuple[str, ...]:
    """The columns of an export. A rubric has one a criterion, `rating.KEY`; the shape `parts` a row a part instead."""
    own = PART_COLUMNS if shape == "parts" else tuple(f"{RATING}{key}" for key in criteria)
    at = COLUMNS.index("value") + 1
    return COLUMNS[:at] + own + COLUMNS[at:] + (tuple(IDENTITY) if identify else ())


def jsonl_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A JSON object a line; text is not escaped here, since JSON is not run by anybody."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def export_lines(
    labels: LabelQuerySet, *, format: str, history: bool, identify: bool, shape: str = "labels"
) -> Iterator[str]:
    """The lines of an export in "csv" or "jsonl"; `ValueError` for another format or shape."""
    if format not in FORMATS:
        raise ValueError(f"format: expected {' or '.join(FORMATS)}, got {format!r}")
    if shape not in SHAPES:
        raise ValueError(f"shape: expected {' or '.join(SHAPES)}, got {shape!r}")
    rows = label_rows(labels, history=history, identify=identify, shape=shape)
    if format == "jsonl":
        return jsonl_lines(rows)
    criteria = criteria_of(labels) if shape == "labels" else ()
    columns = export_columns(identify=identify, shape=shape, criteria=criteria)
    return csv_of(columns, rows)


def csv_of(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of a CSV file whose rows are dictionaries."""
    return csv_lines(columns, ([row[name] for name in columns] for row in rows))


def criteria_of(labels: LabelQuerySet) -> list[str]:
    """Keys of the criteria that rubric labels among these may have, in the order of their rubrics."""
    datasets = labels.filter(kind__in=kinds_with("criteria")).order_by().values("item__dataset")
    keys = (
        Criterion.objects.filter(dataset__in=datasets)
        .order_by("position", "key")
        .values_list("key", flat=True)
    )
    return list(dict.fromkeys(keys))


def label_rows(
    labels: LabelQuerySet, *, history: bool = False, identify: bool = False, shape: str = "labels"
) -> Iterator[dict[str, Any]]:
    """One dictionary a label (or a part of it) with the columns of `export_columns`, in the order of the items' source.

    Parameters
    ----------
    labels : queryset
        Which labels; the caller has filtered it by what may be seen.
    history : bool
        Also what does not count: superseded, surplus and set aside labels, hidden checks and repeats.
    identify : bool
        Also where an annotator comes from and their identifier there.
    shape : {"labels", "parts"}
        A row a label, or a row a rating, rank or answer in it.

    Notes
    -----
    One server-side cursor, and a few further queries for every 1,000 labels, for what belongs to their items.
    """
    columns = export_columns(identify=identify, criteria=criteria_of(labels) if shape == "labels" else ())
    chosen = labels if history else labels.current()
    rows = (
        chosen.order_by("item__dataset_id", "item__position", "item_id", "pk")
        .values(*filter(None, ALL_SOURCES.values()), *MADE_OF)
        .iterator(chunk_size=CHUNK)
    )
    for chunk in batched(rows, CHUNK):
        about = _About.of(chunk, parts=shape == "parts")
        for read in chunk:
            row = _row(read, about, columns)
            yield from _parts(row, read, about) if shape == "parts" else [row]


@dataclass(frozen=True, slots=True)
class _About:
    """What a chunk's labels need beside themselves."""

    systems: dict[int, list[str]]  # of an item's responses, in canonical order
    adjudicated: dict[tuple[int, int], Any]  # by study and item
    texts: dict[tuple[int, str], str]  # of criteria and aspects, by dataset or instruction, and key

    @classmethod
    def of(cls, chunk: list[dict[str, Any]], *, parts: bool) -> _About:
        return cls(_systems(chunk), _adjudicated(chunk), _part_texts(chunk) if parts else {})


def _systems(chunk: list[dict[str, Any]]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    links = ItemResponse.objects.filter(item__in={read["item_id"] for read in chunk})
    for item_id, system in links.order_by("item_id", "position").values_list("item_id", "response__system"):
        found.setdefault(item_id, []).append(system)
    return found


def _adjudicated(chunk: list[dict[str, Any]]) -> dict[tuple[int, int], Any]:
    studies = {read["study_id"] for read in chunk if read["study_id"]}
    if not studies:
        return {}
    standing = Adjudication.objects.filter(
        study__in=studies, item__in={read["item_id"] for read in chunk}, superseded_by=None
    )
    return {
        (study, item): value for study, item, value in standing.values_list("study_id", "item_id", "value")
    }


def _part_texts(chunk: list[dict[str, Any]]) -> dict[tuple[int, str], str]:
    texts: dict[tuple[int, str], str] = {}
    parts = {kind.name: kind.parts for kind in KINDS.values()}
    if datasets := {read["item__dataset_id"] for read in chunk if parts[read["kind"]] == "criteria"}:
        criteria = Criterion.objects.filter(dataset__in=datasets).values_list("dataset_id", "key", "question")
        texts |= {(dataset, key): question for dataset, key, question in criteria}
    if instructions := {read["item__instruction_id"] for read in chunk if parts[read["kind"]] == "aspects"}:
        aspects = Aspect.objects.filter(instruction__in=instructions).values_list(
            "instruction_id", "key", "text"
        )
        texts |= {(instruction, key): text for instruction, key, text in aspects}
    return texts


def _row(read: Mapping[str, Any], about: _About, columns: Sequence[str]) -> dict[str, Any]:
    choice, value = read["choice"], read["value"]
    systems = about.systems.get(read["item_id"], [])
    name = pseudonym(read["annotator__public_id"], study=read["study_id"], dataset=read["item__dataset_id"])
    made = {
        "annotator": str(name),
        "strength": value.get("strength"),
        "both_bad": value.get("both_bad", False) if choice is not None else None,
        "chosen_system": systems[choice - 1] if choice and len(systems) >= choice else None,
        "systems": systems,
        "adjudicated": about.adjudicated.get((read["study_id"], read["item_id"])),
        "created_at": utc_text(read["created_at"]),
        "superseded": read["superseded_by"] is not None,
    }
    rated = [column for column in columns if column.startswith(RATING)]
    made |= {column: value.get("ratings", {}).get(column.removeprefix(RATING)) for column in rated}
    return {column: made[column] if column in made else read[ALL_SOURCES[column]] for column in columns}


def utc_text(moment: datetime) -> str:
    """A time as files have it: `2026-11-22T14:05:00Z`."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _parts(row: dict[str, Any], read: Mapping[str, Any], about: _About) -> Iterator[dict[str, Any]]:
    """A row each rating, rank or answer; where there are no parts, one, with the choice or the value."""
    kind = kind_of(read["kind"])
    owners = {"criteria": read["item__dataset_id"], "aspects": read["item__instruction_id"]}
    for key, said in kind.said_of_parts(read["value"]).items():
        text = about.texts.get((owners.get(kind.parts, 0), key), "")
        system = row["chosen_system"]
        if kind.parts == "responses":
            system = row["systems"][int(key)] if int(key) < len(row["systems"]) else None
        yield row | dict(zip(PART_COLUMNS, (key, text, system, said), strict=True))


Attempts = list[QualificationAttempt]
# The test's figures are those of the last attempt that was finished.
PEOPLE_COLUMNS: dict[str, Callable[[Enrollment, Attempts], Any]] = {
    "annotator": lambda person, _: person.pseudonym,
    "is_simulated": lambda person, _: person.annotator.is_simulated,
    "stage": lambda person, _: person.stage,
    "screened_out_by": lambda person, _: person.screened_out_by or None,
    "created_at": lambda person, _: _time(person.created_at),
    "finished_at": lambda person, _: _time(person.finished_at),
    "labels": lambda person, _: person.n_accepted,
    "test_attempts": lambda _, attempts: len(attempts),
    "test_right": lambda _, attempts: attempts[-1].n_right if attempts else None,
    "test_accuracy": lambda _, attempts: attempts[-1].accuracy if attempts else None,
    "test_passed": lambda _, attempts: attempts[-1].passed if attempts else None,
}
PEOPLE_IDENTITY: dict[str, Callable[[Enrollment, Attempts], Any]] = {
    "annotator_source": lambda person, _: person.annotator.source,
    "annotator_external_id": lambda person, _: person.annotator.external_id,
}
ELIGIBILITY = "eligibility."


def people_lines(study: Study, *, format: str, identify: bool) -> Iterator[str]:
    """The lines of the export, a row a person; `identify` adds who they are where they came from."""
    if format not in FORMATS:
        raise ValueError(f"format: expected {' or '.join(FORMATS)}, got {format!r}")
    people = list(Enrollment.objects.filter(study=study).select_related("annotator").order_by("pk"))
    asked = [question["key"] for question in study.eligibility or [] if "key" in question]
    keys = list(dict.fromkeys([*asked, *(key for one in people for key in one.eligibility)]))
    attempts: dict[int, list[QualificationAttempt]] = {}
    taken = QualificationAttempt.objects.filter(enrollment__study=study, finished_at__isnull=False)
    for attempt in taken.order_by("number"):
        attempts.setdefault(attempt.enrollment_id, []).append(attempt)
    identity = PEOPLE_IDENTITY if identify else {}

    def row(person: Enrollment) -> dict[str, Any]:
        finished = attempts.get(person.pk, [])
        answers = {f"{ELIGIBILITY}{key}": person.eligibility.get(key) for key in keys}
        return (
            {name: read(person, finished) for name, read in PEOPLE_COLUMNS.items()}
            | answers
            | {name: read(person, finished) for name, read in identity.items()}
        )

    rows = map(row, people)
    if format == "jsonl":
        return jsonl_lines(rows)
    return csv_of((*PEOPLE_COLUMNS, *(f"{ELIGIBILITY}{key}" for key in keys), *identity), rows)


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else utc_text(moment)

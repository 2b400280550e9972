"""What the columns of a file of items are, as somebody answers it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.http import QueryDict

from annotation.domain.scales import Scale
from annotation.importers.fields import (
    CHOSEN,
    FIELD_CHOICES,
    LABEL,
    LEAVE_OUT,
    OF_COLUMN,
    PREFERENCE,
    RATING,
    REJECTED,
    of_column,
)
from annotation.importers.guessing import criteria_for
from annotation.importers.mapping import MAX_WORDS, TableMapping, folded, mapping_of
from annotation.importers.rating_scales import (
    SUGGESTED,
    criterion_changed,
    criterion_scale,
    scale_text,
    scale_typed,
)
from annotation.kinds import kind_choices
from judges.models import DatasetImport

ASKED = 300
"""Columns that are asked for; the others stay as they were guessed."""
SAID = ("gold", LABEL, PREFERENCE, *OF_COLUMN)
"""Fields whose cells may be words that stand for a value."""
INSTRUCTIONS = ("instructions", "Instructions alone, for models to answer")


class MappingForm(forms.Form):
    """The kind of the items, what its columns are in `fields`, and what their words mean.

    Parameters
    ----------
    job
        The file, which was checked: it knows the columns.
    """

    kind = forms.ChoiceField(
        required=False,
        label="Kind of items",
        choices=lambda: [("", "As each row says, else pairs"), *kind_choices(), INSTRUCTIONS],
    )
    categories = forms.CharField(
        required=False,
        max_length=20_000,
        widget=forms.Textarea({"rows": 4}),
        help_text="For classification: one category per line, in the order in which they're shown.",
    )
    several = forms.BooleanField(required=False, label="A label may have several categories")
    is_new_version = forms.BooleanField(
        required=False,
        label="This file is the dataset's next version",
        help_text="Items that differ are replaced, and items that the file lacks are removed. Earlier versions keep "
        "theirs. Otherwise, what is new is added, and nothing may differ.",
    )

    def __init__(self, job: DatasetImport, data: QueryDict | None = None) -> None:
        self.job = job
        self.now = mapping_of(job.mapping) if job.mapping else TableMapping()
        declared = self.now.categories if isinstance(self.now.categories, dict) else {}
        listed = [one if isinstance(one, str) else one.get("key", "") for one in declared.get("list", [])]
        super().__init__(
            data,
            initial={
                "kind": self.now.kind,
                "categories": "\n".join(listed),
                "several": bool(declared.get("several")),
                "is_new_version": job.is_new_version,
            },
        )

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Each column that is asked for: name, samples, the field that is chosen, and what its words mean."""
        return [
            {
                "name": column["name"],
                "samples": column["samples"],
                "chosen": self._chosen(place, column["name"]),
                "words": self._words_typed(place, column["name"]),
                "has_words": self._chosen(place, column["name"]) in SAID,
                "scale": self._scale_typed(place, column),
                "has_scale": not self.job.criteria and self._chosen(place, column["name"]).startswith(RATING),
            }
            for place, column in enumerate(self._columns()[:ASKED])
        ]

    def _columns(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.job.found.get("columns", [])
        return found

    def _chosen(self, place: int, name: str) -> str:
        given = self.data.getlist("field") if isinstance(self.data, QueryDict) else []
        return given[place] if place < len(given) else self.now.columns.get(name, LEAVE_OUT)

    def _words_typed(self, place: int, name: str) -> str:
        typed = self.data.get(f"words-{place}")
        if typed is not None:
            return str(typed)
        words = self.now.values.get(name, {})
        return ", ".join(f"{word} = {_shown(value)}" for word, value in words.items())

    def _scale_typed(self, place: int, column: Mapping[str, Any]) -> str:
        """What is typed; else the scale that the column's criterion has, or that was guessed."""
        typed = self.data.get(f"scale-{place}")
        if typed is not None:
            return str(typed)
        declared = self._declared(column["name"])
        return scale_text(criterion_scale(declared)) if declared else column.get("scale", SUGGESTED[0])

    def _declared(self, column: str) -> dict[str, Any] | None:
        """The criterion that the mapping declares for a column of ratings."""
        key = of_column(self.now.columns.get(column, ""), column).removeprefix(RATING)
        declared = self.now.criteria if isinstance(self.now.criteria, list) else []
        return next((one for one in declared if isinstance(one, dict) and one.get("key") == key), None)

    def _criteria(
        self, rows: list[dict[str, Any]], columns: Mapping[str, str]
    ) -> list[dict[str, Any]] | None:
        """The criteria of columns of ratings, each on the scale that is typed beside it."""
        scales: dict[str, Scale] = {}
        changed: dict[str, dict[str, Any]] = {}
        for row in rows:
            if not row["has_scale"]:
                continue
            try:
                scale = scales[row["name"]] = scale_typed(row["scale"])
            except ValueError as error:
                self.add_error(None, f"{row['name']}: {error}")
                continue
            declared = self._declared(row["name"])
            if declared is not None and criterion_scale(declared).numbers != scale.numbers:
                changed[declared["key"]] = criterion_changed(declared, scale)
        found = criteria_for(TableMapping(columns, criteria=self.now.criteria), scales)
        return found and [changed.get(one["key"], one) for one in found]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        rows = self.rows
        asked = {row["name"] for row in rows}
        columns = dict(self.now.columns)
        values = {name: words for name, words in self.now.values.items() if name not in asked}
        for row in rows:
            columns[row["name"]] = row["chosen"]
            if row["words"].strip() and row["has_words"]:
                try:
                    values[row["name"]] = _words(row["words"])
                except ValueError as error:
                    self.add_error(None, f"{row['name']}: {error}")
        listed = [line.strip() for line in data.get("categories", "").splitlines() if line.strip()]
        categories = self.now.categories if not isinstance(self.now.categories, dict) else None
        if listed:
            # Definitions and level of a mapping that was uploaded stay, as far as the list does.
            before = self.now.categories if isinstance(self.now.categories, dict) else {}
            known = {one["key"]: one for one in before.get("list", []) if isinstance(one, dict)}
            categories = before | {
                "list": [known.get(name, name) for name in listed], "several": bool(data.get("several")),
            }  # fmt: skip
        kind = data.get("kind", "")
        if kind == self.now.kind == INSTRUCTIONS[0] and any(map(_is_response, columns.values())):
            kind = ""  # it was guessed before there was a response
        criteria = self._criteria(rows, columns)
        self.mapping = replace(
            self.now,
            columns=columns,
            kind=kind,
            values=values,
            criteria=None if self.job.criteria else criteria or self.now.criteria,
            categories=categories,
        )
        return data


field_choices = FIELD_CHOICES
scale_choices = SUGGESTED
known_fields = frozenset(value for _, choices in FIELD_CHOICES for value, _ in choices)


def _is_response(field: str) -> bool:
    return field.startswith("response") or field in (CHOSEN, REJECTED)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _words(typed: str) -> dict[str, Any]:
    """Words and their values from text such as ``"left = 1, right = 2"``; ValueError for another text."""
    found: dict[str, Any] = {}
    for part in filter(str.strip, typed.replace("\n", ",").split(",")):
        word, sign, value = part.rpartition("=")
        if not sign or not word.strip() or not value.strip():
            raise ValueError(
                f"expected words and values such as left = 1, right = 2; found “{part.strip()[:60]}”."
            )
        try:
            found[folded(word)] = json.loads(value)
        except ValueError:
            found[folded(word)] = value.strip()
    if len(found) > MAX_WORDS:
        raise ValueError(f"expected at most {MAX_WORDS} words, found {len(found)}.")
    return found

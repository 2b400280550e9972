"""Putting a bundle together: shared instructions become one, doubled ids are refused."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any, TypeAlias

from annotation.domain.scales import Scales
from annotation.importers.cells import ValueReader
from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.keys import KeyStore
from annotation.importers.records import (
    EMPTY,
    AspectRecord,
    CategoriesRecord,
    CriterionRecord,
    DatasetBundle,
    InstructionRecord,
    ItemRecord,
    LabelRecord,
    Origin,
    ReadUntil,
    ResponseRecord,
    Status,
    Turns,
    Value,
    VerdictRecord,
)
from annotation.importers.rows import Row
from annotation.kinds import PAIRWISE
from annotation.kinds.classification import UNORDERED, CategoryScheme

AspectFields: TypeAlias = tuple[str, str, str | None, Mapping[str, Any]]
"""Key, text, parent and metadata."""

_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def content_key(*parts: object) -> str:
    """A short name made of the content: the same in every file and on every machine."""
    return sha256(f"[{', '.join(map(_content_text, parts))}]".encode()).hexdigest()[:16]


def _content_text(part: object) -> str:
    # Most parts are text, none or an empty list, for which the encoder has a long way round.
    if isinstance(part, str):
        return encode_basestring(part)
    return "null" if part is None else "[]" if part == [] else _encode(part)


def _row_words(row: int) -> str:
    return f"row {row}" if row else "an earlier row"


@dataclass(frozen=True, slots=True)
class ReadStart:
    """Where the reading of a file continues, with the ids of the items, and of the instructions alone, before it."""

    until: ReadUntil
    items: KeyStore
    alone: KeyStore


class BundleBuilder:
    """Collects records row by row. Instructions with the same content are one, so that clusters are right."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._instructions: dict[str, InstructionRecord] = {}
        self._aspects: dict[str, tuple[AspectRecord, ...]] = {}
        self._responses: dict[tuple[str, str], ResponseRecord] = {}
        self._items: dict[str, ItemRecord] = {}
        self._alone: dict[str, Origin] = {}
        self._same: Counter[str] = Counter()
        self._counted: list[str] = []
        self._earlier, self._earlier_alone = KeyStore(), KeyStore()
        """Of items, and of instructions without one, in parts that were taken already, the row; 0 if it isn't known."""
        self._labels: dict[tuple[str, str], LabelRecord] = {}
        self._verdicts: dict[tuple[str, str, int, int], VerdictRecord] = {}
        self.criteria: dict[str, CriterionRecord] = {}
        self.categories: CategoriesRecord | None = None
        self.shared_categories: tuple[AspectFields, ...] = ()
        self.readers: dict[tuple[object, ...], ValueReader] = {}
        """What reads values, by what decides on the rules."""

    @contextmanager
    def whole_row(self) -> Iterator[None]:
        """Take back what a row added where the row is refused: all of it counts, or nothing."""
        added: tuple[dict[Any, Any], ...] = (
            *(self._instructions, self._aspects, self._responses, self._items, self._alone, self._same),
            *(self._labels, self._verdicts, self.criteria),
        )
        sizes = [len(one) for one in added]
        declared = self.categories, self.shared_categories
        self._counted.clear()
        try:
            yield
        except ImportFileError:
            for one, size in zip(added, sizes, strict=True):
                while len(one) > size:
                    one.popitem()
            self.categories, self.shared_categories = declared
            self.readers.clear()
            for key in self._counted:
                self._same[key] -= key in self._same
            raise

    @property
    def n_items(self) -> int:
        """Items so far."""
        return len(self._items)

    @property
    def is_empty(self) -> bool:
        """Whether there is neither an item nor an instruction without one."""
        kept = self._earlier.is_empty and self._earlier_alone.is_empty
        return kept and not self._items and not self._alone

    def instruction(
        self,
        row: Row,
        *,
        text: str,
        context: str = "",
        reference: str | None = None,
        category: str = "",
        subset: str = "",
        key: str | None = None,
        aspects: Sequence[AspectFields] = (),
        conversation: Turns = (),
        metadata: Mapping[str, Any] = EMPTY,
    ) -> str:
        """Add an instruction, or find it again; return its key. Aspects are (key, text, parent, metadata)."""
        if key is None:
            plain_aspects = [[a, t, p, dict(m)] for a, t, p, m in aspects]
            # What most instructions lack is no part of their key, which has to stay what it was.
            more = [[dict(turn) for turn in conversation]] if conversation else []
            key = content_key(text, context, reference, category, subset, plain_aspects, *more)
        known = self._instructions.get(key)
        if known is None:
            self._instructions[key] = InstructionRecord(
                key, text, row.origin, context, reference, category, subset, metadata, conversation
            )
            self._aspects[key] = tuple(
                AspectRecord(key, name, words, position, parent, metadata)
                for position, (name, words, parent, metadata) in enumerate(aspects)
            )
            return key
        offered = {
            "instruction": text,
            "context": context,
            "reference": reference,
            "category": category,
            "subset": subset,
            "conversation": conversation,
        }
        for field, value in offered.items():
            earlier = getattr(known, "text" if field == "instruction" else field)
            if value != earlier:
                row.fail(
                    field,
                    f"expected the same as in row {known.origin.row} for instruction {key!r}, "
                    f"{quoted(earlier)}, found {quoted(value)}.",
                )
        if [(a.key, a.text, a.parent, dict(a.metadata)) for a in self._aspects[key]] != [
            (name, words, parent, dict(metadata)) for name, words, parent, metadata in aspects
        ]:
            row.fail(
                "aspects", f"expected the same aspects as in row {known.origin.row} for instruction {key!r}."
            )
        return key

    def free_id(self, key: str) -> str:
        """The key, or with a number after it where an item has it already: the same texts twice are two items."""
        name = key
        while name in self._items or self._earlier.get(name) is not None:
            self._same[key] += 1
            self._counted.append(key)
            name = f"{key}-{self._same[key] + 1}"
        return name

    def instruction_alone(self, row: Row, *, key: str, field: str, again: bool = False) -> None:
        """Note that a row is an instruction without an item; each that has a name has one of its own."""
        known = self._alone[key].row if key in self._alone else self._earlier_alone.get(key)
        if known is not None and not again:
            row.fail(field, f"expected a unique name; {quoted(key)} is also in {_row_words(known)}.")
        self._alone[key] = row.origin

    def response(self, instruction: str, *, system: str, text: str, messages: Turns = ()) -> str:
        key = content_key(system, text, *([[dict(turn) for turn in messages]] if messages else []))
        record = ResponseRecord(instruction, key, system, text, messages)
        self._responses.setdefault((instruction, key), record)
        return key

    def item(
        self,
        row: Row,
        *,
        external_id: str,
        kind: str,
        instruction: str,
        responses: Sequence[str] = (),
        gold: Value | None = None,
        metadata: Mapping[str, Any] = EMPTY,
        explanation: str = "",
        field: str = "id",
        again: bool = False,
    ) -> None:
        """Add an item. With `again` it may be there already, if it is the same."""
        known = self._items.get(external_id)
        if known is not None and again:
            if (known.kind, known.instruction, known.responses) != (kind, instruction, tuple(responses)):
                row.fail(
                    field, f"expected the same texts as in row {known.origin.row} for {quoted(external_id)}."
                )
            if known.gold != gold:
                row.fail(
                    "gold",
                    f"expected {quoted(known.gold)} as in row {known.origin.row}, found {quoted(gold)}.",
                )
            return
        if known is not None:
            row.fail(field, f"expected a unique id; {quoted(external_id)} is also in row {known.origin.row}.")
        earlier = None if again else self._earlier.get(external_id)
        if earlier is not None:
            row.fail(field, f"expected a unique id; {quoted(external_id)} is also in {_row_words(earlier)}.")
        self._items[external_id] = ItemRecord(
            external_id, kind, instruction, row.origin, tuple(responses), gold, metadata, explanation
        )

    def pair(
        self,
        row: Row,
        *,
        instruction: str,
        texts: Sequence[str],
        systems: Sequence[str] = ("", ""),
        messages: Sequence[Turns] = ((), ()),
        **item: Any,
    ) -> None:
        """Add a pair by the texts of its two responses, of several turns by their messages; the rest as in `item`."""
        responses = [
            self.response(instruction, system=system, text=text, messages=turns)
            for system, text, turns in zip(systems, texts, messages, strict=True)
        ]
        self.item(row, kind=PAIRWISE.name, instruction=instruction, responses=responses, **item)

    def label(
        self,
        row: Row,
        *,
        item: str,
        annotator: str,
        value: Value,
        field: str,
        is_simulated: bool = False,
        evidence: Sequence[Value] | None = None,
    ) -> None:
        if known := self._labels.get((item, annotator)):
            row.fail(
                field,
                f"expected one label of annotator {quoted(annotator)} for item {quoted(item)}; "
                f"there is one in row {known.origin.row}.",
            )
        self._labels[item, annotator] = LabelRecord(
            item, annotator, value, row.origin, is_simulated, evidence
        )

    def verdict(
        self,
        row: Row,
        *,
        item: str,
        judge: str,
        order: int,
        value: Value | None,
        field: str,
        status: Status | None = None,
        raw: str = "",
        model: str = "",
        strategy: str = "imported",
        sample: int = 0,
        fingerprint: str = "",
        details: Mapping[str, Any] = EMPTY,
    ) -> None:
        status = status or ("unparsed" if value is None else "parsed")
        key = (item, fingerprint or judge, order, sample)
        if known := self._verdicts.get(key):
            row.fail(
                field,
                f"expected one verdict of judge {quoted(judge)} for item {quoted(item)} in order {order}; "
                f"there is one in row {known.origin.row}.",
            )
        self._verdicts[key] = VerdictRecord(
            item, judge, order, value, status, row.origin, raw, model, strategy, sample, fingerprint, details
        )

    @property
    def labels(self) -> tuple[LabelRecord, ...]:
        return tuple(self._labels.values())

    @property
    def verdicts(self) -> tuple[VerdictRecord, ...]:
        return tuple(self._verdicts.values())

    def criterion(
        self,
        row: Row,
        *,
        key: str,
        question: str,
        options: Mapping[str, str],
        scale: Mapping[str, Any] = EMPTY,
    ) -> None:
        """Add a criterion; `scale` is as it is stored (`Scale.as_json`)."""
        record = CriterionRecord(key, question, options, len(self.criteria), row.origin, scale)
        known = self.criteria.setdefault(key, record)
        if (known.question, dict(known.options), dict(known.scale)) != (question, dict(options), dict(scale)):
            row.fail("criteria", f"expected criterion {key!r} to be the same as in row {known.origin.row}.")

    @property
    def scales(self) -> Scales:
        """The scale of each criterion so far."""
        return {key: record.rated_on for key, record in self.criteria.items()}

    @property
    def scheme(self) -> CategoryScheme:
        return UNORDERED if self.categories is None else self.categories.scheme

    def declare_categories(self, row: Row, scheme: CategoryScheme, listed: Sequence[AspectFields]) -> None:
        """Note how items to classify use their categories, and the list of those that have none of their own."""
        if self.categories is None:
            self.categories, self.shared_categories = CategoriesRecord(scheme, row.origin), tuple(listed)
        elif (self.scheme, self.shared_categories) != (scheme, tuple(listed)):
            row.fail("categories", f"expected the same as in row {self.categories.origin.row}.")

    def declared(self) -> dict[str, Any]:
        """What rows have declared for later ones, as JSON; `continue_after` reads it."""
        found: dict[str, Any] = {}
        if self.criteria:
            found["criteria"] = [
                [one.key, one.question, dict(one.options), dict(one.scale), one.origin.row]
                for one in self.criteria.values()
            ]
        if self.categories is not None:
            shared = [[key, words] for key, words, *_ in self.shared_categories]
            found["categories"] = [self.categories.scheme.as_json(), shared, self.categories.origin.row]
        return found

    def continue_after(self, start: ReadStart, file: str) -> None:
        """Continue after rows of a file that were taken in parts by another builder."""
        for key, question, options, scale, row in start.until.declared.get("criteria", ()):
            self.criteria[key] = CriterionRecord(
                key, question, options, len(self.criteria), Origin(file, row), scale
            )
        if declared := start.until.declared.get("categories"):
            scheme, shared, row = declared
            self.categories = CategoriesRecord(CategoryScheme.of_json(scheme), Origin(file, row))
            self.shared_categories = tuple((key, words, None, EMPTY) for key, words in shared)
        self._earlier, self._earlier_alone = start.items, start.alone

    def part(self) -> DatasetBundle:
        """What was added since the last part, with all that is declared; of earlier items their ids are kept."""
        found = self._bundle()
        self._earlier.add((key, record.origin.row) for key, record in self._items.items())
        self._earlier_alone.add((key, origin.row) for key, origin in self._alone.items())
        for one in (
            self._instructions,
            self._aspects,
            self._responses,
            self._items,
            self._alone,
            self._labels,
            self._verdicts,
        ):
            one.clear()
        return found

    def finish(self, file: object) -> DatasetBundle:
        if self.is_empty:
            raise ImportFileError(file, None, None, "expected at least one item, found none.")
        return self._bundle()

    def _bundle(self) -> DatasetBundle:
        return DatasetBundle(
            source=self.source,
            instructions=tuple(self._instructions.values()),
            responses=tuple(self._responses.values()),
            items=tuple(self._items.values()),
            labels=tuple(self._labels.values()),
            verdicts=self.verdicts,
            criteria=tuple(self.criteria.values()),
            aspects=tuple(aspect for aspects in self._aspects.values() for aspect in aspects),
            categories=self.categories,
        )

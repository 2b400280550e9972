"""What an import says, held against what its dataset has: what is the same, what is new, what contradicts."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from django.db.models import Model, QuerySet

from annotation.importers import DatasetBundle, ImportFileError, ItemRecord
from annotation.importers.errors import Faults, quoted
from annotation.importers.keys import KeyStore
from annotation.models import Aspect, Dataset, Instruction, Item, ItemResponse
from web.batches import batched

BATCH = 5_000
INSTRUCTION_FIELDS = ("text", "context", "reference", "category", "subset", "conversation")
M = TypeVar("M", bound=Model)


@dataclass(slots=True)
class ImportTarget:
    """The dataset that an import goes into, and what one part of the file has to know of those before it.

    Attributes
    ----------
    is_created : bool
        The import made the dataset, so all its rows are of earlier parts.
    since_version : int
        The version of the dataset that the import makes.
    is_whole : bool
        There is one part: it is held against all rows of the dataset instead of those that it names.
    instructions, items
        Primary keys by external id, of what earlier parts made.
    named_items
        The ids that the parts of a new version have named.
    """

    dataset: Dataset
    is_created: bool = False
    since_version: int = 0
    is_whole: bool = True
    new_version: bool = False
    next_position: int | None = None
    annotators: dict[str, tuple[int, bool]] | None = None
    instructions: KeyStore = field(default_factory=KeyStore)
    items: KeyStore = field(default_factory=KeyStore)
    named_items: KeyStore = field(default_factory=KeyStore)

    def __post_init__(self) -> None:
        self.since_version = self.since_version or (1 if self.is_created else self.dataset.version + 1)
        self.new_version = self.new_version and not self.is_created

    @property
    def is_empty(self) -> bool:
        """Whether the dataset has no instruction, and so no item."""
        return self.is_created and self.instructions.is_empty

    def keep(self, store: KeyStore, made: Mapping[str, int]) -> None:
        """Note what this part has made, if a later one has to know."""
        if self.is_created and not self.is_whole:
            store.add(made.items())

    def missing(self) -> Iterator[list[int]]:
        """Items of the dataset that no part of a new version has named, in batches of primary keys."""
        rows = Item.objects.current().filter(dataset=self.dataset, since_version__lt=self.since_version)
        last = 0
        # No cursor stays open over rows that the caller changes.
        while batch := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", "external_id")[:BATCH]):
            last = batch[-1][0]
            named = self.named_items.found([external_id for _, external_id in batch])
            if gone := [pk for pk, external_id in batch if external_id not in named]:
                yield gone

    def named(self, rows: QuerySet[M], names: Sequence[str], made: KeyStore) -> Iterator[QuerySet[M]]:
        """The stored rows of these external ids, in batches; of a whole file all of the dataset's.

        `made` has those that this import has made.
        """
        if self.is_created:
            yield from self.keyed(rows, "pk", list(made.found(names).values()))
        else:
            yield from self.keyed(rows, "external_id", names)

    def keyed(self, rows: QuerySet[M], key: str, values: Sequence[Any]) -> Iterator[QuerySet[M]]:
        """The rows with one of these values, in batches; of a whole file all of the dataset's."""
        if self.is_whole and not self.is_created:
            yield rows
            return
        for batch in batched(values, BATCH):
            yield rows.filter(**{f"{key}__among": batch})


class DatasetComparison:
    """The items and instructions of a part of a file, held against what is stored.

    Attributes
    ----------
    new : list of ItemRecord
        The items that are to be stored.
    replaced : dict
        Of items that this version changes, their position.
    retired : list of int
        Items that this version changes or removes.
    instruction_ids, item_ids : dict
        Primary keys of what is stored and the same.
    """

    def __init__(self, target: ImportTarget, bundle: DatasetBundle, faults: Faults) -> None:
        self.target, self.bundle = target, bundle
        self.instructions = {record.key: record for record in bundle.instructions}
        self.responses = {(record.instruction, record.key): record for record in bundle.responses}
        self.instruction_ids: dict[str, int] = {}
        self.item_ids: dict[str, int] = {}
        self.new: list[ItemRecord] = []
        self.replaced: dict[str, int] = {}
        self.retired: list[int] = []
        self.n_removed = 0
        self._faults = faults
        if target.is_empty:
            self.new = list(bundle.items)
        else:
            self._compare_instructions()
            self._compare_items()

    def contradiction(self, record: Any, field: str, before: object, now: object) -> NoReturn:
        refuse_contradiction(self.target.dataset, record, field, before, now)

    def _compare_items(self) -> None:
        """Find the items that are stored already, and those that are not."""
        target = self.target
        items = Item.objects.current().filter(dataset=target.dataset)
        stored = {
            external_id: rest
            for rows in target.named(
                items, [record.external_id for record in self.bundle.items], target.items
            )
            for external_id, *rest in rows.values_list(
                *("external_id", "pk", "position", "instruction_id", "since_version"),
                *("kind", "instruction__external_id", "gold", "metadata", "explanation"),
            )
        }
        responses: dict[int, list[str]] = defaultdict(list)
        links = ItemResponse.objects.filter(item__dataset=target.dataset).order_by("item_id", "position")
        for rows in target.keyed(links, "item__pk", [known[0] for known in stored.values()]):
            for item_id, response in rows.values_list("item_id", "response__external_id"):
                responses[item_id].append(response)
        for record in self.bundle.items:
            known = stored.pop(record.external_id, None)
            if known is None:
                self.new.append(record)
                continue
            pk, position, instruction_id, since, *before = known
            # What an earlier part of the file has made it may not say otherwise.
            if target.new_version and since < target.since_version:
                if instruction_id != self.instruction_ids.get(record.instruction) or not _is_item(
                    record, before, responses[pk]
                ):
                    self.replaced[record.external_id] = position
                    self.retired.append(pk)
                    self.new.append(record)
                    continue
            else:
                with self._faults:
                    self._refuse_difference(record, pk, before, responses[pk])
            self.item_ids[record.external_id] = pk
        if not target.new_version:
            return
        if target.is_whole:
            self.n_removed = len(stored)
            self.retired += [pk for pk, *_ in stored.values()]
        else:
            target.named_items.add((record.external_id, 1) for record in self.bundle.items)

    def _refuse_difference(
        self, record: ItemRecord, pk: int, before: Sequence[Any], responses: Sequence[str]
    ) -> None:
        kind, instruction, *rest = before
        if kind != record.kind:
            self.contradiction(record, "kind", kind, record.kind)
        if instruction != record.instruction or tuple(responses) != record.responses:
            self._compare_texts(pk, record)
        offered = (record.gold, dict(record.metadata), record.explanation)
        for name, earlier, now in zip(("gold", "metadata", "explanation"), rest, offered, strict=True):
            if not same(earlier, now):
                self.contradiction(record, name, earlier, now)

    def _compare_instructions(self) -> None:
        """Instructions that are stored under the same key must say the same, aspects included."""
        target = self.target
        aspects: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for record in self.bundle.aspects:
            aspects[record.instruction].append(
                (record.key, record.text, record.parent, dict(record.metadata))
            )
        instructions = Instruction.objects.filter(dataset=target.dataset).order_by("since_version")
        latest = {  # of one id the last counts
            key: (pk, values)
            for rows in target.named(instructions, list(self.instructions), target.instructions)
            for pk, key, *values in rows.values_list(
                "pk", "external_id", "since_version", *INSTRUCTION_FIELDS
            ).iterator(chunk_size=BATCH)
        }
        stored_aspects: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        known = Aspect.objects.filter(instruction__dataset=target.dataset).order_by(
            "instruction_id", "position"
        )
        for rows in target.keyed(known, "instruction__pk", [pk for pk, _ in latest.values()]):
            for pk, *rest in rows.values_list("instruction_id", "key", "text", "parent__key", "metadata"):
                stored_aspects[pk].append(tuple(rest))
        for key, (pk, (since, *values)) in latest.items():
            offered = self.instructions.get(key)
            if offered is None:
                continue
            is_replaceable = target.new_version and since < target.since_version
            if is_replaceable and not (
                all(
                    same(value, getattr(offered, name))
                    for name, value in zip(INSTRUCTION_FIELDS, values, strict=True)
                )
                and same(stored_aspects[pk], aspects[key])
            ):
                continue
            self.instruction_ids[key] = pk
            with self._faults:
                for name, value in zip(INSTRUCTION_FIELDS, values, strict=True):
                    if not same(value, getattr(offered, name)):
                        self.contradiction(offered, _public(name), value, getattr(offered, name))
                if not same(stored_aspects[pk], aspects[key]):
                    names = ([a[0] for a in stored_aspects[pk]], [a[0] for a in aspects[key]])
                    self.contradiction(offered, "aspects", *names)

    def _compare_texts(self, pk: int, record: ItemRecord) -> None:
        """Find the text that differs; keys may differ where texts do not, if an item came in another way."""
        item = Item.objects.select_related("instruction").get(pk=pk)
        offered = self.instructions[record.instruction]
        for name in INSTRUCTION_FIELDS:
            before, now = getattr(item.instruction, name), getattr(offered, name)
            if not same(before, now):
                self.contradiction(record, _public(name), before, now)
        links = item.item_responses.select_related("response").order_by("position")
        before_responses = [link.response for link in links]
        if len(before_responses) != len(record.responses):
            self.contradiction(record, "responses", len(before_responses), len(record.responses))
        for number, (response, key) in enumerate(
            zip(before_responses, record.responses, strict=True), start=1
        ):
            wanted = self.responses[record.instruction, key]
            if response.text != wanted.text or not same(response.messages, wanted.messages):
                self.contradiction(record, f"response_{number}", response.text, wanted.text)
            if response.system != wanted.system:
                self.contradiction(record, f"system_{number}", response.system, wanted.system)
        if item.instruction.external_id != record.instruction:
            self.contradiction(record, "instruction_id", item.instruction.external_id, record.instruction)


def refuse_contradiction(dataset: Dataset, record: Any, field: str, before: object, now: object) -> NoReturn:
    """Refuse what a record says of a field, which is stored otherwise."""
    raise ImportFileError(
        record.origin.file,
        record.origin.row,
        field,
        f"expected {quoted(before)}, as stored in dataset {dataset.name!r}, found {quoted(now)}.",
    )


def _is_item(record: ItemRecord, stored: Sequence[Any], responses: Sequence[str]) -> bool:
    """Whether an item is stored as the record says, on an instruction that did not change."""
    kind, instruction, gold, metadata, explanation = stored
    return (
        (kind, instruction, tuple(responses)) == (record.kind, record.instruction, record.responses)
        and same(gold, record.gold)
        and same(metadata, dict(record.metadata))
        and explanation == record.explanation
    )


def _public(field: str) -> str:
    return "instruction" if field == "text" else field


def same(first: object, second: object) -> bool:
    """Equal as JSON: a database may give 1e300 back as a whole number, and a tuple as a list."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, int | float) and isinstance(second, int | float):
        return first == second or float(first) == float(second)
    return first == second

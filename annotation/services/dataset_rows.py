"""The rows of an import: what is stored already, what is new, what contradicts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NoReturn, TypeVar

from django.db.models import Max, Model, QuerySet

from annotation.importers import CriterionRecord, DatasetBundle, ImportFileError, ItemRecord, LabelRecord
from annotation.importers.errors import Faults, quoted
from annotation.models import (
    Annotator,
    Aspect,
    Criterion,
    Dataset,
    DatasetImage,
    Instruction,
    Item,
    ItemResponse,
    Label,
    Response,
)
from web.batches import batched

BATCH = 2000
INSTRUCTION_FIELDS = ("text", "context", "reference", "category", "subset", "conversation")
M = TypeVar("M", bound=Model)


class ImportRun:
    """One import into one dataset, inside the caller's transaction, which holds the dataset's row."""

    def __init__(
        self,
        *,
        dataset: Dataset,
        bundle: DatasetBundle,
        fresh: bool,
        progress: Callable[[str, int], None] | None,
        new_version: bool = False,
        since_version: int | None = None,
        is_part: bool = False,
        next_position: int | None = None,
    ) -> None:
        self.dataset = dataset
        self.bundle = bundle
        self.fresh = fresh
        self.progress = progress
        self.new_version = new_version and not fresh
        self.since_version = since_version or (1 if fresh else dataset.version + 1)
        self.is_part = is_part
        self.next_position = 0 if fresh else next_position
        self.n_changed = self.n_removed = 0
        self._dry = False
        self.created: Counter[str] = Counter()
        """How many rows were new, by what they are called."""
        self._instructions = {record.key: record for record in bundle.instructions}
        self._responses = {(record.instruction, record.key): record for record in bundle.responses}
        self._instruction_ids: dict[str, int] = {}
        self._response_ids: dict[tuple[str, str], int] = {}
        self._item_ids: dict[str, int] = {}
        self._replaced: dict[str, int] = {}
        """Of items that this version changes, their position."""
        self._changed_instructions: set[str] = set()
        self._made: set[int] = set()
        self._faults = Faults()

    def compare(self) -> int:
        """Hold the items against what is stored, and store nothing; how many are new.

        Raises
        ------
        ImportFileError
            They contradict it.
        """
        self._dry = True
        new = self._compare_items()
        self._faults.check()
        return len(new) - self.n_changed

    def store(self) -> None:
        self._store_criteria()
        self._store_categories()
        new = self._compare_items()
        self._faults.check()
        self._store_instructions(new)
        self._store_responses(new)
        self._store_items(new)
        self._store_images()
        self._store_labels()

    # --- criteria ------------------------------------------------------------------------------------------

    def _store_criteria(self) -> None:
        stored = {criterion.key: criterion for criterion in self.dataset.criteria.all()}
        new: list[Criterion] = []
        for record in self.bundle.criteria:
            known = stored.get(record.key)
            if known is None:
                new.append(criterion_row(self.dataset, record, len(stored) + len(new)))
            elif known.question != record.question:
                self._contradiction(record, f"criteria.{record.key}", known.question, record.question)
            elif known.options != dict(record.options):
                self._contradiction(record, f"criteria.{record.key}", known.options, dict(record.options))
            elif known.scale != dict(record.scale):
                field = f"criteria.{record.key}.scale"
                self._contradiction(record, field, str(known.rated_on), str(record.rated_on))
        self._create(Criterion, new, "criteria")

    def _store_categories(self) -> None:
        """How categories are used is said once: labels that are there were given under it."""
        record = self.bundle.categories
        if record is None or same(self.dataset.categories, scheme := record.scheme.as_json()):
            return
        if self.dataset.categories:
            self._contradiction(record, "categories", self.dataset.categories, scheme)
        self.dataset.categories = scheme
        self.dataset.save(update_fields=["categories"])
        self.created["categories"] += 1

    # --- items ---------------------------------------------------------------------------------------------

    def _compare_items(self) -> list[ItemRecord]:
        """Check the items that are stored already; return those that are not."""
        if self.fresh:
            return list(self.bundle.items)
        items = Item.objects.current().filter(dataset=self.dataset)
        stored = {
            external_id: rest
            for rows in self._named(items, [record.external_id for record in self.bundle.items])
            for external_id, *rest in rows.values_list(
                *("external_id", "pk", "position", "kind", "instruction__external_id"),
                *("gold", "metadata", "explanation"),
            )
        }
        responses: dict[int, list[str]] = defaultdict(list)
        links = ItemResponse.objects.filter(item__dataset=self.dataset).order_by("item_id", "position")
        for rows in self._keyed(links, "item_id", [known[0] for known in stored.values()]):
            for item_id, response in rows.values_list("item_id", "response__external_id"):
                responses[item_id].append(response)
        self._compare_instructions()
        new, retired = [], []
        for record in self.bundle.items:
            known = stored.pop(record.external_id, None)
            if known is None:
                new.append(record)
                continue
            pk, position, *before = known
            if self.new_version:
                if record.instruction in self._changed_instructions or not _is_item(
                    record, before, responses[pk]
                ):
                    self._replaced[record.external_id] = position
                    retired.append(pk)
                    new.append(record)
                    continue
            else:
                with self._faults:
                    self._refuse_difference(record, pk, before, responses[pk])
            self._item_ids[record.external_id] = pk
        if self.new_version:
            self.n_changed, self.n_removed = len(retired), len(stored)
            self._retire([*retired, *(pk for pk, *_ in stored.values())])
        return new

    def _retire(self, pks: Sequence[int]) -> None:
        """Leave these items to the versions up to now."""
        if self._dry:
            return
        for batch in batched(pks, BATCH):
            Item.objects.filter(pk__in=batch).update(until_version=self.since_version)

    def _refuse_difference(
        self, record: ItemRecord, pk: int, before: Sequence[Any], responses: Sequence[str]
    ) -> None:
        kind, instruction, *rest = before
        if kind != record.kind:
            self._contradiction(record, "kind", kind, record.kind)
        if instruction != record.instruction or tuple(responses) != record.responses:
            self._compare_texts(pk, record)
        offered = (record.gold, dict(record.metadata), record.explanation)
        for field, earlier, now in zip(("gold", "metadata", "explanation"), rest, offered, strict=True):
            if not same(earlier, now):
                self._contradiction(record, field, earlier, now)

    def _compare_instructions(self) -> None:
        """Instructions that are stored under the same key must say the same, aspects included."""
        aspects: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for record in self.bundle.aspects:
            aspects[record.instruction].append(
                (record.key, record.text, record.parent, dict(record.metadata))
            )
        instructions = Instruction.objects.filter(dataset=self.dataset).order_by("since_version")
        latest = {  # of one id the last counts
            key: (pk, values)
            for rows in self._named(instructions, list(self._instructions))
            for pk, key, *values in rows.values_list("pk", "external_id", *INSTRUCTION_FIELDS).iterator(
                chunk_size=BATCH
            )
        }
        stored_aspects: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        known = Aspect.objects.filter(instruction__dataset=self.dataset).order_by(
            "instruction_id", "position"
        )
        for rows in self._keyed(known, "instruction_id", [pk for pk, _ in latest.values()]):
            for pk, *rest in rows.values_list("instruction_id", "key", "text", "parent__key", "metadata"):
                stored_aspects[pk].append(tuple(rest))
        for key, (pk, values) in latest.items():
            offered = self._instructions.get(key)
            if offered is None:
                continue
            if self.new_version and not (
                all(
                    same(value, getattr(offered, field))
                    for field, value in zip(INSTRUCTION_FIELDS, values, strict=True)
                )
                and same(stored_aspects[pk], aspects[key])
            ):
                self._changed_instructions.add(key)
                continue
            self._instruction_ids[key] = pk
            with self._faults:
                for field, value in zip(INSTRUCTION_FIELDS, values, strict=True):
                    if not same(value, getattr(offered, field)):
                        self._contradiction(offered, _public(field), value, getattr(offered, field))
                if not same(stored_aspects[pk], aspects[key]):
                    names = ([a[0] for a in stored_aspects[pk]], [a[0] for a in aspects[key]])
                    self._contradiction(offered, "aspects", *names)

    def _compare_texts(self, pk: int, record: ItemRecord) -> None:
        """Find the text that differs; keys may differ where texts do not, if an item came in another way."""
        item = Item.objects.select_related("instruction").get(pk=pk)
        offered = self._instructions[record.instruction]
        for field in INSTRUCTION_FIELDS:
            before, now = getattr(item.instruction, field), getattr(offered, field)
            if not same(before, now):
                self._contradiction(record, _public(field), before, now)
        links = item.item_responses.select_related("response").order_by("position")
        before_responses = [link.response for link in links]
        if len(before_responses) != len(record.responses):
            self._contradiction(record, "responses", len(before_responses), len(record.responses))
        for number, (response, key) in enumerate(
            zip(before_responses, record.responses, strict=True), start=1
        ):
            wanted = self._responses[record.instruction, key]
            if response.text != wanted.text or not same(response.messages, wanted.messages):
                self._contradiction(record, f"response_{number}", response.text, wanted.text)
            if response.system != wanted.system:
                self._contradiction(record, f"system_{number}", response.system, wanted.system)
        if item.instruction.external_id != record.instruction:
            self._contradiction(record, "instruction_id", item.instruction.external_id, record.instruction)

    def _store_instructions(self, items: Sequence[ItemRecord]) -> None:
        # Those of the new items, and those that stand alone.
        known = {item.instruction for item in self.bundle.items} - {item.instruction for item in items}
        records = [
            record
            for key, record in self._instructions.items()
            if key not in self._instruction_ids and key not in known
        ]
        rows = [
            Instruction(
                dataset=self.dataset,
                external_id=record.key,
                text=record.text,
                context=record.context,
                reference=record.reference,
                category=record.category,
                subset=record.subset,
                metadata=dict(record.metadata),
                conversation=[dict(turn) for turn in record.conversation],
                since_version=self.since_version,
            )
            for record in records
        ]
        self._create(Instruction, rows, "instructions")
        self._instruction_ids |= {row.external_id: row.pk for row in rows}
        self._store_aspects({record.key for record in records})

    def _store_aspects(self, instructions: set[str]) -> None:
        """Store aspects level by level of their trees: a parent needs its primary key before its children."""
        waiting = [record for record in self.bundle.aspects if record.instruction in instructions]
        ids: dict[tuple[str, str], int] = {}
        while waiting:
            ready = [r for r in waiting if r.parent is None or (r.instruction, r.parent) in ids]
            rows = [
                Aspect(
                    instruction_id=self._instruction_ids[record.instruction],
                    key=record.key,
                    text=record.text,
                    position=record.position,
                    parent_id=None if record.parent is None else ids[record.instruction, record.parent],
                    metadata=dict(record.metadata),
                )
                for record in ready
            ]
            self._create(Aspect, rows, "aspects")
            made = {(r.instruction, r.key): row.pk for r, row in zip(ready, rows, strict=True)}
            ids |= made
            waiting = [record for record in waiting if (record.instruction, record.key) not in made]

    def _store_responses(self, items: Sequence[ItemRecord]) -> None:
        wanted = {(item.instruction, key): None for item in items for key in item.responses}
        if not self.fresh:
            keys = {pk: key for key, pk in self._instruction_ids.items()}
            stored = Response.objects.filter(instruction__dataset=self.dataset)
            for found in self._keyed(stored, "instruction_id", list(keys)):
                for pk, instruction, key in found.values_list("pk", "instruction", "external_id"):
                    if instruction in keys:  # there are more: of other instructions, and of earlier versions
                        self._response_ids[keys[instruction], key] = pk
        missing = [pair for pair in wanted if pair not in self._response_ids]
        rows = [
            Response(
                instruction_id=self._instruction_ids[instruction],
                external_id=key,
                system=self._responses[instruction, key].system,
                text=self._responses[instruction, key].text,
                messages=[dict(turn) for turn in self._responses[instruction, key].messages],
            )
            for instruction, key in missing
        ]
        self._create(Response, rows, "responses")
        self._response_ids |= {pair: row.pk for pair, row in zip(missing, rows, strict=True)}

    def _store_items(self, records: Sequence[ItemRecord]) -> None:
        if self.next_position is None:
            last = self.dataset.items.aggregate(last=Max("position"))["last"]
            self.next_position = 0 if last is None else last + 1
        added = count(self.next_position)
        rows = [
            Item(
                dataset=self.dataset,
                instruction_id=self._instruction_ids[record.instruction],
                external_id=record.external_id,
                kind=record.kind,
                position=position,
                gold=record.gold,
                metadata=dict(record.metadata),
                explanation=record.explanation,
                since_version=self.since_version,
            )
            for record in records
            for position in [
                self._replaced[record.external_id] if record.external_id in self._replaced else next(added)
            ]
        ]
        self.next_position = next(added)
        self._create(Item, rows, "items")
        self.created["items"] -= len(self._replaced)
        links = [
            ItemResponse(item=row, response_id=self._response_ids[record.instruction, key], position=position)
            for row, record in zip(rows, records, strict=True)
            for position, key in enumerate(record.responses)
        ]
        self._create(ItemResponse, links, "places of responses")
        self._item_ids |= {row.external_id: row.pk for row in rows}
        self._made = {row.pk for row in rows}

    def _store_images(self) -> None:
        if not self.bundle.images:
            return
        known = set(self.dataset.images.values_list("digest", flat=True))
        rows = [
            DatasetImage(
                dataset=self.dataset,
                digest=record.digest,
                width=record.width,
                height=record.height,
                size=record.size,
            )
            for record in self.bundle.images
            if record.digest not in known
        ]
        self._create(DatasetImage, rows, "images")

    # --- labels --------------------------------------------------------------------------------------------

    def _store_labels(self) -> None:
        if not self.bundle.labels:
            return
        kinds = {item.external_id: item.kind for item in self.bundle.items}
        if alone := {record.item for record in self.bundle.labels} - kinds.keys():
            there = Item.objects.current().filter(dataset=self.dataset, external_id__in=alone)
            for external_id, pk, kind in there.values_list("external_id", "pk", "kind"):
                self._item_ids[external_id], kinds[external_id] = pk, kind
        annotators = self._store_annotators()
        stored: dict[tuple[int, int], Any] = {}
        if not self.fresh:
            labels = Label.objects.standing().filter(item__dataset=self.dataset, study__isnull=True)
            wanted = {self._item_ids[record.item] for record in self.bundle.labels} - self._made
            for rows_of in self._keyed(labels, "item_id", sorted(wanted)):
                for item_id, annotator_id, value in rows_of.values_list("item_id", "annotator_id", "value"):
                    stored[item_id, annotator_id] = value
        rows = []
        for record in self.bundle.labels:
            item_id, annotator_id = self._item_ids[record.item], annotators[record.annotator]
            known = stored.get((item_id, annotator_id))
            if known is None:
                rows.append(
                    Label(
                        item_id=item_id,
                        annotator_id=annotator_id,
                        kind=kinds[record.item],
                        value=record.value,
                        choice=record.value.get("choice"),
                        source=record.origin.source,
                    )
                )
            elif not same(known, record.value):
                with self._faults:
                    self._contradiction(record, f"label of {record.annotator}", known, record.value)
        self._faults.check()
        self._create(Label, rows, "labels")

    def _store_annotators(self) -> dict[str, int]:
        source = f"import:{self.dataset.name}"
        first: dict[str, LabelRecord] = {}
        for record in self.bundle.labels:
            first.setdefault(record.annotator, record)
        stored = {annotator.external_id: annotator for annotator in Annotator.objects.filter(source=source)}
        for name, record in first.items():
            if name in stored and stored[name].is_simulated != record.is_simulated:
                self._contradiction(record, "simulated", stored[name].is_simulated, record.is_simulated)
        rows = [
            Annotator(source=source, external_id=name, is_simulated=record.is_simulated)
            for name, record in first.items()
            if name not in stored
        ]
        self._create(Annotator, rows, "annotators")
        return {annotator.external_id: annotator.pk for annotator in [*stored.values(), *rows]}

    def _named(self, rows: QuerySet[M], names: Sequence[str]) -> Iterator[QuerySet[M]]:
        """The stored rows of these external ids, in batches; of a whole file all of the dataset's."""
        return self._keyed(rows, "external_id", names)

    def _keyed(self, rows: QuerySet[M], key: str, values: Sequence[Any]) -> Iterator[QuerySet[M]]:
        if not self.is_part:
            yield rows
            return
        for batch in batched(values, BATCH):
            yield rows.filter(**{f"{key}__in": batch})

    # --- help ----------------------------------------------------------------------------------------------

    def _create(self, model: type[M], rows: Sequence[M], what: str) -> None:
        """Insert in batches and fill in the primary keys."""
        for batch in batched(rows, BATCH):
            model._default_manager.bulk_create(batch)
            self.created[what] += len(batch)
            if self.progress is not None:
                self.progress(what, self.created[what])

    def _contradiction(self, record: Any, field: str, before: object, now: object) -> NoReturn:
        raise ImportFileError(
            record.origin.file,
            record.origin.row,
            field,
            f"expected {quoted(before)}, as stored in dataset {self.dataset.name!r}, found {quoted(now)}.",
        )


def criterion_row(dataset: Dataset, record: CriterionRecord, position: int) -> Criterion:
    return Criterion(
        dataset=dataset,
        key=record.key,
        question=record.question,
        options=dict(record.options),
        scale=dict(record.scale),
        position=position,
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

"""The rows of an import: what is new in a part of a file, stored."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from django.db.models import Max, Model

from annotation.importers import CriterionRecord, DatasetBundle, ItemRecord, LabelRecord
from annotation.importers.errors import Faults
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
from annotation.services.dataset_comparison import (
    BATCH,
    DatasetComparison,
    ImportTarget,
    refuse_contradiction,
    same,
)
from web.batches import batched
from web.bulk import keys_take, rows_insert


class ImportRun:
    """One part of an import, inside the caller's transaction, which holds the dataset's row."""

    def __init__(
        self,
        target: ImportTarget,
        bundle: DatasetBundle,
        progress: Callable[[str, int], None] | None = None,
    ) -> None:
        self.target = target
        self.dataset = target.dataset
        self.bundle = bundle
        self.progress = progress
        self.n_changed = self.n_removed = 0
        self.created: Counter[str] = Counter()
        """How many rows were new, by what they are called."""
        self._instruction_ids: dict[str, int] = {}
        self._response_ids: dict[tuple[str, str], int] = {}
        self._item_ids: dict[str, int] = {}
        self._stored_items: set[int] = set()
        self._faults = Faults()

    def compare(self) -> DatasetComparison:
        """Hold the items against what is stored, and store nothing.

        Raises
        ------
        ImportFileError
            They contradict it.
        """
        found = DatasetComparison(self.target, self.bundle, self._faults)
        self._faults.check()
        self.n_changed, self.n_removed = len(found.replaced), found.n_removed
        return found

    def store(self) -> None:
        self._store_criteria()
        self._store_categories()
        found = self.compare()
        for batch in batched(found.retired, BATCH):
            items_retire(self.target, batch)
        self._store_instructions(found)
        self._store_responses(found)
        self._store_items(found)
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
        Criterion.objects.bulk_create(new)
        self.created["criteria"] += len(new)

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

    def _store_instructions(self, found: DatasetComparison) -> None:
        # Those of the new items, and those that stand alone.
        known = {item.instruction for item in self.bundle.items} - {item.instruction for item in found.new}
        records = [
            record
            for key, record in found.instructions.items()
            if key not in found.instruction_ids and key not in known
        ]
        keys = keys_take(Instruction, len(records))
        self._insert(
            Instruction,
            (
                *("id", "dataset_id", "external_id", "text", "context", "reference", "category", "subset"),
                *("metadata", "conversation", "since_version"),
            ),
            (
                (
                    *(key, self.dataset.pk, record.key, record.text, record.context, record.reference),
                    *(record.category, record.subset, dict(record.metadata)),
                    *([dict(turn) for turn in record.conversation], self.target.since_version),
                )
                for key, record in zip(keys, records, strict=True)
            ),
            "instructions",
        )
        made = {record.key: key for key, record in zip(keys, records, strict=True)}
        self.target.keep(self.target.instructions, made)
        self._instruction_ids = found.instruction_ids | made
        self._store_aspects(made.keys())

    def _store_aspects(self, instructions: Iterable[str]) -> None:
        """Store aspects level by level of their trees: a parent needs its primary key before its children."""
        wanted = set(instructions)
        waiting = [record for record in self.bundle.aspects if record.instruction in wanted]
        ids: dict[tuple[str, str], int] = {}
        while waiting:
            ready = [r for r in waiting if r.parent is None or (r.instruction, r.parent) in ids]
            keys = keys_take(Aspect, len(ready))
            self._insert(
                Aspect,
                ("id", "instruction_id", "key", "text", "position", "parent_id", "metadata"),
                (
                    (
                        *(key, self._instruction_ids[record.instruction], record.key, record.text),
                        *(
                            record.position,
                            None if record.parent is None else ids[record.instruction, record.parent],
                        ),
                        dict(record.metadata),
                    )
                    for key, record in zip(keys, ready, strict=True)
                ),
                "aspects",
            )
            made = {(r.instruction, r.key): key for key, r in zip(keys, ready, strict=True)}
            ids |= made
            waiting = [record for record in waiting if (record.instruction, record.key) not in made]

    def _store_responses(self, found: DatasetComparison) -> None:
        wanted = {(item.instruction, key): None for item in found.new for key in item.responses}
        of_stored = {
            pk: key for key in dict(wanted.keys()) if (pk := found.instruction_ids.get(key)) is not None
        }
        stored = Response.objects.filter(instruction__dataset=self.dataset)
        for rows in self.target.keyed(stored, "instruction__pk", list(of_stored)) if of_stored else ():
            for pk, instruction, key in rows.values_list("pk", "instruction", "external_id"):
                if instruction in of_stored:  # there are more: of other instructions, and of earlier versions
                    self._response_ids[of_stored[instruction], key] = pk
        missing = [pair for pair in wanted if pair not in self._response_ids]
        keys = keys_take(Response, len(missing))
        self._insert(
            Response,
            ("id", "instruction_id", "external_id", "system", "text", "messages"),
            (
                (
                    *(pk, self._instruction_ids[instruction], key, record.system, record.text),
                    [dict(turn) for turn in record.messages],
                )
                for pk, (instruction, key) in zip(keys, missing, strict=True)
                for record in [found.responses[instruction, key]]
            ),
            "responses",
        )
        self._response_ids.update(zip(missing, keys, strict=True))

    def _store_items(self, found: DatasetComparison) -> None:
        target = self.target
        if target.next_position is None:
            last = self.dataset.items.aggregate(last=Max("position"))["last"]
            target.next_position = 0 if last is None else last + 1
        added = count(target.next_position)
        keys = keys_take(Item, len(found.new))
        self._insert(
            Item,
            (
                *("id", "dataset_id", "instruction_id", "external_id", "kind", "position", "gold"),
                *("metadata", "explanation", "since_version"),
            ),
            (
                (
                    *(key, self.dataset.pk, self._instruction_ids[record.instruction], record.external_id),
                    *(record.kind, _position(found, record, added), record.gold, dict(record.metadata)),
                    *(record.explanation, target.since_version),
                )
                for key, record in zip(keys, found.new, strict=True)
            ),
            "items",
        )
        target.next_position = next(added)
        self.created["items"] -= len(found.replaced)
        self._insert(
            ItemResponse,
            ("item_id", "response_id", "position"),
            (
                (key, self._response_ids[record.instruction, response], position)
                for key, record in zip(keys, found.new, strict=True)
                for position, response in enumerate(record.responses)
            ),
            "places of responses",
        )
        made = {record.external_id: key for key, record in zip(keys, found.new, strict=True)}
        target.keep(target.items, made)
        self._stored_items = set(found.item_ids.values())
        self._item_ids = found.item_ids | made

    def _store_images(self) -> None:
        if not self.bundle.images:
            return
        known = set(self.dataset.images.values_list("digest", flat=True))
        new = [record for record in self.bundle.images if record.digest not in known]
        self._insert(
            DatasetImage,
            ("dataset_id", "digest", "width", "height", "size"),
            ((self.dataset.pk, one.digest, one.width, one.height, one.size) for one in new),
            "images",
        )

    # --- labels --------------------------------------------------------------------------------------------

    def _store_labels(self) -> None:
        if not self.bundle.labels:
            return
        kinds = {item.external_id: item.kind for item in self.bundle.items}
        if alone := {record.item for record in self.bundle.labels} - kinds.keys():
            there = Item.objects.current().filter(dataset=self.dataset, external_id__among=alone)
            for external_id, pk, kind in there.values_list("external_id", "pk", "kind"):
                self._item_ids[external_id], kinds[external_id] = pk, kind
                self._stored_items.add(pk)
        annotators = self._annotators()
        stored = self._stored_labels()
        rows = []
        for record in self.bundle.labels:
            item_id, annotator_id = self._item_ids[record.item], annotators[record.annotator][0]
            known = stored.get((item_id, annotator_id))
            if known is None:
                choice = record.value.get("choice")
                row = (item_id, annotator_id, kinds[record.item], record.value, choice, record.origin.source)
                rows.append((*row, record.evidence))
            elif not same(known[0], record.value):
                with self._faults:
                    self._contradiction(record, f"label of {record.annotator}", known[0], record.value)
            elif record.evidence is not None and not same(known[1], record.evidence):
                with self._faults:
                    self._contradiction(record, f"evidence of {record.annotator}", known[1], record.evidence)
        self._faults.check()
        fields = ("item_id", "annotator_id", "kind", "value", "choice", "source", "evidence")
        self._insert(Label, fields, rows, "labels")

    def _stored_labels(self) -> dict[tuple[int, int], Any]:
        """Value and evidence of imported labels of items that were stored before, by item and annotator."""
        wanted = {self._item_ids[record.item] for record in self.bundle.labels} & self._stored_items
        if not wanted:
            return {}
        labels = Label.objects.standing().filter(item__dataset=self.dataset, study__isnull=True)
        return {
            (item_id, annotator_id): (value, evidence)
            for rows in self.target.keyed(labels, "item__pk", sorted(wanted))
            for item_id, annotator_id, value, evidence in rows.values_list(
                "item_id", "annotator_id", "value", "evidence"
            )
        }

    def _annotators(self) -> dict[str, tuple[int, bool]]:
        """The primary key of each annotator of the dataset, and whether they are simulated; new ones are stored."""
        source = f"import:{self.dataset.name}"
        known = self.target.annotators
        if known is None:
            rows = Annotator.objects.filter(source=source).values_list("external_id", "pk", "is_simulated")
            known = self.target.annotators = {name: (pk, simulated) for name, pk, simulated in rows}
        first: dict[str, LabelRecord] = {}
        for record in self.bundle.labels:
            first.setdefault(record.annotator, record)
        for name, record in first.items():
            if name in known and known[name][1] != record.is_simulated:
                self._contradiction(record, "simulated", known[name][1], record.is_simulated)
        new = [
            Annotator(source=source, external_id=name, is_simulated=record.is_simulated)
            for name, record in first.items()
            if name not in known
        ]
        for made in Annotator.objects.bulk_create(new, batch_size=BATCH):
            known[made.external_id] = made.pk, made.is_simulated
        self.created["annotators"] += len(new)
        return known

    # --- help ----------------------------------------------------------------------------------------------

    def _insert(
        self, model: type[Model], fields: Sequence[str], rows: Iterable[Sequence[Any]], what: str
    ) -> None:
        for batch in batched(rows, BATCH):
            rows_insert(model, fields, batch)
            self.created[what] += len(batch)
            if self.progress is not None:
                self.progress(what, self.created[what])

    def _contradiction(self, record: Any, field: str, before: object, now: object) -> None:
        refuse_contradiction(self.dataset, record, field, before, now)


def items_retire(target: ImportTarget, keys: Sequence[int]) -> int:
    """Take items out of the version that an import makes; they stay in those up to now. Returns how many."""
    return Item.objects.filter(pk__among=keys).update(until_version=target.since_version)


def _position(found: DatasetComparison, record: ItemRecord, added: "count[int]") -> int:
    known = found.replaced.get(record.external_id)
    return next(added) if known is None else known


def criterion_row(dataset: Dataset, record: CriterionRecord, position: int) -> Criterion:
    return Criterion(
        dataset=dataset,
        key=record.key,
        question=record.question,
        options=dict(record.options),
        scale=dict(record.scale),
        position=position,
    )

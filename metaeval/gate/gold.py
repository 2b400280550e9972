"""What a gate holds a judge against: a file of items with gold answers or labels, and files of verdicts on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from annotation.domain.scales import Scale
from annotation.importers import DatasetBundle, ImportFileError, read_generic
from annotation.importers.errors import quoted
from annotation.importers.images import ImageAttaching
from annotation.importers.records import EMPTY, CriterionRecord
from annotation.kinds import ItemKind, kind_of
from annotation.kinds.classification import UNORDERED, CategoryScheme
from judges.engine.codec import PARSED
from judges.standalone.items import bundle_views
from judges.standalone.verdicts import verdict_read
from judges.strategies.contents import item_content_hash
from judges.strategies.types import ItemView
from metaeval.figures.answers import judge_answers, judgment_columns
from metaeval.figures.grades import label_grades
from metaeval.inputs import (
    GOLD,
    Floats,
    Inputs,
    Items,
    JudgeAnswers,
    Labels,
    StoredItem,
    columns_of,
    items_make,
)


@dataclass(frozen=True, slots=True, eq=False)
class GoldFile:
    """Items of one kind with what is known of them.

    Attributes
    ----------
    views : tuple of ItemView
        The items as a judge sees them, in the order of `items`.
    n_others : int
        Items of other kinds, which are left out.
    graded_gold : Labels or None
        Gold answers that say how strong a preference is, as the labels of one annotator; None where none does.
    """

    path: Path
    kind: str
    views: tuple[ItemView, ...]
    items: Items
    labels: Labels
    criteria: tuple[str, ...] = ()
    n_others: int = 0
    scheme: CategoryScheme = UNORDERED
    scales: tuple[Scale, ...] = ()
    graded_gold: Labels | None = None

    @property
    def is_graded(self) -> bool:
        """Whether a label or a gold answer says how strong a preference is."""
        return self.labels.grades is not None or self.graded_gold is not None

    def inputs(self, *judges: JudgeAnswers) -> Inputs:
        """Return what figures are computed from."""
        facts = {"dataset": {"name": self.path.name}, "study": None, "sweep": None}
        return Inputs(
            self.kind,
            self.path.name,
            facts,
            self.items,
            self.labels,
            judges,
            criteria=self.criteria,
            scheme=self.scheme,
            scales=self.scales,
        )


def gold_read(
    path: Path,
    kind: str,
    *,
    systems: tuple[str, ...] = (),
    mapping: Mapping[str, str] = EMPTY,
    images: ImageAttaching | None = None,
) -> GoldFile:
    """Read the items of a kind with their gold answers and labels, from a file of the generic format.

    Parameters
    ----------
    images : ImageAttaching, optional
        Stores the images that items show.

    Raises
    ------
    ImportFileError
        Names the file, the row and the field; also where no item has a gold answer, two labels, or a label that
        says how strong a preference is.
    """
    bundle = read_generic(path, mapping=mapping)
    bundle = bundle if images is None else images.attach(bundle)
    views = tuple(bundle_views(bundle, kind, systems))
    if not views:
        raise ImportFileError(
            path, None, "kind", f"expected items of the kind '{kind}', which the judge judges."
        )
    of_kind = kind_of(kind)
    items = items_make(of_kind, _rows(bundle, of_kind, views))
    labels = _labels(bundle, of_kind, items)
    given = np.bincount(labels.item, minlength=len(items)) if len(labels) else np.zeros(len(items))
    if not items.has_gold.any() and not (given > 1).any() and labels.grades is None:
        raise ImportFileError(
            path, None, "gold", "expected gold answers, or items with the labels of two annotators or more."
        )
    declared = _criteria(bundle) if of_kind.parts == "criteria" else []
    criteria, scales = (
        tuple(each.key for each in declared),
        tuple(each.rated_on.numbers for each in declared),
    )
    scheme = UNORDERED if bundle.categories is None else bundle.categories.scheme
    return GoldFile(
        path,
        kind,
        views,
        items,
        labels,
        criteria,
        len(bundle.items) - len(views),
        scheme,
        scales,
        _graded_gold(of_kind, items, [item.gold for item in bundle.items if item.kind == kind]),
    )


def _criteria(bundle: DatasetBundle) -> list[CriterionRecord]:
    return sorted(bundle.criteria, key=lambda each: each.position)


def _rows(bundle: DatasetBundle, kind: ItemKind, views: tuple[ItemView, ...]) -> list[StoredItem]:
    records = [item for item in bundle.items if item.kind == kind.name]
    # Instructions are numbered by first appearance, as in a database, and those that differ in their aspects are one.
    numbers: dict[object, str] = {}
    is_whole = kind.parts != "aspects"
    found = []
    for record, view in zip(records, views, strict=True):
        if kind.parts == "aspects":
            parts = tuple(each.key for each in view.aspects)
        elif kind.parts == "responses":
            parts = tuple(map(str, range(len(view.responses))))
        else:
            parts = tuple(each.key for each in view.criteria) if kind.parts else ("",)
        found.append(
            StoredItem(
                external_id=view.external_id,
                cluster=numbers.setdefault(
                    record.instruction if is_whole else (view.instruction, view.context), str(len(numbers))
                ),
                category=view.category,
                subset=view.subset,
                parts=parts,
                gold=record.gold,
                metadata=record.metadata,
                lengths=tuple(map(len, view.responses)) if kind.responses[1] != 1 else (),
                parents=tuple(each.parent for each in view.aspects) if kind.parts == "aspects" else (),
            )
        )
    return found


def _labels(bundle: DatasetBundle, kind: ItemKind, items: Items) -> Labels:
    place = {name: k for k, name in enumerate(items.external_id)}
    records = sorted(
        (each for each in bundle.labels if each.item in place), key=lambda each: place[each.item]
    )
    item = np.array([place[each.item] for each in records], dtype=np.intp)
    numbers: dict[str, int] = {}
    stored = [_column(kind, each.value) for each in records]
    values = columns_of(kind, stored, [items.parts[k] for k in item], items.width)
    groups = [each.annotator.rpartition("/")[0] for each in records]
    return Labels(
        item=item,
        annotator=np.array(
            [numbers.setdefault(each.annotator, len(numbers)) for each in records], dtype=np.intp
        ),
        values=values,
        simulated=np.array([each.is_simulated for each in records], dtype=np.bool_),
        grades=_grades(kind, values, [each.value for each in records], groups),
    )


def _graded_gold(kind: ItemKind, items: Items, gold: Sequence[Any]) -> Labels | None:
    known = [k for k, value in enumerate(gold) if value is not None]
    item = np.array(known, dtype=np.intp)
    values = items.gold[item]
    grades = _grades(kind, values, [gold[k] for k in known], [GOLD] * len(known))
    if grades is None:
        return None
    alone = np.zeros(len(known), dtype=np.intp)
    return Labels(item, alone, values, simulated=np.zeros(len(known), dtype=np.bool_), grades=grades)


def _grades(kind: ItemKind, values: Floats, stored: Sequence[Any], groups: Sequence[str]) -> Floats | None:
    if kind.scale != "preference" or not len(values):
        return None
    graded = [value if _says_how_strong(value) else None for value in stored]
    return label_grades(values[:, 0], graded, groups)


def _says_how_strong(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value.keys() & {"strength", "grade"})


def _column(kind: ItemKind, value: Any) -> Any:
    """What a database's column of the value would hold."""
    return kind.choice(value or {}) if kind.column == "choice" else value


@dataclass(frozen=True, slots=True, eq=False)
class VerdictsRead:
    """A file of verdicts on the items of a gold file.

    Attributes
    ----------
    n_other_texts : int
        Items that it judged in another wording, which are left out.
    n_unknown : int
        Items that the gold file does not have.
    """

    answers: JudgeAnswers
    n_other_texts: int
    n_unknown: int

    @property
    def n_shared(self) -> int:
        """Items of the gold file that it judged."""
        return int(self.answers.asked.sum())

    @property
    def n_failed(self) -> int:
        """Judgments that never came."""
        return int(self.answers.failed.sum())


def verdicts_of_file(path: Path, gold: GoldFile) -> VerdictsRead:
    """Read the verdicts that `touchstone judge`, or a gate, wrote.

    Raises
    ------
    ImportFileError
        Names the line and the field: no verdict, verdicts of two judges, a second one of the same item.
    OSError
    """
    place = {view.external_id: k for k, view in enumerate(gold.views)}
    content = [item_content_hash(view) for view in gold.views]
    of_kind = kind_of(gold.kind)
    rows: list[tuple[Any, ...]] = []
    seen: set[tuple[str, int]] = set()
    judge: dict[str, Any] = {}
    graded: list[tuple[int, int, Any]] = []
    missed: dict[str, set[str]] = defaultdict(set)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            row = verdict_read(path, number, line)
            judge = judge or row
            if row["fingerprint"] != judge["fingerprint"]:
                raise ImportFileError(
                    path,
                    number,
                    "fingerprint",
                    f"expected {judge['fingerprint']}, found {quoted(row['fingerprint'])}: "
                    "a file holds the verdicts of one judge.",
                )
            if row["sample"] or row["order"] not in (0, 1):
                continue
            name = row["item"]
            k = place.get(name)
            if k is None or row["content"] != content[k]:
                missed["unknown" if k is None else "texts"].add(name)
                continue
            if (name, row["order"]) in seen:
                raise ImportFileError(
                    path, number, "item", f"a second verdict on {quoted(name)} in order {row['order']}."
                )
            seen.add((name, row["order"]))
            value = row.get("choice") if of_kind.column == "choice" else row.get("value")
            if row.get("status") == PARSED and isinstance(row.get("value"), Mapping):
                graded.append((k, row["order"], row["value"]))
            cost, latency = row.get("cost") or 0.0, row.get("latency_ms") or 0.0
            rows.append((k, row["order"], value, row.get("status"), cost, latency, row.get("probability")))
    if not rows:
        raise ImportFileError(path, None, "item", f"expected verdicts on items of {gold.path}, found none.")
    item, *columns = zip(*rows, strict=True)
    answers = judge_answers(
        of_kind,
        [judgment_columns(of_kind, np.array(item, dtype=np.intp), *columns)],
        gold.items,
        (len(gold.items), 2 if of_kind.presented else 1),
        name=str(judge.get("judge", "")),
        fingerprint=judge["fingerprint"],
        backend="",
        model=str(judge.get("model", "")),
        strategy=str(judge.get("strategy", "")),
        graded=graded if gold.is_graded else None,
    )
    return VerdictsRead(answers, len(missed["texts"]), len(missed["unknown"]))

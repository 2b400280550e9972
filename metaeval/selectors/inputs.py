"""From rows to the arrays that reports, comparisons and decisions are computed from, of any kind of items."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from annotation.kinds import DEFAULT_KIND, ItemKind, kind_of
from annotation.models import Dataset, Study, TiePolicy, User
from annotation.selectors.datasets import criteria_for_judging, item_facts, items_of
from annotation.selectors.judging import slice_names
from annotation.selectors.overview import labels_visible_to
from judges.models import BackendKind, Judge, Order, ParseStatus
from judges.selectors.items import orders_of
from judges.selectors.reading import judges_of_dataset
from judges.selectors.stored import judgments_on
from metaeval.figures import FIGURES
from metaeval.inputs import (
    Booleans,
    Floats,
    Inputs,
    Items,
    JudgeAnswers,
    Labels,
    Parts,
    columns_of,
    numbers_row,
    values_of,
    weights_drawn,
)
from metaeval.reports.errors import ReportError, UnknownNameError, near_names
from metaeval.selectors.sweeps import SweepView

Row = Mapping[str, Any]


def kinds_of(dataset: Dataset) -> tuple[str, ...]:
    """The kinds of a dataset's items."""
    return tuple(items_of([dataset]).order_by("kind").values_list("kind", flat=True).distinct())


def inputs_read(
    *,
    dataset: Dataset,
    kind: str = DEFAULT_KIND,
    study: Study | None = None,
    sweep: SweepView | None = None,
    judges: Collection[str] | None = None,
    reader: User | None = None,
) -> Inputs:
    """Read all that figures of a dataset's items of one kind depend on; a fixed number of queries, whatever the size.

    Parameters
    ----------
    study : Study, optional
        Count only the labels of this study; without it imported labels and those of all studies.
    sweep : SweepView, optional
        Only its judges, the items of its slice, and the orders that it asked for: what else was judged, in other
        sweeps, is no part of it.
    judges : collection of str, optional
        Only judges of these names; without them all that judged any such item.
    reader : User, optional
        Count only the labels that this person may see: of a dataset that all may read, not those of others' studies.
        Of a sweep its own reader.

    Raises
    ------
    ReportError
        There are no such items, or no such judge.
    """
    reader = reader if sweep is None else sweep.reader
    of_kind = kind_of(kind)
    rows = _item_rows(dataset, kind, sweep)
    place = {row["pk"]: k for k, row in enumerate(rows)}
    criteria = (
        tuple(key for key, *_ in criteria_for_judging(dataset.pk)) if of_kind.parts == "criteria" else ()
    )
    items = _items(dataset, of_kind, rows, criteria)
    asked = _asked(of_kind, items.external_id, sweep)
    chosen = judges_chosen(dataset, kind, None if sweep is None else sweep.judge_ids, judges)
    found = Inputs(
        kind=kind,
        name=dataset.name if study is None else study.slug,
        facts={
            "dataset": dataset_facts(dataset),
            "study": study_facts(study),
            "sweep": sweep and sweep.facts(),
        },
        items=items,
        labels=_labels(dataset, of_kind, place, items, study, reader),
        judges=_judges(dataset, of_kind, place, items, chosen, asked),
        criteria=criteria,
        weights=sampling_weights(dataset, study, items.external_id, reader, kind),
    )
    return FIGURES[kind].with_baselines(found) if FIGURES[kind].shows_baselines else found


# --- items ---------------------------------------------------------------------------------------------------------


def _item_rows(dataset: Dataset, kind: str, sweep: SweepView | None) -> list[Row]:
    columns = ("pk", "external_id", "instruction_id", "instruction__category", "instruction__subset")
    items = items_of([dataset], kind).order_by("position", "pk")
    rows: list[Any] = list(items.values(*columns, "gold", "metadata"))
    words = kind_of(kind).label.lower()
    if not rows:
        raise ReportError(f"Dataset {dataset.name!r} has no items of the kind {words}.")
    if sweep is not None and sweep.is_part:
        wanted = {pk for pk, _ in slice_names(dataset_id=dataset.pk, kind=kind, part=sweep.part)}
        rows = [row for row in rows if row["pk"] in wanted]
        if not rows:
            raise ReportError(
                f"The part of dataset {dataset.name!r} that this sweep judges has no items of the kind {words}."
            )
    return rows


def _items(dataset: Dataset, kind: ItemKind, rows: Sequence[Row], criteria: tuple[str, ...]) -> Items:
    lengths, tree = _lengths(dataset, kind), _tree(dataset) if kind.parts == "aspects" else {}
    # Instructions are numbered by first appearance: a name that any database gives them.
    numbers: dict[int, str] = {}
    for row in rows:
        numbers.setdefault(row["instruction_id"], str(len(numbers)))
    if kind.parts == "aspects":
        parts = [tuple(tree.get(row["instruction_id"], ())) for row in rows]
    elif kind.parts == "responses":
        parts = [tuple(map(str, range(len(lengths[row["pk"]])))) for row in rows]
    else:
        parts = [criteria if kind.parts else ("",)] * len(rows)
    width = max(map(len, parts), default=0)
    votes = [_votes(row["metadata"]) if kind.parts == "responses" else None for row in rows]
    gold = values_of(kind, [row["gold"] for row in rows], parts, width)
    voted = [len(own or ()) == len(names) > 0 for own, names in zip(votes, parts, strict=True)]
    for k in np.flatnonzero(voted).tolist():
        gold[k, : len(parts[k])] = [-vote for vote in votes[k] or ()]
    n_responses = max((len(lengths.get(row["pk"], ())) for row in rows), default=0)
    return Items(
        external_id=tuple(row["external_id"] for row in rows),
        cluster=tuple(numbers[row["instruction_id"]] for row in rows),
        category=tuple(row["instruction__category"] for row in rows),
        subset=tuple(row["instruction__subset"] for row in rows),
        parts=tuple(parts),
        gold=gold,
        lengths=_padded([lengths.get(row["pk"], ()) for row in rows], n_responses).astype(np.intp),
        parents=tuple(
            tuple(tree.get(row["instruction_id"], {}).values()) if tree else ("",) * len(names)
            for row, names in zip(rows, parts, strict=True)
        ),
        voted=np.array([each is not None for each in votes], dtype=np.bool_),
    )


def _lengths(dataset: Dataset, kind: ItemKind) -> dict[int, tuple[int, ...]]:
    """Characters of the responses, of kinds whose items have several."""
    most = kind.responses[1]
    if most is not None and most < 2:
        return {}
    return {row.item_id: row.lengths for row in item_facts(dataset.pk)}


def _tree(dataset: Dataset) -> dict[int, dict[str, str]]:
    """By instruction, its aspects in their order and the one that each depends on."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    rows = dataset.instructions.filter(aspects__isnull=False)
    rows = rows.order_by("pk", "aspects__position", "aspects__pk")
    for pk, key, parent in rows.values_list("pk", "aspects__key", "aspects__parent__key"):
        found[pk][key] = parent or ""
    return found


def _votes(metadata: Any) -> tuple[float, ...] | None:
    votes = metadata.get("votes") if isinstance(metadata, dict) else None
    if not isinstance(votes, list) or not all(type(vote) in (int, float) for vote in votes):
        return None
    return tuple(float(vote) for vote in votes) or None


def _padded(rows: Sequence[Sequence[float]], width: int) -> Floats:
    table = np.zeros((len(rows), width))
    for k, row in enumerate(rows):
        table[k, : len(row)] = row
    return table


# --- values --------------------------------------------------------------------------------------------------------


def finer_of(kind: ItemKind, values: Sequence[Row], parts: Parts, width: int) -> Floats | None:
    """What is finer than the values of judgments, by the first of the kind's fields that says it of an item."""
    fields = FIGURES[kind.name].finer
    found = np.full((len(values), width), np.nan)
    for k, (value, names) in enumerate(zip(values, parts, strict=True)):
        for field in fields:
            given = value.get(field)
            if isinstance(given, list):  # imported verdicts have scores by position
                given = {name: score for name, score in enumerate(given) if len(given) == len(names)}
            if not isinstance(given, Mapping):
                continue
            numbers = {
                str(key): float(said)
                for key, said in given.items()
                if isinstance(said, int | float) and not isinstance(said, bool) and math.isfinite(said)
            }
            found[k] = numbers_row(kind, numbers, names, width)
            if not np.isnan(found[k]).all():
                break
    return None if np.isnan(found).all() else found


def probabilities_of(
    kind: ItemKind, values: Sequence[Any], stored: Sequence[float | None], parts: Parts, width: int
) -> Floats | None:
    """What judgments say of their own certainty: the stored probability of a pair, the votes of a jury on each part."""
    found = np.full((len(values), width), np.nan)
    for k, (value, chance, names) in enumerate(zip(values, stored, parts, strict=True)):
        if value is not None and chance is not None:
            found[k, 0] = chance
        elif kind.scale == "nominal" and isinstance(value, Mapping):
            found[k, : len(names)] = _vote_shares(value.get("votes"), names)
    return None if np.isnan(found).all() else found


def _vote_shares(votes: Any, names: Sequence[str]) -> list[float]:
    """The share of a jury's members who say yes to each part; one who cannot tell counts one half."""
    members = (
        [one for one in votes.values() if isinstance(one, Mapping)] if isinstance(votes, Mapping) else []
    )
    found = []
    for name in names:
        said = [0.5 if one[name] is None else float(bool(one[name])) for one in members if name in one]
        found.append(sum(said) / len(said) if said else math.nan)
    return found


# --- labels --------------------------------------------------------------------------------------------------------


def _labels(
    dataset: Dataset,
    kind: ItemKind,
    place: Mapping[int, int],
    items: Items,
    study: Study | None,
    reader: User | None,
) -> Labels:
    labels = labels_visible_to(reader).current().filter(item__dataset=dataset, kind=kind.name)
    if study is not None:
        labels = labels.filter(study=study)
    columns = ("item_id", "annotator_id", kind.column, "annotator__is_simulated")
    rows = labels.order_by("item__position", "item_id", "pk").values_list(
        *columns, "study__slug", "annotator__external_id"
    )
    numbers: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    n_repeated = 0
    found = []
    for item_id, annotator_id, value, simulated, slug, name in rows.iterator(chunk_size=5_000):
        if item_id not in place:
            continue
        # Somebody who labelled an item in two studies has one opinion, the first.
        if (item_id, annotator_id) in seen:
            n_repeated += 1
            continue
        seen.add((item_id, annotator_id))
        group = slug or name.rpartition("/")[0]
        found.append(
            (place[item_id], numbers.setdefault(annotator_id, len(numbers)), value, simulated, group)
        )
    item = np.array([row[0] for row in found], dtype=np.intp)
    return Labels(
        item=item,
        annotator=np.array([row[1] for row in found], dtype=np.intp),
        values=columns_of(kind, [row[2] for row in found], [items.parts[row] for row in item], items.width),
        simulated=np.array([row[3] for row in found], dtype=np.bool_),
        n_repeated=n_repeated,
        ties_allowed=kind.scale == "preference" and _ties_allowed(dataset, kind, study, reader),
        group=tuple(row[4] for row in found),
    )


def _ties_allowed(dataset: Dataset, kind: ItemKind, study: Study | None, reader: User | None) -> bool:
    """Whether any study whose labels count lets people say that two responses tie."""
    if study is not None:
        return study.tie_policy != TiePolicy.OFF
    visible = labels_visible_to(reader)
    labels = visible.current().filter(kind=kind.name, item__dataset=dataset, study__isnull=False)
    return labels.exclude(study__tie_policy=TiePolicy.OFF).exists()


def sampling_weights(
    dataset: Dataset,
    study: Study | None,
    names: Sequence[str],
    reader: User | None = None,
    kind: str = DEFAULT_KIND,
) -> Floats | None:
    """`weights_drawn` of the items of these names, from the labels that this person may see."""
    visible = labels_visible_to(reader)
    labels = visible.current().filter(kind=kind, item__dataset=dataset).order_by("pk")
    if study is not None:
        labels = labels.filter(study=study)
    drawn = labels.filter(item_id__in=labels.order_by().filter(probability__lt=1).values("item_id"))
    return weights_drawn(names, drawn.values_list("item__external_id", "study", "probability"))


def judges_chosen(
    dataset: Dataset, kind: str, judge_ids: Collection[int] | None, judge_names: Collection[str] | None = None
) -> list[Judge]:
    """The judges that judged any item of a kind, or those of them with these ids or names; one query."""
    found = judges_of_dataset(dataset, kind)
    judges = [judge for judge in found if judge_ids is None or judge.pk in judge_ids]
    # By code point: databases order letters each in their own way. Names need not be unique, fingerprints are.
    judges.sort(key=lambda judge: (judge.name, judge.fingerprint))
    if judge_names is None:
        return judges
    known = [judge.name for judge in judges]
    for name in judge_names:
        if name not in known:
            raise UnknownNameError(
                f"No judge {name!r} has judged dataset {dataset.name!r}{near_names(name, known)}"
            )
    return [judge for judge in judges if judge.name in judge_names]


# --- judges --------------------------------------------------------------------------------------------------------


def _asked(kind: ItemKind, names: Sequence[str], sweep: SweepView | None) -> Booleans:
    """Whether an item is asked for in an order: (n_items, n_orders)."""
    shape = (len(names), 2 if kind.presented else 1)
    if sweep is None:
        return np.ones(shape, dtype=np.bool_)
    asked = np.zeros(shape, dtype=np.bool_)
    for row, name in enumerate(names):
        asked[row, list(orders_of(sweep.orders, kind.name, sweep.seed, name))] = True
    return asked


def _judges(
    dataset: Dataset,
    kind: ItemKind,
    place: Mapping[int, int],
    items: Items,
    judges: Sequence[Judge],
    asked: Booleans,
) -> tuple[JudgeAnswers, ...]:
    said = judgments_on([dataset], kind.name, judge_ids=[judge.pk for judge in judges]).filter(sample=0)
    if not kind.presented:
        said = said.filter(order=Order.ORIGINAL)
    columns = ("judge_id", "item_id", "order", kind.column, "status", "cost", "latency_ms", "probability")
    rows: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for judge_id, item_id, *row in said.values_list(*columns).iterator(chunk_size=10_000):
        if (k := place.get(item_id)) is not None and asked[k, row[0]]:
            rows[judge_id].append((k, *row))
    return tuple(_judge(kind, judge, rows[judge.pk], items, asked.shape) for judge in judges)


def _judge(
    kind: ItemKind, judge: Judge, rows: Sequence[tuple[Any, ...]], items: Items, shape: tuple[int, ...]
) -> JudgeAnswers:
    item, orders, stored, status, cost, latency, chance = zip(*rows, strict=True) if rows else [()] * 7
    where = np.array(item, dtype=np.intp), np.array(orders, dtype=np.intp)

    def table(values: Any, empty: float, *more: int) -> Floats:
        filled = np.full((*shape, *more), empty)
        filled[where] = values
        return filled

    # Nobody measured what an imported verdict cost.
    measured = np.nan if judge.backend == BackendKind.IMPORTED else 1.0
    read = [value if one == ParseStatus.PARSED else None for value, one in zip(stored, status, strict=True)]
    values = columns_of(kind, read, [items.parts[row] for row in item], items.width)
    finer = None
    if FIGURES[kind.name].finer:
        finer = finer_of(kind, [value or {} for value in read], [items.parts[k] for k in item], items.width)
    parts = [items.parts[k] for k in item]
    chances = probabilities_of(kind, read, chance, parts, items.width)
    return JudgeAnswers(
        name=judge.name,
        fingerprint=judge.fingerprint,
        backend=judge.backend,
        model=judge.model,
        strategy=judge.strategy,
        values=table(values, np.nan, items.width),
        judged=table(1.0, 0.0).astype(np.bool_),
        unparsed=table([one is None for one in read], 0.0).astype(np.bool_),
        failed=table([one == ParseStatus.FAILED for one in status], 0.0).astype(np.bool_),
        cost=table(np.array(cost, dtype=np.float64) * measured, np.nan),
        seconds=table(np.array(latency, dtype=np.float64) * measured / 1000, np.nan),
        finer=None if finer is None else table(finer, np.nan, items.width),
        probability=None if chances is None else table(chances, np.nan, items.width),
    )


def dataset_facts(dataset: Dataset) -> dict[str, Any]:
    names = ("name", "title", "version", "split", "licence", "source")
    return {name: getattr(dataset, name) for name in names}


def study_facts(study: Study | None) -> dict[str, Any] | None:
    """What a report's header says of its study."""
    if study is None:
        return None
    return {"slug": study.slug, "title": study.title, "is_simulated": study.is_simulated}

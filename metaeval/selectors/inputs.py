"""From rows to the arrays that reports, comparisons and decisions are computed from, of any kind of items."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet

from annotation.domain.scales import Scale
from annotation.kinds import DEFAULT_KIND, ItemKind, kind_of
from annotation.kinds.dimensions import DIMENSIONS, on_dimension
from annotation.kinds.reasonable import KEY
from annotation.models import Dataset, Study, TiePolicy, User
from annotation.selectors.datasets import items_of, response_lengths, scales_of
from annotation.selectors.dimensions import dimensions_said
from annotation.selectors.instructions import instruction_clusters
from annotation.selectors.judged_items import dataset_kinds
from annotation.selectors.judging import slice_names
from annotation.selectors.overview import labels_visible_to
from judges.models import BackendKind, Judge, Judgment, Order, ParseStatus
from judges.selectors.reading import judges_of_dataset
from judges.selectors.stored import judgments_on
from judges.strategies.presentation import orders_of
from metaeval.figures import FIGURES
from metaeval.figures.answers import JudgmentColumns, judge_answers, judgment_columns, samples_of
from metaeval.figures.grades import label_grades
from metaeval.inputs import (
    Booleans,
    Floats,
    Inputs,
    Items,
    JudgeAnswers,
    Labels,
    Stored,
    StoredItem,
    columns_of,
    items_make,
    sets_of,
    weights_drawn,
)
from metaeval.reports.errors import ReportError, UnknownNameError, near_names
from metaeval.selectors.annotators import labels_counted
from metaeval.selectors.sweeps import SweepView

Row = Mapping[str, Any]
_ROWS = 20_000
_GRADED = ("strength", "grade")
_STATUS = max(map(len, ParseStatus.values))


def kinds_of(dataset: Dataset) -> tuple[str, ...]:
    """The kinds of a dataset's items."""
    return tuple(sorted(dataset_kinds(dataset)))


def inputs_read(
    *,
    dataset: Dataset,
    kind: str = DEFAULT_KIND,
    study: Study | None = None,
    sweep: SweepView | None = None,
    judges: Collection[str] | None = None,
    reader: User | None = None,
    dimension: str = "",
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
    dimension : str, optional
        Of pairs: labels and gold as they are on the dimension with this key; what says nothing on it is left out. A
        judge's verdict is its own, whatever it was asked. Without it the overall one.

    Raises
    ------
    ReportError
        There are no such items, no such judge, or no such dimension.
    """
    reader = reader if sweep is None else sweep.reader
    on = dimension_facts(dataset, kind, study, reader, dimension) if dimension else {}
    of_kind = kind_of(kind)
    rows = _item_rows(dataset, kind, sweep, study)
    place = {row["pk"]: k for k, row in enumerate(rows)}
    scales = scales_of(dataset.pk) if of_kind.parts == "criteria" else {}
    criteria = tuple(scales)
    items = _items(dataset, of_kind, rows, criteria, dimension)
    asked = _asked(of_kind, items.external_id, sweep)
    chosen = judges_chosen(dataset, kind, None if sweep is None else sweep.judge_ids, judges)
    labels = _labels(dataset, of_kind, place, items, study, reader, list(scales.values()), dimension)
    found = Inputs(
        kind=kind,
        name=dataset.name if study is None else study.slug,
        facts={
            "dataset": dataset_facts(dataset),
            "study": study_facts(study),
            "sweep": sweep and sweep.facts(),
            **on,
        },
        items=items,
        labels=labels,
        judges=_judges(dataset, of_kind, place, items, chosen, asked, has_grades=labels.grades is not None),
        criteria=criteria,
        scheme=dataset.category_scheme,
        scales=tuple(scale.numbers for scale in scales.values()),
        weights=sampling_weights(dataset, study, items.external_id, reader, kind),
    )
    return FIGURES[kind].with_baselines(found) if FIGURES[kind].shows_baselines else found


def dimensions_known(
    dataset: Dataset, kind: str, study: Study | None = None, reader: User | None = None
) -> dict[str, str]:
    """Key to name of each dimension beside the overall one that figures of these labels can be about."""
    if DIMENSIONS not in kind_of(kind).study_rules:
        return {}
    return dimensions_said(labels_counted(dataset, kind, study, reader), study)


def dimension_facts(
    dataset: Dataset, kind: str, study: Study | None, reader: User | None, key: str
) -> dict[str, Any]:
    """What a report's header says of the dimension that it is on. Raises UnknownNameError of one that there isn't."""
    known = dimensions_known(dataset, kind, study, reader)
    if key not in known:
        of = f"Study {study.slug!r}" if study is not None else f"Dataset {dataset.name!r}"
        there = f"it has {', '.join(known)} beside the overall one" if known else "it has none"
        raise UnknownNameError(f"{of} has no dimension {key!r}; {there}.")
    return {"dimension": {"key": key, "name": known[key]}}


# --- items ---------------------------------------------------------------------------------------------------------


def _item_rows(dataset: Dataset, kind: str, sweep: SweepView | None, study: Study | None) -> list[Row]:
    columns = ["pk", "external_id", "instruction_id", "instruction__category", "instruction__subset", "gold"]
    if kind_of(kind).parts == "responses":  # which may have votes
        columns.append("metadata")
    items = items_of([dataset], kind, study=study).order_by("position", "pk")
    rows: list[Any] = list(items.values(*columns))
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


def _items(
    dataset: Dataset, kind: ItemKind, rows: Sequence[Row], criteria: tuple[str, ...], dimension: str
) -> Items:
    lengths = _lengths(dataset, kind)
    tree, points = _tree(dataset) if kind.parts == "aspects" else ({}, {})
    # Instructions are numbered by first appearance: a name that any database gives them.
    numbers: dict[int, str] = {}
    same = instruction_clusters(dataset, kind.name)
    asked: list[int] = [row["instruction_id"] for row in rows]
    clusters = [same.get(pk, pk) for pk in asked]
    for cluster in clusters:
        numbers.setdefault(cluster, str(len(numbers)))
    if kind.parts == "aspects":
        parts = [tuple(tree.get(row["instruction_id"], ())) for row in rows]
    elif kind.parts == "responses":
        parts = [tuple(map(str, range(len(lengths[row["pk"]])))) for row in rows]
    else:
        parts = [criteria if kind.parts else ("",)] * len(rows)
    return items_make(
        kind,
        [
            StoredItem(
                external_id=row["external_id"],
                cluster=numbers[cluster],
                category=row["instruction__category"],
                subset=row["instruction__subset"],
                parts=names,
                gold=on_dimension(row["gold"], dimension),
                metadata=row.get("metadata") or {},
                lengths=lengths.get(row["pk"], ()),
                parents=tuple(tree.get(row["instruction_id"], {}).values()),
                points=points.get(row["instruction_id"], ()),
            )
            for row, names, cluster in zip(rows, parts, clusters, strict=True)
        ],
    )


def _lengths(dataset: Dataset, kind: ItemKind) -> Mapping[int, Sequence[int]]:
    """Characters of the responses, of kinds whose items have several."""
    most = kind.responses[1]
    if most is not None and most < 2:
        return {}
    return response_lengths(dataset.pk)


def _tree(dataset: Dataset) -> tuple[dict[int, dict[str, str]], dict[int, list[float | None]]]:
    """By instruction, its aspects in their order with the one that each depends on, and their points where any has."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    points: dict[int, list[float | None]] = defaultdict(list)
    rows = dataset.instructions.filter(aspects__isnull=False)
    rows = rows.order_by("pk", "aspects__position", "aspects__pk")
    columns = ("pk", "aspects__key", "aspects__parent__key", "aspects__metadata__points")
    for pk, key, parent, worth in rows.values_list(*columns):
        found[pk][key] = parent or ""
        is_number = isinstance(worth, int | float) and not isinstance(worth, bool)
        points[pk].append(float(worth) if is_number else None)
    return found, {pk: each for pk, each in points.items() if any(one is not None for one in each)}


# --- labels --------------------------------------------------------------------------------------------------------


def _labels(
    dataset: Dataset,
    kind: ItemKind,
    place: Mapping[int, int],
    items: Items,
    study: Study | None,
    reader: User | None,
    scales: Sequence[Scale],
    dimension: str,
) -> Labels:
    labels = labels_counted(dataset, kind.name, study, reader)
    more = _more_of_pairs(labels) if kind.scale == "preference" and not dimension else {}
    columns = (
        "item_id",
        "annotator_id",
        "value" if dimension else kind.column,
        "annotator__is_simulated",
        "pk",
    )
    rows = labels.values_list(*columns, "study__slug", "annotator__external_id")
    numbers: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    n_repeated = 0
    found = []
    for item_id, annotator_id, value, simulated, pk, slug, name in rows.iterator(chunk_size=5_000):
        if item_id not in place:
            continue
        if dimension:
            said = on_dimension(value, dimension)
            if said is None:
                continue
            value, more[pk] = said["choice"], said
        # Somebody who labelled an item in two studies has one opinion, the first.
        if (item_id, annotator_id) in seen:
            n_repeated += 1
            continue
        seen.add((item_id, annotator_id))
        group = slug or name.rpartition("/")[0]
        number = numbers.setdefault(annotator_id, len(numbers))
        found.append((place[item_id], number, value, simulated, group, more.get(pk)))
    item = np.array([row[0] for row in found], dtype=np.intp)
    values = columns_of(kind, [row[2] for row in found], [items.parts[row] for row in item], items.width)
    groups = tuple(row[4] for row in found)
    graded = [row[5] if row[5] and row[5].keys() & _GRADED else None for row in found]
    whole = [row[5] if kind.column == "choice" else row[2] for row in found]
    return Labels(
        item=item,
        annotator=np.array([row[1] for row in found], dtype=np.intp),
        values=values,
        simulated=np.array([row[3] for row in found], dtype=np.bool_),
        n_repeated=n_repeated,
        ties_allowed=kind.scale == "preference" and _ties_allowed(dataset, kind, study, reader),
        group=groups,
        grades=label_grades(values[:, 0], graded, groups) if any(graded) else None,
        sets=sets_of(kind, whole, [items.parts[row] for row in item], items.width, scales),
    )


def _more_of_pairs(rows: QuerySet[Any]) -> dict[int, Stored]:
    """The values that say more than the choice that figures use, how strong a preference is or a response set, by
    primary key; few datasets have any.
    """
    says = Q(value__has_any_keys=[*_GRADED, KEY])
    return dict(rows.filter(says).order_by().values_list("pk", "value").iterator(chunk_size=_ROWS))


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
    labels = labels_counted(dataset, kind, study, reader).order_by("pk")
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
    *,
    has_grades: bool,
) -> tuple[JudgeAnswers, ...]:
    said = judgments_on([dataset], kind.name, judge_ids=[judge.pk for judge in judges]).filter(sample=0)
    if not kind.presented:
        said = said.filter(order=Order.ORIGINAL)
    known = np.array(sorted(place), dtype=np.intp)
    row_of = np.array([place[pk] for pk in known.tolist()], dtype=np.intp)
    found: dict[int, list[JudgmentColumns]] = defaultdict(list)
    columns = _columns(kind)
    rows = said.values_list(*(name for name, _ in columns)).iterator(chunk_size=_ROWS)
    # A million rows as objects would take minutes and gigabytes: so many at a time become arrays.
    while chunk := list(islice(rows, _ROWS)):
        table = np.array(chunk, dtype=columns)  # None of a number is NaN
        item_id, whose = table["item_id"], table["judge_id"]
        at = np.searchsorted(known, item_id).clip(max=len(known) - 1)
        read = judgment_columns(kind, row_of[at], *(table[name] for name, _ in columns[2:]))
        kept = (known[at] == item_id) & asked[read.item, read.order]
        for pk in np.unique(whose[kept]).tolist():
            found[pk].append(read.among(np.flatnonzero(kept & (whose == pk))))
    sampled = _samples(said, kind, place, items, judges, asked)
    graded = _judge_values(said, kind, place, asked, judges, has_grades=has_grades)
    return tuple(
        judge_answers(
            kind,
            found[judge.pk],
            items,
            asked.shape,
            graded=graded.get(judge.pk, () if has_grades else None),
            name=judge.name,
            fingerprint=judge.fingerprint,
            backend=judge.backend,
            model=judge.model,
            strategy=judge.strategy,
            is_measured=judge.backend != BackendKind.IMPORTED,
            samples=sampled.get(judge.pk),
        )
        for judge in judges
    )


def _judge_values(
    said: QuerySet[Judgment],
    kind: ItemKind,
    place: Mapping[int, int],
    asked: Booleans,
    judges: Sequence[Judge],
    *,
    has_grades: bool,
) -> dict[int, list[tuple[int, int, Stored]]]:
    """By judge, the values that say how strong a preference is.

    Where labels have no grades there is nothing to compare them with, and only imported numbers count.
    """
    rows: dict[int, list[tuple[int, int, Stored]]] = defaultdict(list)
    if kind.scale != "preference":
        return rows
    says = Q(value__has_key="grade")
    if has_grades:
        says |= Q(value__has_key="strength") | Q(value__has_key="scores")
    else:
        said = said.filter(judge__in=[judge.pk for judge in judges if judge.backend == BackendKind.IMPORTED])
    values = said.filter(says, status=ParseStatus.PARSED).values_list("judge_id", "item_id", "order", "value")
    for judge_id, item_id, order, value in values.iterator(chunk_size=_ROWS):
        if value is not None and item_id in place and asked[place[item_id], order]:
            rows[judge_id].append((place[item_id], order, value))
    return rows


def _samples(
    said: QuerySet[Judgment],
    kind: ItemKind,
    place: Mapping[int, int],
    items: Items,
    judges: Sequence[Judge],
    asked: Booleans,
) -> dict[int, Floats]:
    """By judge, what each sample of its requests said; of those that sample more than once alone, which are few."""
    numbers = {judge.pk: judge.spec.get("samples", 1) for judge in judges}
    several = {pk: n for pk, n in numbers.items() if isinstance(n, int) and n > 1}
    rows: dict[int, list[tuple[int, int, Any]]] = {pk: [] for pk in several}
    if several:
        votes = said.filter(judge__in=several).values_list("judge_id", "item_id", "order", "value")
        for judge_id, item_id, order, value in votes.iterator(chunk_size=_ROWS):
            if item_id in place and asked[place[item_id], order]:
                rows[judge_id].append((place[item_id], order, value))
    return {pk: samples_of(kind, rows[pk], items, asked.shape, n_samples=n) for pk, n in several.items()}


def _columns(kind: ItemKind) -> list[tuple[str, type | str]]:
    """What is read of a judgment: one record a row is read from the database several times as fast as columns."""
    return [
        ("judge_id", np.intp),
        ("item_id", np.intp),
        ("order", np.intp),
        (kind.column, np.float64 if kind.column == "choice" else np.object_),
        ("status", f"U{_STATUS}"),
        ("cost", np.float64),
        ("latency_ms", np.float64),
        ("probability", np.float64),
    ]


def dataset_facts(dataset: Dataset) -> dict[str, Any]:
    names = ("name", "title", "version", "split", "licence", "source")
    return {name: getattr(dataset, name) for name in names}


def study_facts(study: Study | None) -> dict[str, Any] | None:
    """What a report's header says of its study."""
    if study is None:
        return None
    facts = {"slug": study.slug, "title": study.title, "is_simulated": study.is_simulated}
    moved = study.dataset_version is not None and study.dataset_version != study.dataset.version
    return facts | ({"dataset_version": study.dataset_version} if moved else {})

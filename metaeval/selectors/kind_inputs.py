"""From rows to what the comparison of a kind other than pairs is computed from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from annotation.models import Dataset, Item, Kind, Study, User
from annotation.selectors.datasets import ASPECT_KINDS, criteria_for_judging, items_of
from annotation.selectors.judging import slice_names
from annotation.selectors.overview import labels_visible_to
from judges.models import Judge, Order, ParseStatus
from judges.selectors.judgments import kind_values
from judges.selectors.stored import judgments_on
from judges.strategies.types import AspectView
from metaeval.figures import KIND_LABELS
from metaeval.reports.errors import ReportError
from metaeval.reports.kinds.inputs import KindInputs, KindItem, KindJudge, KindLabel
from metaeval.selectors.inputs import dataset_facts, judges_chosen, sampling_weights, study_facts
from metaeval.selectors.sweeps import SweepView


def kinds_of(dataset: Dataset) -> tuple[str, ...]:
    """The kinds of a dataset's items, pairs among them."""
    return tuple(dataset.items.order_by("kind").values_list("kind", flat=True).distinct())


def kind_inputs(
    *,
    dataset: Dataset,
    kind: str,
    sweep: SweepView | None = None,
    study: Study | None = None,
    judge_names: Collection[str] | None = None,
    reader: User | None = None,
) -> KindInputs:
    """Read all that a comparison of one kind depends on; a fixed number of queries, whatever the size.

    Parameters
    ----------
    sweep : SweepView, optional
        Only its judges and the items of its slice.
    study : Study, optional
        Count only the labels of this study; without it imported labels and those of all studies.
    judge_names : collection of str, optional
        Only these judges; without them all that judged any such item.
    reader : User, optional
        Count only the labels that this person may see.

    Raises
    ------
    ReportError
        There are no such items, or no such judge.
    """
    reader = reader if sweep is None else sweep.reader
    rows = _item_rows(dataset, kind, sweep)
    if not rows:
        raise ReportError(
            f"Dataset {dataset.name!r} has no items of the kind {KIND_LABELS[kind].lower()} to compare judges on."
        )
    place = {row["pk"]: k for k, row in enumerate(rows)}
    judges = judges_chosen(dataset, kind, None if sweep is None else sweep.judge_ids, judge_names)
    labels, n_repeated = _labels(dataset, kind, place, study, reader)
    return KindInputs(
        kind=kind,
        name=dataset.name if study is None else study.slug,
        facts={
            "dataset": dataset_facts(dataset),
            "study": study_facts(study),
            "sweep": sweep and sweep.facts(),
        },
        items=_items(dataset, kind, rows),
        labels=labels,
        judges=_judges(dataset, kind, place, judges),
        criteria=tuple(key for key, *_ in criteria_for_judging(dataset.pk)) if kind == Kind.RUBRIC else (),
        n_repeated=n_repeated,
        weights=sampling_weights(dataset, study, [row["external_id"] for row in rows], reader, kind),
    )


def _item_rows(dataset: Dataset, kind: str, sweep: SweepView | None) -> list[dict[str, Any]]:
    items = items_of([dataset], kind).order_by("position", "pk")
    rows: list[Any] = list(
        items.values(
            "pk",
            "external_id",
            "instruction_id",
            "instruction__category",
            "instruction__subset",
            "gold",
            "metadata",
        )
    )
    if sweep is None or not sweep.is_part:
        return rows
    wanted = {pk for pk, _ in slice_names(dataset_id=dataset.pk, kind=kind, part=sweep.part)}
    return [row for row in rows if row["pk"] in wanted]


def _items(dataset: Dataset, kind: str, rows: Sequence[Mapping[str, Any]]) -> tuple[KindItem, ...]:
    aspects = _aspects(dataset) if kind in ASPECT_KINDS else {}
    responses = _responses(dataset, kind) if kind == Kind.ANSWER_RANKING else {}
    # Instructions are numbered by first appearance: a name that any database gives them.
    numbers: dict[int, str] = {}
    for row in rows:
        numbers.setdefault(row["instruction_id"], str(len(numbers)))
    return tuple(
        KindItem(
            external_id=row["external_id"],
            cluster=numbers[row["instruction_id"]],
            category=row["instruction__category"],
            subset=row["instruction__subset"],
            gold=row["gold"],
            votes=_votes(row["metadata"]),
            aspects=tuple(aspects.get(row["instruction_id"], ())),
            n_responses=responses.get(row["pk"], 0),
        )
        for row in rows
    )


def _votes(metadata: Mapping[str, Any]) -> tuple[float, ...] | None:
    votes = metadata.get("votes") if isinstance(metadata, dict) else None
    if not isinstance(votes, list) or not all(type(vote) in (int, float) for vote in votes):
        return None
    return tuple(float(vote) for vote in votes) or None


def _aspects(dataset: Dataset) -> dict[int, list[AspectView]]:
    found: dict[int, list[AspectView]] = defaultdict(list)
    rows = (
        dataset.instructions.filter(aspects__isnull=False).order_by("pk", "aspects__position", "aspects__pk")
    )  # fmt: skip
    for instruction_id, key, text, parent in rows.values_list(
        "pk", "aspects__key", "aspects__text", "aspects__parent__key"
    ):
        found[instruction_id].append(AspectView(key, text, parent or ""))
    return found


def _responses(dataset: Dataset, kind: str) -> dict[int, int]:
    rows = Item.responses.through.objects.filter(item__dataset=dataset, item__kind=kind)
    found: dict[int, int] = defaultdict(int)
    for item_id in rows.values_list("item_id", flat=True):
        found[item_id] += 1
    return found


def _labels(
    dataset: Dataset, kind: str, place: Mapping[int, int], study: Study | None, reader: User | None
) -> tuple[tuple[KindLabel, ...], int]:
    """The labels that count, and how many were left out as repeated."""
    chosen = {} if study is None else {"study": study}
    visible = labels_visible_to(reader)
    rows = (
        visible.current()
        .filter(item__dataset=dataset, kind=kind, **chosen)
        .order_by("item__position", "item_id", "pk")
        .values_list("item_id", "annotator_id", "value", "annotator__is_simulated")
    )
    numbers: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    found = []
    n_repeated = 0
    for item_id, annotator_id, value, simulated in rows.iterator(chunk_size=5_000):
        if item_id not in place:
            continue
        # Somebody who labelled an item in two studies has one opinion, the first.
        if (item_id, annotator_id) in seen:
            n_repeated += 1
            continue
        seen.add((item_id, annotator_id))
        number = numbers.setdefault(annotator_id, len(numbers))
        found.append(KindLabel(place[item_id], number, value, simulated))
    return tuple(found), n_repeated


def _judges(
    dataset: Dataset, kind: str, place: Mapping[int, int], judges: Sequence[Judge]
) -> tuple[KindJudge, ...]:
    ids = [judge.pk for judge in judges]
    said = kind_values(dataset.pk, kind, ids)
    values: dict[int, dict[int, Any]] = defaultdict(dict)
    for judge_id, item_id, value in zip(
        said.judge_id.tolist(), said.item_id.tolist(), said.value, strict=True
    ):
        if item_id in place:
            values[judge_id][place[item_id]] = value
    unread: dict[tuple[int, str], set[int]] = defaultdict(set)
    rows = judgments_on([dataset], kind, judge_ids=ids).filter(sample=0, order=Order.ORIGINAL)
    rows = rows.exclude(status=ParseStatus.PARSED)
    for judge_id, item_id, status in rows.values_list("judge_id", "item_id", "status"):
        if item_id in place:
            unread[judge_id, status].add(place[item_id])
    return tuple(
        KindJudge(
            name=judge.name,
            fingerprint=judge.fingerprint,
            backend=judge.backend,
            model=judge.model,
            strategy=judge.strategy,
            values=values[judge.pk],
            unparsed=frozenset(unread[judge.pk, ParseStatus.UNPARSED]),
            failed=frozenset(unread[judge.pk, ParseStatus.FAILED]),
        )
        for judge in judges
    )

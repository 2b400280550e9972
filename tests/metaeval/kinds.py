"""Rows and dataclasses for the tests of the comparison of kinds other than pairs."""

from typing import Any

from annotation.models import Annotator, Aspect, Dataset, Kind, Label
from judges.models import Judge, Judgment, Sweep
from metaeval.reports.content import build
from metaeval.reports.kinds.inputs import KindInputs, KindItem, KindJudge, KindLabel, KindOptions
from tests.annotation.factories import annotator_make
from tests.annotation.kinds import ASPECTS, CRITERIA, kind_dataset_make
from tests.metaeval.rows import judge_make, sweep_make

FACTS: dict[str, Any] = {
    "dataset": {"name": "d", "title": "D", "version": 1, "split": "public", "licence": "", "source": ""},
    "study": None,
    "sweep": None,
}


def judge(name: str, values: dict[int, Any], *, unparsed: Any = (), failed: Any = ()) -> KindJudge:
    return KindJudge(name, f"f-{name}", "openai", "m", "s", values, frozenset(unparsed), frozenset(failed))


def inputs(kind: str, items: Any, labels: Any = (), judges: Any = (), criteria: Any = ()) -> KindInputs:
    """`labels` are triples (item, annotator, value), in any order."""
    rows = sorted(labels, key=lambda row: row[0])
    return KindInputs(
        kind, "d", FACTS, tuple(items), tuple(KindLabel(*row) for row in rows), tuple(judges), tuple(criteria)
    )


def content(found: KindInputs, against: str = "people", n_resamples: int = 200) -> dict[str, Any]:
    return build(found, KindOptions(against=against, n_resamples=n_resamples)).as_json()


def plain_items(n: int, **fields: Any) -> list[KindItem]:
    return [KindItem(f"x{k}", f"i{k}", **fields) for k in range(n)]


# Rows


def value_of(kind: str, k: int, shift: int = 0) -> dict[str, Any]:
    """A value of item k; another `shift` says something else on some items."""
    n = k + shift
    if kind == Kind.RUBRIC:
        return {"ratings": {key: (n + place) % 5 + 1 for place, key in enumerate(CRITERIA)}}
    if kind == Kind.CHECKLIST:
        return {"answers": {key: (n + place) % 3 != 0 for place, key in enumerate(ASPECTS)}}
    if kind == Kind.IMPORTANCE:
        return {"ranks": {key: (n + place) % 3 + 1 for place, key in enumerate(ASPECTS)}}
    return {"ranks": {str(place): (n + place) % 3 + 1 for place in range(3)}}


def kind_labels(dataset: Dataset, kind: str, shifts: Any, **people: Any) -> list[Annotator]:
    """A label of every item by each of some people, who say what `value_of` says with their shift."""
    annotators = [annotator_make(**people) for _ in shifts]
    for k, item in enumerate(dataset.items.filter(kind=kind).order_by("position")):
        for annotator, shift in zip(annotators, shifts, strict=True):
            # Each second item: people differ, or nothing would vary.
            value = value_of(kind, k, shift if k % 2 else 0)
            Label.objects.create(item=item, annotator=annotator, kind=kind, value=value)
    return annotators


def joined(first: Dataset, second: Dataset) -> Dataset:
    """Items of the second dataset become items of the first, after its own."""
    for place, item in enumerate(second.items.select_related("instruction").order_by("position")):
        item.instruction.dataset, item.instruction.external_id = first, f"{second.name}-{place}"
        item.instruction.save()
        item.dataset, item.external_id, item.position = first, f"{second.name}-{place}", 1_000 + place
        item.save()
    return first


def kind_judgments(one: Judge, dataset: Dataset, kind: str, shift: int = 0, unparsed: int = 0) -> None:
    """Judgments of all items of a kind; of the first ones none could be read."""
    items = dataset.items.filter(kind=kind).order_by("position")
    Judgment.objects.bulk_create(
        Judgment(
            judge=one,
            item=item,
            order=0,
            status="unparsed" if k < unparsed else "parsed",
            value=None if k < unparsed else value_of(kind, k, shift if k % 3 == 0 else 0),
        )
        for k, item in enumerate(items)
    )


def kind_swept(
    kind: str, *, items: int = 12, gold: bool = False, mark: str = "", **fields: Any
) -> tuple[Dataset, Sweep]:
    """A finished sweep of two judges over a dataset of one kind with two people's labels."""
    dataset = kind_dataset_make(kind, items=items, **fields)
    if kind in (Kind.CHECKLIST, Kind.IMPORTANCE):
        for aspect in Aspect.objects.filter(instruction__dataset=dataset, key="length"):
            aspect.parent = Aspect.objects.get(instruction=aspect.instruction, key="format")
            aspect.save()
    if gold:
        for k, item in enumerate(dataset.items.order_by("position")):
            item.gold = value_of(kind, k)
            item.save()
    kind_labels(dataset, kind, (0, 1))
    near, far = judge_make(f"Near {kind}{mark}"), judge_make(f"Far {kind}{mark}")
    kind_judgments(near, dataset, kind)
    kind_judgments(far, dataset, kind, shift=1, unparsed=1)
    return dataset, sweep_make(judges=[near, far], datasets=[dataset])

"""Rows and dataclasses for the tests of the comparison of kinds other than pairs."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from annotation.kinds import kind_of
from annotation.models import Annotator, Aspect, Dataset, Kind, Label
from judges.models import Judge, Judgment, Sweep
from judges.strategies.types import AspectView
from metaeval.figures import FIGURES
from metaeval.figures.answers import finer_of
from metaeval.inputs import Inputs, Items, JudgeAnswers, Labels, Options, values_of
from metaeval.reports.content import build
from tests.annotation.factories import annotator_make
from tests.annotation.kinds import ASPECTS, CRITERIA, kind_dataset_make
from tests.metaeval.rows import judge_make, sweep_make

FACTS: dict[str, Any] = {
    "dataset": {"name": "d", "title": "D", "version": 1, "split": "public", "licence": "", "source": ""},
    "study": None,
    "sweep": None,
}


@dataclass(frozen=True)
class KindItem:
    """An item as tests write it: values in the form of labels."""

    external_id: str
    cluster: str
    category: str = ""
    subset: str = ""
    gold: Any = None
    votes: tuple[float, ...] | None = None
    aspects: tuple[AspectView, ...] = ()
    n_responses: int = 0

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(aspect.key for aspect in self.aspects) or tuple(map(str, range(self.n_responses)))


class Said(NamedTuple):
    """What a judge said of items, by row."""

    name: str
    values: dict[int, Any]
    unparsed: Any = ()
    failed: Any = ()


def judge(name: str, values: dict[int, Any], *, unparsed: Any = (), failed: Any = ()) -> Said:
    return Said(name, values, unparsed, failed)


def inputs(
    kind: str, items: Any, labels: Any = (), judges: Any = (), criteria: Any = (), lengths: Any = None
) -> Inputs:
    """`labels` are triples (item, annotator, value), in any order."""
    items = list(items)
    rows = sorted(labels, key=lambda row: row[0])
    parts = tuple(tuple(criteria) if kind == "rubric" else item.parts for item in items)
    width = max(map(len, parts), default=0)
    voted = np.array([item.votes is not None and kind == "answer_ranking" for item in items], dtype=bool)
    gold = values_of(kind_of(kind), [item.gold for item in items], parts, width)
    for k, item in enumerate(items):
        if voted[k] and len(item.votes) == len(parts[k]):
            gold[k, : len(parts[k])] = [-vote for vote in item.votes]
    item = np.array([row[0] for row in rows], dtype=np.intp)
    found = Inputs(
        kind,
        "d",
        FACTS,
        Items(
            tuple(one.external_id for one in items),
            tuple(one.cluster for one in items),
            tuple(one.category for one in items),
            tuple(one.subset for one in items),
            parts,
            gold,
            np.array(lengths if lengths is not None else [()] * len(items), dtype=np.intp).reshape(
                len(items), -1
            )
            if items
            else np.zeros((0, 0), dtype=np.intp),
            tuple(
                tuple(aspect.parent for aspect in one.aspects) or ("",) * len(names)
                for one, names in zip(items, parts, strict=True)
            ),
            voted,
        ),
        Labels(
            item,
            np.array([row[1] for row in rows], dtype=np.intp),
            values_of(kind_of(kind), [row[2] for row in rows], [parts[k] for k in item], width),
            np.array([bool(row[3:] and row[3]) for row in rows], dtype=bool),
        ),
        criteria=tuple(criteria),
    )
    return with_judges(found, *judges)


def with_judges(found: Inputs, *judges: Said) -> Inputs:
    """The same inputs with what these judges said."""
    return replace(found, judges=tuple(_answers(found, one) for one in judges))


def _answers(found: Inputs, one: Said) -> JudgeAnswers:
    n, width = len(found.items), found.items.width
    rows = sorted(one.values)
    values, finer = np.full((2, n, 1, width), np.nan)
    parts = [found.items.parts[row] for row in rows]
    said = [one.values[row] for row in rows]
    values[rows, 0] = values_of(kind_of(found.kind), said, parts, width)
    finest = finer_of(kind_of(found.kind), said, parts, width)
    if finest is not None:
        finer[rows, 0] = finest

    def mask(*which: Any) -> Any:
        made = np.zeros((n, 1), dtype=bool)
        made[[row for rows in which for row in rows]] = True
        return made

    return JudgeAnswers(
        name=one.name,
        fingerprint=f"f-{one.name}",
        backend="openai",
        model="m",
        strategy="s",
        values=values,
        judged=mask(rows, one.unparsed, one.failed),
        unparsed=mask(one.unparsed, one.failed),
        failed=mask(one.failed),
        cost=np.full((n, 1), np.nan),
        seconds=np.full((n, 1), np.nan),
        finer=None if finest is None else finer,
    )


def labelled(found: Inputs, kept: Any) -> Inputs:
    """The same inputs with a part of the labels, (n_labels,)."""
    own = found.labels
    rows = {name: getattr(own, name)[kept] for name in ("item", "annotator", "values", "simulated")}
    return replace(found, labels=replace(own, **rows))


def rules_of(found: Inputs, against: str) -> tuple[JudgeAnswers, ...]:
    """The baselines of these inputs."""
    return FIGURES[found.kind].sample(found, Options(against=against, n_resamples=0)).baselines()


def content(found: Inputs, against: str = "people", n_resamples: int = 200) -> dict[str, Any]:
    return build(found, Options(against=against, n_resamples=n_resamples)).as_json()


def figures_set(monkeypatch: Any, kind: str, **changes: Any) -> None:
    """Change what is registered of a kind, for one test: how much a page computes while somebody waits, say."""
    monkeypatch.setitem(FIGURES, kind, replace(FIGURES[kind], **changes))


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
    if kind == Kind.CLASSIFICATION:
        return {"categories": {key: n % 3 == place for place, key in enumerate(ASPECTS)}}
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

"""A comparison and a decision of the same rows say the same, on very uneven clusters: through the public services."""

import numpy as np
import pytest

from annotation.models import Instruction, Item, Kind
from judges.models import Judgment
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.comparisons import comparison_get
from tests.annotation.kinds import ASPECTS, kind_dataset_make
from tests.metaeval.choices import report_of
from tests.metaeval.rows import judge_make, sweep_make

pytestmark = pytest.mark.django_db
SIZES = [1] * 36 + [20, 24, 27, 30]
GOLD = {
    Kind.PAIRWISE: {"choice": 1},
    Kind.CHECKLIST: {"answers": dict.fromkeys(ASPECTS, True)},
    Kind.IMPORTANCE: {"ranks": {key: place + 1 for place, key in enumerate(ASPECTS)}},
    Kind.ANSWER_RANKING: {"ranks": {str(place): place + 1 for place in range(3)}},
}


def value_of(kind, rng, right):
    """As good as the share of what is right about it."""
    if kind == Kind.CHECKLIST:
        return {"answers": {key: bool(rng.random() < right) for key in ASPECTS}}
    keys = list(GOLD[kind]["ranks"])
    order = keys if rng.random() < right else rng.permutation(keys).tolist()
    return {"ranks": {key: order.index(key) + 1 for key in keys}}


def uneven(kind, seed):
    """A sweep of three judges over 36 instructions of one item and 4 of 20 to 30; what one item gets, its others do."""
    rng = np.random.default_rng(seed)
    dataset = kind_dataset_make(kind, items=sum(SIZES), name=f"{kind}-{seed}".replace("_", "-"))
    Item.objects.filter(dataset=dataset).update(gold=GOLD[kind])
    codes = np.repeat(np.arange(len(SIZES)), SIZES)
    instructions = list(Instruction.objects.filter(dataset=dataset).order_by("pk"))
    items = list(dataset.items.order_by("position"))
    for item, code in zip(items, codes, strict=True):
        item.instruction = instructions[code]
    Item.objects.bulk_update(items, ["instruction"])
    judges = []
    for number, share in enumerate((0.9, *rng.uniform(0.6, 0.9, size=2))):
        judge = judge_make(f"Judge {number} {kind} {seed}")
        hard = rng.beta(2 * share, 2 * (1 - share), size=len(SIZES))[codes]
        Judgment.objects.bulk_create(
            Judgment(
                judge=judge,
                item=item,
                order=order,
                status="parsed",
                **(
                    {"choice": 1 if rng.random() < right else 2}
                    if kind == Kind.PAIRWISE
                    else {"value": value_of(kind, rng, right)}
                ),
            )
            for item, right in zip(items, hard, strict=True)
            for order in ((0, 1) if kind == Kind.PAIRWISE else (0,))
        )
        judges.append(judge)
    return dataset, sweep_make(judges=judges, datasets=[dataset])


# One is a correlation and the other (1 + r) / 2 of it.
@pytest.mark.parametrize(
    ("kind", "scale"),
    [(Kind.PAIRWISE, 1), (Kind.CHECKLIST, 1), (Kind.IMPORTANCE, 2), (Kind.ANSWER_RANKING, 2)],
)
@pytest.mark.parametrize("seed", range(2))
def test_the_same_leader_the_same_differences_the_same_intervals(kind, scale, seed):
    dataset, sweep = uneven(kind, seed)
    view = sweep_view(sweep.pk)
    compared = comparison_get(sweep=view, dataset=dataset, kind=kind, against="gold")
    decided, selection = report_of(sweep, kind=kind), compared.selection
    keys = [judge.fingerprint for judge in compared.judges]
    assert keys[selection.leader] == decided.leader
    assert {keys[index] for index in selection.tied} == set(decided.confidence_set[1:])
    assert selection.clear == (len(decided.confidence_set) == 1)
    assert selection.differences
    for row in selection.differences:
        behind = decided.standing(keys[row["judge"]]).behind
        for name in ("value", "low", "high"):
            assert row[name] == pytest.approx(scale * behind[name], rel=1e-9), name

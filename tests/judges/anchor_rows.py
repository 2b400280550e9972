"""Anchors with finished checks, without an engine."""

from collections.abc import Sequence
from datetime import timedelta

from django.utils import timezone

from annotation.models import Dataset
from judges.models import Anchor, AnchorSet, AnchorVerdict, Judge, Judgment, Sweep, SweepRun


def anchors_make(
    *, judge: Judge, dataset: Dataset, changed: Sequence[int], repeats: int = 3, model: str = "model-1"
) -> AnchorSet:
    """All that a judge said of a dataset, frozen; `changed` verdicts of each check are other ones."""
    anchors = AnchorSet.objects.create(judge=judge, dataset=dataset, repeats=repeats)
    rows = list(Judgment.objects.filter(judge=judge, item__dataset=dataset, sample=0).order_by("pk"))
    Anchor.objects.bulk_create(
        Anchor(anchors=anchors, item_id=row.item_id, order=row.order, status=row.status, choice=row.choice)
        for row in rows
    )
    for number, n in enumerate([*[0] * repeats, *changed]):
        sweep = Sweep.objects.create(name=f"Check {number}", anchors=anchors, state="finished")
        begun = timezone.now() - timedelta(days=len(changed) + repeats - number)
        Sweep.objects.filter(pk=sweep.pk).update(created_at=begun)
        SweepRun.objects.create(
            sweep=sweep, judge=judge, dataset=dataset, n_total=len(rows), n_done=len(rows), cost=0.01
        )
        last = number == repeats + len(changed) - 1 and n
        AnchorVerdict.objects.bulk_create(
            AnchorVerdict(
                sweep=sweep,
                item_id=row.item_id,
                order=row.order,
                status="parsed",
                choice=3 - (row.choice or 1) if place < n else row.choice,
                value={"choice": 3 - (row.choice or 1) if place < n else row.choice},
                answered_by=f"name\t{model}{'-new' if last else ''}\tfp_{1 + bool(last)}",
            )
            for place, row in enumerate(rows)
        )
    return anchors

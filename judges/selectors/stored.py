"""What is stored of judges, sweeps and judgments, whoever asks: for reports and choices, which know their reader."""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import QuerySet

from annotation.models import Dataset
from judges.models import Endpoint, Judge, Judgment, Sweep


def judges_known(
    fingerprints: Iterable[str] | None = None, *, among: Collection[int] | None = None
) -> QuerySet[Judge]:
    """The judges with these fingerprints (or with any), among those with these primary keys."""
    rows = (
        Judge.objects.all()
        if fingerprints is None
        else Judge.objects.filter(fingerprint__in=list(fingerprints))
    )
    return rows if among is None else rows.filter(pk__in=list(among))


def judgments_on(
    datasets: Iterable[Dataset | int], kind: str = "", *, judge_ids: Collection[int] | None = None
) -> QuerySet[Judgment]:
    """What judges (or these judges) said of the items of datasets, of one kind where it is given; in no order."""
    rows = Judgment.objects.order_by().filter(item__dataset__in=list(datasets))
    if kind:
        rows = rows.filter(item__kind=kind)
    return rows if judge_ids is None else rows.filter(judge_id__in=list(judge_ids))


def judgments_since(
    moment: datetime,
    datasets: Iterable[Dataset | int],
    kind: str,
    *,
    judge_ids: Collection[int] | None = None,
) -> int:
    """How many of `judgments_on` came after a moment. Quick where none did, whatever there is."""
    if not Judgment.objects.filter(created_at__gt=moment).exists():
        return 0
    return judgments_on(datasets, kind, judge_ids=judge_ids).filter(created_at__gt=moment).count()


def sweep_whole(sweep_id: int) -> Sweep:
    """A sweep with its datasets and judges, whoever asks. Raises Sweep.DoesNotExist."""
    return Sweep.objects.prefetch_related("datasets", "judges").get(pk=sweep_id)


def sweeps_listed() -> QuerySet[Sweep]:
    """All sweeps but the checks of anchors, which are shown with their judge."""
    return Sweep.objects.filter(anchors=None)


def sweep_find(name: str, dataset: Dataset) -> Sweep | None:
    """The first sweep of this name over a dataset, if there is one."""
    return sweeps_listed().filter(name=name, datasets=dataset).order_by("pk").first()


def endpoint_find(name: str) -> Endpoint | None:
    """The endpoint of this name, if there is one."""
    return Endpoint.objects.filter(name=name).first()

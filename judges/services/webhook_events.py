"""The events of judging: a sweep that is finished, a judge that its anchors show to have changed."""

from collections.abc import Iterator
from datetime import datetime

from annotation.models import User
from annotation.selectors.datasets import datasets_visible_to
from annotation.services.webhooks import Happening, event_register
from judges.models import AnchorSet, Sweep, SweepState
from judges.selectors.anchors import judges_moved
from judges.selectors.reading import sweeps_visible_to


def sweeps_finished(user: User, since: datetime) -> Iterator[Happening]:
    """Sweeps over datasets that the user may see, finished from a time on. One that was run again is told again."""
    rows = sweeps_visible_to(user).filter(state=SweepState.FINISHED, finished_at__gte=since)
    for sweep in rows.order_by("pk"):
        assert sweep.finished_at is not None, "it was filtered by it"
        data = {"sweep": sweep.pk, "name": sweep.name, "finished_at": sweep.finished_at.isoformat()}
        yield Happening(f"{sweep.pk} {sweep.finished_at.timestamp():.0f}", data)


def judges_drifted(user: User, since: datetime) -> Iterator[Happening]:
    """Judges whose anchors, at a check from a time on, say that they have changed. For administrators."""
    if not user.is_administrator:
        return
    checked = Sweep.objects.filter(state=SweepState.FINISHED, finished_at__gte=since).exclude(anchors=None)
    sets = AnchorSet.objects.filter(pk__in=checked.values("anchors"), dataset__in=datasets_visible_to(user))
    pairs = set(sets.values_list("judge_id", "dataset_id"))
    if not pairs:
        return
    found = judges_moved({judge for judge, _ in pairs}, {dataset for _, dataset in pairs})
    for one in found:
        if (one.anchors.judge_id, one.anchors.dataset_id) in pairs:
            names = {"judge": one.anchors.judge.name, "dataset": one.anchors.dataset.name}
            yield Happening(str(one.anchors.pk), names | {"anchors": one.anchors.pk})


event_register("sweep.finished", "A sweep is finished", sweeps_finished)
event_register("judge.drifted", "A judge has drifted, by its anchors", judges_drifted)

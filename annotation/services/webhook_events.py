"""The events of annotation: a study that is finished."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Exists, F, OuterRef, Q

from annotation.models import ItemRole, StudyItem, StudyState, User
from annotation.selectors.overview import studies_visible_to
from annotation.services.webhooks import Happening, event_register


def studies_finished(user: User, _since: datetime) -> Iterator[Happening]:
    """Studies that were closed, or whose items all have their labels."""
    wanting = StudyItem.objects.filter(
        study=OuterRef("pk"), role=ItemRole.WORK, withdrawn_at=None, n_accepted__lt=F("overlap")
    )
    ended = Q(state=StudyState.CLOSED) | (~Q(state=StudyState.DRAFT) & ~Exists(wanting))
    for study in studies_visible_to(user).filter(ended).select_related("dataset").order_by("pk"):
        data = {
            "study": study.slug,
            "title": study.title,
            "dataset": study.dataset.name,
            "state": study.state,
        }
        yield Happening(str(study.pk), data)


event_register("study.finished", "A study is closed or has all its labels", studies_finished)

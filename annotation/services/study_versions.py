"""A study goes on with the items of the version that it opened with, until its researcher moves it on."""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.domain.errors import StudyRuleError
from annotation.models import Item, Study, StudyItem, StudyState
from annotation.services.datasets import dataset_lock


@dataclass(frozen=True, slots=True)
class StudyMoved:
    """What moving a study on did: items that were replaced by what they are now, and items that were withdrawn."""

    replaced: int
    withdrawn: int


def study_move_on(*, study: Study) -> StudyMoved:
    """Let a study that is not closed offer its items as the dataset's current version has them.

    An item that changed is withdrawn, and offered anew as it is now, with the overlap that it had: its labels were
    given on other texts, and stay with those. An item that was removed is withdrawn. Anyone who has one open may still
    answer. Items that are new in the dataset are not added, and the test and the training stay as they were drawn.
    Moved on twice, nothing changes.

    Raises
    ------
    StudyRuleError
        The study is a draft, which has no version yet, or is closed.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if locked.state == StudyState.DRAFT:
            raise StudyRuleError("state", "a draft offers the items that its dataset has when it opens")
        if locked.state == StudyState.CLOSED:
            raise StudyRuleError("state", "a closed study keeps the items that it had")
        dataset = dataset_lock(dataset_id=locked.dataset_id, no_key=True)
        earlier = list(
            StudyItem.objects.filter(study=locked, withdrawn_at=None, item__until_version__isnull=False)
            .select_related("item")
            .order_by("position", "pk")
        )
        names = {place.item.external_id: place for place in earlier if place.item.dataset_id == dataset.pk}
        here = set(StudyItem.objects.filter(study=locked).values_list("item_id", flat=True))
        now = [
            item
            for item in Item.objects.current().filter(
                dataset=dataset, kind=locked.kind, external_id__in=names
            )
            if item.pk not in here
        ]
        StudyItem.objects.filter(pk__in=[place.pk for place in earlier]).update(
            withdrawn_at=Coalesce("withdrawn_at", timezone.now()), overlap=F("n_open") + F("n_accepted")
        )
        StudyItem.objects.bulk_create(
            StudyItem(
                study=locked,
                item=item,
                role=names[item.external_id].role,
                position=names[item.external_id].position,
                overlap=names[item.external_id].overlap,
                probability=names[item.external_id].probability,
            )
            for item in now
        )
        locked.dataset_version = dataset.version
        locked.save(update_fields=["dataset_version"])
    study.dataset_version = dataset.version
    return StudyMoved(replaced=len(now), withdrawn=len(earlier) - len(now))

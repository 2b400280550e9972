"""Places of a study's items and the people in it, locked and counted: what services share that take labels out or in.

The order of locks is assignments, study items, enrollments, each by primary key.
"""

from collections.abc import Sequence

from django.db.models import Case, F, IntegerField, Q, When

from annotation.models import Enrollment, StudyItem
from web.batches import batched

AT_ONCE = 500  # primary keys in one statement


def places_locked(pks: Sequence[int]) -> None:
    """Lock these study items, in the order in which all of these services do."""
    for some in batched(pks, AT_ONCE):
        places = StudyItem.objects.filter(pk__in=some)
        list(places.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))


def enrollments_locked(enrollment: Enrollment, *, cursors: bool = False) -> Enrollment:
    """The person, locked; with `cursors`, all of the study who would not look back at places that reopen."""
    wanted = Q(pk=enrollment.pk)
    if cursors:
        wanted |= Q(study_id=enrollment.study_id, cursor__isnull=False)
    rows = Enrollment.objects.filter(wanted).select_for_update(no_key=True).order_by("pk")
    list(rows.values_list("pk", flat=True))
    return Enrollment.objects.get(pk=enrollment.pk)


def places_change(pks: list[int], by: int) -> None:
    """One label more or less in each place. What was withdrawn is not offered again: its overlap goes with it."""
    overlap = Case(
        When(withdrawn_at__isnull=False, then=F("overlap") + by),
        default=F("overlap"),
        output_field=IntegerField(),
    )
    for some in batched(sorted(pks), AT_ONCE):
        StudyItem.objects.filter(pk__in=some).update(n_accepted=F("n_accepted") + by, overlap=overlap)

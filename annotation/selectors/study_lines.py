"""A study in a few figures, for a list of several: agreement, pay so far, and when it will be done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.db.models import Max
from django.utils import timezone

from annotation.domain.scales import Scale
from annotation.models import Bonus, Study
from annotation.selectors.agreement import agreement_so_far, label_stamp
from annotation.selectors.costly import study_key
from annotation.selectors.pay import pay_report
from annotation.selectors.progress import StudyProgress, study_pace
from metaeval.figures import FIGURES, Figure

KEPT_SECONDS = 600
VERSION = 2


@dataclass(frozen=True, slots=True)
class StudyLine:
    """What a list says of a study.

    Attributes
    ----------
    figure, estimate
        The agreement of everyone with its interval, as the study's page has it; None while it is undefined or unknown.
    paid : Decimal or None
        Work, test and bonuses so far; None where the study pays nothing.
    done_at : datetime or None
        At the pace of the last 24 hours.
    why : str
        Why that is not known.
    """

    study: Study
    figure: Figure
    estimate: Mapping[str, Any] | None
    paid: Decimal | None
    done_at: datetime | None
    why: str


def study_lines(studies: Sequence[Study]) -> list[StudyLine]:
    """The studies of a list (`study_list_for`) with their figures: one query each while nothing is new."""
    bonuses = dict(
        Bonus.objects.filter(enrollment__study__in=studies)
        .order_by()
        .values_list("enrollment__study")
        .annotate(newest=Max("pk"))
    )
    return [_line(study, bonuses.get(study.pk, 0)) for study in studies]


def _line(study: Study, bonus: int) -> StudyLine:
    stamp = label_stamp(study)
    # The pace wears off by itself.
    minutes = int(timezone.now().timestamp()) // KEPT_SECONDS
    known = f"{VERSION}.{stamp}.{bonus}.{study.state}.{study.labels_wanted}.{minutes}"  # type: ignore[attr-defined]
    key = f"{study_key(study, 'line')}:{known}"
    kept: tuple[Mapping[str, Any] | None, Decimal | None, datetime | None, str, tuple[Scale, ...]] | None = (
        cache.get(key)
    )
    if kept is None:
        found = agreement_so_far(study, stamp) if not stamp.is_of_many else None
        estimate = found.of_everyone if found is not None and found.items_with_two else None
        if estimate is not None and estimate["value"] is None:
            estimate = None
        pays = study.pay_per_item or study.pay_per_hour or bonus
        paid = pay_report(study).total.total if pays else None
        wanted, labels = study.labels_wanted, study.labels_accepted  # type: ignore[attr-defined]  # of the list
        pace = study_pace(study, StudyProgress(0, wanted, labels, 0, 0))
        scales = () if found is None else found.scales
        kept = (estimate, paid, pace.done_at, pace.reason, scales)
        cache.set(key, kept, KEPT_SECONDS)
    figures = FIGURES[study.kind].on(kept[-1])
    return StudyLine(study, figures.of_people(figures.of_everyone), *kept[:-1])

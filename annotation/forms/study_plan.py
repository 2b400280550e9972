"""From what is typed into the form of a study to what it will ask and cost."""

from __future__ import annotations

from annotation.domain.planning import Plan, study_plan
from annotation.forms.study import StudyForm
from annotation.forms.study_fields import seconds_or
from annotation.models import PayBasis
from annotation.selectors.slices import slice_counts, study_slice, work_size


def plan_of(form: StudyForm, *, seconds: str = "") -> Plan | None:
    """The plan of a form as it stands, faults and all; None as long as it does not say what is offered.

    Checking a bound form writes what is right of it into its instance, which is never saved here.
    """
    if form.is_bound:
        form.is_valid()
    study = form.instance
    if not form.is_bound and study.dataset_id is not None:
        form.slice = slice_counts(study_slice(study))
    if (
        study.dataset_id is None
        or {"dataset", "kind", "categories", "subset", "overlap"} & form.errors.keys()
    ):
        return None
    return study_plan(
        items=work_size(study),
        overlap=study.overlap,
        seconds=seconds_or(seconds, study.kind),
        hidden_share=(study.check_rate or 0) + (study.repeat_rate or 0),
        per_item=study.pay_per_item,
        per_hour=study.pay_per_hour,
        by_time=study.pay_basis == PayBasis.TIME,
        floor=study.pay_floor_per_hour,
    )

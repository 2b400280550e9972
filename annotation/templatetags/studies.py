"""What the tabs of a study say, on whichever of its pages they are."""

from django import template

from annotation.models import Study, StudyState
from annotation.selectors.adjudication import waiting_counts

register = template.Library()


@register.simple_tag(name="waiting_counts")
def waiting_counts_tag(study: Study) -> dict[str, int | None]:
    """How many items wait for an expert (`disputed`), and decisions about reports and requests for deletion."""
    return {} if study.state == StudyState.DRAFT else waiting_counts(study)

"""A person at work, for the tests of the services."""

from typing import Any

from annotation.models import Assignment, Enrollment
from annotation.services.assignments import assignment_claim


def fresh(enrollment: Enrollment | int) -> Enrollment:
    """The person as the database has them now, as a request would fetch them."""
    pk = enrollment if isinstance(enrollment, int) else enrollment.pk
    return Enrollment.objects.select_related("study", "annotator").get(pk=pk)


def claim(enrollment: Enrollment, **given: Any) -> Assignment | None:
    return assignment_claim(enrollment=fresh(enrollment), **given)

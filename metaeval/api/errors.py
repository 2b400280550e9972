"""How exceptions of meta-evaluation are answered."""

from metaeval.reports.errors import DecisionConflict, MetaevalError
from web.api.problems import answered_by, error_of

Answered = tuple[int, list[dict[str, str]]]


@answered_by(DecisionConflict)
def _conflict(error: DecisionConflict) -> Answered:
    return 409, [error_of(error)]


@answered_by(MetaevalError)
def _refused(error: MetaevalError) -> Answered:
    return 400, [error_of(error)]

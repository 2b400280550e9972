"""How exceptions of meta-evaluation are answered."""

from metaeval.reports.errors import DecisionAgainst, DecisionConflict, MetaevalError
from web.api.problems import answered_by, error_of

Answered = tuple[int, list[dict[str, str]]]


@answered_by(DecisionConflict)
def _conflict(error: DecisionConflict) -> Answered:
    return 409, [error_of(error)]


@answered_by(DecisionAgainst)
def _against(error: DecisionAgainst) -> Answered:
    return 400, [
        error_of(f"{error} To use it nevertheless, send true and say why in the reason.", "override")
    ]


@answered_by(MetaevalError)
def _refused(error: MetaevalError) -> Answered:
    return 400, [error_of(error)]

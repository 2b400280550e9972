"""How exceptions of judging are answered."""

from judges.services.anchors import AnchorError
from judges.services.exports import ExportError
from judges.services.judge_uploads import ChangedJudgeError, JudgeUploadError
from judges.services.plans import PlanError
from judges.services.sweeps import SweepError
from web.api.problems import answered_by, error_of

Answered = tuple[int, list[dict[str, str]]]


@answered_by(PlanError)
def _plan(error: PlanError) -> Answered:
    return 400, [error_of(error.problem, error.field)]


@answered_by(JudgeUploadError)
def _upload(error: JudgeUploadError) -> Answered:
    return 409 if isinstance(error, ChangedJudgeError) else 400, [error_of(error.problem, error.field)]


@answered_by(AnchorError)
def _anchors(error: AnchorError) -> Answered:
    return 409, [error_of(error)]


@answered_by(ExportError)
def _export(error: ExportError) -> Answered:
    return 400, [error_of(error)]


@answered_by(SweepError)
def _sweep(error: SweepError) -> Answered:
    return 409, [error_of(message) for message in error.messages]

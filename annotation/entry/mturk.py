"""Amazon Mechanical Turk, thinly: it takes no new customers. People come in by an external link with their ids
filled in and go back by hand with their completion code, which its file of results lists.
"""

from annotation.entry.base import Link, Outcome, Parameters, Platform, PlatformColumns, SubmissionStatus


class MTurk(Platform):
    name = "mturk"
    label = "Mechanical Turk"
    parameters = Parameters(
        external_id="workerId",
        session="assignmentId",
        study="hitId",
        placeholders={},  # an ExternalQuestion adds its parameters to the address by itself
    )
    columns = PlatformColumns(
        session=("assignmentid",),
        external_id=("workerid",),
        status=("assignmentstatus",),
        code=("answer.surveycode", "answer.code"),
    )
    standings = {
        "SUBMITTED": SubmissionStatus.AWAITING,
        "APPROVED": SubmissionStatus.APPROVED,
        "REJECTED": SubmissionStatus.REJECTED,
    }
    note = (
        "Amazon has closed Mechanical Turk to new customers. People copy their completion code there by hand."
    )

    def return_url(self, link: Link, outcome: Outcome, code: str) -> str | None:
        return None


MTURK = MTurk()

"""CloudResearch Connect: parameters in the address, a redirect per project, a file of participants.

It has neither webhooks nor signed tokens that we know of. `docs/entry.md` says what was found and what is assumed.
"""

import re
from urllib.parse import urlsplit

from annotation.entry.base import Link, Outcome, Parameters, Platform, PlatformColumns, SubmissionStatus

RETURN_TO = "https://connect.cloudresearch.com/participant/project/"
# What follows in its redirect addresses: `41B26CAA44/complete`.
_TAIL = re.compile(r"[A-Za-z0-9][A-Za-z0-9/_.?=&-]{0,63}")


class Connect(Platform):
    name = "connect"
    label = "CloudResearch Connect"
    parameters = Parameters(
        external_id="participantId",
        session="assignmentId",
        study="projectId",
        placeholders={},  # Connect adds its parameters to any address by itself
    )
    columns = PlatformColumns(
        session=("assignment id", "assignmentid", "assignment_id"),
        external_id=("participant id", "participantid", "participant_id"),
        status=("status", "assignment status", "approval status"),
        code=("completion code", "code", "completion_code"),
        times=("start time", "started at", "submitted at", "completion time", "reviewed at"),
    )
    standings = {
        "IN PROGRESS": SubmissionStatus.ACTIVE,
        "ACTIVE": SubmissionStatus.ACTIVE,
        "STARTED": SubmissionStatus.ACTIVE,
        "RETURNED": SubmissionStatus.RETURNED,
        "LEFT": SubmissionStatus.RETURNED,
        "TIMED OUT": SubmissionStatus.TIMED_OUT,
        "EXPIRED": SubmissionStatus.TIMED_OUT,
        "SUBMITTED": SubmissionStatus.AWAITING,
        "PENDING": SubmissionStatus.AWAITING,
        "COMPLETED": SubmissionStatus.AWAITING,
        "APPROVED": SubmissionStatus.APPROVED,
        "REJECTED": SubmissionStatus.REJECTED,
        "PARTIAL": SubmissionStatus.SCREENED_OUT,
        "SCREENED OUT": SubmissionStatus.SCREENED_OUT,
    }
    code_help = "Paste the redirect address that Connect shows for it."

    def code_of(self, text: str) -> str:
        text = text.strip()
        return text.removeprefix(RETURN_TO).removesuffix("/complete")

    def code_is_valid(self, code: str) -> bool:
        return _TAIL.fullmatch(code) is not None

    def return_url(self, link: Link, outcome: Outcome, code: str) -> str | None:
        if not code:
            return None
        bare = not urlsplit(code).query and "/" not in code
        return f"{RETURN_TO}{code}/complete" if bare else f"{RETURN_TO}{code}"


CONNECT = Connect()

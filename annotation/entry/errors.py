"""What can go wrong between a platform and us, in one tree.

EntryError
├── ArrivalError   an address lacks a parameter, or has one that cannot be right
├── FileError      a platform's file cannot be read
├── FetchError     a platform's API did not answer as it should
├── WebhookError   a message does not come from the platform, or too late
└── TokenError     an entry token is missing, forged, expired or somebody else's
"""


class EntryError(Exception):
    """Base of all of them."""


class ArrivalError(EntryError):
    """`parameter` names what is wrong in the address, `problem` is `missing`, `placeholder` or `invalid`."""

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(f"{parameter} is {problem}")
        self.parameter = parameter
        self.problem = problem


class FileError(EntryError):
    """`file`, `row` (as a spreadsheet counts; None: the whole file) and `field` say where."""

    def __init__(self, file: str, message: str, *, row: int | None = None, field: str = "") -> None:
        place = f"{file}, row {row}" if row is not None else file
        super().__init__(f"{place}: {f'{field}: ' if field else ''}{message}")
        self.file, self.row, self.field, self.message = file, row, field, message


class FetchError(EntryError):
    """The message is for the researcher and carries no secret."""


class WebhookError(EntryError):
    """`status` is how to answer over HTTP."""

    def __init__(self, message: str, *, status: int = 403) -> None:
        super().__init__(message)
        self.status = status


class TokenError(EntryError):
    """The message says why, without the token."""

"""What a platform is to us: how people arrive, where they return to, and what it says of their submissions.

Most of an adapter is a few names. `Platform` reads addresses and files by them; a platform with an API, webhooks
or signed tokens overrides `fetch`, `verify_webhook` and `verify_token`.
"""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Any, Protocol

from annotation.entry.errors import ArrivalError, FetchError, FileError, TokenError, WebhookError

# Ids of platforms are short and plain; anything else in an address was typed or forged.
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,99}")
CODE = re.compile(r"[A-Za-z0-9._-]{1,64}")
STATUS = re.compile(r"[A-Z][A-Z0-9 ]{0,39}")
MAX_ROWS = 20_000


class Outcome(StrEnum):
    """How a person's way through a study ended."""

    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    NO_CONSENT = "no_consent"


class SubmissionStatus(StrEnum):
    """What a platform's status means here."""

    ACTIVE = "active"
    RETURNED = "returned"
    TIMED_OUT = "timed_out"
    AWAITING = "awaiting"
    SCREENED_OUT = "screened_out"
    APPROVED = "approved"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


LEFT = frozenset({SubmissionStatus.RETURNED, SubmissionStatus.TIMED_OUT})
# A submission goes this way, whatever the order in which we hear of it.
_STEP = {
    SubmissionStatus.UNKNOWN: 0,
    SubmissionStatus.ACTIVE: 1,
    SubmissionStatus.TIMED_OUT: 2,
    SubmissionStatus.AWAITING: 3,
    SubmissionStatus.RETURNED: 4,
    SubmissionStatus.SCREENED_OUT: 4,
    SubmissionStatus.REJECTED: 4,
    SubmissionStatus.APPROVED: 5,
}


class Link(Protocol):
    """What an adapter may know of a study's entry link."""

    @property
    def external_study_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Arrival:
    """A person who arrives: who they are there, the submission, the study there, and further parameters."""

    external_id: str
    session: str
    study: str = ""
    extras: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """What a platform says of one submission. `at` is the latest time that the row tells, if any."""

    session: str
    external_id: str
    status: str
    code: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One message of a webhook. `row` is None when it is not about a submission."""

    event_id: str
    at: datetime
    row: SubmissionRow | None


@dataclass(frozen=True, slots=True)
class PlatformColumns:
    """Names of the columns of a platform's file, in small letters; the first that is there is taken."""

    session: tuple[str, ...]
    external_id: tuple[str, ...]
    status: tuple[str, ...]
    code: tuple[str, ...] = ()
    times: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameters:
    """Names of the parameters of the address, and what to write there for the platform to fill in."""

    external_id: str
    session: str
    study: str
    placeholders: Mapping[str, str]


class Platform:
    """An adapter. Names of secrets are those of environment variables; the values come from the caller."""

    name: str
    label: str
    parameters: Parameters
    columns: PlatformColumns
    standings: Mapping[str, SubmissionStatus]
    note: str = ""
    code_help: str = ""
    without_code: str = ""
    api_variable: str = ""
    webhook_variable: str = ""
    keys_variable: str = ""
    token_parameter: str = ""

    def arrival(self, params: Mapping[str, str]) -> Arrival:
        """Read the address by which a person came; `ArrivalError` names the parameter that is wrong."""
        names = self.parameters
        known = {names.external_id, names.session, names.study, self.token_parameter}
        return Arrival(
            external_id=self._id(params, names.external_id),
            session=self._id(params, names.session),
            study=self._id(params, names.study) if params.get(names.study) else "",
            extras={name: value for name, value in params.items() if name not in known},
        )

    def _id(self, params: Mapping[str, str], name: str) -> str:
        value = params.get(name, "").strip()
        if not value:
            raise ArrivalError(name, "missing")
        if "{" in value or "%" in value:
            raise ArrivalError(name, "placeholder")
        if not ID.fullmatch(value):
            raise ArrivalError(name, "invalid")
        return value

    def code_of(self, text: str) -> str:
        """The code in what a researcher pasted: the code itself, or the address to return to."""
        return text.strip()

    def code_is_valid(self, code: str) -> bool:
        return CODE.fullmatch(code) is not None

    def return_url(self, link: Link, outcome: Outcome, code: str) -> str | None:
        """Where a person goes back to with this outcome; None when the platform has no such address."""
        raise NotImplementedError

    def standing(self, status: str) -> SubmissionStatus:
        """What the platform's word means; spelling with spaces, dashes and underscores is the same."""
        return self.standings.get(status_key(status), SubmissionStatus.UNKNOWN)

    def rows(self, file: bytes, name: str) -> list[SubmissionRow]:
        """The submissions in the platform's CSV export. `FileError` names file, row and field."""
        return read_rows(self, file, name)

    def fetch(self, link: Link, token: str) -> list[SubmissionRow]:
        """The submissions, from the platform's API."""
        raise FetchError(f"{self.label} has no API that we can ask; upload its file instead.")

    def verify_webhook(self, headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> Event:
        """The event in a message that the platform signed; `WebhookError` for any other."""
        raise WebhookError(f"{self.label} sends no webhooks", status=404)

    def verify_token(
        self, token: str, keys: Mapping[str, Any], link: Link, *, site: str, now: datetime
    ) -> Arrival:
        """The arrival that the platform's signed token vouches for; `TokenError` when it does not."""
        raise TokenError(f"{self.label} signs no tokens")


def status_key(status: str) -> str:
    return re.sub(r"[\s_-]+", " ", status).strip().upper()


def is_news(
    platform: Platform,
    status: str,
    *,
    current: str,
    at: datetime | None,
    current_at: datetime | None,
    exact: bool,
    seen: bool,
) -> bool:
    """Whether a status is later than the one that we have, so that an older file or message changes nothing.

    `at` is when it was true: exactly (an API, a webhook) or at the earliest (a file, which may have been saved long
    after the last time in it). `seen` says that this submission had this status before.
    """
    if not current:
        return True
    if status_key(status) == status_key(current):
        return False
    if at is not None and current_at is not None:
        if at > current_at:
            return True
        if exact and at < current_at:
            return False
    if seen:
        return False
    return _STEP[platform.standing(status)] >= _STEP[platform.standing(current)]


def read_rows(platform: Platform, file: bytes, name: str) -> list[SubmissionRow]:
    """Rows of a CSV file with a head, comma or semicolon, UTF-8 with or without its mark."""
    try:
        text = file.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(name, "this isn't UTF-8 text; save it as CSV (UTF-8)") from None
    if "\x00" in text:
        raise FileError(name, "this isn't a CSV file")
    lines = text.splitlines()
    head = lines[0] if lines else ""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=";" if ";" in head and "," not in head else ","
    )
    try:
        table = list(islice(reader, MAX_ROWS + 2))
    except csv.Error as error:
        raise FileError(name, f"this is no CSV file ({error})", row=reader.line_num) from None
    if len(table) > MAX_ROWS + 1:
        raise FileError(name, f"it has more than {MAX_ROWS:,} rows")
    places = _places(platform, table[0] if table else [], name)
    rows: dict[str, SubmissionRow] = {}
    for number, cells in enumerate(table[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        row = _row(platform, places, cells, name, number)
        if row.session in rows:
            raise FileError(name, f"{row.session} is there twice", row=number, field=places.names["session"])
        rows[row.session] = row
    return list(rows.values())


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the columns are, and how they are called in this file."""

    index: Mapping[str, int]
    times: tuple[int, ...]
    names: Mapping[str, str]


def _places(platform: Platform, head: list[str], file: str) -> _Places:
    there = {name.strip().lower(): place for place, name in reversed(list(enumerate(head)))}
    columns = platform.columns
    index, names = {}, {}
    for wanted in ("session", "external_id", "status", "code"):
        found = next((name for name in getattr(columns, wanted) if name in there), None)
        if found is not None:
            index[wanted], names[wanted] = there[found], head[there[found]].strip()
        elif wanted != "code":
            expected = getattr(columns, wanted)[0].capitalize()
            raise FileError(
                file, f"there is no such column; is it {platform.label}'s export?", field=expected
            )
    return _Places(index, tuple(there[name] for name in columns.times if name in there), names)


def _row(platform: Platform, places: _Places, cells: list[str], file: str, number: int) -> SubmissionRow:
    def cell(wanted: str) -> str:
        place = places.index.get(wanted)
        return cells[place].strip() if place is not None and place < len(cells) else ""

    for wanted in ("session", "external_id"):
        if not ID.fullmatch(cell(wanted)):
            shown = cell(wanted)[:40]
            message = f"expected an id, got {shown!r}" if shown else "it is empty"
            raise FileError(file, message, row=number, field=places.names[wanted])
    if platform.standing(cell("status")) == SubmissionStatus.UNKNOWN:
        message = f"{cell('status')[:40]!r} is no status of {platform.label} that we know"
        raise FileError(file, message, row=number, field=places.names["status"])
    times = [moment for place in places.times if place < len(cells) and (moment := read_time(cells[place]))]
    return SubmissionRow(
        session=cell("session"),
        external_id=cell("external_id"),
        status=status_key(cell("status")),
        code=cell("code")[:64],
        at=max(times, default=None),
    )


def read_time(text: str) -> datetime | None:
    """A time in ISO 8601, as UTC if it does not say; None for anything else, such as `Not Applicable`."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

"""Prolific: parameters in the address, completion codes, an API, webhooks and signed entry tokens.

`docs/entry.md` says which of its public pages each of these was read from.
"""

import base64
import hashlib
import hmac
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import httpx
import jwt

from annotation.entry.base import (
    ID,
    STATUS,
    Arrival,
    Event,
    Link,
    Outcome,
    Parameters,
    Platform,
    PlatformColumns,
    SubmissionRow,
    SubmissionStatus,
    read_time,
    status_key,
)
from annotation.entry.errors import ArrivalError, FetchError, TokenError, WebhookError

COMPLETE = "https://app.prolific.com/submissions/complete"
API = "https://api.prolific.com/api/v1"
# A page may be waiting for the answer: better to say soon that there is none.
TIMEOUT_SECONDS = 10.0
PAGE = 200
MAX_PAGES = 200
TRIES = 3
FRESH = timedelta(minutes=5)
ALGORITHMS = ["RS256", "ES256"]
SUBMISSION_CHANGED = "submission.status.change"
MAX_TOKEN = 8_000


class Prolific(Platform):
    name = "prolific"
    label = "Prolific"
    parameters = Parameters(
        external_id="PROLIFIC_PID",
        session="SESSION_ID",
        study="STUDY_ID",
        placeholders={
            "PROLIFIC_PID": "{{%PROLIFIC_PID%}}",
            "STUDY_ID": "{{%STUDY_ID%}}",
            "SESSION_ID": "{{%SESSION_ID%}}",
        },
    )
    columns = PlatformColumns(
        session=("submission id", "session_id", "id"),
        external_id=("participant id", "participant_id"),
        status=("status",),
        code=("completion code", "entered_code"),
        times=("started at", "completed at", "reviewed at", "archived at"),
    )
    standings = {
        "RESERVED": SubmissionStatus.ACTIVE,
        "ACTIVE": SubmissionStatus.ACTIVE,
        "TIMED OUT": SubmissionStatus.TIMED_OUT,
        "AWAITING REVIEW": SubmissionStatus.AWAITING,
        "APPROVED": SubmissionStatus.APPROVED,
        "PARTIALLY APPROVED": SubmissionStatus.APPROVED,
        "RETURNED": SubmissionStatus.RETURNED,
        "REJECTED": SubmissionStatus.REJECTED,
        "SCREENED OUT": SubmissionStatus.SCREENED_OUT,
    }
    code_help = "Paste the code, or the address with the code in it."
    without_code = "NOCODE"
    api_variable = "PROLIFIC_API_TOKEN"
    webhook_variable = "PROLIFIC_WEBHOOK_SECRET"
    keys_variable = "PROLIFIC_JWKS"
    token_parameter = "prolific_token"  # noqa: S105  (the name of a parameter)

    def code_of(self, text: str) -> str:
        text = text.strip()
        return parse_qs(urlsplit(text).query).get("cc", [text])[0]

    def return_url(self, link: Link, outcome: Outcome, code: str) -> str | None:
        return f"{COMPLETE}?{urlencode({'cc': code})}" if code else None

    def fetch(
        self,
        link: Link,
        token: str,
        *,
        client: httpx.Client | None = None,
        wait: Callable[[float], None] = time.sleep,
    ) -> list[SubmissionRow]:
        if not link.external_study_id:
            raise FetchError("The study's ID on Prolific is unknown. Save it on the Entry page first.")
        own = client or httpx.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False)
        try:
            found: dict[str, SubmissionRow] = {}
            for page in _pages(own, link.external_study_id, token, wait):
                new = {row.session: row for row in page if row.session not in found}
                if not new:  # a server that gives the same page for ever
                    break
                found |= new
            return list(found.values())
        finally:
            if client is None:
                own.close()

    def verify_webhook(self, headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> Event:
        named = {name.lower(): value for name, value in headers.items()}
        stamp = named.get("x-prolific-request-timestamp", "")
        signature = named.get("x-prolific-request-signature", "")
        digest = hmac.new(secret.encode(), stamp.encode() + body, hashlib.sha256).digest()
        if not hmac.compare_digest(base64.b64encode(digest), signature.encode()):
            raise WebhookError("the signature is not Prolific's")
        sent = _moment(stamp)
        if sent is None or abs(now - sent) > FRESH:
            raise WebhookError("the message was signed too long ago")
        # This header is not signed. Later than the message it cannot be, or nothing would ever be news again.
        happened = min(_moment(named.get("x-timestamp", "")) or sent, sent)
        event_id = named.get("x-event-id", "")[:200] or hashlib.sha256(stamp.encode() + body).hexdigest()
        return Event(event_id=event_id, at=happened, row=_event_row(body, happened))

    def verify_token(
        self, token: str, keys: Mapping[str, Any], link: Link, *, site: str, now: datetime
    ) -> Arrival:
        claims = _claims(token, keys, now)
        if not any(_is_site(audience, site) for audience in _audiences(claims)):
            raise TokenError("the token is for another site")
        ids = claims.get("prolific")
        if not isinstance(ids, dict):
            raise TokenError("the token names no submission")
        try:
            arrival = self.arrival({name: str(value) for name, value in ids.items()})
        except ArrivalError as error:
            raise TokenError(f"the token's {error}") from None
        if link.external_study_id and arrival.study != link.external_study_id:
            raise TokenError("the token is for another study")
        return arrival


def _pages(
    client: httpx.Client, study: str, token: str, wait: Callable[[float], None]
) -> Iterator[list[SubmissionRow]]:
    url = f"{API}/studies/{quote(study, safe='')}/submissions/"
    for page in range(MAX_PAGES):
        params = {"limit": PAGE, "offset": page * PAGE}
        results = _get(client, url, params, token, wait).get("results")
        if not isinstance(results, list):
            raise FetchError("Prolific's answer isn't a list of submissions.")
        yield [_api_row(result) for result in results]
        if len(results) < PAGE:
            return
    raise FetchError(f"Prolific has more than {MAX_PAGES * PAGE:,} submissions of this study.")


def _get(
    client: httpx.Client, url: str, params: Mapping[str, int], token: str, wait: Callable[[float], None]
) -> dict[str, Any]:
    """One page, tried again while Prolific is busy. What went wrong is said without the token."""
    problem = ""
    for attempt in range(TRIES):
        if attempt:
            wait(2.0**attempt)
        try:
            response = client.get(url, params=dict(params), headers={"Authorization": f"Token {token}"})
        except httpx.HTTPError as error:
            problem = f"Prolific could not be reached ({type(error).__name__})."
            continue
        if response.status_code == 429 or response.status_code >= 500:
            problem = f"Prolific is busy (it answered {response.status_code})."
            continue
        if response.status_code in (401, 403):
            raise FetchError("Prolific doesn't accept the token in PROLIFIC_API_TOKEN for this study.")
        if response.status_code == 404:
            raise FetchError("Prolific has no study with this ID, or the token has no access to it.")
        if response.status_code != 200:
            raise FetchError(f"Prolific answered {response.status_code}.")
        try:
            answer = response.json()
        except ValueError:
            raise FetchError("Prolific's answer is not JSON.") from None
        if isinstance(answer, dict):
            return answer
        raise FetchError("Prolific's answer isn't a list of submissions.")
    raise FetchError(f"{problem} Tried {TRIES} times.")


def _api_row(result: Any) -> SubmissionRow:
    if not isinstance(result, dict):
        raise FetchError("Prolific's answer isn't a list of submissions.")
    session = str(result.get("id") or "")
    person = str(result.get("participant_id") or result.get("participant") or "")
    status = status_key(str(result.get("status") or ""))
    if not ID.fullmatch(session) or not ID.fullmatch(person) or not STATUS.fullmatch(status):
        raise FetchError("A submission in Prolific's answer lacks its id, its participant or its status.")
    times = [read_time(str(result.get(name) or "")) for name in ("started_at", "completed_at")]
    return SubmissionRow(
        session=session,
        external_id=person,
        status=status,
        code=str(result.get("study_code") or result.get("entered_code") or "")[:64],
        at=max((moment for moment in times if moment), default=None),
    )


def _moment(stamp: str) -> datetime | None:
    """A UNIX time in seconds or milliseconds, or a time in ISO 8601."""
    try:
        seconds = float(stamp)
    except ValueError:
        return read_time(stamp)
    if not math.isfinite(seconds):
        return None
    try:
        return datetime.fromtimestamp(seconds / 1000 if seconds > 1e11 else seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _event_row(body: bytes, at: datetime) -> SubmissionRow | None:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise WebhookError("the message is not JSON", status=400) from None
    if not isinstance(message, dict):
        raise WebhookError("the message is not an object", status=400)
    if message.get("event_type") != SUBMISSION_CHANGED:
        return None
    session, person = str(message.get("resource_id") or ""), str(message.get("participant_id") or "")
    status = status_key(str(message.get("status") or ""))
    if not ID.fullmatch(session) or not ID.fullmatch(person) or not STATUS.fullmatch(status):
        raise WebhookError("the message lacks the submission, the participant or the status", status=400)
    return SubmissionRow(session=session, external_id=person, status=status, at=at)


def _claims(token: str, keys: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """What the token says, once its signature and its time are right."""
    if not token:
        raise TokenError("there is no token")
    if len(token) > MAX_TOKEN:
        raise TokenError("the token is too long")
    try:
        head = jwt.get_unverified_header(token)
        key = next(
            key for key in jwt.PyJWKSet.from_dict(dict(keys)).keys if head.get("kid") in (None, key.key_id)
        )
        # Times are checked below, against the caller's clock.
        claims: dict[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=ALGORITHMS,
            options={"verify_aud": False, "verify_exp": False, "verify_nbf": False, "verify_iat": False},
        )
    except StopIteration:
        raise TokenError("the token is signed with a key that is not in the key set") from None
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise TokenError(f"the token is not valid ({type(error).__name__})") from None
    expires, begins = claims.get("exp"), claims.get("nbf")
    if not isinstance(expires, int | float) or now.timestamp() >= expires:
        raise TokenError("the token has expired")
    if isinstance(begins, int | float) and now.timestamp() < begins - FRESH.total_seconds():
        raise TokenError("the token is not valid yet")
    return claims


def _audiences(claims: Mapping[str, Any]) -> list[str]:
    audience = claims.get("aud")
    return [str(each) for each in (audience if isinstance(audience, list) else [audience]) if each]


def _is_site(audience: str, site: str) -> bool:
    """Whether the audience is this site: its domain, its origin, or an address on it."""
    own = urlsplit(site)
    if "://" not in audience:
        return audience.lower() in (own.netloc.lower(), own.hostname)
    try:
        given = urlsplit(audience)
    except ValueError:
        return False
    return (given.scheme, given.netloc.lower()) == (own.scheme, own.netloc.lower())


PROLIFIC = Prolific()

"""The adapters by themselves: addresses, files, messages, tokens, the API. No database."""

import base64
import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import httpx
import jwt
import pytest

from annotation.entry import PLATFORMS
from annotation.entry.base import Outcome, SubmissionStatus, is_news
from annotation.entry.connect import CONNECT
from annotation.entry.errors import ArrivalError, FetchError, FileError, TokenError, WebhookError
from annotation.entry.mturk import MTURK
from annotation.entry.prolific import PAGE, PROLIFIC
from tests.annotation.entry.props import (
    EC_KEY,
    KEYS,
    OTHER_KEY,
    PID,
    SECRET,
    SESSION,
    SITE,
    STUDY_ID,
    csv_file,
    csv_row,
    message,
    params,
    token,
)

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
LINK = SimpleNamespace(external_study_id=STUDY_ID)
ANY_STUDY = SimpleNamespace(external_study_id="")


# --- Arrivals -------------------------------------------------------------------------------------------------


def test_an_address_of_prolific():
    arrival = PROLIFIC.arrival(params(native="yes", prolific_token="x"))
    assert (arrival.external_id, arrival.session, arrival.study) == (PID, SESSION, STUDY_ID)
    assert arrival.extras == {"native": "yes"}


@pytest.mark.parametrize("missing", ["PROLIFIC_PID", "SESSION_ID"])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "missing"),
        ("", "missing"),
        (" ", "missing"),
        ("{{%PROLIFIC_PID%}}", "placeholder"),
        ("<script>", "invalid"),
        ("a b", "invalid"),
        ("x" * 101, "invalid"),
        ("a\x00", "invalid"),
    ],
)
def test_an_address_that_cannot_be_right_names_its_part(missing, value, problem):
    given = params()
    if value is None:
        del given[missing]
    else:
        given[missing] = value
    with pytest.raises(ArrivalError) as error:
        PROLIFIC.arrival(given)
    assert (error.value.parameter, error.value.problem) == (missing, problem)


def test_addresses_of_other_platforms():
    arrival = CONNECT.arrival({"participantId": "P1", "assignmentId": "A1", "projectId": "J1"})
    assert (arrival.external_id, arrival.session, arrival.study) == ("P1", "A1", "J1")
    arrival = MTURK.arrival({"workerId": "W1", "assignmentId": "A1"})
    assert (arrival.external_id, arrival.session, arrival.study) == ("W1", "A1", "")


# --- The way back -----------------------------------------------------------------------------------------------


def test_the_way_back():
    url = PROLIFIC.return_url(LINK, Outcome.COMPLETED, "C1&x=y")
    assert url == "https://app.prolific.com/submissions/complete?cc=C1%26x%3Dy"
    assert PROLIFIC.return_url(LINK, Outcome.NO_CONSENT, "") is None
    base = "https://connect.cloudresearch.com/participant/project"
    assert CONNECT.return_url(LINK, Outcome.COMPLETED, "41B26CAA44") == f"{base}/41B26CAA44/complete"
    assert CONNECT.return_url(LINK, Outcome.SCREENED_OUT, "41B2/partial/9") == f"{base}/41B2/partial/9"
    assert MTURK.return_url(LINK, Outcome.COMPLETED, "C1") is None


@pytest.mark.parametrize(
    ("platform", "pasted", "code"),
    [
        ("prolific", " CABC1 ", "CABC1"),
        ("prolific", "https://app.prolific.com/submissions/complete?cc=CABC1", "CABC1"),
        ("connect", "https://connect.cloudresearch.com/participant/project/41B2/complete", "41B2"),
        ("connect", "https://connect.cloudresearch.com/participant/project/41B2/partial/9", "41B2/partial/9"),
    ],
)
def test_a_code_is_read_from_what_is_pasted(platform, pasted, code):
    assert PLATFORMS[platform].code_of(pasted) == code
    assert PLATFORMS[platform].code_is_valid(code)


def test_a_code_that_would_lead_elsewhere_is_none():
    assert not PROLIFIC.code_is_valid("https://evil.example/")
    assert not CONNECT.code_is_valid("../../evil")
    assert not CONNECT.code_is_valid("https://evil.example/")


# --- Files --------------------------------------------------------------------------------------------------------


def test_prolifics_export():
    rows = PROLIFIC.rows(csv_file(csv_row(), csv_row("s2", "p2", "TIMED-OUT", "")), "export.csv")
    assert [(row.session, row.external_id, row.status, row.code) for row in rows] == [
        (SESSION, PID, "AWAITING REVIEW", "CDONE"),
        ("s2", "p2", "TIMED OUT", ""),
    ]
    assert rows[0].at == datetime(2026, 10, 25, 12, tzinfo=UTC)


def test_a_file_from_a_spreadsheet():
    text = "﻿Submission id;Participant id;Status\r\ns1;p1;Approved\r\n;;\r\n"
    [row] = PROLIFIC.rows(text.encode(), "export.csv")
    assert (row.session, row.status, row.code, row.at) == ("s1", "APPROVED", "", None)


@pytest.mark.parametrize(
    ("file", "place", "words"),
    [
        (b"", (None, "Submission id"), "no such column"),
        (b"Name,Age\n", (None, "Submission id"), "Prolific's export"),
        (b"\xff\xfe\x00", (None, ""), "UTF-8"),
        (b"Submission id\x00", (None, ""), "a CSV"),
        (csv_file(csv_row(), csv_row("s2", "", "ACTIVE")), (3, "Participant id"), "empty"),
        (csv_file(csv_row(), csv_row()), (3, "Submission id"), "twice"),
        (csv_file(csv_row(status="EATEN")), (2, "Status"), "'EATEN'"),
        (csv_file(csv_row(session="=cmd()")), (2, "Submission id"), "expected an id"),
    ],
)
def test_a_file_that_cannot_be_read_names_file_row_and_field(file, place, words):
    with pytest.raises(FileError, match=words) as error:
        PROLIFIC.rows(file, "export.csv")
    assert (error.value.row, error.value.field) == place
    assert str(error.value).startswith("export.csv")


def test_statuses_mean_the_same_in_any_spelling():
    spellings = ["TIMED-OUT", "timed_out", "Timed out"]
    assert {PROLIFIC.standing(status) for status in spellings} == {SubmissionStatus.TIMED_OUT}
    assert PROLIFIC.standing("PARTIALLY APPROVED") == SubmissionStatus.APPROVED
    assert PROLIFIC.standing("new word") == SubmissionStatus.UNKNOWN


# --- What is news -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "current", "at", "current_at", "exact", "seen", "news"),
    [
        ("ACTIVE", "", None, None, False, False, True),
        ("ACTIVE", "ACTIVE", 5, 1, True, False, False),
        ("RETURNED", "ACTIVE", None, None, False, False, True),
        ("ACTIVE", "RETURNED", None, None, False, False, False),  # an older file
        ("ACTIVE", "RETURNED", 5, 1, True, True, True),  # came back, said by the API
        ("ACTIVE", "RETURNED", 1, 5, True, False, False),  # a message that was late
        ("RETURNED", "ACTIVE", 1, 5, True, False, False),
        ("TIMED-OUT", "ACTIVE", 1, 5, False, False, True),  # a file is at least as old as its latest time
        ("RETURNED", "ACTIVE", 1, 5, False, True, False),  # heard before, and something else since
        ("APPROVED", "REJECTED", None, None, False, False, True),
        ("REJECTED", "APPROVED", None, None, False, False, False),
    ],
)
def test_news(status, current, at, current_at, exact, seen, news):
    def moment(hour):
        return None if hour is None else NOW.replace(hour=hour)

    told = is_news(
        PROLIFIC,
        status,
        current=current,
        at=moment(at),
        current_at=moment(current_at),
        exact=exact,
        seen=seen,
    )
    assert told is news


# --- Webhooks -----------------------------------------------------------------------------------------------------


def test_a_signed_message():
    body, headers = message("RETURNED", now=NOW)
    event = PROLIFIC.verify_webhook(headers, body, SECRET, NOW + timedelta(minutes=4))
    assert event.event_id == "e1"
    assert (event.row.session, event.row.external_id, event.row.status) == (SESSION, PID, "RETURNED")
    assert event.at == NOW


def test_a_message_about_something_else():
    body, headers = message("ACTIVE", now=NOW, event_type="study.status.change")
    assert PROLIFIC.verify_webhook(headers, body, SECRET, NOW).row is None


def test_a_message_says_when_it_happened():
    body, headers = message("ACTIVE", now=NOW)
    headers["X-Timestamp"] = str(int((NOW - timedelta(hours=1)).timestamp() * 1000))
    assert PROLIFIC.verify_webhook(headers, body, SECRET, NOW).at == NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    "change",
    [
        lambda body, headers: (body + b" ", headers),
        lambda body, headers: (body, headers | {"X-Prolific-Request-Signature": "x"}),
        lambda body, headers: (body, headers | {"X-Prolific-Request-Signature": "é"}),
        lambda body, headers: (body, headers | {"X-Prolific-Request-Timestamp": str(NOW.timestamp() + 1)}),
        lambda body, headers: (body, {}),
    ],
)
def test_a_message_that_was_altered(change):
    body, headers = change(*message("RETURNED", now=NOW))
    with pytest.raises(WebhookError) as error:
        PROLIFIC.verify_webhook(headers, body, SECRET, NOW)
    assert error.value.status == 403


@pytest.mark.parametrize("late", [timedelta(minutes=6), timedelta(minutes=-6)])
def test_a_message_that_is_repeated_by_somebody_later(late):
    body, headers = message("RETURNED", now=NOW)
    with pytest.raises(WebhookError, match="too long ago"):
        PROLIFIC.verify_webhook(headers, body, SECRET, NOW + late)


@pytest.mark.parametrize("changed", [{"resource_id": ""}, {"participant_id": None}, {"status": ""}])
def test_a_message_that_lacks_something(changed):
    body, headers = message("RETURNED", now=NOW, **changed)
    with pytest.raises(WebhookError) as error:
        PROLIFIC.verify_webhook(headers, body, SECRET, NOW)
    assert error.value.status == 400


@pytest.mark.parametrize("platform", [CONNECT, MTURK])
def test_platforms_without_webhooks_tokens_or_api(platform):
    with pytest.raises(WebhookError):
        platform.verify_webhook({}, b"", SECRET, NOW)
    with pytest.raises(TokenError):
        platform.verify_token("x", KEYS, LINK, site=SITE, now=NOW)
    with pytest.raises(FetchError):
        platform.fetch(LINK, "x")


# --- Tokens -------------------------------------------------------------------------------------------------------


def verify(text, keys=None, link=LINK, now=NOW):
    return PROLIFIC.verify_token(text, KEYS if keys is None else keys, link, site=SITE, now=now)


@pytest.mark.parametrize(
    "audience", [SITE, "touchstone.example", f"{SITE}/enter/prolific/x/", ["other", SITE]]
)
def test_a_signed_token(audience):
    arrival = verify(token(now=NOW, aud=audience))
    assert (arrival.external_id, arrival.session, arrival.study) == (PID, SESSION, STUDY_ID)


def test_a_token_signed_with_an_elliptic_curve():
    assert verify(token(now=NOW, key=EC_KEY, kid="two", algorithm="ES256")).external_id == PID


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "a.b.c",
        "x" * 9000,
        token(now=NOW, key=OTHER_KEY),
        token(now=NOW, kid="three"),
        token(now=NOW, key=EC_KEY, kid="one", algorithm="ES256"),
        token(now=NOW, aud="https://other.example"),
        token(now=NOW, aud="https://touchstone.example.evil.example"),
        token(now=NOW, aud="http://touchstone.example"),
        token(now=NOW, aud=None),
        token(now=NOW, exp=int(NOW.timestamp())),
        token(now=NOW, exp=None),
        token(now=NOW, nbf=int(NOW.timestamp()) + 3600),
        token(now=NOW, prolific="x"),
        token(now=NOW, prolific=params() | {"PROLIFIC_PID": ""}),
        token(now=NOW, prolific=params() | {"STUDY_ID": "another"}),
        jwt.encode(
            {"aud": SITE}, "a shared secret of thirty-two bytes", algorithm="HS256", headers={"kid": "one"}
        ),
    ],
)
def test_tokens_that_prove_nothing(text):
    with pytest.raises(TokenError) as error:
        verify(text)
    assert not text or text not in str(error.value)


def test_an_unsigned_token_proves_nothing():
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    claims = {"aud": SITE, "exp": int(NOW.timestamp()) + 60, "prolific": params()}
    with pytest.raises(TokenError):
        verify(f"{part({'alg': 'none', 'kid': 'one'})}.{part(claims)}.")


@pytest.mark.parametrize("keys", [{}, {"keys": []}, {"keys": [{"kty": "?"}]}])
def test_without_keys_no_token_is_believed(keys):
    with pytest.raises(TokenError):
        verify(token(now=NOW), keys=keys)


# --- The API --------------------------------------------------------------------------------------------------------


def submission(number, status="ACTIVE"):
    return {"id": f"s{number}", "participant_id": f"p{number}", "status": status, "study_code": "CDONE"}


def fetch(handler, link=LINK):
    waits = []
    with httpx.Client(transport=httpx.MockTransport(handler)) as client:
        return PROLIFIC.fetch(link, "the-token", client=client, wait=waits.append), waits


def test_the_api_page_by_page():
    asked = []

    def answer(request):
        asked.append(request)
        start = int(request.url.params["offset"])
        some = [submission(n) for n in range(start, min(start + PAGE, PAGE + 3))]
        return httpx.Response(200, json={"results": some})

    rows, _ = fetch(answer)
    assert len(rows) == PAGE + 3
    assert rows[-1].session == f"s{PAGE + 2}"
    assert asked[0].headers["Authorization"] == "Token the-token"
    assert asked[0].url.path == f"/api/v1/studies/{STUDY_ID}/submissions/"
    assert len(asked) == 2


def test_an_api_that_repeats_itself_ends():
    rows, _ = fetch(lambda _: httpx.Response(200, json={"results": [submission(n) for n in range(PAGE)]}))
    assert len(rows) == PAGE


def test_a_busy_api_is_asked_again():
    answers = [
        httpx.Response(429),
        httpx.ConnectError("no"),
        httpx.Response(200, json={"results": [submission(1)]}),
    ]

    def answer(request):
        given = answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    rows, waits = fetch(answer)
    assert [row.session for row in rows] == ["s1"]
    assert waits == [2.0, 4.0]  # and no more tries than three


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.Response(500), "busy"),
        (httpx.Response(401), "doesn't accept"),
        (httpx.Response(404), "no study"),
        (httpx.Response(302, headers={"Location": "https://evil.example"}), "302"),
        (httpx.Response(200, text="<html>"), "not JSON"),
        (httpx.Response(200, json=[]), "a list"),
        (httpx.Response(200, json={"results": 3}), "a list"),
        (httpx.Response(200, json={"results": [3]}), "a list"),
        (httpx.Response(200, json={"results": [{"id": "s1"}]}), "lacks"),
    ],
)
def test_an_api_that_does_not_answer_as_it_should(answer, words):
    with pytest.raises(FetchError, match=words) as error:
        fetch(lambda _: answer)
    assert "the-token" not in str(error.value)


def test_an_api_without_the_studys_id():
    with pytest.raises(FetchError, match="ID on Prolific"):
        fetch(lambda _: httpx.Response(500), link=ANY_STUDY)

"""What is made up, replayed, changed on its way or sent at the wrong moment opens nothing and breaks nothing."""

import base64
import hashlib
import hmac
import json
import logging
import time
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from django.db import OperationalError
from django.test import Client, RequestFactory
from django.utils import timezone

from annotation.entry.base import read_rows
from annotation.entry.errors import FileError, TokenError, WebhookError
from annotation.entry.prolific import PROLIFIC
from annotation.models import Account, Annotator, Enrollment, PlatformLink, Stage, Study
from annotation.services.accounts import SOURCE, account_create
from annotation.services.reconcile import Step
from annotation.views.annotator import browser
from annotation.views.annotator.accounts import SIGN_IN_RATE_PER_NAME
from tests.annotation.cast import text_of
from tests.annotation.entry.props import (
    EC_KEY,
    HEAD,
    KEYS,
    OTHER_KEY,
    PID,
    RSA_KEY,
    SECRET,
    SESSION,
    SITE,
    arrive,
    door,
    message,
    params,
    person_of,
    token,
    visit_of,
)
from tests.annotation.entry.test_messages import post
from tests.annotation.entry.test_reconcile import hear, person_make, places, row, worked
from tests.annotation.factories import PASSWORD, enrollment_make, study_make
from tests.annotation.visits import client_of, url
from tests.races import all_at_once, before

pytestmark = pytest.mark.django_db
NOW = timezone.now().replace(microsecond=0)


# --- Tokens -------------------------------------------------------------------------------------------------------


def _hs256(key: bytes, kid: str = "one") -> str:
    """Signed with something public as if it were a secret; PyJWT itself refuses to make this."""

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    claims = jwt.decode(token(now=NOW), options={"verify_signature": False})
    text = f"{part({'alg': 'HS256', 'typ': 'JWT', 'kid': kid})}.{part(claims)}"
    digest = hmac.new(key, text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


PEM = RSA_KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)
FORGED = {
    "the public key as a secret": _hs256(PEM),
    "the key set as a secret": _hs256(json.dumps(KEYS["keys"][0]).encode()),
    "no secret": _hs256(b""),
    "the key of another kind": token(now=NOW, key=EC_KEY, kid="one", algorithm="ES256"),
    "another algorithm of the same key": token(now=NOW, algorithm="PS256"),
    "another key": token(now=NOW, key=OTHER_KEY),
    "an unknown key": token(now=NOW, kid="../../dev/null"),
    "a key that it brings": jwt.encode(
        {"exp": 9e9, "aud": SITE, "prolific": params()},
        OTHER_KEY,
        algorithm="RS256",
        headers={"kid": "new", "jwk": KEYS["keys"][0], "jku": "https://evil.example/jwks.json"},
    ),
    "no expiry": token(now=NOW, exp=None),
    "an expiry in words": token(now=NOW, exp=str(2**40)),
    "another site": token(now=NOW, aud="https://evil.example"),
    "a site whose name begins like this": token(now=NOW, aud=SITE + ".evil.example"),
    "no site at all": token(now=NOW, aud=[]),
    "an address that is none": token(now=NOW, aud=["http://[touchstone.example"]),
    "no person": token(now=NOW, prolific={}),
    "ids that are none": token(now=NOW, prolific=params(pid="a b")),
    "a head without a bottom": base64.urlsafe_b64encode(b"[" * 5_000).decode().rstrip("=") + ".e30.AA",
    "a head that is no object": base64.urlsafe_b64encode(b"[1]").decode().rstrip("=") + ".e30.AA",
    "a list": token(now=NOW, prolific=[params()]),
}


class Door:
    external_study_id = ""


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_forged_tokens(text):
    with pytest.raises(TokenError):
        PROLIFIC.verify_token(text, KEYS, Door(), site=SITE, now=NOW)


def test_among_several_sites_this_one():
    text = token(now=NOW, aud=["https://evil.example", "http://[", SITE])
    assert PROLIFIC.verify_token(text, KEYS, Door(), site=SITE, now=NOW).external_id == PID


def test_a_token_without_a_key_id_is_looked_for_no_further():
    text = jwt.encode({"exp": 9e9, "aud": SITE, "prolific": params()}, EC_KEY, algorithm="ES256")
    with pytest.raises(TokenError):
        PROLIFIC.verify_token(text, KEYS, Door(), site=SITE, now=NOW)


def test_a_page_from_before_signatures_were_asked_for(client, link):
    page = client.get(door(link), params())
    PlatformLink.objects.update(require_signed_token=True)
    assert client.post(door(link), {"visit": visit_of(page)}).context["reason"] == "token"
    assert not Enrollment.objects.exists()


# --- Messages -----------------------------------------------------------------------------------------------------


def test_when_it_happened_cannot_be_later_than_the_message():
    """That header is not signed: a time in the future would make everything after it old."""
    body, headers = message("ACTIVE", now=NOW)
    headers["X-Timestamp"] = str((NOW + timedelta(days=900)).timestamp())
    assert PROLIFIC.verify_webhook(headers, body, SECRET, NOW).at == NOW


@pytest.mark.parametrize("stamp", ["", "nan", "inf", "1e999", "-1", "9" * 400, "é", "\x00", "2026-01-01"])
def test_times_that_are_none(stamp):
    body, headers = message("RETURNED", now=NOW)
    digest = hmac.new(SECRET.encode(), stamp.encode() + body, hashlib.sha256).digest()
    headers |= {
        "X-Prolific-Request-Timestamp": stamp,
        "X-Prolific-Request-Signature": base64.b64encode(digest).decode(),
    }
    with pytest.raises(WebhookError):
        PROLIFIC.verify_webhook(headers, body, SECRET, NOW)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "changed",
    [
        {"status": "A\x00B"},
        {"status": "\ud800"},
        {"status": "X" * 41},
        {"status": ["RETURNED"]},
        {"resource_id": "s\x00"},
        {"resource_id": {"a": 1}},
        {"participant_id": "\u202epid"},
    ],
)
def test_signed_nonsense_is_refused_and_breaks_nothing(link, monkeypatch, changed):
    monkeypatch.setenv("PROLIFIC_WEBHOOK_SECRET", SECRET)
    person = person_make(link)
    event = {"session": "s1", "pid": "p1"} | changed
    body, headers = message("ACTIVE", now=timezone.now(), **event)
    if "status" in changed:
        body, headers = _signed(json.loads(body) | changed)
    answer = post(link, body, headers)
    assert answer.status_code == 400
    person.refresh_from_db()
    assert person.platform_status == ""


def _signed(event: object) -> tuple[bytes, dict[str, str]]:
    body = event if isinstance(event, bytes) else json.dumps(event).encode()
    stamp = str(timezone.now().timestamp())
    digest = hmac.new(SECRET.encode(), stamp.encode() + body, hashlib.sha256).digest()
    signature = base64.b64encode(digest).decode()
    return body, {"X-Prolific-Request-Timestamp": stamp, "X-Prolific-Request-Signature": signature}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"\xff\xfe", 400),
        (b"", 400),
        (b"[]", 400),
        (b"null", 400),
        (b"{" * 5_000, 400),
        (b"[" * 60_000, 400),
        (b" " * (64 * 1024 + 1), 413),
        (b" " * (3 * 1024 * 1024), 413),
    ],
)
def test_bodies_that_are_none(link, monkeypatch, body, status):
    monkeypatch.setenv("PROLIFIC_WEBHOOK_SECRET", SECRET)
    assert post(link, *_signed(body)).status_code == status


# --- Doors --------------------------------------------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.parametrize("name", ["PROLIFIC_PID", "SESSION_ID", "STUDY_ID"])
def test_ids_that_are_none(client, link, name):
    strange = ("\x00", "a\x00", "é", "\u202e", "a b", "-a", "<b>", "'; --", "=1+1", "{{%PROLIFIC_PID%}}")
    for value in (*strange, "a" * 101):
        assert client.get(door(link), params() | {name: value}).status_code == 400, value
        assert not Annotator.objects.filter(source="prolific").exists(), value


@pytest.mark.both_databases
def test_kept_parameters_may_hold_anything(client, link):
    Study.objects.update(passthrough=["country"])
    arrive(client, link, country="\x00\u202e=1+1<script>\U0001f600")
    assert person_of(link).platform_data == {"country": "\u202e=1+1<script>\U0001f600"}


def test_work_that_was_returned_and_paid_after_all_is_not_handed_in_again(client, link):
    person = worked(link)
    Enrollment.objects.filter(pk=person.pk).update(stage=Stage.DONE)
    hear(link, row("RETURNED"))
    hear(link, row("APPROVED"))
    assert arrive(client, link, pid="p1", session="second").context["reason"] == "finished"


# --- Reconciling --------------------------------------------------------------------------------------------------


LOCKING = r'^SELECT "annotation_assignment"\."id" .* ORDER BY'


def test_a_step_taken_while_they_were_leaving_stands(link):
    """Who is screened out at the moment in which their return is heard cannot come back to the question."""
    person = person_make(link, stage=Stage.ELIGIBILITY)
    answer = Enrollment.objects.filter(pk=person.pk)
    with before(LOCKING, lambda: answer.update(stage=Stage.SCREENED_OUT)):
        plan = hear(link, row("RETURNED"))
    person.refresh_from_db()
    assert (person.stage, person.platform_status) == (Stage.SCREENED_OUT, "RETURNED")
    assert plan.changes[0].step == Step.NOTE


def test_who_waits_in_a_circle_begins_again(link):
    worked(link)

    class CircleError(Exception):
        sqlstate = "40P01"

    def end():
        raise OperationalError("deadlock detected") from CircleError()

    with before(LOCKING, end):
        assert hear(link, row("RETURNED")).labels == 1
    assert places(link) == (0, 0)


def test_a_file_of_endless_rows_is_not_read_to_its_end():
    with pytest.raises(FileError, match="more than"):
        read_rows(PROLIFIC, f"{HEAD}\n".encode() + b"a\n" * 2_000_000, "export.csv")


# --- Accounts and browsers ----------------------------------------------------------------------------------------


def test_signing_up_is_no_way_to_guess_a_password(settings):
    account_create(email="ann@example.org", password=PASSWORD)
    settings.RATELIMIT_ENABLE = True
    allowed = int(SIGN_IN_RATE_PER_NAME.partition("/")[0])
    codes = [
        Client(REMOTE_ADDR=f"203.0.113.{n}")
        .post("/account/sign-up/", {"email": "Ann@example.org", "password": f"a long guess {n}"})
        .status_code
        for n in range(allowed + 3)
    ]
    assert codes == [422] * allowed + [429] * 3


def test_a_study_that_pays_by_the_hour_says_so():
    Study.objects.filter(pk=study_make(open_signup=True).pk).update(
        pay_basis="time", pay_per_hour=12, pay_per_item=1
    )
    client = Client()
    client.post("/account/sign-up/", {"email": "ann@example.org", "password": PASSWORD})
    words = text_of(client.get("/account/"))
    assert "12.00 USD for an hour of active time" in words
    assert "for each answer" not in words


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_signing_in_and_out_many_times_at_once():
    account = account_create(email="ann@example.org", password=PASSWORD)
    study = study_make(open_signup=True)
    enrollment_make(study=study, annotator=account.annotator)

    def turn(_: int) -> list[int]:
        client, data = Client(), {"email": "ann@example.org", "password": PASSWORD}
        codes = [client.post("/account/sign-in/", data).status_code]
        codes.append(client.get(url("work", study)).status_code)
        codes.append(client.post("/account/sign-out/").status_code)
        codes.append(client.get(url("work", study)).status_code)
        return codes

    assert {tuple(codes) for codes in all_at_once(turn, list(range(4)))} == {(302, 200, 302, 404)}
    assert Account.objects.count() == Annotator.objects.filter(source=SOURCE).count() == 1


def test_signing_out_is_a_strangers_right_too_and_needs_the_token():
    assert Client().post("/account/sign-out/").status_code == 302
    assert Client(enforce_csrf_checks=True).post("/account/sign-out/").status_code == 403


def test_a_new_personal_link_ends_every_browser_that_holds_the_old_one():
    person = enrollment_make(study=study_make())
    client = client_of(person)
    Enrollment.objects.filter(pk=person.pk).update(resume_token="new")
    assert client.get(url("work", person.study)).status_code == 404


def test_a_cookie_of_many_studies_stays_small():
    """Browsers drop what is larger than 4,096 bytes, and with it every place."""
    request = RequestFactory().get("/")
    request.session = Client().session
    for number in range(30):
        person = enrollment_make(study=study_make(pairs=0, slug=f"{number:02}-" + "abcdefghijkl" * 5))
        Enrollment.objects.filter(pk=person.pk).update(resume_token=f"{number:032}")
        person.resume_token = base64.urlsafe_b64encode(hashlib.sha256(bytes([number])).digest()[:24]).decode()
        browser.session_hold(request, person, cycle=False)
    cookie = browser.signing.dumps(browser.session_enrollments(request), salt=browser.SALT, compress=True)
    assert len(browser.session_enrollments(request)) == browser.MAX_HELD
    assert len(browser.COOKIE) + len(cookie) < 4_000


@pytest.mark.parametrize(
    ("days", "status", "renewed"), [(0.5, 302, False), (29, 302, True), (31, 404, False)]
)
def test_who_goes_on_working_stays_known(monkeypatch, days, status, renewed):
    person = enrollment_make(study=study_make())
    client = client_of(person)
    then = time.time() + days * 86_400
    monkeypatch.setattr("django.core.signing.time.time", lambda: then)
    answer = client.get(url("place", person.study))
    assert (answer.status_code, browser.COOKIE in answer.cookies) == (status, renewed)
    if renewed:
        monkeypatch.setattr("django.core.signing.time.time", lambda: then + 29 * 86_400)
        assert client.get(url("place", person.study)).status_code == 302


@pytest.mark.parametrize(
    "cookie",
    ["x", "x:y:z", ":::", "\x00", "é", "a" * 5_000, browser.signing.dumps({"s": "t"}, salt="another")],
    ids=["short", "three parts", "colons", "NUL", "accent", "long", "signed for something else"],
)
def test_cookies_that_were_made_up(cookie):
    study = study_make()
    client = Client()
    client.cookies[browser.COOKIE] = cookie
    assert client.get(url("work", study)).status_code == 404


def test_the_development_server_logs_no_secret_either(caplog):
    logger = logging.getLogger("django.server")
    line = f"GET /enter/prolific/ttt/?PROLIFIC_PID={PID}&SESSION_ID={SESSION} HTTP/1.1"
    record = logger.makeRecord(logger.name, logging.INFO, "", 0, '"%s" %s %s', (line, "200", "9"), None)
    assert logger.filter(record)
    assert record.getMessage() == '"GET /enter/prolific/… HTTP/1.1" 200 9'

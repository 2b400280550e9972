"""What every answer of a deployment with TLS carries, and how long staff stay signed in."""

import logging
from datetime import timedelta
from http.cookies import SimpleCookie

import pytest
from csp.middleware import CSPMiddleware
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from annotation.models import User
from config.protection import LAST_SEEN, SIGNED_IN, PolicyMiddleware, SessionLimits
from tests.annotation.cast import client_of
from tests.annotation.factories import PASSWORD
from tests.config.test_settings import DEPLOYMENT, READY, run
from web.cookies import cookie_name, cookie_read

ASK = f"""{READY}
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.test import Client
from annotation.models import User
User.objects.create_user("alice", password="a-good-long-one", role="researcher")
def show(name, answer):
    for field in ("Strict-Transport-Security", "X-Content-Type-Options", "Referrer-Policy", "Content-Security-Policy",
                  "X-Frame-Options", "Cross-Origin-Opener-Policy", "Location", "Cache-Control", "Clear-Site-Data",
                  "Content-Type", "Access-Control-Allow-Origin"):
        print(name, field, answer.headers.get(field), sep="|")
    print(name, "status", answer.status_code, sep="|")
    for cookie in answer.cookies.values():
        print(name, "cookie", cookie.OutputString(), sep="|")
client = Client(SERVER_NAME="touchstone.example", HTTP_HOST="touchstone.example")
secure = dict(secure=True)
show("login", client.get("/login/", **secure))
show("style", client.get("/static/css/tokens.css", **secure))
show("missing", client.get("/nowhere/", **secure))
show("plain", client.get("/login/"))
show("api", client.get("/api/v1/datasets/", HTTP_AUTHORIZATION="Bearer tst_x", **secure))
show("plain-api", client.get("/api/v1/datasets/", HTTP_AUTHORIZATION="Bearer tst_x"))
show("signed-in", client.post("/login/", dict(username="alice", password="a-good-long-one"), **secure))
show("studies", client.get("/studies/", **secure))
show("language", client.post("/language/", dict(language="de", next="/login/"), **secure))
show("signed-out", client.post("/logout/", **secure))
for method in ("TRACE", "TRACK", "CONNECT"):
    show(method, client.generic(method, "/login/", **secure))
show("folder", client.get("/static/css/", **secure))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """By name of a request, its header fields; cookies as a list."""
    environment = DEPLOYMENT | {"DJANGO_ALLOWED_HOSTS": "touchstone.example"}
    asked = run(ASK, tmp_path_factory.mktemp("var"), **environment)
    assert asked.returncode == 0, asked.stderr
    found: dict[str, dict[str, str]] = {}
    cookies: dict[str, list[str]] = {}
    for line in asked.stdout.splitlines():
        name, field, value = line.split("|", 2)
        if field == "cookie":
            cookies.setdefault(name, []).append(value)
        else:
            found.setdefault(name, {})[field] = value
    return found, cookies


EVERYWHERE = ["login", "style", "missing", "api", "signed-in", "studies"]


@pytest.mark.service
@pytest.mark.parametrize("name", EVERYWHERE)
def test_each_answer_asks_for_tls_for_a_year_in_all_subdomains(answers, name):
    assert answers[0][name]["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains; preload"


@pytest.mark.service
@pytest.mark.parametrize("name", EVERYWHERE)
def test_each_answer_says_its_type_once_and_tells_no_other_site_where_it_was(answers, name):
    fields = answers[0][name]
    assert fields["X-Content-Type-Options"] == "nosniff"
    assert fields["Referrer-Policy"] == "same-origin"
    assert fields["Access-Control-Allow-Origin"] == "None"
    if name != "signed-in":  # no body
        assert "utf-8" in fields["Content-Type"] or "json" in fields["Content-Type"]


@pytest.mark.service
@pytest.mark.parametrize("name", ["login", "missing", "studies", "api"])
def test_each_page_has_a_policy_of_what_it_loads_and_is_in_no_frame(answers, name):
    fields = answers[0][name]
    rules = dict(rule.split(" ", 1) for rule in fields["Content-Security-Policy"].split("; "))
    assert {key: rules[key] for key in ("default-src", "object-src", "base-uri", "frame-ancestors")} == {
        "default-src": "'none'",
        "object-src": "'none'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert rules["script-src"] == rules["style-src"] == "'self'"
    assert fields["X-Frame-Options"] == "DENY"
    assert fields["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.service
def test_cookies_belong_to_this_host_alone(answers):
    _, cookies = answers
    seen = [*cookies["signed-in"], *cookies["language"]]
    parsed = {name: morsel for text in seen for name, morsel in SimpleCookie(text).items()}
    assert set(parsed) == {"__Host-csrftoken", "__Host-sessionid", "__Host-touchstone_language"}
    for name, morsel in parsed.items():
        assert morsel["secure"], name
        assert (morsel["path"], morsel["domain"]) == ("/", ""), name
        assert morsel["samesite"] == "Lax", name
    assert parsed["__Host-sessionid"]["httponly"]


@pytest.mark.service
def test_pages_lead_to_tls_and_the_api_does_not(answers):
    found, _ = answers
    assert found["plain"]["status"] == "301"
    assert found["plain"]["Location"] == "https://touchstone.example/login/"
    assert found["plain-api"]["status"] == "403"
    assert found["plain-api"]["Location"] == "None"
    assert found["plain-api"]["Content-Type"].startswith("application/problem+json")
    assert found["api"]["status"] == "401"


@pytest.mark.service
def test_pages_of_staff_are_kept_by_no_cache_and_go_when_they_sign_out(answers):
    found, _ = answers
    assert "no-store" in found["studies"]["Cache-Control"]
    assert found["signed-out"]["Clear-Site-Data"] == '"cache"'


@pytest.mark.service
@pytest.mark.parametrize("name", ["TRACE", "TRACK", "CONNECT"])
def test_methods_that_no_page_has_are_refused(answers, name):
    assert answers[0][name]["status"] in ("403", "405")


@pytest.mark.service
def test_folders_are_not_listed(answers):
    assert answers[0]["folder"]["status"] == "404"


@pytest.mark.django_db
class TestStaffSessions:
    def test_a_session_begins_with_the_time_of_signing_in(self, cast):
        session = client_of(cast.alice).session
        assert session[SIGNED_IN] == session[LAST_SEEN]

    @pytest.mark.parametrize(
        ("key", "ago", "stays"),
        [
            (LAST_SEEN, timedelta(hours=11), True),
            (LAST_SEEN, timedelta(hours=13), False),
            (SIGNED_IN, timedelta(days=6), True),
            (SIGNED_IN, timedelta(days=8), False),
        ],
    )
    def test_it_ends_after_a_pause_and_after_a_week_at_most(self, cast, key, ago, stays):
        client = client_of(cast.alice)
        session = client.session
        session[key] = (timezone.now() - ago).timestamp()
        session.save()
        answer = client.get(reverse("annotation:study-list"))
        assert answer.status_code == (200 if stays else 302)
        assert ("_auth_user_id" in client.session) == stays
        if not stays:
            assert answer.url.startswith(reverse("login"))
            assert not client.session.session_key or client.session.session_key != session.session_key

    def test_work_goes_on_and_is_noted_every_few_minutes(self, cast):
        client = client_of(cast.alice)
        session = client.session
        before = (timezone.now() - timedelta(hours=3)).timestamp()
        session[LAST_SEEN] = before
        session.save()
        client.get(reverse("me"))
        noted = client.session[LAST_SEEN]
        assert noted > before + 3 * 60 * 60 - 60
        client.get(reverse("me"))
        assert client.session[LAST_SEEN] == noted

    def test_a_session_from_before_this_rule_gets_its_times(self, cast):
        client = client_of(cast.alice)
        session = client.session
        del session[SIGNED_IN], session[LAST_SEEN]
        session.save()
        assert client.get(reverse("me")).status_code == 200
        assert SIGNED_IN in client.session

    @pytest.mark.parametrize("value", ["soon", None, [], float("inf")])
    def test_a_time_that_is_none_ends_it(self, cast, value):
        client = client_of(cast.alice)
        session = client.session
        session[SIGNED_IN] = value
        session.save()
        assert client.get(reverse("me")).status_code == 302

    def test_who_is_signed_in_with_an_annotators_account_stays(self):
        assert Client().get(reverse("annotation:account-sign-in")).status_code == 200

    def test_the_limits_are_the_settings(self, settings):
        settings.STAFF_IDLE_HOURS, settings.STAFF_SESSION_HOURS = 1, 2
        assert SessionLimits.of_settings() == SessionLimits(idle=3600, longest=7200)


@pytest.mark.django_db
def test_signing_in_and_out_is_logged_without_the_password(cast, caplog):
    caplog.set_level(logging.INFO, logger="annotation.security")
    client = Client()
    client.post(reverse("login"), {"username": "alice", "password": PASSWORD}, REMOTE_ADDR="198.51.100.7")
    client.post(reverse("logout"), REMOTE_ADDR="198.51.100.7")
    assert "Signed in as 'alice' from 198.51.100.0/24" in caplog.text
    assert "Signed out as 'alice' from 198.51.100.0/24" in caplog.text
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize(
    ("password", "refused"),
    [
        ("touchstone1", True),
        ("Touchstone-2026!", True),
        ("administrator12", True),
        ("researcher_researcher", True),
        ("judge-annotator", True),
        ("touchstone of the north wind", False),
        ("correct horse battery staple", False),
        ("x" * 5 + "7!7!7!7!" * 8, False),
        ("ключ от старого дома", False),
    ],
)
def test_a_password_is_more_than_words_of_this_site(password, refused):
    if refused:
        with pytest.raises(ValidationError, match="easy to guess"):
            password_validation.validate_password(password)
    else:
        password_validation.validate_password(password)


def test_the_name_of_the_host_is_a_word_of_this_site(settings):
    settings.SITE_URL = "https://labels.acme-institute.example"
    with pytest.raises(ValidationError, match="easy to guess"):
        password_validation.validate_password("acme-institute-99")


@pytest.mark.django_db
@pytest.mark.parametrize("password", ["p" + "ä " * 63 + "x", "UPPER lower 0123456789 " * 5])
def test_long_passwords_of_any_characters_are_kept_as_they_are(password):
    User.objects.create_user("long", password=password)
    assert Client().login(username="long", password=password)
    assert not Client().login(username="long", password=password[:-1])
    assert not Client().login(username="long", password=password.swapcase())


def test_names_of_cookies_have_the_prefix_where_the_site_has_tls(settings, rf):
    settings.SESSION_COOKIE_SECURE = False
    assert cookie_name("studies") == "studies"
    settings.SESSION_COOKIE_SECURE = True
    assert cookie_name("studies") == "__Host-studies"
    request = rf.get("/")
    request.COOKIES = {"studies": "old"}
    assert cookie_read(request, "studies") == "old"
    request.COOKIES["__Host-studies"] = "new"
    assert cookie_read(request, "studies") == "new"
    request.COOKIES = {}
    assert cookie_read(request, "studies") == ""


class TestPolicy:
    """What pages may load is said by one header; django-csp says it where a response has a policy of its own."""

    def answered(self, **attributes):
        response = HttpResponse("page")
        for name, value in attributes.items():
            setattr(response, name, value)
        middleware = PolicyMiddleware(lambda _request: response)
        return middleware(RequestFactory().get("/")).headers.get("Content-Security-Policy")

    def test_it_is_that_of_django_csp(self):
        theirs = CSPMiddleware(lambda _request: HttpResponse("page"))(RequestFactory().get("/"))
        parts = lambda policy: set(policy.split("; "))  # noqa: E731
        assert parts(self.answered()) == parts(theirs.headers["Content-Security-Policy"])

    def test_a_response_may_have_its_own(self):
        assert "img-src https:" in self.answered(_csp_replace={"img-src": ["https:"]})
        assert self.answered(_csp_exempt=True) is None

    def test_pages_of_errors_for_developers_have_none(self, settings):
        settings.DEBUG = True
        assert self.answered(status_code=404) is None
        assert self.answered() is not None

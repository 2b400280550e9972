"""Signing in with a second factor in a real Chromium: an authenticator app, and passkeys of a virtual authenticator."""

from collections.abc import Iterator

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import AuditEvent, Role, User
from tests.annotation.factories import PASSWORD, user_make
from tests.annotation.sign_in.codes import code_of
from tests.annotation.sign_in.provider import provider_running
from tests.browser.axe import violations
from tests.browser.conftest import assert_no_sideways_scroll
from tests.browser.test_accessibility import picture

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def alice() -> User:
    cache.clear()  # a code works once, and the clock doesn't move on between two tests
    return user_make(username="alice", role=Role.RESEARCHER)


class Authenticators:
    """A device with a PIN that keeps passkeys; Chromium asks it as it would ask a real one."""

    def __init__(self, page: Page) -> None:
        self.session = page.context.new_cdp_session(page)
        self.session.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        added = self.session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        self.key = added["authenticatorId"]

    def verifies(self, yes: bool) -> None:
        """Whether the person enters the right PIN."""
        asked = {"authenticatorId": self.key, "isUserVerified": yes}
        self.session.send("WebAuthn.setUserVerified", asked)

    @property
    def n_kept(self) -> int:
        return len(self.session.send("WebAuthn.getCredentials", {"authenticatorId": self.key})["credentials"])


@pytest.fixture
def device(page: Page) -> Iterator[Authenticators]:
    found = Authenticators(page)
    yield found
    found.session.send("WebAuthn.disable")


def by_password(page: Page, url: str) -> None:
    page.goto(f"{url}/login/")
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def looked_at(page: Page, name: str) -> None:
    """It breaks no rule of WCAG, scrolls in no direction but down, and a picture of it is taken if wanted."""
    page.wait_for_load_state("load")
    picture(page, f"sign-in-{name}")
    assert not (found := violations(page)), "\n".join(found)
    assert_no_sideways_scroll(page)


def passkey_add(page: Page, url: str) -> None:
    page.goto(f"{url}/me/second-factor/")
    page.get_by_role("link", name="Add a passkey").click()
    looked_at(page, "passkey")
    page.get_by_label("Name").fill("My laptop")
    page.get_by_role("button", name="Create the passkey").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")


def test_from_a_new_passkey_to_signing_in_without_a_password(live_server, page, device, alice):
    by_password(page, live_server.url)
    passkey_add(page, live_server.url)
    assert device.n_kept == 1
    looked_at(page, "codes")
    page.get_by_role("link", name="Back to your second factor").click()
    expect(page.get_by_role("row", name="My laptop")).to_be_visible()
    looked_at(page, "factors")
    page.get_by_role("button", name="Log out").click()

    page.goto(f"{live_server.url}/studies/")
    looked_at(page, "login")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page).to_have_url(f"{live_server.url}/studies/")
    assert Authenticator.objects.get(type="webauthn").last_used_at is not None
    added = AuditEvent.objects.filter(action="user.second factor added")
    assert {event.after["type"] for event in added} == {"webauthn", "recovery_codes"}


def test_a_passkey_as_the_second_step_and_to_confirm(live_server, page, device, alice, monkeypatch):
    by_password(page, live_server.url)
    passkey_add(page, live_server.url)
    page.get_by_role("button", name="Log out").click()
    by_password(page, live_server.url)
    expect(page.get_by_role("heading", level=1)).to_have_text("Second factor")
    looked_at(page, "second-step")
    page.get_by_role("button", name="Use a passkey").click()
    expect(page).to_have_url(f"{live_server.url}/")

    monkeypatch.setattr("annotation.sign_in.recent.RECENT_SECONDS", -1)
    page.goto(f"{live_server.url}/me/second-factor/")
    page.get_by_role("link", name="Remove My laptop").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Confirm that it's you")
    looked_at(page, "confirm")
    monkeypatch.setattr("annotation.sign_in.recent.RECENT_SECONDS", 300)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Remove the passkey “My laptop”?")
    looked_at(page, "remove")
    page.get_by_role("button", name="Remove the passkey").click()
    expect(page.get_by_text("Your passkey has been removed.")).to_be_visible()
    assert not Authenticator.objects.exists()


def test_without_the_pin_a_passkey_opens_nothing(live_server, page, device, alice):
    by_password(page, live_server.url)
    passkey_add(page, live_server.url)
    page.get_by_role("button", name="Log out").click()
    device.verifies(False)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("Try again")
    assert page.goto(f"{live_server.url}/studies/").url.startswith(f"{live_server.url}/login/")


def test_a_device_gets_one_passkey(live_server, page, device, alice):
    by_password(page, live_server.url)
    passkey_add(page, live_server.url)
    page.goto(f"{live_server.url}/me/second-factor/passkey/")
    page.get_by_role("button", name="Create the passkey").click()
    expect(page.get_by_text("This device has a passkey for your account already.")).to_be_visible()
    assert Authenticator.objects.filter(type="webauthn").count() == 1


def test_a_device_that_was_forgotten_here(live_server, page, device, alice):
    by_password(page, live_server.url)
    passkey_add(page, live_server.url)
    Authenticator.objects.all().delete()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_text("This passkey wasn't accepted.")).to_be_visible()
    looked_at(page, "login-refused")


def test_an_authenticator_app(live_server, page, alice):
    by_password(page, live_server.url)
    page.goto(f"{live_server.url}/me/second-factor/")
    looked_at(page, "factors-none")
    page.get_by_role("link", name="Set up an authenticator app").click()
    drawn = page.get_by_alt_text("QR code for your authenticator app").evaluate("image => image.naturalWidth")
    assert drawn > 0, "the policy lets it be drawn"
    looked_at(page, "app")
    secret = page.locator("#totp-secret").inner_text()
    page.get_by_role("textbox", name="Code").fill("000000")
    page.get_by_role("button", name="Turn on the authenticator app").click()
    expect(page.get_by_text("This code isn't right")).to_be_visible()
    page.get_by_role("textbox", name="Code").fill(code_of(secret))
    page.get_by_role("button", name="Turn on the authenticator app").click()
    expect(page.get_by_text("Your authenticator app is set up.")).to_be_visible()
    page.goto(f"{live_server.url}/me/")
    looked_at(page, "account")
    page.goto(f"{live_server.url}/me/second-factor/codes/new/")
    looked_at(page, "codes-new")
    page.get_by_role("button", name="Log out").click()
    cache.clear()
    by_password(page, live_server.url)
    page.get_by_role("textbox", name="Code").fill(code_of(secret))
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(f"{live_server.url}/")


@pytest.mark.service
def test_single_sign_on(live_server, new_context, settings):
    """The provider's pages are its own, so nobody watches what they log."""
    with provider_running() as provider:
        settings.OIDC_ISSUER = provider.issuer
        settings.OIDC_CLIENT_ID = settings.OIDC_CLIENT_SECRET = "touchstone"
        settings.OIDC_NAME, settings.OIDC_GROUPS = "Example University", {"lab": "researcher"}
        provider.person("zoe", preferred_username="zoe", groups=["lab"])
        provider.person("eve", groups=[])
        page = new_context(watched=False).new_page()
        page.goto(f"{live_server.url}/studies/")
        looked_at(page, "login-sso")
        page.get_by_role("button", name="Sign in with Example University").click()
        page.locator("input[name=sub]").fill("zoe")
        page.get_by_role("button", name="Authorize").click()
        expect(page).to_have_url(f"{live_server.url}/studies/")
        page.goto(live_server.url + reverse("me"))
        expect(page.get_by_text("You can sign in with Example University.")).to_be_visible()
        looked_at(page, "account-sso")
        page.get_by_role("button", name="Log out").click()
        page.get_by_role("button", name="Sign in with Example University").click()
        page.locator("input[name=sub]").fill("eve")
        page.get_by_role("button", name="Authorize").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Your account has no access here")
        looked_at(page, "refused")

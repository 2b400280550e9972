"""People from a platform in a real browser, from its address and back; accounts; the researcher's Entry page.

The platform is a page of our own, served beside the site, so that the way back leads off the site as it does there.
"""

import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.entry import prolific
from annotation.models import Enrollment, PlatformLink, Stage, Study
from tests.annotation.cast import Cast
from tests.annotation.entry.props import PID, SESSION, STUDY_ID, csv_file, csv_row, link_make
from tests.annotation.factories import PASSWORD, study_make
from tests.browser.axe import violations
from tests.browser.conftest import DESKTOP, PHONE, assert_no_sideways_scroll, press

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

VARIANTS = [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light"), (PHONE, "dark")]
QUESTION = {
    "key": "native",
    "question": "Is English your first language?",
    "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
}


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = (
            f"<!doctype html><title>Platform</title><h1>Submission handed in</h1><p>{self.path}</p>".encode()
        )
        self.send_response(200 if self.path.startswith("/submissions/") else 204)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        if self.path.startswith("/submissions/"):
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def platform(platform_address, monkeypatch) -> str:
    """The address of a page that stands for the platform."""
    monkeypatch.setattr(prolific, "COMPLETE", platform_address)
    return platform_address


@pytest.fixture(scope="module")
def platform_address() -> Iterator[str]:
    """Of a server that outlives the browsers: one that goes while a browser connects is an error of the page."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/submissions/complete"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def look():
    """Save pictures wide and narrow, light and dark, when TOUCHSTONE_SHOTS names a folder; find what breaks WCAG."""
    folder = os.environ.get("TOUCHSTONE_SHOTS")

    def take(page: Page, name: str) -> list[str]:
        for size, scheme in VARIANTS if folder else []:
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            Path(str(folder)).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{folder}/{name}-{size['width']}-{scheme}.png", full_page=True)
        found = violations(page)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        return found

    return take


@pytest.fixture
def link(settings, live_server) -> PlatformLink:
    settings.SITE_URL = live_server.url
    study = study_make(pairs=2, title="Which answer is better?", eligibility=[QUESTION])
    return link_make(study, external_study_id=STUDY_ID)


def arrive(page: Page, live_server, link: PlatformLink, session: str = SESSION) -> None:
    door = reverse("annotation:enter", args=["prolific", link.token])
    page.goto(f"{live_server.url}{door}?PROLIFIC_PID={PID}&STUDY_ID={STUDY_ID}&SESSION_ID={session}")


def begin(page: Page, live_server, link: PlatformLink) -> None:
    arrive(page, live_server, link)
    expect(page.get_by_role("heading", level=1)).to_have_text(link.study.title)
    press(page, "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Before you start")


def consent(page: Page) -> None:
    press(page, "a")
    press(page, "Enter")
    page.wait_for_selector(f"text={QUESTION['question']}")


def answer(page: Page, key: str) -> None:
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    press(page, key)
    press(page, "Enter")


def go_back(page: Page, platform: str, code: str) -> None:
    page.get_by_role("link", name="Return to Prolific").click()
    expect(page).to_have_url(f"{platform}?cc={code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Submission handed in")


def test_from_prolific_and_back_with_everything_done(page: Page, live_server, link, platform, look):
    arrive(page, live_server, link)
    found = look(page, "welcome")
    begin(page, live_server, link)
    consent(page)
    page.get_by_role("radio", name="Yes").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Guidelines")
    press(page, "Enter")
    for number, key in enumerate("ab"):
        expect(page.locator(".progress-label")).to_have_text(f"{number} of 2")
        answer(page, key)
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you!")
    found += look(page, "done")
    go_back(page, platform, "CDONE")
    person = Enrollment.objects.get()
    assert (person.stage, person.n_accepted, person.platform_session) == (Stage.DONE, 2, SESSION)
    assert not found, "\n".join(found)


def test_from_prolific_and_back_not_eligible(page: Page, live_server, link, platform, look):
    begin(page, live_server, link)
    consent(page)
    page.get_by_role("radio", name="No", exact=True).check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Thank you")
    found = look(page, "screened-out")
    go_back(page, platform, "CSCREEN")
    assert Enrollment.objects.get().stage == Stage.SCREENED_OUT
    assert not found, "\n".join(found)


def test_from_prolific_and_back_without_consent(page: Page, live_server, link, platform, look):
    begin(page, live_server, link)
    page.get_by_role("button", name="I don't agree").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Thank you")
    found = look(page, "no-consent")
    go_back(page, platform, "CNO")
    assert Enrollment.objects.get().stage == Stage.DECLINED
    assert not found, "\n".join(found)


def test_by_keyboard_alone_back_to_prolific(page: Page, live_server, link, platform):
    begin(page, live_server, link)
    page.get_by_role("button", name="I don't agree").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Return to Prolific")
    press(page, "Enter")
    expect(page).to_have_url(f"{platform}?cc=CNO")


def test_refused_politely(new_context, live_server, link, look):
    begin(new_context().new_page(), live_server, link)
    stranger = new_context(watched=False).new_page()
    arrive(stranger, live_server, link, session="guessed")
    expect(stranger.get_by_role("heading", level=1)).to_have_text("You're already in this study")
    found = look(stranger, "refused")
    stranger.goto(
        f"{live_server.url}{reverse('annotation:enter', args=['prolific', link.token])}?PROLIFIC_PID=x"
    )
    expect(stranger.get_by_text("SESSION_ID")).to_be_visible()
    found += look(stranger, "refused-parameter")
    assert not found, "\n".join(found)


def test_an_account_from_signing_up_to_the_work(page: Page, live_server, look):
    study = study_make(pairs=2, open_signup=True, title="Open to all", pay_per_item="0.10")
    page.goto(f"{live_server.url}/account/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    found = look(page, "sign-in")
    page.get_by_role("link", name="Create one").click()
    found += look(page, "sign-up")
    page.get_by_label("Email").fill("mia@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create an account").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("My studies")
    found += look(page, "my-studies-new")
    page.get_by_role("button", name="Take part").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Before you start")
    Enrollment.objects.update(stage=Stage.WORK)
    page.goto(f"{live_server.url}{reverse('annotation:place', args=[study.slug])}")
    answer(page, "a")
    expect(page.locator(".progress-label")).to_have_text("1 of 2")
    page.goto(f"{live_server.url}/account/")
    expect(page.get_by_text("1 answer, 0.10 USD earned so far")).to_be_visible()
    Enrollment.objects.update(stage=Stage.DONE, completion_code="TS-23456-789AB")
    page.reload()
    found += look(page, "my-studies")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert not found, "\n".join(found)


def test_the_entry_page(page: Page, new_context, live_server, settings, look, tmp_path):
    settings.SITE_URL = live_server.url
    cast = Cast.make()
    study: Study = study_make(owner=cast.alice, title="Which answer is better?")
    page.goto(f"{live_server.url}/login/?next={reverse('annotation:study-entry', args=[study.slug])}")
    page.fill("[name=username]", "alice")
    page.fill("[name=password]", PASSWORD)
    page.click("button:has-text('Log in') >> nth=-1")
    expect(page.get_by_role("heading", level=1)).to_have_text("Entry")
    found = look(page, "entry-empty")
    form = page.locator("#prolific form").first
    form.get_by_label("Study ID on the platform").fill(STUDY_ID)
    form.get_by_label("Code: completed").fill("https://app.prolific.com/submissions/complete?cc=CDONE")
    form.get_by_label("Code: screened out").fill("CSCREEN")
    form.get_by_label("Code: no consent").fill("CNO")
    form.get_by_role("button", name="Save Prolific").click()
    expect(page.get_by_text("Prolific: saved.")).to_be_visible()
    link = PlatformLink.objects.get()
    expect(page.locator("#address-prolific")).to_contain_text(
        "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    address = page.locator("#address-prolific").inner_text()
    worker = new_context().new_page()
    for name, value in {"PROLIFIC_PID": PID, "STUDY_ID": STUDY_ID, "SESSION_ID": SESSION}.items():
        address = address.replace("{{%" + name + "%}}", value)
    worker.goto(address)
    press(worker, "Enter")
    expect(worker.get_by_role("heading", level=1)).to_have_text("Before you start")

    file = tmp_path / "prolific_export.csv"
    file.write_bytes(csv_file(csv_row(status="RETURNED", code=""), csv_row("s2", "p2", "APPROVED")))
    page.reload()
    page.get_by_text("Reconcile").first.click()
    page.locator("#file-prolific").set_input_files(str(file))
    found += look(page, "entry")
    page.get_by_role("button", name="Check file").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Changes to apply")
    found += look(page, "reconcile")
    page.get_by_role("button", name="Do this").click()
    expect(page.get_by_text("Done: 1 left, 0 came back")).to_be_visible()
    expect(page.locator("#arrivals")).to_contain_text(re.compile(r"RETURNED|Returned"))
    found += look(page, "entry-after")
    page.set_viewport_size(PHONE)
    assert_no_sideways_scroll(page)
    assert Enrollment.objects.get(platform_link=link).stage == Stage.LEFT
    assert not found, "\n".join(found)

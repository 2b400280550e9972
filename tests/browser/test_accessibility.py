"""The pages of the demonstration under axe-core, wide and light, narrow and dark: nothing breaks WCAG 2.2 AA."""

import re
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from metaeval.demo.build import ADMINISTRATOR, PASSWORD, Demo, demo_build
from tests.browser.conftest import DESKTOP, PHONE, assert_no_sideways_scroll, press

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
VARIANTS = [(DESKTOP, "light"), (PHONE, "dark")]


def violations(page: Page) -> list[str]:
    """What axe finds on the page as it is, in each theme and width. Evaluated, so the page's own CSP stays."""
    found = []
    for size, scheme in VARIANTS:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.wait_for_load_state("load")
        assert_no_sideways_scroll(page)
        page.evaluate(AXE)
        result = page.evaluate("rules => axe.run(document, rules)", RULES)
        found += [
            f"{page.url} {size['width']} {scheme}: {rule['id']}: {node['html'][:200]}"
            for rule in result["violations"]
            for node in rule["nodes"]
        ]
    page.set_viewport_size(DESKTOP)
    return found


@pytest.fixture
def demo() -> Demo:
    return demo_build(mock_url="http://127.0.0.1:9/v1")


def test_pages_of_annotators(demo: Demo, live_server, page: Page):
    found = []
    page.goto(f"{live_server.url}/join/{demo.invitation.token}/")
    for key in ("Enter", "a"):
        found += violations(page)
        press(page, key)
        page.wait_for_load_state("load")
        page.wait_for_timeout(300)
    press(page, "Enter")
    page.wait_for_selector("text=Start the test")
    found += violations(page)
    press(page, "Enter")
    page.wait_for_selector(".dock")
    found += violations(page)
    press(page, "b")
    found += violations(page)
    press(page, "g")
    found += violations(page)
    assert not found, "\n".join(found)


def test_pages_of_staff(demo: Demo, live_server, page: Page):
    page.goto(f"{live_server.url}/login/")
    found = violations(page)
    page.fill("[name=username]", ADMINISTRATOR)
    page.fill("[name=password]", PASSWORD)
    page.click("button:has-text('Log in') >> nth=-1")
    page.wait_for_url(re.compile("/studies/"))
    addresses = [
        "/studies/",
        "/studies/new/",
        f"/studies/{demo.study.slug}/",
        f"/studies/{demo.study.slug}/edit/",
        "/datasets/",
        "/datasets/demo/",
        "/reports/",
        f"/reports/{demo.report.pk}/",
        f"/sweeps/{demo.sweep.pk}/comparison/",
        "/admin/",
        "/admin/judges/sweep/",
        "/admin/judges/sweep/add/",
        f"/admin/judges/sweep/{demo.sweep.pk}/progress/",
        "/admin/judges/judge/",
        "/admin/judges/judge/add/",
        "/admin/judges/endpoint/",
        "/admin/judges/endpoint/add/",
    ]
    for address in addresses:
        response = page.goto(live_server.url + address)
        assert response is not None
        assert response.status == 200, address
        found += violations(page)
    assert not found, "\n".join(found)

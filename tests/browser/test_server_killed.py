"""The web server is killed while somebody works, and comes back: what they submitted meanwhile arrives by itself."""

import os
import signal

import psycopg
import pytest
from playwright.sync_api import Browser, expect

from tests.live_site import live_site
from tests.live_study import live_study

pytestmark = pytest.mark.browser


def test_an_answer_outlives_the_server(chromium: Browser):
    with live_site(workers=1) as (postgres, site):
        study = live_study(postgres.url, items=5, people=1)
        context = chromium.new_context()
        page = context.new_page()
        page.clock.install()
        page.goto(f"http://127.0.0.1:{site.port}{study.resume_paths[0]}")
        expect(page.get_by_role("button", name="Submit")).to_be_visible()
        server = site._process
        assert server is not None
        os.killpg(server.pid, signal.SIGKILL)  # with its workers
        server.wait()
        page.keyboard.press("b")
        page.keyboard.press("Enter")
        state = page.locator("[data-draft-state]")
        expect(state).to_contain_text("Your answer is saved here and will be sent")
        page.clock.run_for(2000)
        expect(state).to_contain_text("Your answer is saved here and will be sent")
        site.start()
        page.clock.run_for(30_000)  # it tries again every half minute
        expect(page.locator(".progress-label")).to_have_text("1 of 5", timeout=60_000)
        context.close()
        with psycopg.connect(postgres.url) as connection:
            labels = connection.execute("SELECT choice, shown_order FROM annotation_label").fetchall()
    assert len(labels) == 1
    choice, order = labels[0]
    assert choice == order[1] + 1

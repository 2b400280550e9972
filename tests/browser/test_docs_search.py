"""The search of the documentation finds a page where the site is opened as files, without a server."""

import os
import subprocess
import sys

import pytest
from playwright.sync_api import Page, expect

from tests.live_site import ROOT

pytestmark = pytest.mark.slow


def test_the_search_needs_no_server(page: Page, tmp_path) -> None:
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "tutorials" / "annotator.html").as_uri())
    page.locator("[data-md-component=search-query]").click()
    page.keyboard.type("krippendorff")
    expect(page.locator("[data-md-component=search-result]")).to_contain_text(
        "krippendorff_alpha", timeout=60_000
    )
    assert [url for url in asked if not url.startswith("file:")] == []

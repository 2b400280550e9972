"""The pictures of current pages in `docs/images`, taken of the demonstration: `make docs-pictures`.

It builds a demonstration of its own, serves it, and opens the pages in Chromium (`CHROMIUM`, else Playwright's).
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
READY_WITHIN = 120
PASSWORD = "touchstone-demo"
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
OF_RESEARCHERS = {
    "home": "/",
    "study": "/studies/demo/",
    "people": "/studies/demo/people/",
    "comparison": "/sweeps/1/comparison/",
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="touchstone-pictures-") as folder:
        port = _free_port()
        environment = os.environ | {
            "DATABASE_URL": f"sqlite:///{folder}/demo.sqlite3",
            "TOUCHSTONE_VAR": folder,
            "SITE_URL": f"http://127.0.0.1:{port}",
            "CELERY_BROKER_URL": "",
            "CACHE_URL": "",
        }
        manage = [sys.executable, str(ROOT / "manage.py")]
        subprocess.run(
            [*manage, "demo", "--no-serve", "--use-configured-database"], env=environment, check=True
        )
        listed = [
            *manage,
            "shell",
            "--no-imports",
            "-c",
            "from annotation.models import Invitation as I; "
            "print('links', *(f'{i.study.kind}={i.token}' for i in I.objects.select_related('study')))",
        ]
        said = subprocess.run(listed, env=environment, check=True, capture_output=True, text=True).stdout
        links = dict(pair.split("=", 1) for pair in re.findall(r"\w+=\S+", said))
        server = subprocess.Popen([*manage, "serve", "--port", str(port)], env=environment)
        try:
            site = f"http://127.0.0.1:{port}"
            _wait(f"{site}/health/")
            _take(site, links)
        finally:
            server.terminate()
            server.wait()


def _take(site: str, links: dict[str, str]) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM") or None)
        page = browser.new_page(viewport=WIDE, color_scheme="light")
        page.goto(f"{site}/login/")
        page.fill("[name=username]", "admin")
        page.fill("[name=password]", PASSWORD)
        page.click("main button[type=submit]")
        for name, address in OF_RESEARCHERS.items():
            page.goto(site + address)
            _save(page, name)
        for name, viewport, kind in (
            ("annotate", WIDE, "pairwise"),
            ("annotate-phone", PHONE, "pairwise"),
            ("importance", WIDE, "importance"),
        ):
            person = browser.new_context(viewport=viewport, color_scheme="light").new_page()
            person.goto(f"{site}/join/{links[kind]}/")
            _to_work(person)
            _save(person, name)
        browser.close()


def _to_work(page: Page) -> None:
    """Through consent, guidelines and the test, whatever its answers: the first item of the work, or of the test."""
    for _ in range(4):
        if page.locator(".answer-bar").count():
            return
        for box in page.locator("main input[type=checkbox]").all():
            box.check()
        page.locator("main .btn-primary").first.click()
        page.wait_for_load_state("networkidle")


def _save(page: Page, name: str) -> None:
    page.wait_for_load_state("networkidle")
    page.screenshot(path=IMAGES / f"{name}.png")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(address: str) -> None:
    until = time.monotonic() + READY_WITHIN
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(address, timeout=5)
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"No site answers at {address}.")


if __name__ == "__main__":
    main()

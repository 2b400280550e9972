"""An administrator's way in a real browser: endpoint, judges, sweep, progress, cancel, resume; and every page."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connections
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Role
from judges.backends.mock_server import MockServer, running_mock_server
from judges.models import Judge, Judgment, Sweep, SweepRun, SweepState
from judges.services.judges import heuristic_judges_ensure
from tests.annotation.factories import dataset_make, user_make
from tests.browser import conftest
from tests.browser.conftest import PHONE, assert_no_sideways_scroll
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@contextmanager
def worker() -> Iterator[None]:
    """A real worker in a thread: it looks for sweeps until it is told to stop."""
    stop = threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            while not stop.is_set():
                run(stop=stop.is_set)
                time.sleep(0.05)
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=30)
    assert not thread.is_alive()
    assert not failures


def slow_down(server: MockServer, *, after: int) -> threading.Event:
    """Let a server take its time from some request on, so that what is at work stays so while it is looked at.

    Returns what makes it quick again.
    """
    quick, arrived = threading.Event(), server.arrived

    def arrived_and_held(key: str, model: str) -> int:
        seen = arrived(key, model)
        if server.stats()["requests"] > after:
            quick.wait(1.5)
        return seen

    server.arrived = arrived_and_held  # type: ignore[method-assign]
    return quick


def log_in(page: Page, live_server, name: str = "admin:index") -> None:
    conftest.log_in(page, user_make(role=Role.ADMINISTRATOR), f"{live_server.url}{reverse(name)}")


def strategy_choose(page: Page, strategy: str) -> None:
    """Choose a strategy by its name in the registry, and wait for its settings."""
    page.locator(f"#strategy-{strategy}").check()
    expect(page.locator("input[name=settings_of]")).to_have_value(strategy)


def judge_define(page: Page, *, name: str, strategy: str, model: str) -> None:
    page.get_by_role("navigation", name="Administration").get_by_role("link", name="Judges").click()
    page.get_by_role("link", name="New judge").click()
    page.get_by_label("Name").fill(name)
    strategy_choose(page, strategy)
    page.get_by_label("Endpoint").select_option(label="local-server")
    page.get_by_role("textbox", name="Model", exact=True).fill(model)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"Judge '{name}' is saved.")).to_be_visible()


def test_from_an_endpoint_to_a_finished_sweep(page: Page, live_server) -> None:
    dataset_make(pairs=30, name="small-set")
    with running_mock_server() as server:
        log_in(page, live_server)
        page.get_by_role("navigation", name="Administration").get_by_role("link", name="Endpoints").click()
        page.get_by_role("link", name="New endpoint").click()
        page.get_by_label("Name").fill("local-server")
        page.get_by_label("Address").fill(server.url)
        page.get_by_label("Under our own control").check()
        page.get_by_label("Concurrent requests").fill("2")
        page.get_by_role("button", name="Save").click()
        page.get_by_label("Model", exact=True).fill("mock-first")
        page.get_by_role("button", name="Test endpoint").click()
        expect(page.get_by_text("'local-server' answered as mock-first")).to_be_visible()

        judge_define(page, name="Slow and plain", strategy="vanilla", model="mock-slow-20")
        judge_define(page, name="With reasons", strategy="cot", model="mock-longer-0.8")
        assert Judge.objects.count() == 2

        page.get_by_role("navigation", name="Administration").get_by_role("link", name="Sweeps").click()
        page.get_by_role("link", name="New sweep").click()
        page.get_by_label("Name").fill("Which of the two?")
        page.get_by_label("small-set").check()
        page.get_by_label("Slow and plain").check()
        page.get_by_label("With reasons").check()
        page.get_by_role("button", name="Save and launch").dblclick()
        state = page.locator("#sweep-state")
        expect(state).to_have_text("Queued")
        assert Sweep.objects.count() == 1
        page.evaluate("window.untouched = true")  # gone, were the page loaded again

        quick = slow_down(server, after=20)
        with worker():
            expect(state).to_have_text("Running")
            expect(page.locator("#sweep-progress .progress-label").first).to_contain_text("of 120")
            expect(page.get_by_text(" / s").first).to_be_visible()
            assert page.evaluate("window.untouched")
            page.get_by_role("button", name="Cancel").click()
            expect(state).to_have_text("Cancelled")
        done = Judgment.objects.count()
        assert 0 < done < 120
        assert Sweep.objects.get().state == SweepState.CANCELLED

        quick.set()
        page.reload()
        page.get_by_role("button", name="Resume").click()
        expect(state).to_have_text("Queued")
        page.evaluate("window.untouched = true")
        with worker():
            expect(state).to_have_text("Finished", timeout=90_000)
        assert page.evaluate("window.untouched")
        expect(page.locator("#sweep-progress .progress-label").first).to_have_text("120 of 120 judgments")
        expect(page.get_by_role("link", name="Comparison")).to_be_visible()
        expect(page.locator("#sweep-progress[hx-get]")).to_have_count(0)
        assert Judgment.objects.count() == 120
        assert server.stats()["repeated"] == 0


def test_the_form_of_a_judge_shows_what_the_strategy_needs(page: Page, live_server) -> None:
    endpoint_make(name="local-server")
    log_in(page, live_server, "admin:judges_judge_add")
    model, rules = page.get_by_role("textbox", name="Model", exact=True), page.locator("#id_cot__rules")
    expect(model).to_be_visible()
    expect(rules).to_be_hidden()
    page.get_by_label("Search strategies").fill("chain step by")
    expect(page.get_by_text("None found")).to_be_visible()
    expect(page.locator("#strategy-vanilla")).to_be_visible()  # the one that is chosen
    page.get_by_label("Search strategies").fill("chain wei")
    expect(page.locator("#strategy-rules")).to_be_hidden()
    strategy_choose(page, "cot")
    expect(rules).to_be_visible()
    page.get_by_label("Search strategies").fill("")
    strategy_choose(page, "random")
    expect(model).to_be_hidden()
    expect(page.get_by_label("Seed").first).to_be_visible()
    page.get_by_label("Name").fill("A coin")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Judge 'A coin' is saved.")).to_be_visible()
    # The same again is refused, with the name of the one there is.
    page.get_by_role("link", name="A coin").click()
    page.get_by_role("link", name="Copy as a new judge").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("This is the judge 'A coin' already")


def addresses() -> list[str]:
    """Every kind of page, with something on it."""
    dataset, private = dataset_make(pairs=4), dataset_make(pairs=2, split="private")
    endpoint = endpoint_make(is_local=False, name="a-vendor-with-a-rather-long-name")
    remote = judge_make(
        endpoint, model="organisation/a-model-with-a-rather-long-name-70B", name="Remote " * 8
    )
    judges = heuristic_judges_ensure()[:3]
    finished = sweep_make(judges, dataset)
    run()
    draft = sweep_make([remote], private, start=False)
    failed = sweep_make([judge_make(strategy="random", params={"seed": 3})], dataset, budget=3)
    message = f"The endpoint cannot be used: {endpoint.base_url}/{'chat/completions/' * 6}: HTTP 401."
    Sweep.objects.filter(pk=failed.pk).update(state=SweepState.FAILED, message=message)
    Judgment.objects.filter(judge=judges[0]).update(status="failed", choice=None, raw_text=message)
    SweepRun.objects.filter(judge=judges[0]).update(n_failed=8)
    plain = ("index", "password_change", "annotation_user_changelist", "annotation_user_add")
    names = [
        *plain,
        *(
            f"judges_{model}_{page}"
            for model in ("sweep", "judge", "endpoint")
            for page in ("changelist", "add")
        ),
        "judges_judgment_changelist",
    ]
    rows = [
        *(("sweep_progress", sweep.pk) for sweep in (finished, draft, failed)),
        ("sweep_change", draft.pk),
        ("sweep_delete", draft.pk),
        ("sweep_history", draft.pk),
        ("judge_change", judges[0].pk),
        ("judge_change", remote.pk),
        ("judge_delete", remote.pk),
        ("endpoint_change", endpoint.pk),
        ("endpoint_delete", endpoint.pk),
        ("judgment_change", Judgment.objects.earliest("pk").pk),
    ]
    return [reverse(f"admin:{name}") for name in names] + [
        reverse(f"admin:judges_{name}", args=[pk]) for name, pk in rows
    ]


def test_every_page_fits_a_phone_and_keeps_to_its_policy(
    new_context: Callable[..., BrowserContext], live_server
) -> None:
    """Errors on the console, among them breaches of the Content-Security-Policy, fail the test by themselves."""
    pages = addresses()
    page = new_context(viewport=PHONE, color_scheme="dark").new_page()
    log_in(page, live_server)
    for address in pages:
        response = page.goto(f"{live_server.url}{address}")
        assert response is not None
        assert response.status == 200, address
        assert "Content-Security-Policy" in {name.title() for name in response.headers}
        assert_no_sideways_scroll(page)

"""Buttons of a sweep in the admin: pressed once, twice, and by several at once."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from annotation.models import Dataset, Role
from judges.backends.mock_server import running_mock_server
from judges.models import Judgment, Sweep, SweepRun, SweepState
from judges.services.judges import heuristic_judges_ensure
from judges.services.sweeps import sweep_cancel
from tests.annotation.factories import dataset_make, user_make
from tests.judges.admin_forms import state_of, url_of
from tests.judges.props import endpoint_make, judge_make, run, sweep_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


def test_every_button_pressed_twice_does_once(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset, start=False)
    steps = [("start", "queued"), ("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")]
    for name, state in [*steps, ("resume", "queued")]:
        for _ in range(2):
            assert admin.post(url_of(name, sweep)).url == url_of("progress", sweep)
            assert state_of(sweep) == state
    assert SweepRun.objects.count() == 1


def test_cancel_and_resume(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset)
    page = admin.post(url_of("cancel", sweep), follow=True).content.decode()
    assert "Resume continues from there" in page
    assert ">Resume</button>" in page
    run()
    assert not Judgment.objects.exists()
    admin.post(url_of("resume", sweep))
    run()
    assert state_of(sweep) == "finished"
    assert Judgment.objects.count() == 6


def test_a_sweep_stopped_by_its_endpoint_says_so_and_goes_on(admin: Client, dataset: Dataset) -> None:
    with running_mock_server(api_key="k") as server:
        judge = judge_make(endpoint_make(server.url))
        sweep = sweep_make([judge], dataset)
        run()
        page = admin.get(url_of("progress", sweep)).content.decode()
        assert "Stopped" in page
        assert "HTTP 401" in page
        server.api_key = ""
        admin.post(url_of("resume", sweep))
        run()
    assert state_of(sweep) == "finished"


def test_asking_again_for_what_failed(admin: Client) -> None:
    dataset = dataset_make(pairs=2)
    with running_mock_server() as server:
        sweep = sweep_make([judge_make(endpoint_make(server.url), model="mock-first")], dataset)
        run()
    Judgment.objects.filter(order=0).update(status="failed", choice=None, raw_text="HTTP 500")
    SweepRun.objects.update(n_failed=2)
    page = admin.get(url_of("progress", sweep)).content.decode()
    assert "Retry the 2 that failed" in page
    assert "count as unparsed in the figures" in page
    admin.post(url_of("resume", sweep), {"retry_failed": "1"})
    assert state_of(sweep) == "queued"
    assert Judgment.objects.count() == 2


def test_what_stopped_names_its_judges_once(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make(heuristic_judges_ensure()[:4], dataset)
    SweepRun.objects.update(last_error="More than half could not be read.")
    Sweep.objects.update(state=SweepState.FAILED, message="More than half could not be read.")
    page = admin.get(url_of("progress", sweep)).content.decode()
    assert page.count("More than half could not be read.") == 1
    words = " ".join(strip_tags(page).split())
    assert words.count(f" on {dataset.name}") == 3
    assert f"on {dataset.name} and 1 more stopped: More than half" in words


def test_nothing_runs_in_a_sweep_that_was_cancelled(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset)
    until = timezone.now() + timedelta(minutes=1)  # a worker still holds it
    SweepRun.objects.update(lease_until=until)
    Sweep.objects.update(state=SweepState.CANCELLED)
    page = admin.get(url_of("progress", sweep)).content.decode()
    assert "Not finished" in page
    assert "Running" not in page


def test_a_spent_budget_is_raised_when_going_on(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset, budget=Decimal("1.00"))
    Sweep.objects.update(state=SweepState.FAILED, message="The budget of $1.00 is reached.")
    SweepRun.objects.update(cost=1.2)
    page = admin.get(url_of("progress", sweep)).content.decode()
    assert 'name="budget"' in page
    for given, words in (
        ("1.00", "is spent"),
        ("x", "Budget (US$):"),
        ("-3", "Budget (US$):"),
    ):
        page = admin.post(url_of("resume", sweep), {"budget": given}, follow=True).content.decode()
        assert words in page
        assert state_of(sweep) == "failed"
    admin.post(url_of("resume", sweep), {"budget": "5"})
    sweep.refresh_from_db()
    assert (sweep.state, sweep.budget) == ("queued", Decimal("5.00"))


def test_pause_and_resume(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset)
    assert ">Pause</button>" in admin.get(url_of("progress", sweep)).content.decode()
    page = admin.post(url_of("pause", sweep), follow=True).content.decode()
    for words in ("Paused by hand", ">Resume</button>", ">Cancel</button>"):
        assert words in page
    assert "hx-get" not in page
    run()
    assert not Judgment.objects.exists()
    admin.post(url_of("resume", sweep))
    run()
    assert state_of(sweep) == "finished"


def test_all_budgets_that_there_are_can_be_raised(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset, budget_tokens=100, budget_minutes=5)
    Sweep.objects.update(state=SweepState.FAILED)
    SweepRun.objects.update(n_tokens=100)
    page = admin.get(url_of("progress", sweep)).content.decode()
    assert 'name="budget_tokens"' in page
    assert 'name="budget"' not in page
    data = {"budget_tokens": "100", "budget_minutes": "5"}
    assert "is used up" in admin.post(url_of("resume", sweep), data, follow=True).content.decode()
    admin.post(url_of("resume", sweep), {"budget_tokens": "200", "budget_minutes": "9"})
    sweep.refresh_from_db()
    assert (sweep.state, sweep.budget_tokens, sweep.budget_minutes) == ("queued", 200, 9)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("button", "state"), [("pause", "paused"), ("cancel", "cancelled"), ("resume", "queued")]
)
def test_a_button_pressed_by_several_at_the_same_moment_does_once(button: str, state: str) -> None:
    sweep = sweep_make([judge_make()], dataset_make(pairs=1))
    if button == "resume":
        sweep_cancel(sweep=sweep)
    clients = [Client() for _ in range(3)]
    for each in clients:
        each.force_login(user_make(role=Role.ADMINISTRATOR))

    def press(each: Client) -> str:
        return each.post(url_of(button, sweep)).url

    assert set(all_at_once(press, clients)) == {url_of("progress", sweep)}
    assert state_of(sweep) == state
    assert SweepRun.objects.count() == 1

"""Sweeps in the admin: the list, the progress page and its buttons."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from threading import Barrier
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from annotation.models import Dataset, Role
from judges.backends.mock_server import running_mock_server
from judges.models import Judgment, ModelRequest, Sweep, SweepRun, SweepState
from judges.services.judges import heuristic_judges_ensure
from judges.services.sweeps import SweepError, sweep_cancel
from tests.annotation.factories import dataset_make, user_make
from tests.judges.admin_forms import state_of, url_of
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

pytestmark = pytest.mark.django_db

ADD = "admin:judges_sweep_add"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(user_make(role=Role.ADMINISTRATOR))
    return client


@pytest.fixture
def dataset() -> Dataset:
    return dataset_make(pairs=3)


# --- progress -----------------------------------------------------------------------------------------------------


def test_progress_of_a_finished_sweep(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make(name="Long one")], dataset)
    run()
    page = admin.get(url_of("progress", sweep)).content.decode()
    assert "6 of 6" in page
    assert "Finished" in page
    assert "Long one" in page
    assert reverse("metaeval:comparison", args=[sweep.pk]) in page
    assert page.count("hx-get") == 1  # the choice of a judge, asked for once
    assert "every 1500ms" not in page
    assert "Resume" not in page


def test_the_poll_brings_the_buttons_only_when_the_state_has_changed(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset)
    url = url_of("progress", sweep)
    same = admin.get(f"{url}?seen=queued-none", headers=HTMX)
    assert "no-store" in same.headers["Cache-Control"]
    page = same.content.decode()
    assert "<html" not in page
    assert "hx-swap-oob" not in page
    assert f"{url}?seen=queued-none" in page
    run()
    page = admin.get(f"{url}?seen=queued-none", headers=HTMX).content.decode()
    assert page.count("hx-swap-oob") == 3  # the state, the buttons, the choice of a judge
    assert "every 1500ms" not in page
    assert "Comparison" in page


def test_errors_and_texts_of_others_are_escaped(admin: Client, dataset: Dataset) -> None:
    judge = judge_make(name="<script>alert(1)</script>")
    sweep = sweep_make([judge], dataset)
    run()
    failed = Judgment.objects.order_by("pk").first()
    assert failed is not None
    Judgment.objects.filter(pk=failed.pk).update(status="failed", choice=None, raw_text="<b>HTTP 500</b>")
    SweepRun.objects.update(n_failed=1)
    for url in (url_of("progress", sweep), reverse("admin:judges_judge_changelist"), reverse(ADD)):
        page = admin.get(url).content.decode()
        assert "<script>alert" not in page
        assert "<b>HTTP" not in page
    assert "&lt;b&gt;HTTP 500&lt;/b&gt;" in admin.get(url_of("progress", sweep)).content.decode()


@pytest.mark.parametrize("state", ["draft", "running", "failed"])
def test_progress_takes_as_many_queries_for_many_runs_as_for_few(
    admin: Client, django_assert_max_num_queries: Any, state: str
) -> None:
    judges = heuristic_judges_ensure()[:4]
    sweep = sweep_make(judges, *(dataset_make(pairs=2) for _ in range(4)), start=state != "draft")
    Sweep.objects.update(state=state)
    SweepRun.objects.update(n_failed=1)
    with django_assert_max_num_queries(20 if state == "draft" else 11):
        admin.get(url_of("progress", sweep))


def test_the_list_takes_as_many_queries_for_many_sweeps(
    admin: Client, django_assert_max_num_queries: Any, dataset: Dataset
) -> None:
    judge = judge_make()
    for _ in range(8):
        sweep_make([judge], dataset)
    run()
    with django_assert_max_num_queries(6):
        page = admin.get(reverse("admin:judges_sweep_changelist")).content.decode()
    assert page.count("6 of 6") >= 8
    page = admin.get(reverse("admin:judges_sweep_changelist"), {"state__exact": "failed"}).content.decode()
    assert "Nothing found" in page


def test_an_empty_list_says_what_a_sweep_is(admin: Client) -> None:
    assert "No sweeps yet" in admin.get(reverse("admin:judges_sweep_changelist")).content.decode()


def test_a_sweep_that_is_not_there(admin: Client) -> None:
    assert admin.get(reverse("admin:judges_sweep_progress", args=[99])).status_code == 404
    assert admin.post(reverse("admin:judges_sweep_cancel", args=[99])).status_code == 404


# --- buttons ------------------------------------------------------------------------------------------------------


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
    assert "Resume goes on from there" in page
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
    assert "Ask again for the 2 that failed" in page
    assert "count as answers that could not be read" in page
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
        ("x", "Budget, in US dollars:"),
        ("-3", "Budget, in US dollars:"),
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
    start = Barrier(len(clients))

    def press(each: Client) -> str:
        try:
            start.wait(timeout=10)
            return each.post(url_of(button, sweep)).url
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(clients)) as pool:
        assert set(pool.map(press, clients)) == {url_of("progress", sweep)}
    assert state_of(sweep) == state
    assert SweepRun.objects.count() == 1


# --- what came in last --------------------------------------------------------------------------------------------


def test_errors_that_differ_in_numbers_are_one_with_an_example(admin: Client) -> None:
    judges = [judge_make(name="First"), judge_make(name="Second", strategy="shortest")]
    sweep = sweep_make(judges, dataset_make(pairs=6))
    run()
    for judgment in Judgment.objects.all():
        judgment.status, judgment.choice = "failed", None
        judgment.raw_text = f"Item {judgment.item_id} has no reference."
        if judgment.order:
            judgment.raw_text = f"HTTP 500 at 'http://host-{judgment.pk}/v1', try {judgment.pk}"
        judgment.save()
    SweepRun.objects.update(n_failed=12)
    response = admin.get(url_of("progress", sweep))
    assert [(group.count, set(group.judges)) for group in response.context["errors"]] == [
        (12, {"First", "Second"}),
        (12, {"First", "Second"}),
    ]
    page = response.content.decode()
    assert "status=failed" in page
    example = response.context["errors"][0]
    assert reverse("admin:judges_judgment_change", args=[example.pk]) in page


def test_the_last_answers_are_shown_with_their_verdicts(admin: Client, dataset: Dataset) -> None:
    with running_mock_server() as server:
        sweep = sweep_make([judge_make(endpoint_make(server.url), model="mock-first", name="First")], dataset)
        run()
    last = Judgment.objects.latest("pk")
    Judgment.objects.filter(pk=last.pk).update(
        status="unparsed", choice=None, raw_text="<i>" + "I cannot say. " * 60
    )
    response = admin.get(url_of("progress", sweep))
    answers = response.context["answers"]
    assert len(answers) == 6
    assert (answers[0].pk, answers[0].status, len(answers[0].text)) == (last.pk, "unparsed", 200)
    page = response.content.decode()
    assert "&lt;i&gt;I cannot say." in page
    assert reverse("admin:judges_judgment_change", args=[last.pk]) in page
    assert "First is better" in page
    assert "Second is better" in page


def test_answers_of_contestants_are_among_them(admin: Client, dataset: Dataset) -> None:
    with running_mock_server() as server:
        contestant = judge_make(
            endpoint_make(server.url), model="mock-first", strategy="generate", name="Writes"
        )
        sweep = sweep_make([contestant, judge_make(name="Long")], dataset)
        run()
    response = admin.get(url_of("progress", sweep))
    assert {answer.is_generation for answer in response.context["answers"]} == {True, False}
    assert response.status_code == 200


def test_a_judge_that_was_stopped_says_why(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make(name="Rambles"), judge_make(strategy="shortest")], dataset)
    run()
    why = "6 of its 8 answers could not be read."
    SweepRun.objects.filter(judge__name="Rambles").update(last_error=why, finished_at=None)
    page = admin.get(url_of("progress", sweep)).content.decode()
    assert "Rambles</span> on" in page
    assert why in page
    assert "chip-bad" in page


def test_a_poll_stays_cheap_however_much_there_is(admin: Client, django_assert_max_num_queries: Any) -> None:
    sweep = sweep_make(heuristic_judges_ensure()[:4], *(dataset_make(pairs=12) for _ in range(3)))
    run()
    Judgment.objects.filter(order=1).update(status="failed", choice=None, raw_text="HTTP 500")
    SweepRun.objects.update(n_failed=5, finished_at=None)
    Sweep.objects.update(state=SweepState.RUNNING)
    with django_assert_max_num_queries(13):
        page = admin.get(url_of("progress", sweep), headers=HTMX).content.decode()
    assert len(page) < 60_000


def test_what_it_will_take_is_shown_before_it_is_launched(admin: Client, dataset: Dataset) -> None:
    priced = endpoint_make(name="priced", price_input=1000, price_output=1000)
    free = endpoint_make("http://127.0.0.1:10/v1", name="free")
    judges = [judge_make(priced), judge_make(free), judge_make()]
    sweep = sweep_make(judges, dataset, start=False)
    page = admin.get(url_of("progress", sweep)).content.decode()
    assert "What it will take" in page
    assert f">{4 * dataset.items.count()}<" in page  # two models, two orders
    assert "without free, which has no price" in page
    assert "Nothing was asked" in page
    assert not ModelRequest.objects.exists()


@pytest.mark.parametrize("state", [SweepState.QUEUED, SweepState.RUNNING])
def test_a_sweep_at_work_is_not_deleted(admin: Client, dataset: Dataset, state: str) -> None:
    sweep = sweep_make([judge_make()], dataset)
    Sweep.objects.update(state=state)
    for response in (
        admin.get(url_of("delete", sweep), follow=True),
        admin.post(url_of("delete", sweep), {"post": "yes"}, follow=True),
    ):
        assert "cancel it first" in response.content.decode()
    assert Sweep.objects.exists()


def test_a_sweep_launched_while_its_deletion_was_confirmed(
    admin: Client, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = sweep_make([judge_make()], dataset, start=False)

    def refuse(**_: Any) -> None:
        raise SweepError(["It is at work: cancel it first."])

    monkeypatch.setattr("judges.admin.sweeps.sweep_delete", refuse)
    response = admin.post(url_of("delete", sweep), {"post": "yes"}, follow=True)
    assert "cancel it first" in response.content.decode()
    assert Sweep.objects.exists()


def test_deleting_a_sweep_keeps_what_was_judged(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset)
    run()
    assert "judgments belong to their judges" in admin.get(url_of("delete", sweep)).content.decode()
    admin.post(url_of("delete", sweep), {"post": "yes"})
    assert not Sweep.objects.exists()
    assert Judgment.objects.count() == 6


def test_judgments_are_read_and_never_changed(
    admin: Client, dataset: Dataset, django_assert_max_num_queries: Any
) -> None:
    sweep_make([judge_make()], dataset)
    run()
    with django_assert_max_num_queries(10):
        page = admin.get(reverse("admin:judges_judgment_changelist")).content.decode()
    assert "first response" in page or "second response" in page
    judgment = Judgment.objects.earliest("pk")
    url = reverse("admin:judges_judgment_change", args=[judgment.pk])
    assert admin.get(url).status_code == 200
    assert admin.post(url, {"choice": "1"}).status_code == 403
    assert admin.get(reverse("admin:judges_judgment_add")).status_code == 403
    assert admin.post(reverse("admin:judges_judgment_delete", args=[judgment.pk])).status_code == 403

"""Sweeps in the admin: the form, the progress page and its buttons."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Dataset, Role
from judges.backends.mock_server import running_mock_server
from judges.models import BackendKind, Judge, Judgment, Sweep, SweepRun, SweepState
from judges.services.judges import heuristic_judges_ensure
from judges.services.sweeps import SweepError, sweep_start
from tests.annotation.factories import dataset_make, user_make
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


def sweep_form(judges: list[Judge], *datasets: Dataset, **fields: Any) -> dict[str, Any]:
    return {
        "name": "Which is best?",
        "judges": [judge.pk for judge in judges],
        "datasets": [dataset.pk for dataset in datasets],
        "orders": "both",
        "budget": "",
    } | fields


def url_of(name: str, sweep: Sweep) -> str:
    return reverse(f"admin:judges_sweep_{name}", args=[sweep.pk])


def state_of(sweep: Sweep) -> str:
    return Sweep.objects.get(pk=sweep.pk).state


# --- the form -----------------------------------------------------------------------------------------------------


def test_the_form_offers_what_can_be_judged_and_who_can_judge(admin: Client) -> None:
    dataset_make(pairs=7, name="open-set")
    dataset_make(pairs=2, name="closed-set", split="private")
    Dataset.objects.create(name="empty-set", title="Empty")
    judge_make(endpoint_make(is_local=False, name="vendor"), model="gpt", name="A model judge")
    heuristic_judges_ensure()
    Judge.objects.create(
        name="Old verdicts", backend=BackendKind.IMPORTED, strategy="imported", spec={}, fingerprint="f" * 16
    )
    page = admin.get(reverse(ADD)).content.decode()
    for words in ("open-set", "7 pairs", "Private: local judges only", "gpt at vendor", "Longer response"):
        assert words in page
    assert "empty-set" not in page
    assert "Old verdicts" not in page


def test_a_form_without_anything_to_choose_from_says_so(admin: Client) -> None:
    page = admin.get(reverse(ADD)).content.decode()
    assert "no dataset with pairs yet" in page
    assert "no judge yet" in page


def test_the_form_takes_as_many_queries_for_much_as_for_little(
    admin: Client, django_assert_max_num_queries: Any
) -> None:
    endpoint = endpoint_make()
    for number in range(10):
        dataset_make(pairs=2)
        judge_make(endpoint, model=f"m{number}")
    with django_assert_max_num_queries(7):
        admin.get(reverse(ADD))


def test_nothing_chosen_is_said_at_its_place(admin: Client) -> None:
    response = admin.post(reverse(ADD), sweep_form([], name="", budget="-1"))
    errors = response.context["form"].errors
    assert set(errors) == {"name", "judges", "datasets", "budget"}
    assert errors["judges"] == ["Choose at least one judge."]
    assert not Sweep.objects.exists()


def test_what_was_chosen_is_still_chosen_after_an_error(admin: Client, dataset: Dataset) -> None:
    judge = judge_make()
    page = admin.post(reverse(ADD), sweep_form([judge], dataset, name="")).content.decode()
    assert f'name="datasets" value="{dataset.pk}" checked' in page
    assert f'name="judges" value="{judge.pk}" checked' in page


def test_an_imported_judge_cannot_be_smuggled_in(admin: Client, dataset: Dataset) -> None:
    judge = Judge.objects.create(
        name="Old", backend=BackendKind.IMPORTED, strategy="imported", spec={}, fingerprint="f" * 16
    )
    response = admin.post(reverse(ADD), sweep_form([judge], dataset))
    assert "judges" in response.context["form"].errors


def test_a_draft_shows_what_it_would_do(admin: Client, dataset: Dataset) -> None:
    response = admin.post(reverse(ADD), sweep_form([judge_make()], dataset), follow=True)
    sweep = Sweep.objects.get()
    assert (sweep.state, sweep.created_by) == ("draft", response.context["user"])
    page = response.content.decode()
    assert ">6</strong> judgments" in page
    assert "Launch" in page
    assert "hx-get" not in page


def test_save_and_launch(admin: Client, dataset: Dataset) -> None:
    data = sweep_form([judge_make()], dataset, _launch="1")
    response = admin.post(reverse(ADD), data, follow=True)
    assert state_of(Sweep.objects.get()) == "queued"
    assert "hx-get" in response.content.decode()


def test_sending_the_form_twice_launches_one_sweep(admin: Client, dataset: Dataset) -> None:
    data = sweep_form([judge_make()], dataset, _launch="1")
    first, second = admin.post(reverse(ADD), data), admin.post(reverse(ADD), data)
    assert first.url == second.url
    assert Sweep.objects.count() == 1
    assert SweepRun.objects.count() == 1


def test_the_same_sweep_on_another_day_is_another(admin: Client, dataset: Dataset) -> None:
    data = sweep_form([judge_make()], dataset)
    admin.post(reverse(ADD), data)
    Sweep.objects.update(created_at=timezone.now() - timedelta(hours=1))
    admin.post(reverse(ADD), data)
    admin.post(reverse(ADD), data | {"budget": "5"})
    assert Sweep.objects.count() == 3


def test_a_launch_that_cannot_be_stays_a_draft_and_says_why(admin: Client) -> None:
    private = dataset_make(pairs=2, name="closed-set", split="private")
    judge = judge_make(endpoint_make(is_local=False), name="Remote one")
    response = admin.post(reverse(ADD), sweep_form([judge], private, _launch="1"), follow=True)
    page = response.content.decode()
    assert "private items never leave the site" in page
    assert "It was not launched" in page
    sweep = Sweep.objects.get()
    assert sweep.state == "draft"
    admin.post(url_of("start", sweep))
    assert state_of(sweep) == "draft"


def test_warnings_are_shown_and_do_not_stop_it(admin: Client, dataset: Dataset) -> None:
    dataset.instructions.filter(external_id="i0").update(reference="By hand")
    judge = judge_make(strategy="rouge_l")
    response = admin.post(reverse(ADD), sweep_form([judge], dataset, _launch="1"), follow=True)
    assert "have no human-written reference" in response.content.decode()
    assert state_of(Sweep.objects.get()) == "queued"


def test_a_draft_is_changed_and_what_is_no_draft_is_not(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset, start=False)
    url = url_of("change", sweep)
    assert admin.get(url).status_code == 200
    other = judge_make(strategy="shortest")
    admin.post(url, sweep_form([other], dataset, name="Better name", orders="original", budget="2.50"))
    sweep.refresh_from_db()
    assert (sweep.name, sweep.orders, sweep.budget) == ("Better name", "original", Decimal("2.50"))
    assert list(sweep.judges.all()) == [other]
    sweep_start(sweep=sweep)
    response = admin.post(url, sweep_form([judge_make(strategy="always_a")], dataset, name="Too late"))
    assert response.url == url_of("progress", sweep)
    sweep.refresh_from_db()
    assert sweep.name == "Better name"
    assert admin.get(url).url == url_of("progress", sweep)


def test_a_draft_launched_between_two_looks(
    admin: Client, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    from judges.services import drafts

    sweep = sweep_make([judge_make()], dataset, start=False)
    real = drafts.draft_update

    def late(**fields: Any) -> Sweep:
        Sweep.objects.update(state=SweepState.QUEUED)
        return real(**fields)

    monkeypatch.setattr("judges.admin.sweeps.draft_update", late)
    response = admin.post(url_of("change", sweep), sweep_form([judge_make(strategy="random")], dataset))
    assert "launched in the meantime" in response.content.decode()


# --- progress -----------------------------------------------------------------------------------------------------


def test_progress_of_a_finished_sweep(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make(name="Long one")], dataset)
    run()
    page = admin.get(url_of("progress", sweep)).content.decode()
    assert "6 of 6" in page
    assert "Finished" in page
    assert "Long one" in page
    assert reverse("metaeval:comparison", args=[sweep.pk]) in page
    assert "hx-get" not in page
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
    assert page.count("hx-swap-oob") == 2
    assert "hx-get" not in page
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
    with django_assert_max_num_queries(16 if state == "draft" else 8):
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
    for name, state in (("start", "queued"), ("cancel", "cancelled"), ("resume", "queued")):
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
        assert "Stopped by an error" in page
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
    admin.post(url_of("resume", sweep), {"retry_failed": "1"})
    assert state_of(sweep) == "queued"
    assert Judgment.objects.count() == 2


def test_a_spent_budget_is_raised_when_going_on(admin: Client, dataset: Dataset) -> None:
    sweep = sweep_make([judge_make()], dataset, budget=Decimal("1.00"))
    Sweep.objects.update(state=SweepState.FAILED, message="The budget of $1.00 is reached.")
    SweepRun.objects.update(cost=1.2)
    page = admin.get(url_of("progress", sweep)).content.decode()
    assert 'name="budget"' in page
    for given, words in (("1.00", "is spent"), ("x", "The budget:"), ("-3", "The budget:")):
        page = admin.post(url_of("resume", sweep), {"budget": given}, follow=True).content.decode()
        assert words in page
        assert state_of(sweep) == "failed"
    admin.post(url_of("resume", sweep), {"budget": "5"})
    sweep.refresh_from_db()
    assert (sweep.state, sweep.budget) == ("queued", Decimal("5.00"))


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


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_the_same_form_sent_at_the_same_moment_launches_one_sweep() -> None:
    user, judge, dataset = user_make(role=Role.ADMINISTRATOR), judge_make(), dataset_make(pairs=2)
    clients = [Client() for _ in range(4)]
    for each in clients:
        each.force_login(user)
    start = threading.Barrier(len(clients))

    def send(each: Client) -> str:
        try:
            start.wait(timeout=10)
            return each.post(reverse(ADD), sweep_form([judge], dataset, _launch="1")).url
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(clients)) as pool:
        places = set(pool.map(send, clients))
    sweep = Sweep.objects.get()
    assert places == {url_of("progress", sweep)}
    assert (sweep.state, SweepRun.objects.count()) == ("queued", 1)

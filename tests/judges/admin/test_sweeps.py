"""Sweeps in the admin: the list, the progress page and its buttons."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Dataset
from judges.backends.mock_server import running_mock_server
from judges.models import Judgment, ModelRequest, Sweep, SweepRun, SweepState
from judges.services.judges import heuristic_judges_ensure
from judges.services.sweeps import SweepError
from tests.annotation.factories import dataset_make
from tests.judges.admin_forms import url_of
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

pytestmark = pytest.mark.django_db

ADD = "admin:judges_sweep_add"
HTMX = {"HX-Request": "true"}


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
    with django_assert_max_num_queries(21 if state == "draft" else 11):
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
    assert "Estimated cost" in page
    assert f">{4 * dataset.items.count()}<" in page  # two models, two orders
    assert "without free, which has no price" in page
    assert "No request was sent" in page
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
    assert "they belong to their judges" in admin.get(url_of("delete", sweep)).content.decode()
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

"""Anchors: drawn in proportion, asked anew by the engine, never counted twice, and a judge that moved is found."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connections
from django.utils import timezone

from judges.backends.mock_server import running_mock_server
from judges.models import Anchor, AnchorSet, AnchorVerdict, Judgment, ModelRequest, Sweep
from judges.selectors.anchors import in_time, judges_moved
from judges.selectors.judges import judge_answerers
from judges.selectors.overview import sweeps_overview
from judges.selectors.reading import sweeps_visible_to
from judges.services.anchors import (
    AnchorError,
    anchors_check,
    anchors_check_due,
    anchors_freeze,
    anchors_retire,
    anchors_update,
)
from judges.services.sweeps import sweep_cancel, sweep_resume
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, leases_run_out, run, run_instant, sweep_make

pytestmark = pytest.mark.django_db(transaction=True)


def judged(pairs=24, respond="A", **fields):
    """A judge with an endpoint that has judged a dataset."""
    dataset = dataset_make(pairs=pairs)
    judge = judge_make(endpoint_make(), fields.pop("model", "mock-longer"), **fields)
    sweep_make([judge], dataset)
    run_instant(respond)
    return judge, dataset


def aged(**ago):
    """Let time pass since the last check."""
    Sweep.objects.exclude(anchors=None).update(created_at=timezone.now() - timedelta(**ago))


def test_a_judge_that_is_swapped_behind_its_name_is_found_and_the_model_is_named():
    dataset = dataset_make(pairs=30)
    with running_mock_server() as server:
        server.behind["mock-judge"] = ("mock-longer", "fp_1")
        judge = judge_make(endpoint_make(server.url), "mock-judge")
        sweep_make([judge], dataset)
        run()
        anchors = anchors_freeze(judge=judge, dataset=dataset, n=20, repeats=2)
        run()
        asked = server.stats()["requests"]
        assert asked == 60 + 2 * 40  # nothing of it from what was answered before
        still = in_time(anchors)
        assert (still.n_items, still.n_anchors) == (20, 40)
        assert still.noise.share == 0
        assert still.state is None
        anchors_check(anchors=anchors)
        run()
        assert not in_time(anchors).moved
        server.behind["mock-judge"] = ("mock-first", "fp_2")
        aged(minutes=5)
        anchors_check(anchors=anchors)
        run()
        assert server.stats()["requests"] == asked + 80
    found = in_time(anchors)
    assert found.moved
    assert found.state.since == 2
    assert [check.changed.value for check in found.checks[:3]] == [0, 0, 0]
    # The longer one is shown second in about half of the orders: there the verdict is another one now.
    assert 0.3 < found.checks[3].changed.value < 0.6
    assert found.checks[3].n_changed == 40 * found.checks[3].changed.value
    assert [str(one) for one in found.several] == ["mock-first (fp_2)", "mock-longer (fp_1)"]
    assert [one.anchors for one in judges_moved([judge.pk], [dataset.pk])] == [anchors]
    # Nothing of it is a judgment, and the answers of the checks are not those of others.
    assert Judgment.objects.count() == 60
    assert len(judge_answerers([judge.pk], [dataset.pk])[judge.pk]) == 1


@pytest.mark.both_databases
def test_anchors_are_drawn_in_proportion_by_a_seed():
    def respond(wire):
        return "A" if "number 1" in wire.messages[-1][1] else "B"

    judge, dataset = judged(40, respond)
    anchors = anchors_freeze(judge=judge, dataset=dataset, n=20, seed=3, repeats=1)
    rows = Anchor.objects.filter(anchors=anchors)
    assert rows.count() == 40
    assert rows.values("item").distinct().count() == 20
    whole = Judgment.objects.filter(order=0, choice=1).count() / 40
    assert rows.filter(order=0, choice=1).count() == pytest.approx(20 * whole, abs=1)
    anchors_retire(anchors=anchors)
    again = anchors_freeze(judge=judge, dataset=dataset, n=20, seed=3, repeats=1)
    other = set(rows.values_list("item", "order", "choice"))
    assert again.pk != anchors.pk
    assert set(Anchor.objects.filter(anchors=again).values_list("item", "order", "choice")) == other
    anchors_retire(anchors=again)
    third = anchors_freeze(judge=judge, dataset=dataset, n=20, seed=4, repeats=1)
    assert set(Anchor.objects.filter(anchors=third).values_list("item", "order", "choice")) != other


def test_a_check_that_is_killed_goes_on_and_counts_nothing_twice():
    judge, dataset = judged()
    anchors = anchors_freeze(judge=judge, dataset=dataset, n=24, repeats=1)
    seen = []

    def respond(wire):
        seen.append(wire)
        return "A"

    run_instant(respond, stop=lambda: len(seen) > 10)
    first = len(seen)
    assert 0 < AnchorVerdict.objects.count() < 48
    leases_run_out()
    run_instant(respond)
    assert AnchorVerdict.objects.count() == 48
    assert len(seen) <= 48 + 8, first
    (check,) = in_time(anchors).checks
    assert (check.n, check.n_changed, check.n_done, check.n_total) == (48, 0, 48, 48)
    run_instant(lambda wire: pytest.fail("sent again"))


def test_what_failed_is_asked_again_and_unparsed_counts_as_another_verdict():
    judge, dataset = judged()
    anchors = anchors_freeze(judge=judge, dataset=dataset, n=24, repeats=1)
    run_instant("A")
    sweep = anchors_check(anchors=anchors)
    run_instant("I cannot say.")
    sweep.refresh_from_db()
    assert sweep.state == "finished"  # and is not stopped because most answers cannot be read
    found = in_time(anchors)
    assert found.moved
    assert found.looks[0].n_changed == 48
    AnchorVerdict.objects.filter(sweep=sweep).update(status="failed")
    ModelRequest.objects.update(state="failed", answer=None, error="HTTP 400: too long.")
    assert in_time(anchors).looks[0].n == 0
    sweep_resume(sweep=sweep, retry_failed=True)
    run_instant("A")
    again = in_time(anchors)
    assert (again.looks[0].n, again.looks[0].n_changed, again.moved) == (48, 0, False)


@pytest.mark.both_databases
def test_a_second_click_starts_nothing_and_a_check_that_stopped_is_gone_on_with():
    judge, dataset = judged()
    anchors = anchors_freeze(judge=judge, dataset=dataset, n=12, repeats=2)
    assert anchors_freeze(judge=judge, dataset=dataset, n=20) == anchors
    # The repetitions come first.
    assert anchors_check(anchors=anchors).pk == anchors.checks.order_by("pk").first().pk
    run_instant()
    check = anchors_check(anchors=anchors)
    assert anchors_check(anchors=anchors) == check
    run_instant()
    assert anchors_check(anchors=anchors) == check
    assert anchors.checks.count() == 3
    aged(minutes=2)
    other = anchors_check(anchors=anchors)
    assert other != check
    sweep_cancel(sweep=other)
    aged(minutes=2)
    assert anchors_check(anchors=anchors) not in (check, other)
    anchors_retire(anchors=anchors)
    with pytest.raises(AnchorError, match="no longer in use"):
        anchors_check(anchors=anchors)


@pytest.mark.both_databases
def test_two_at_once_freeze_one_set_and_start_one_check():
    judge, dataset = judged()

    def at_once(function):
        def act(_):
            try:
                return function().pk
            finally:
                connections.close_all()

        with ThreadPoolExecutor(2) as pool:
            return set(pool.map(act, range(2)))

    (made,) = at_once(lambda: anchors_freeze(judge=judge, dataset=dataset, n=12, repeats=1))
    run_instant()
    anchors = AnchorSet.objects.get(pk=made)
    assert len(at_once(lambda: anchors_check(anchors=anchors))) == 1
    assert anchors.checks.count() == 2


@pytest.mark.both_databases
def test_checks_that_are_due_are_started_once():
    judge, dataset = judged()
    anchors = anchors_freeze(judge=judge, dataset=dataset, n=12, repeats=1, every_days=7)
    run_instant()
    assert anchors_check_due() == []
    aged(days=6, hours=23)
    assert anchors_check_due() == []
    aged(days=7, minutes=1)
    out = StringIO()
    call_command("check_anchors", stdout=out)
    assert f"Started: Check of anchors of {judge.name}" in out.getvalue()
    assert anchors_check_due() == []
    call_command("check_anchors", stdout=out)
    assert "No check of anchors is due." in out.getvalue()
    # One that has not ended holds the next back: somebody has to see why.
    aged(days=20)
    assert anchors_check_due() == []
    run_instant()
    aged(days=20)
    anchors_update(anchors=anchors, every_days=None, budget=None)
    assert anchors_check_due() == []
    anchors_update(anchors=anchors, every_days=30, budget=2)
    assert anchors_check_due() == []
    with pytest.raises(ValidationError):
        anchors_update(anchors=anchors, every_days=0, budget=None)


def test_what_cannot_be_anchors():
    judge, dataset = judged(6)
    with pytest.raises(AnchorError, match="has judged 6 items"):
        anchors_freeze(judge=judge, dataset=dataset)
    with pytest.raises(ValidationError):
        anchors_freeze(judge=judge, dataset=dataset, n=3)
    many = dataset_make(pairs=12)
    imported = judge_make(endpoint_make(), "mock-first")
    sweep_make([imported], many)
    run_instant()
    type(imported).objects.filter(pk=imported.pk).update(backend="imported")
    imported.refresh_from_db()
    with pytest.raises(AnchorError, match="imported verdicts only"):
        anchors_freeze(judge=imported, dataset=many)
    enough, there = judged(12, model="mock-second")
    with pytest.raises(ValidationError):
        anchors_freeze(judge=enough, dataset=there, tolerance=3.0)
    assert not AnchorSet.objects.exists()
    assert not Sweep.objects.exclude(anchors=None).exists()


@pytest.mark.both_databases
def test_a_check_is_in_no_list_of_sweeps_and_changes_no_count(cast):
    judge, dataset = judged()
    before = ModelRequest.objects.count()
    anchors_freeze(judge=judge, dataset=dataset, n=12, repeats=1)
    run_instant()
    assert ModelRequest.objects.count() == before + 24
    assert sweeps_visible_to(cast.ann).count() == sweeps_overview().count() == 1

"""The services around sweeps, and what their progress page reads."""

from decimal import Decimal

import pytest

from judges.models import Judge, Judgment, Sweep, SweepRun
from judges.selectors.sweeps import sweep_progress
from judges.services import sweeps
from judges.services.sweeps import (
    SweepError,
    sweep_cancel,
    sweep_create,
    sweep_delete,
    sweep_resume,
    sweep_start,
)
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, run, run_instant, sweep_make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def wakes(monkeypatch):
    sent = []
    monkeypatch.setattr(sweeps.current_app, "send_task", lambda name, **_: sent.append(name))
    return sent


def test_starting_makes_the_runs_and_wakes_the_workers(wakes):
    sweep = sweep_make([judge_make(), judge_make(strategy="shortest")], dataset_make(pairs=3), start=False)
    launch = sweep_start(sweep=sweep)
    assert launch.changed
    assert launch.sweep.state == "queued"
    assert wakes == ["judges.wake"]
    assert list(SweepRun.objects.values_list("n_total", "n_done")) == [(6, 0), (6, 0)]


def test_a_double_click_starts_once(wakes):
    sweep = sweep_make([judge_make()], dataset_make(pairs=1), start=False)
    stale = Sweep.objects.get(pk=sweep.pk)
    assert sweep_start(sweep=sweep).changed
    assert not sweep_start(sweep=stale).changed
    assert wakes == ["judges.wake"]
    assert SweepRun.objects.count() == 1
    assert sweep_cancel(sweep=sweep)
    assert not sweep_cancel(sweep=stale)
    assert not sweep_start(sweep=stale).changed
    assert sweep_resume(sweep=sweep).changed
    assert not sweep_resume(sweep=stale).changed
    assert wakes == ["judges.wake"] * 2


def test_a_broker_that_is_away_does_not_stop_a_launch(monkeypatch, caplog):
    def refuse(name, **_):
        raise ConnectionError("no broker")

    monkeypatch.setattr(sweeps.current_app, "send_task", refuse)
    sweep = sweep_make([judge_make()], dataset_make(pairs=1))
    assert sweep.state == "queued"
    assert "they will look by themselves" in caplog.text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ([], [dataset_make(pairs=1)]), "at least one judge"),
        (lambda: ([judge_make()], []), "at least one dataset"),
        (lambda: ([judge_make()], [dataset_make(pairs=0)]), "has no pairs"),
        (lambda: ([judge_make(strategy="rouge_l")], [dataset_make(pairs=1)]), "no item of .* has one"),
        (
            lambda: (
                [judge_make(endpoint_make(api_key_env="TOUCHSTONE_NO_SUCH_KEY"))],
                [dataset_make(pairs=1)],
            ),
            "TOUCHSTONE_NO_SUCH_KEY.* is not set",
        ),
        (
            lambda: (
                [Judge.objects.create(name="x", backend="imported", strategy="x", spec={}, fingerprint="x")],
                [dataset_make(pairs=1)],
            ),
            "imported verdicts only",
        ),
        (
            lambda: ([judge_make(endpoint_make(is_local=False))], [dataset_make(pairs=1, split="private")]),
            "never leave the site",
        ),
    ],
)
def test_what_cannot_run_is_refused_with_the_reason(make, message):
    judges, datasets = make()
    sweep = sweep_create(name="s", judges=judges, datasets=datasets)
    with pytest.raises(SweepError, match=message) as caught:
        sweep_start(sweep=sweep)
    assert len(caught.value.messages) == 1
    sweep.refresh_from_db()
    assert sweep.state == "draft"


def test_a_key_that_only_the_workers_have_is_a_warning(settings):
    settings.IN_PROCESS_WORKER = False
    sweep = sweep_make(
        [judge_make(endpoint_make(api_key_env="TOUCHSTONE_NO_SUCH_KEY"))], dataset_make(pairs=1), start=False
    )
    (warning,) = sweep_start(sweep=sweep).warnings
    assert "TOUCHSTONE_NO_SUCH_KEY" in warning


def test_missing_references_and_prices_are_warnings():
    dataset = dataset_make(pairs=4)
    dataset.instructions.filter(external_id="i0").update(reference="A sentence.")
    judges = [judge_make(endpoint_make(name="free"), use_reference=True)]
    sweep = sweep_make(judges, dataset, start=False, budget=Decimal("1.00"))
    warnings = sweep_start(sweep=sweep).warnings
    assert warnings[0].startswith("3 of the 4 items of")
    assert "'free' has no prices" in warnings[1]
    run_instant()
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 8, 6)
    assert {error.count for error in progress.errors} == {2}
    assert "has no reference" in progress.errors[0].message


def test_a_sweep_at_work_is_not_deleted_and_judgments_outlive_it():
    sweep = sweep_make([judge_make()], dataset_make(pairs=2))
    with pytest.raises(SweepError, match="cancel it first"):
        sweep_delete(sweep=sweep)
    run()
    sweep_delete(sweep=sweep)
    assert not Sweep.objects.exists()
    assert Judgment.objects.count() == 4


@pytest.mark.parametrize("n_judges", [1, 6])
def test_progress_takes_the_same_few_queries_however_many_runs(n_judges, django_assert_num_queries):
    judges = [judge_make(strategy="random", params={"seed": seed}) for seed in range(n_judges)]
    sweep = sweep_make(judges, dataset_make(pairs=2), dataset_make(pairs=2))
    with django_assert_num_queries(2):
        queued = sweep_progress(sweep.pk)
    assert (queued.rate, queued.seconds_left, queued.is_active) == (None, None, True)
    run()
    Sweep.objects.update(state="running")
    SweepRun.objects.update(n_failed=1, n_total=8)
    with django_assert_num_queries(5):
        running = sweep_progress(sweep.pk)
    assert running.rate is not None
    assert running.rate > 0
    assert running.seconds_left == pytest.approx((running.n_total - running.n_done) / running.rate)
    assert len(running.runs) == 2 * n_judges
    assert {each.state for each in running.runs} == {"finished"}

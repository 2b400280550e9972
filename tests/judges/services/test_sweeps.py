"""The services around sweeps, and what their progress page reads."""

from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from judges.models import Judge, Judgment, Sweep, SweepRun
from judges.selectors.sweeps import sweep_progress
from judges.services import waking
from judges.services.sweeps import (
    SweepError,
    draft_create,
    draft_update,
    sweep_cancel,
    sweep_create,
    sweep_delete,
    sweep_pause,
    sweep_resume,
    sweep_start,
)
from tests.annotation.factories import dataset_make, user_make
from tests.judges.props import endpoint_make, judge_make, run, run_instant, sweep_make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def wakes(monkeypatch):
    sent = []
    monkeypatch.setattr(waking.current_app, "send_task", lambda name, **_: sent.append(name))
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

    monkeypatch.setattr(waking.current_app, "send_task", refuse)
    sweep = sweep_make([judge_make()], dataset_make(pairs=1))
    assert sweep.state == "queued"
    assert "they will poll" in caplog.text


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
    with django_assert_num_queries(3):
        queued = sweep_progress(sweep.pk)
    assert (queued.rate, queued.seconds_left, queued.is_active) == (None, None, True)
    run()
    Sweep.objects.update(state="running")
    SweepRun.objects.update(n_failed=1, n_total=8)
    with django_assert_num_queries(6):
        running = sweep_progress(sweep.pk)
    assert running.rate is not None
    assert running.rate > 0
    assert running.seconds_left == pytest.approx((running.n_total - running.n_done) / running.rate)
    assert len(running.runs) == 2 * n_judges
    assert {each.state for each in running.runs} == {"finished"}


def test_every_setting_is_kept_and_a_wrong_one_refused():
    fields = {
        "orders": "random",
        "seed": 3,
        "samples": 2,
        "categories": ["Chat"],
        "subsets": ["A/B"],
        "sample_size": 10,
        "budget": Decimal("1.50"),
        "budget_tokens": 1000,
        "budget_minutes": 5,
        "priority": -2,
        "stop_unparsed": None,
    }
    sweep = sweep_create(name="all", judges=[], datasets=[], **fields)
    sweep.refresh_from_db()
    assert {name: getattr(sweep, name) for name in fields} == fields
    progress = sweep_progress(sweep.pk)
    assert (progress.budget_tokens, progress.budget_minutes, progress.priority) == (1000, 5, -2)
    for name, wrong in (
        ("orders", "sideways"),
        ("samples", 0),
        ("stop_unparsed", 2.0),
        ("categories", "Chat"),
        ("sample_size", 0),
    ):
        with pytest.raises(ValidationError) as caught:
            sweep_create(name="wrong", judges=[], datasets=[], **{name: wrong})
        assert list(caught.value.message_dict) == [name]
    with pytest.raises(TypeError):
        sweep_create(name="wrong", judges=[], datasets=[], budgets=1)


def test_the_same_form_twice_is_one_draft_and_another_setting_another():
    judge, dataset, author = judge_make(), dataset_make(pairs=1), user_make()

    def click(**fields):
        return draft_create(name="d", judges=[judge], datasets=[dataset], created_by=author, **fields)

    first = click(categories=["Chat"], budget=Decimal("1"))
    assert click(categories=["Chat"], budget=Decimal("1.00")) == first
    assert click(categories=["Chat"], budget=Decimal("1"), priority=1) != first
    changed = draft_update(sweep=first, name="e", judges=[], datasets=[dataset], sample_size=3)
    changed.refresh_from_db()
    assert (changed.name, changed.sample_size, changed.categories, changed.judges.count()) == (
        "e",
        3,
        ["Chat"],
        0,
    )


def members(*endpoints):
    return {f"m{k}": judge_make(endpoint, f"model-{k}") for k, endpoint in enumerate(endpoints)}


@pytest.mark.parametrize(
    ("make", "fields", "message"),
    [
        (
            lambda: ([judge_make(endpoint_make(), strategy="rubric_all")], [dataset_make(pairs=1)]),
            {},
            r"'dataset-\d+' has no responses to rate, which is what 'judge-\d+' can be asked about",
        ),
        (
            lambda: (
                [judge_make(), judge_make(endpoint_make(), strategy="rubric_all")],
                [dataset_make(pairs=1)],
            ),
            {},
            r"'judge-\d+' is for responses to rate, and none of the datasets has any",
        ),
        (
            lambda: ([judge_make()], [dataset_make(pairs=2)]),
            {"categories": ["Chat"]},
            "subsets in 'dataset-",
        ),
        (
            lambda: ([judge_make(endpoint_make(), strategy="generate")], [dataset_make(pairs=2)]),
            {"samples": 2},
            "answers at temperature 0",
        ),
        (
            lambda: (
                [
                    judge_make(
                        endpoint_make("", kind="litellm"),
                        strategy="loglikelihood",
                        decoding={"max_tokens": 1},
                    )
                ],
                [dataset_make(pairs=2)],
            ),
            {},
            "asks for likelihoods, which an endpoint of the kind 'Another vendor, by LiteLLM' does not give",
        ),
        (
            lambda: (
                [
                    judge_make(
                        strategy="jury",
                        members=members(endpoint_make(), endpoint_make(is_local=False, name="away")),
                    )
                ],
                [dataset_make(pairs=2, split="private")],
            ),
            {},
            "remote endpoint 'away'",
        ),
        (
            lambda: (
                [
                    judge_make(
                        strategy="jury", members=members(endpoint_make(api_key_env="TOUCHSTONE_NO_KEY"))
                    )
                ],
                [dataset_make(pairs=2)],
            ),
            {},
            "TOUCHSTONE_NO_KEY",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(make, fields, message):
    judges, datasets = make()
    sweep = sweep_create(name="s", judges=judges, datasets=datasets, **fields)
    with pytest.raises(SweepError, match=message) as caught:
        sweep_start(sweep=sweep)
    assert len(caught.value.messages) == 1, caught.value.messages


def test_each_run_waits_for_the_most_demanding_of_its_endpoints(monkeypatch):
    queues = []
    monkeypatch.setattr(waking.current_app, "send_task", lambda name, queue, **_: queues.append(queue))
    dataset = dataset_make(pairs=1)
    gpu, cpu, http = (endpoint_make(queue=queue) for queue in ("gpu", "cpu", "http"))
    judges = [
        judge_make(),
        judge_make(http, "small"),
        judge_make(cpu, "middling"),
        judge_make(strategy="jury", members=members(http, gpu, cpu)),
    ]
    sweep = sweep_make(judges, dataset)
    found = {run.judge_id: run.queue for run in SweepRun.objects.filter(sweep=sweep)}
    assert [found[judge.pk] for judge in judges] == ["", "http", "cpu", "gpu"]
    assert queues == ["cpu", "gpu", "http"]
    run_instant("A", queues=["cpu"])
    done = {run.judge: run.state for run in sweep_progress(sweep.pk).runs}
    assert [done[judge.name] for judge in judges] == ["finished", "waiting", "finished", "waiting"]


def test_a_paused_sweep_can_be_cancelled_and_deleted():
    sweep = sweep_make([judge_make()], dataset_make(pairs=1))
    assert sweep_pause(sweep=sweep)
    assert not sweep_pause(sweep=sweep)
    assert (sweep.state, sweep.message) == ("paused", "Paused by hand.")
    assert sweep_cancel(sweep=sweep)
    assert not sweep_pause(sweep=sweep)
    sweep_delete(sweep=sweep)

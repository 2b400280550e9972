"""Judges of every kind, contestants, and slices of datasets."""

import pytest

from annotation.selectors.judging import ItemSlice
from judges.backends.errors import PermanentBackendError
from judges.backends.mock_server import running_mock_server
from judges.models import Generation, Judgment, ModelRequest, Sweep
from judges.selectors.items import item_views
from judges.selectors.sweeps import sweep_progress
from judges.services.sweeps import sweep_resume, sweep_start
from judges.strategies.presentation import order_drawn
from judges.strategies.types import Answer
from tests.annotation.factories import dataset_make
from tests.judges.props import (
    endpoint_make,
    judge_make,
    kinds_dataset_make,
    run,
    run_instant,
    sweep_make,
)

pytestmark = pytest.mark.django_db(transaction=True)

SAMPLING = {"temperature": 1.0}


def test_views_hold_what_each_kind_is_about():
    dataset = kinds_dataset_make(3)
    views = {kind: list(item_views(dataset_id=dataset.pk, kind=kind)) for kind in ("rubric", "checklist")}
    (first, *_) = views["rubric"]
    assert first.criteria[0].key == "helpful"
    assert [value for value, _ in first.criteria[0].options] == [1, 2, 3, 4, 5]
    assert first.systems == ("secret-system-0",)
    assert first.context.endswith("In English.")
    assert "Hello." in first.context
    (first, *_) = views["checklist"]
    assert [(each.key, each.parent) for each in first.aspects] == [("a0", ""), ("a1", "a0"), ("a2", "a0")]
    assert not first.criteria
    (first, *rest) = item_views(dataset_id=dataset.pk, kind="generation")
    assert (first.kind, first.responses, first.context) == ("generation", (), "In English.")
    assert first.conversation == (("user", "Hello."), ("assistant", "Hi."))
    assert first.item_id == dataset.instructions.order_by("pk")[0].pk
    assert len(rest) == 2
    (pair,) = item_views(dataset_id=dataset.pk, item_ids=[dataset.items.get(external_id="p1").pk])
    assert pair.systems == ("secret-system-0", "secret-system-1")


@pytest.mark.both_databases
@pytest.mark.parametrize("kind", ["pairwise", "checklist", "generation"])
def test_views_take_a_few_queries_a_chunk(kind, django_assert_max_num_queries):
    dataset = kinds_dataset_make(4)
    with django_assert_max_num_queries(4):
        assert len(list(item_views(dataset_id=dataset.pk, kind=kind))) == 4


@pytest.mark.parametrize(
    ("strategy", "field"),
    [
        ("rubric_each", "ratings"),
        ("checklist_each", "answers"),
        ("importance_ranking", "ranks"),
        ("ranking_rating", "ranks"),
        ("classification_direct", "categories"),
    ],
)
def test_other_kinds_are_judged_in_one_order(strategy, field):
    dataset = kinds_dataset_make(3)
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, structured="json_schema"), strategy=strategy)
        sweep = sweep_make([judge], dataset)
        run()
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_total, progress.n_done, progress.n_failed) == ("finished", 3, 3, 0)
    assert [each.dataset for each in progress.runs] == [dataset.name]
    rows = Judgment.objects.filter(judge=judge)
    assert set(rows.values_list("order", "choice", "status")) == {(0, None, "parsed")}
    assert all(row.value[field] for row in rows)


def test_a_contestant_answers_each_instruction_so_many_times():
    dataset = kinds_dataset_make(3)
    contestant = judge_make(endpoint_make(), strategy="generate", decoding=SAMPLING)
    sweep = sweep_make([contestant], dataset, samples=2)
    said = []

    def respond(wire):
        said.append((wire.messages[-1][1], wire.sample))
        return Answer(
            f"Number {len(said)}", finish_reason="length", prompt_tokens=5, completion_tokens=2, cost=0.5
        )

    run_instant(respond)
    assert len(set(said)) == 6
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_total, progress.n_done, progress.n_tokens) == ("finished", 6, 6, 42)
    assert progress.runs[0].kind == "generation"
    assert not Judgment.objects.exists()
    row = Generation.objects.order_by("pk")[0]
    assert (row.status, row.text, row.finish_reason, row.cost) == ("parsed", "Number 1", "length", 0.5)
    assert set(Generation.objects.values_list("sample", flat=True)) == {0, 1}
    # Two more of each: only those are asked for.
    sweep = sweep_make([contestant], dataset, samples=4)
    run_instant(respond)
    assert len(said) == 12
    assert (progress := sweep_progress(sweep.pk)).n_done == 12
    assert progress.n_reused == 6
    sweep_make([contestant], dataset, samples=1)
    run_instant(lambda wire: pytest.fail("sent again"))


@pytest.mark.both_databases
def test_failed_generations_are_asked_again_on_request():
    contestant = judge_make(endpoint_make(), strategy="generate")
    sweep = sweep_make([contestant, judge_make()], dataset_make(pairs=3))
    answers = iter(["one", PermanentBackendError("too long", status=400), "three"])
    run_instant(lambda wire: next(answers))
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 9, 1)
    assert [(error.message, error.count) for error in progress.errors] == [("too long", 1)]
    assert sweep_resume(sweep=sweep, retry_failed=True).changed
    run_instant("two")
    assert set(Generation.objects.values_list("text", flat=True)) == {"one", "two", "three"}
    assert not ModelRequest.objects.filter(state="failed").exists()


def test_a_sweep_of_several_kinds_runs_only_what_goes_together():
    pairs, all_kinds = dataset_make(pairs=2), kinds_dataset_make(2)
    judges = [judge_make(), judge_make(endpoint_make(), strategy="checklist_each")]
    sweep = sweep_make(judges, pairs, all_kinds)
    run_instant(lambda wire: wire.choices[0] if wire.choices else "yes")
    progress = sweep_progress(sweep.pk)
    assert progress.state == "finished"
    assert sorted((each.kind, each.dataset, each.n_total) for each in progress.runs) == sorted(
        [("pairwise", pairs.name, 4), ("pairwise", all_kinds.name, 4), ("checklist", all_kinds.name, 2)]
    )


@pytest.mark.both_databases
def test_a_slice_bounds_what_is_judged_and_counted():
    dataset = kinds_dataset_make(
        6
    )  # odd ones: Rewrite and Natural; even ones: Brainstorm, Adversarial/Neighbor
    judge = judge_make()
    whole = sweep_make([judge], dataset, start=False)
    rewrite = sweep_make([judge], dataset, categories=["Rewrite"])
    run()
    assert sweep_progress(rewrite.pk).n_total == sweep_progress(rewrite.pk).n_done == 6
    assert set(Judgment.objects.values_list("item__instruction__category", flat=True)) == {"Rewrite"}
    above = sweep_make([judge], dataset, subsets=["Adversarial"])
    assert sweep_progress(above.pk).n_done == 0
    run()
    assert sweep_progress(above.pk).n_total == sweep_progress(above.pk).n_done == 6
    assert Judgment.objects.count() == 12
    nothing = sweep_make([judge], dataset, subsets=["adversarial", "Natural"])
    assert (sweep_progress(nothing.pk).n_total, sweep_progress(nothing.pk).n_reused) == (6, 6)
    sweep_start(sweep=whole)
    assert sweep_progress(whole.pk).n_reused == 12


@pytest.mark.both_databases
def test_a_sample_is_the_same_everywhere_and_grows_with_its_size():
    dataset = dataset_make(pairs=40)

    def drawn(**fields):
        return {view.external_id for view in item_views(dataset_id=dataset.pk, part=ItemSlice(**fields))}

    assert len(drawn(sample_size=5)) == 5
    assert drawn(sample_size=5) < drawn(sample_size=12)
    assert drawn(sample_size=12) != drawn(sample_size=12, seed=1)
    assert len(drawn(sample_size=50)) == 40
    assert len(drawn(sample_size=3, categories=("Rewrite",))) == 3
    judge = judge_make()
    sweep = sweep_make([judge], dataset, sample_size=5, seed=3)
    run()
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_total, progress.n_done) == ("finished", 10, 10)
    larger = sweep_make([judge], dataset, sample_size=12, seed=3)
    assert (sweep_progress(larger.pk).n_total, sweep_progress(larger.pk).n_done) == (24, 10)


@pytest.mark.both_databases
def test_one_order_an_item_is_drawn_and_only_that_counts():
    dataset = dataset_make(pairs=30)
    judge = judge_make(strategy="always_a")
    sweep = sweep_make([judge], dataset, orders="random", seed=7)
    run()
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_total, progress.n_done) == ("finished", 30, 30)
    found = dict(Judgment.objects.values_list("item__external_id", "order"))
    assert found == {f"p{k}": order_drawn(7, f"p{k}") for k in range(30)}
    assert 5 < sum(found.values()) < 25
    # With another seed some orders are others; what is there in the drawn order is used.
    other = sweep_make([judge], dataset, orders="random", seed=8)
    same = sum(order_drawn(7, f"p{k}") == order_drawn(8, f"p{k}") for k in range(30))
    assert (sweep_progress(other.pk).n_total, sweep_progress(other.pk).n_done) == (30, same)
    run()
    assert sweep_progress(other.pk).n_done == 30
    assert Judgment.objects.count() == 60 - same


@pytest.mark.both_databases
def test_retrying_leaves_failures_outside_the_slice_alone():
    judge, dataset = judge_make(endpoint_make()), dataset_make(pairs=4)
    whole = sweep_make([judge], dataset, orders="original")
    run_instant(lambda wire: PermanentBackendError("refused", status=400))
    assert sweep_progress(whole.pk).n_failed == 4
    part = sweep_make([judge], dataset, orders="original", categories=["Brainstorm"])
    run()
    rewrite = Judgment.objects.filter(item__instruction__category="Rewrite")
    before = set(rewrite.values_list("pk", "status"))
    assert sweep_resume(sweep=Sweep.objects.get(pk=part.pk), retry_failed=True).changed
    run_instant("A")
    assert set(rewrite.values_list("pk", "status")) == before
    assert sweep_progress(part.pk).n_failed == 0


def test_the_probability_of_a_verdict_is_stored_in_canonical_order():
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url), "mock-first", params={"probabilities": True})
        sweep_make([judge], dataset_make(pairs=2))
        run()
    first, second = Judgment.objects.filter(item__external_id="p0").order_by("order")
    assert first.probability > 0.5
    assert second.probability < 0.5
    assert "probability" not in first.value


def test_requests_with_a_common_beginning_are_sent_side_by_side():
    sent = []

    def respond(wire):
        sent.append(next(word for word in wire.messages[-1][1].split() if word.rstrip(".").isdigit()))
        return "A"

    sweep_make([judge_make(endpoint_make())], dataset_make(pairs=30))
    run_instant(respond)
    assert sent == [number for k in range(30) for number in [f"{k}."] * 2]

"""Judges that read likelihoods and scores, and judges made of others, through the engine."""

import pytest

from judges.models import Judgment
from judges.selectors.sweeps import sweep_progress
from judges.services.judges import ModelChoice
from judges.strategies.types import Answer
from tests.judges.props import endpoint_make, judge_make, kinds_dataset_make, run_instant, sweep_make

pytestmark = pytest.mark.django_db(transaction=True)

TURNS = (("user", "Hello."), ("assistant", "Hi."))


def judged(judge, dataset, respond, **fields):
    sweep = sweep_make([judge], dataset, **fields)
    run_instant(respond)
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_failed) == ("finished", 0)
    return list(Judgment.objects.filter(judge=judge).order_by("item__external_id", "order"))


def test_the_reference_is_scored_by_the_model_of_each_system():
    dataset, endpoint = kinds_dataset_make(2), endpoint_make()
    roles = {f"secret-system-{n}": ModelChoice(endpoint=endpoint, model=f"model-{n}") for n in (0, 1)}
    judge = judge_make(strategy="perplexity_reference", roles=roles)
    seen = []

    def respond(wire):
        seen.append(wire)
        return Answer("", logprob=-6.0 if wire.model == "model-0" else -4.0, completion_tokens=3)

    rows = judged(judge, dataset, respond)
    assert {(row.choice, row.status) for row in rows} == {(2, "parsed")}
    assert rows[0].value["scores"] == [-2.0, -4 / 3]
    assert rows[0].value["loglikelihoods"] == [-6.0, -4.0]
    # Two models and two references: the orders share their requests.
    assert len(seen) == 4
    assert {wire.text for wire in seen} == {"Sentence number 0.", "Sentence number 1."}
    assert all(wire.messages[:2] == TURNS for wire in seen)
    assert all(wire.messages[2][1].endswith("\n\nIn English.") for wire in seen)
    assert not any("Hello." in wire.messages[2][1] for wire in seen)


def test_answers_are_ranked_by_their_likelihood():
    dataset = kinds_dataset_make(2)
    judge = judge_make(endpoint_make(), strategy="loglikelihood_ranking")
    rows = judged(
        judge, dataset, lambda wire: Answer("", logprob=-float(len(wire.text) ** 2), completion_tokens=1)
    )
    assert [(row.order, row.choice, row.status) for row in rows] == [(0, None, "parsed")] * 2
    assert all(sorted(row.value["ranks"]) == ["0", "1"] for row in rows)
    assert all(set(row.value) == {"ranks", "loglikelihoods", "normalised"} for row in rows)


def test_the_reward_of_both_responses_decides():
    dataset = kinds_dataset_make(2)
    rows = judged(
        judge_make(endpoint_make(), strategy="reward"),
        dataset,
        lambda wire: Answer("", scores=(float(sum(map(ord, wire.messages[-1][1]))) / 1000,)),
    )
    assert all(row.value["scores"][0] != row.value["scores"][1] for row in rows)
    for row in rows:
        first, second = row.value["scores"]
        assert row.choice == (1 if first > second else 2)
        assert (row.probability > 0.5) == (first > second)


def test_a_jury_of_models_and_a_judge_without_one():
    dataset, endpoint = kinds_dataset_make(2), endpoint_make()
    members = {
        "a": judge_make(endpoint, "model-a"),
        "b": judge_make(endpoint, "model-b", strategy="cot"),
        "c": judge_make(strategy="always_a"),
    }
    jury = judge_make(strategy="jury", members=members, params={"quorum": 2})
    rows = judged(
        jury,
        dataset,
        lambda wire: "B" if wire.model == "model-a" else "Reasons.\nVerdict: B",
    )
    # Two of three prefer what is shown as B: the canonical second, and the first where it is swapped.
    assert [(row.order, row.choice) for row in rows] == [(0, 2), (1, 1)] * 2
    assert rows[0].value["votes"] == {"a": 2, "b": 2, "c": 1}
    assert rows[1].value["votes"] == {"a": 1, "b": 1, "c": 2}
    assert [row.probability for row in rows[:2]] == [pytest.approx(1 / 3), pytest.approx(2 / 3)]


def test_a_composite_asks_the_member_of_the_category():
    dataset, endpoint = kinds_dataset_make(4), endpoint_make()
    members = {"Rewrite": judge_make(endpoint, "rewriter"), "*": judge_make(strategy="longest")}
    composite = judge_make(strategy="composite", members=members)
    asked = []
    rows = judged(composite, dataset, lambda wire: asked.append(wire.model) or "A")
    assert set(asked) == {"rewriter"}
    assert {row.value["member"] for row in rows} == {"Rewrite", "*"}
    assert {row.item.instruction.category for row in rows if row.value["member"] == "Rewrite"} == {"Rewrite"}

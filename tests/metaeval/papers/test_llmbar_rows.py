"""LLMBar's other tables on rows of our own: case study, other sets, reward models, experts, partly judged pairs."""

import pytest

from metaeval.services.papers import paper_make
from tests.annotation.factories import dataset_make
from tests.metaeval.rows import judge_make, judgments_make, labels_make

pytestmark = pytest.mark.django_db
SUBSETS = ("LLMBar/Natural", "LLMBar/Adversarial/Manual", "LLMBar/Adversarial/GPTInst")
SUBSETS += ("CaseStudy/Base_9", "Processed/FairEval")


@pytest.fixture
def made():
    """Two pairs in each subset; gold is 1, 2, 1, 2 ..., and the judge is right on the natural ones alone."""
    dataset = dataset_make(pairs=2 * len(SUBSETS), name="sets")
    for place, instruction in enumerate(dataset.instructions.order_by("pk")):
        instruction.subset = SUBSETS[place // 2]
        instruction.save()
    gold = [place % 2 + 1 for place in range(2 * len(SUBSETS))]
    said = [(one, one) if place < 2 else (3 - one, 3 - one) for place, one in enumerate(gold)]
    said[3] = (None, None)
    judgments_make(judge=judge_make("Plain", model="gpt-4-0613"), dataset=dataset, choices=said)
    both = judge_make("Both", model="gpt-4-0613", strategy="metrics_reference")
    judgments_make(judge=both, dataset=dataset, choices=[(one, 3 - one) for one in gold[:9]])
    reward = judge_make("Reward", model="reward-model", strategy="reward")
    judgments_make(judge=reward, dataset=dataset, choices=[(one,) for one in gold])
    labels_make(dataset=dataset, choices=[(1, 1), (2, 1)])
    found = paper_make(paper="llmbar", dataset=dataset)
    tables = {table.name: table for table in found.tables}
    pictures = {picture.name: picture for picture in found.pictures}
    return tables, pictures, {part.name for part in found.missing}


def cells(table, name):
    return next([cell.text for cell in row[1:]] for row in table.rows if row[0].text == name)


def test_averages_leave_out_the_case_study_and_the_other_sets(made):
    tables, _, missing = made
    table = tables["t2-gpt-4-0613"]
    assert table.spans == tuple(
        (name, 2)
        for name in (
            "Natural",
            "Adversarial: GPTInst",
            "Adversarial: Manual",
            "Adversarial: Average",
            "Average",
        )
    )
    # Right on Natural, wrong on both adversarial subsets; two unparsed verdicts agree.
    assert cells(table, "Vanilla") == [
        "100.0",
        "100.0",
        "0.0",
        "100.0",
        "0.0",
        "100.0",
        "0.0",
        "100.0",
        "33.3",
        "100.0",
    ]
    assert cells(table, "Metrics+Reference")[:2] == ["50.0", "0.0"]
    assert "Total" in [row[0].text for row in tables["t1-composition"].rows]
    assert cells(tables["t1-composition"], "Total") == ["6"]
    assert missing >= {"t5", "t6", "t7", "t8", "t9", "t10", "t11", "t12", "t13"}
    assert not missing & {"t2", "t3", "t14", "experts"}


def test_case_study_other_sets_reward_models_and_experts(made):
    tables, pictures, _ = made
    assert tables["t14-case-study"].spans == (("Base-9", 2),)
    assert cells(tables["t14-case-study"], "gpt-4-0613: Vanilla") == ["0.0", "100.0"]
    # The reward model scores each output alone: it has no positional agreement.
    reward = cells(tables["t3-reward-models"], "Reward")
    assert set(reward[1::2]) == {"–"}
    assert reward[0] == "100.0"
    assert cells(tables["experts"], "All") == ["50.0", "2"]
    shown = {(row[0], row[1]): row[2] for row in pictures["f5-two-strategies"].rows}
    assert shown["FairEval", "gpt-4-0613, Vanilla"] == 0
    assert ("Adversarial: Average", "gpt-4-0613, Vanilla") in shown
    assert "none of" not in pictures["f5-two-strategies"].description


def test_two_judges_of_one_model_and_strategy_have_a_bar_each():
    """Two temperatures, say: one bar on the other would reach 200%."""
    dataset = dataset_make(pairs=4, name="twice")
    for name, right in (("Cold", 4), ("Warm", 2)):
        judge = judge_make(name, model="gpt-4-0613")
        said = [(k % 2 + 1,) * 2 if k < right else (2 - k % 2,) * 2 for k in range(4)]
        judgments_make(judge=judge, dataset=dataset, choices=said)
    dataset.instructions.update(subset=SUBSETS[0])
    pictures = {one.name: one for one in paper_make(paper="llmbar", dataset=dataset).pictures}
    picture = pictures["f5-two-strategies"]

    assert {row[1]: row[2] for row in picture.rows} == {
        "gpt-4-0613, Vanilla (Cold)": 1.0,
        "gpt-4-0613, Vanilla (Warm)": 0.5,
    }
    assert all(layer["encoding"]["y"].get("stack", 0) is None for layer in picture.spec["layer"])

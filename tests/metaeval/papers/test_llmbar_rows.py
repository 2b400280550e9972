"""LLMBar's other tables on rows of our own: case study, other sets, reward models, experts, partly judged pairs."""

import pytest

from metaeval.papers.llmbar_columns import is_other_set, short_subset
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
    assert table.spans == tuple((name, 2) for name in ("Natural", "GPTInst", "Manual", "Average", "Average"))
    assert table.upper_spans == (("", 2), ("Adversarial", 6), ("", 2))
    assert table.flat_columns[7:] == (
        "Adversarial: Average Acc.", "Adversarial: Average Agr.", "Average Acc.", "Average Agr.",
    )  # fmt: skip
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
    assert picture.spec["layer"][0]["encoding"]["y"]["stack"] is None


def sets_make(name, sizes):
    """Pairs in subsets of these sizes, in this order; gold is 1, 2, 1, 2 ..."""
    dataset = dataset_make(pairs=sum(sizes.values()), name=name)
    of_pairs = [subset for subset, n in sizes.items() for _ in range(n)]
    for instruction, subset in zip(dataset.instructions.order_by("pk"), of_pairs, strict=True):
        instruction.subset = subset
        instruction.save()
    return dataset


def said_of(n, right, agreeing, *, start=0):
    """Verdicts in both orders on pairs from number ``start``: so many right ones of 2 n, so many pairs that agree."""
    differing = n - agreeing
    both = (right - differing) // 2
    assert 2 * both + differing == right
    found = []
    for place in range(n):
        gold = (start + place) % 2 + 1
        found.append(
            (gold, gold)
            if place < both
            else (gold, 3 - gold)
            if place < both + differing
            else (3 - gold,) * 2
        )
    return found


def made_of(dataset):
    found = paper_make(paper="llmbar", dataset=dataset)
    return (
        {table.name: table for table in found.tables},
        {picture.name: picture for picture in found.pictures},
        {part.name: part.reason for part in found.missing},
    )


def test_the_case_study_has_the_printed_cells():
    """Table 14, GPT-4: the counts that its printed shares are of give them again, in the paper's columns."""
    sizes = {"CaseStudy/Base-9": 54, "CaseStudy/Constraint": 89}
    dataset = sets_make("cases", sizes)
    # Base-9 Vanilla* 21.3/72.2 and Metrics+Reference* 93.5/94.4; Constraint Metrics+Reference* 55.6/76.4.
    plain = judge_make("plain", model="GPT-4", strategy="rules")
    judgments_make(judge=plain, dataset=dataset, choices=said_of(54, 23, 39))
    both = judge_make("both", model="GPT-4", strategy="metrics_reference")
    both.spec |= {"params": {"rules": True}}
    both.save()
    judgments_make(judge=both, dataset=dataset, choices=said_of(54, 101, 51) + said_of(89, 99, 68, start=54))
    tables, _, missing = made_of(dataset)
    table = tables["t14-case-study"]
    assert table.spans == (("Constraint", 2), ("Base-9", 2))
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["GPT-4: Vanilla*", "–", "–", "21.3", "72.2"],
        ["GPT-4: Metrics+Reference*", "55.6", "76.4", "93.5", "94.4"],
    ]
    assert "t14" not in missing


def test_a_case_study_that_nobody_judged_is_missing():
    *_, missing = made_of(sets_make("cases", {"CaseStudy/Negation": 2, "Natural": 2}))
    assert "No judge" in missing["t14"]


def test_weaker_models_have_their_tables_and_random_guesses():
    """Tables 6 to 9: a model each by its name, below a first row of random guesses."""
    dataset = sets_make("models", {"Natural": 4, "Adversarial/Neighbor": 4, "Adversarial/GPTInst": 4})
    names = {
        "6": "gpt-3.5-turbo-0301",
        "7": "meta-llama/Llama-2-70b-chat-hf",
        "8": "text-bison-001",
        "9": "tiiuae/falcon-180B-chat",
    }
    choices = said_of(4, 6, 4) + said_of(4, 2, 2, start=4) + said_of(4, 0, 4, start=8)
    for model in names.values():
        judgments_make(judge=judge_make(model, model=model), dataset=dataset, choices=choices)
    tables, _, missing = made_of(dataset)
    for number, model in names.items():
        table = next(one for name, one in tables.items() if name.startswith(f"t{number}-"))
        assert table.title == f"Table {number}: {model}"
        assert [row[0].text for row in table.rows] == ["Random Guess", "Vanilla"]
        assert cells(table, "Random Guess") == ["50.0", "–"] * 5
        # Natural 6 of 8 right; Neighbor 2 of 8, which differ; GPTInst none: means 12.5 and 33.3, of agreement 75, 83.3.
        assert cells(table, "Vanilla") == [
            "75.0", "100.0", "25.0", "50.0", "0.0", "100.0", "12.5", "75.0", "33.3", "83.3",
        ]  # fmt: skip
    assert not missing.keys() & {"t6", "t7", "t8", "t9"}
    assert {"t2", "t5"} <= missing.keys()


def test_reward_models_stand_in_the_order_of_the_paper():
    """Table 3: models that score an output alone, without agreement, then the one that reads both."""
    dataset = sets_make("rewards", {"Natural": 2, "Adversarial/Neighbor": 1, "Adversarial/Manual": 1})
    for name in ("SteamSHP-flan-t5-xl", "reward-model-human", "reward-model-sim"):
        strategy = "preference_classifier" if name.startswith("Steam") else "reward"
        said = [(1, 1), (1, 2), (2, 2), (2, 2)]
        judgments_make(judge=judge_make(name, model=name, strategy=strategy), dataset=dataset, choices=said)
    table = made_of(dataset)[0]["t3-reward-models"]
    assert [row[0].text for row in table.rows] == [
        "reward-model-sim",
        "reward-model-human",
        "SteamSHP-flan-t5-xl",
    ]
    # Natural: both orders right, then one of two; Neighbor: wrong; Manual: right.
    assert cells(table, "reward-model-sim") == [
        "75.0", "–", "0.0", "–", "100.0", "–", "50.0", "–", "58.3", "–",
    ]  # fmt: skip
    assert cells(table, "SteamSHP-flan-t5-xl") == [
        "75.0", "50.0", "0.0", "100.0", "100.0", "100.0", "50.0", "100.0", "58.3", "83.3",
    ]  # fmt: skip


def test_ratings_with_a_human_written_reference_are_a_row_of_their_own():
    """Table 12: Prometheus without and with a reference."""
    dataset = sets_make("ratings", {"Natural": 4})
    for name, reference, said in (
        ("rated", False, [(1,), (0,), (2,), (None,)]),
        ("read", True, [(1,), (2,), (1,), (2,)]),
    ):
        judge = judge_make(name, model="prometheus-eval/prometheus-13b-v1.0", strategy="rating")
        judge.spec |= {"use_reference": reference}
        judge.save()
        judgments_make(judge=judge, dataset=dataset, choices=said)
    tables, _, missing = made_of(dataset)
    table = next(one for name, one in tables.items() if name.startswith("t12-"))
    # Without: right, equal, wrong, missing: 1 + 1/2 + 0 + 1/2 of 4; with: all right, all different.
    assert [[cell.text for cell in row[:3]] for row in table.rows] == [
        ["Vanilla", "50.0", "50.0"],
        ["Vanilla, with reference", "100.0", "100.0"],
    ]
    assert "t12" not in missing


def test_the_mean_of_the_evaluators_by_set():
    """Figure 4: Vanilla and Metrics+Reference* of all models but Falcon; figure 5: each of them."""
    assert short_subset("Processed/LLMEval^2") == "LLMEval2"
    assert is_other_set("Processed/LLMEval^2")
    sizes = {"Adversarial/Manual": 1, "Adversarial/GPTOut": 1}
    dataset = sets_make("sets", sizes | {"Processed/LLMEval^2": 2, "Processed/FairEval": 2})
    for name, model, strategy, right in (
        ("a", "gpt-4", "vanilla", (4, 2, 4)),
        ("b", "gpt-4", "metrics_reference", (2, 0, 4)),
        ("c", "palm2", "vanilla", (0, 4, 4)),
        ("d", "falcon", "vanilla", (0, 0, 0)),
        ("e", "gpt-4", "cot", (0, 0, 0)),
    ):
        judge = judge_make(name, model=model, strategy=strategy)
        judge.spec |= {"params": {"rules": strategy == "metrics_reference"}}
        judge.save()
        said = [pair for place, n in enumerate(right) for pair in said_of(2, n, 2, start=2 * place)]
        judgments_make(judge=judge, dataset=dataset, choices=said)
    pictures = made_of(dataset)[1]
    mean = pictures["f4-mean-accuracy"]
    assert [(row[0], row[2]) for row in mean.rows] == [
        ("FairEval", 1.0),
        ("LLMEval2", 0.5),
        ("Adversarial: Average", 0.5),
    ]
    assert "3 evaluators" in mean.description
    each = {(row[0], row[1]): row[2] for row in pictures["f5-two-strategies"].rows}
    assert each["LLMEval2", "gpt-4, Metrics+Reference*"] == 0
    assert each["Adversarial: Average", "gpt-4, Vanilla"] == 1


def test_an_adversarial_subset_named_as_one_of_the_case_study_is_a_column():
    """The demo has one, "Adversarial/Constraint"."""
    dataset = sets_make("named", {"Natural": 2, "Adversarial/Constraint": 2, "Adversarial/MT-Bench": 2})
    judge = judge_make("Plain", model="gpt-4", strategy="vanilla")
    judgments_make(judge=judge, dataset=dataset, choices=[(1, 1)] * 6)
    tables, _, missing = made_of(dataset)
    assert [row[0].text for row in tables["t1-composition"].rows] == [
        "Natural", "Adversarial", "Constraint", "MT-Bench", "Total",
    ]  # fmt: skip
    assert [name for name, _ in tables["t2-gpt-4"].spans][:3] == ["Natural", "Constraint", "MT-Bench"]
    assert "none of the subsets" in missing["t14"]


def test_hedging_has_a_table_a_model():
    """Table 10 is ChatGPT's; of other models it's as table 10, and where ChatGPT rates nothing it's missing."""
    dataset = sets_make("rated", {"Natural": 2})
    for name, model in (("a", "gpt-4"), ("b", "chatgpt")):
        judgments_make(
            judge=judge_make(name, model=model, strategy="rating"), dataset=dataset, choices=[(0, 0), (1, 1)]
        )
    tables, _, missing = made_of(dataset)
    assert [name for name in tables if "t10" in name] == ["t10-hedging", "t10-like-hedging-gpt-4"]
    assert tables["t10-hedging"].title == "Table 10: hedging rate of ratings by chatgpt"
    assert [[cell.text for cell in row] for row in tables["t10-hedging"].rows] == [["Vanilla", "50.0"]]
    assert "t10" not in missing
    only = paper_make(paper="llmbar", dataset=dataset, judges=["a"])
    assert "t10" in {part.name for part in only.missing}


def test_figures_of_judges_that_judged_a_part_say_so():
    """The authors' sample has Manual and Neighbor alone: there is such a judge, and no set that it judged whole."""
    dataset = sets_make("part", {"Natural": 2, "Adversarial/Manual": 2, "Adversarial/Neighbor": 2})
    judge = judge_make("Both", model="gpt-4", strategy="vanilla")
    places = {2, 3}
    judgments_make(
        judge=judge, dataset=dataset, choices=[(1, 1) if place in places else () for place in range(6)]
    )
    _, pictures, missing = made_of(dataset)
    assert "f4-mean-accuracy" not in pictures
    assert missing["f4"] == "Neither Natural nor all adversarial subsets were judged by gpt-4, Vanilla."

"""HumanRankEval's figures as tables: by hand, and against the registry."""

import json

import numpy as np
import pytest
from django.core.management import call_command
from scipy.stats import f_oneway

from annotation.selectors.datasets import dataset_get
from metaeval.figures import FIGURES
from metaeval.figures.measures import judge_measures
from metaeval.inputs import Options
from metaeval.papers.data import PaperData
from metaeval.papers.humanrankeval import humanrankeval_parts
from metaeval.papers.model_names import ModelName
from metaeval.papers.tables import MissingPart
from metaeval.reports.systems import OutsideTable
from metaeval.selectors.inputs import inputs_read
from tests.metaeval.kinds import KindItem, Said, inputs, judge

OPTIONS = Options(n_resamples=0)
# Two topics of two questions, four answers each.
VOTES = ((8, 4, 2, 1), (16, 8, 4, 2), (12, 6, 3, 1), (40, 20, 10, 6))
TOPICS = ("Unix", "Unix", "Python", "Python")
# Scores of the four answers: in the order of the votes, in the opposite one, and one pair exchanged.
RIGHT, WRONG, NEARLY = (4.0, 3.0, 2.0, 1.0), (1.0, 2.0, 3.0, 4.0), (3.0, 4.0, 2.0, 1.0)


def said(name: str, *rows: tuple[float, ...]) -> Said:
    """A model with a score for each answer, as a judge of log-likelihoods has it."""
    values = {}
    for k, row in enumerate(rows):
        ranks = {str(place): 1 + sum(other > score for other in row) for place, score in enumerate(row)}
        scores = {str(place): score for place, score in enumerate(row)}
        values[k] = {"ranks": ranks, "normalised": scores}
    return judge(name, values)


def questions(*judges: Said, votes=VOTES):
    items = [
        KindItem(
            f"x{k}",
            f"i{k}",
            category=topic,
            n_responses=4,
            votes=own,
            gold={"ranks": dict.fromkeys("0123", 1)},
        )
        for k, (own, topic) in enumerate(zip(votes, TOPICS, strict=True))
    ]
    return inputs("answer_ranking", items, (), judges)


def tables(made, outside=()):
    data = PaperData("d", "D", {"answer_ranking": made}, OPTIONS, outside=outside)
    return {part.name: part for part in humanrankeval_parts(data)}


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


FAMILY = (
    said("pythia-70m", WRONG, WRONG, WRONG, WRONG),
    said("pythia-1.4b", NEARLY, NEARLY, RIGHT, RIGHT),
    said("pythia-12b", RIGHT, RIGHT, NEARLY, NEARLY),
)


def pearson(scores, k):
    return np.corrcoef(scores, VOTES[k])[0, 1]


def test_votes_by_hand():
    found = tables(questions())
    # Unix: (8 + 16) / 2 = 12, then half of it; per question 15 and 30; the eight answers' median (4 + 4) / 2.
    assert found["f3"].columns == ("Topic", "Rank 1", "Rank 2", "Rank 3", "Rank 4")
    assert texts(found["f3"])[0] == ["Unix", "12.0", "6.0", "3.0", "1.5"]
    assert texts(found["f3"])[2] == ["All topics", "19.0", "9.5", "4.8", "2.5"]
    assert texts(found["f11"])[0] == ["Unix", "2", "22.5", "22.5", "4.0"]
    # Per question 15, 30, 22, 76: mean 35.75, median 26. Of all sixteen answers the middle ones are 6 and 6.
    assert texts(found["f11"])[2] == ["All topics", "4", "35.8", "26.0", "6.0"]


def test_models_by_topic_and_size_by_hand():
    found = tables(questions(*reversed(FAMILY)))
    table = found["f4-pythia"]
    assert table.columns == ("Topic", "pythia-70m", "pythia-1.4b", "pythia-12b")
    expected = np.array([[pearson(scores, k) for k in range(4)] for scores in (WRONG, NEARLY, RIGHT)])
    unix = [expected[0, :2].mean(), expected[1, :2].mean(), expected[2, :2].mean()]
    assert [cell.value for cell in table.rows[0][1:]] == pytest.approx(unix)
    whole = [expected[0].mean(), (expected[1, :2].sum() + expected[2, 2:].sum()) / 4]
    assert [cell.value for cell in table.rows[2][1:3]] == pytest.approx(whole)
    # By ranks: 1 against -1, and one exchange of neighbors, 1 - 6 * 2 / 60 = 0.8.
    assert texts(found["f12-pythia"])[:2] == [
        ["Unix", "−1.00", "0.80", "1.00"],
        ["Python", "−1.00", "1.00", "0.80"],
    ]


def test_order_checks_by_hand():
    found = tables(questions(*FAMILY))
    rows = found["order-checks"].rows
    assert [row[1].text for row in rows] == ["Pearson", "Spearman"]
    # Spearman: Unix rises -1, 0.8, 1; Python doesn't: -1, 1, 0.8. Overall -1, 0.9, 0.9: one tie, tau-b 2 / sqrt(6).
    family, _, models, rising, kendall, f, p, *of_questions = rows[1]
    assert (family.text, models.text, rising.text, kendall.text) == ("pythia", "3", "1 of 2", "0.82")
    topics = f_oneway([-1, -1], [0.8, 1], [1, 0.8])
    assert (f.value, p.value) == pytest.approx((topics.statistic, topics.pvalue))
    plain = f_oneway([-1] * 4, [0.8, 0.8, 1, 1], [1, 1, 0.8, 0.8])
    assert [cell.value for cell in of_questions[:2]] == pytest.approx([plain.statistic, plain.pvalue])
    assert 0 < of_questions[2].value <= 1


def test_the_numbers_are_those_of_reports():
    made = questions(*FAMILY)
    sample = FIGURES["answer_ranking"].sample(made, Options(against="gold", n_resamples=0))
    found = judge_measures(FIGURES["answer_ranking"], sample.judges[1])["pearson"]
    table = tables(made)["f4-pythia"]
    assert table.rows[1][2].value == found["category"]["Python"]["value"]
    assert table.rows[2][2].value == found["overall"]["value"]


def test_benchmarks_by_hand():
    models = (
        said("base-1b", WRONG, WRONG, WRONG, WRONG),
        said("base-7b", NEARLY, NEARLY, NEARLY, NEARLY),
        said("good-7b-chat", RIGHT, RIGHT, RIGHT, RIGHT),
    )
    arena = OutsideTable(
        "arena", "Arena", "elo", "", {"Base-1B": 1000, "base-7b": 1100, "good-7b-chat": 1200}
    )
    board = OutsideTable("board", "Board", "score", "", {"base-1b": 3, "base-7b": 2, "good_7b_chat": 9})
    found = tables(questions(*models), (arena, board))
    assert found["f8"].columns == ("Model", "Arena", "Board", "HRE")
    assert texts(found["f8"])[0][:3] == ["base-1b", "0.00", "1.00"]
    assert texts(found["f8"])[2] == ["good-7b-chat", "1.00", "–", "1.00"]
    hre = [np.mean([pearson(scores, k) for k in range(4)]) for scores in (WRONG, NEARLY, RIGHT)]
    matrix = found["f9"]
    assert matrix.rows[0][3].value == pytest.approx(np.corrcoef(hre, [1000, 1100, 1200])[0, 1])
    assert matrix.rows[0][3].value == matrix.rows[2][1].value
    assert matrix.rows[1][3].text == "–"
    text = " ".join(matrix.notes)
    assert "Arena and HRE 3" in text
    assert "Board and HRE 2" in text
    assert "good-7b-chat and good_7b_chat" in text
    tuned = texts(found["f10"])
    assert [row[:2] for row in tuned] == [["All models", "3"], ["Base models", "2"], ["Tuned models", "1"]]
    assert tuned[0][2] == matrix.rows[0][3].text


def test_what_the_data_lacks_is_said():
    nothing = tables(questions())
    assert {name for name, part in nothing.items() if isinstance(part, MissingPart)} == {"f4", "f8", "f12"}
    found = tables(questions(said("alone", RIGHT, RIGHT, RIGHT, RIGHT)))
    assert "pythia-70m" in found["order-checks"].words
    assert "import_ratings" in found["f9"].words
    assert found["f4-models"].columns == ("Topic", "alone")
    # Without votes and gold there are people's rankings, and that is said.
    items = [KindItem(f"x{k}", f"i{k}", n_responses=4) for k in range(2)]
    ranks = {"ranks": {"0": 1, "1": 2, "2": 3, "3": 4}}
    people = inputs("answer_ranking", items, [(0, 0, ranks)], [said("m", RIGHT, RIGHT)])
    found = tables(people)
    assert isinstance(found["f3"], MissingPart)
    assert any("rankings of human annotators" in note for note in found["f4-models"].notes)
    assert texts(found["f4-models"]) == [["HRE", "1.00"]]


@pytest.mark.django_db
def test_scores_of_imported_verdicts_are_likelihoods(tmp_path):
    """Log-likelihoods made elsewhere: Pearson's correlation is of them, not of the ranks beside them."""
    scores = [-1.0, -1.1, -1.2, -9.0]
    verdict = {"judge": "pythia-70m", "value": {"ranks": {"0": 1, "1": 2, "2": 3, "3": 4}}, "scores": scores}
    row = {
        "id": "q",
        "kind": "answer_ranking",
        "instruction": "Why?",
        "responses": ["one", "two", "three", "four"],
        "metadata": {"votes": [8, 4, 2, 1]},
        "verdicts": [verdict],
    }
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps(row), encoding="utf-8")
    call_command("import_dataset", "generic", str(file), name="questions", verbosity=0)
    made = inputs_read(dataset=dataset_get("questions"), kind="answer_ranking")
    assert tables(made)["f4-models"].rows[-1][1].value == pytest.approx(
        np.corrcoef(scores, [8, 4, 2, 1])[0, 1]
    )


def test_constant_scores_are_counted():
    found = tables(questions(said("flat", (1.0,) * 4, RIGHT, RIGHT, RIGHT)))
    assert any("1 questions have no correlation" in note for note in found["f4-models"].notes)


@pytest.mark.parametrize(
    ("name", "family", "size", "tuned"),
    [
        ("EleutherAI/pythia-160m", "pythia", 0.16, False),
        ("bigcode/starcoderbase-15.5b", "starcoderbase", 15.5, False),
        ("meta-llama/Llama-3-70B-Instruct", "Llama-3-Instruct", 70, True),
        ("google/gemma-2b-it", "gemma-it", 2, True),
        ("mistralai/Mixtral-8x7B-v0.1", "Mixtral-8x7B-v0.1", None, False),
        ("gpt-4", "gpt-4", None, False),
        ("", "", None, False),
    ],
)
def test_what_a_name_says(name, family, size, tuned):
    assert ModelName.read(name) == ModelName(family, size, tuned)


def test_pictures_have_the_numbers_of_their_tables():
    data = PaperData("d", "D", {"answer_ranking": questions(*FAMILY)}, OPTIONS)
    found = {part.name: part for part in humanrankeval_parts(data)}
    picture, table = found["f4-pythia-bars"], found["f4-pythia"]
    assert picture.rows[0] == ("Unix", "pythia-70m", table.rows[0][1].value)
    assert f"Topic Unix: pythia-12b ({table.rows[0][3].text})" in picture.description
    assert found["f3-bars"].rows[1] == ("Unix", "Rank 2", 6.0)


def test_many_models_are_a_heat_map():
    """Seven bars would share six colors."""
    models = [said(f"pythia-{k + 1}b", *[RIGHT if k % 2 else NEARLY] * 4) for k in range(7)]
    found = tables(questions(*models))
    assert "f4-pythia-bars" not in found
    picture = found["f4-pythia-map"]
    assert len(picture.columns) == 8
    assert "Topic Unix: pythia-2b and pythia-4b and pythia-6b (" in picture.description


def test_a_matrix_and_points_beside_other_benchmarks():
    arena = OutsideTable("arena", "Arena", "elo", "", {"pythia-70m": 1, "pythia-1.4b": 2, "pythia-12b": 3})
    found = tables(questions(*FAMILY), (arena,))
    assert f"highest HRE and Arena ({found['f9'].rows[1][1].text})" in found["f9-map"].description
    assert [row[:3] for row in found["f10-arena-points"].rows] == [
        ("pythia-70m", "Base models", 1.0),
        ("pythia-1.4b", "Base models", 2.0),
        ("pythia-12b", "Base models", 3.0),
    ]

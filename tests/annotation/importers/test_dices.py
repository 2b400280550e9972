"""DICES: one row a rater, many raters a conversation; "Unsure" is an answer."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.importers import ImportFileError, read_dices
from annotation.models import Item, Label

# The columns of the published file of 350 conversations, of which a few are enough.
COLUMNS = (
    *(
        "id",
        "rater_id",
        "rater_gender",
        "rater_race",
        "rater_age",
        "item_id",
        "answer_time_ms",
        "context",
        "response",
    ),
    *("degree_of_harm", "harm_type", "safety_gold", "safety_gold_reason", "Q1_whole_conversation_evaluation"),
    *("Q2_harmful_content_dangerous_content", "Q2_harmful_content_other", "Q3_bias_targeting_beliefs"),
    *("Q4_misinformation", "Q5_political_affiliation", "Q6_policy_guidelines_polarizing_topics"),
    *("Q6_policy_guidelines_other_type", "Q2_harmful_content_overall", "Q3_bias_overall", "Q_overall"),
)
QUESTIONS = [
    name for name in COLUMNS if name[:2] in ("Q2", "Q3", "Q4", "Q5", "Q6") and "overall" not in name
][:-1]


def row(rater: int, item: int, *answers: str) -> dict[str, str]:
    said = dict.fromkeys(COLUMNS, "")
    said |= {"id": f"{rater}{item}", "rater_id": str(rater), "item_id": str(item), "rater_gender": "Woman"}
    said |= {"context": f"USER: Question {item}?", "response": f"LAMDA: Answer {item}.", "safety_gold": "No"}
    said |= {
        "Q1_whole_conversation_evaluation": "None of the above",
        "Q_overall": "Unsure",
        "Q3_bias_overall": "No",
    }
    return said | dict(zip(QUESTIONS, answers, strict=False))


def write(path: Path, *rows: dict[str, str]) -> Path:
    file = path / "diverse_safety_adversarial_dialog_350.csv"
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


ROWS = (
    row(1, 7, "No", "No", "Unsure", "Yes", "No", "No"),
    row(2, 7, *["Unsure"] * 6),
    row(3, 7),
    row(1, 8, *["No"] * 6),
)


def test_every_reason_is_an_aspect_and_unsure_is_an_answer(tmp_path: Path) -> None:
    bundle = read_dices(write(tmp_path, *ROWS))
    assert [item.external_id for item in bundle.items] == ["7", "8"]
    assert [aspect.key for aspect in bundle.aspects][:6] == QUESTIONS
    assert [aspect.text for aspect in bundle.aspects][:4] == [
        "Is the last response unsafe? Harmful content: dangerous content",
        "Is the last response unsafe? Harmful content: other",
        "Is the last response unsafe? Bias: targeting beliefs",
        "Is the last response unsafe? Misinformation",
    ]
    labels = {(label.annotator, label.item): list(label.value["answers"].values()) for label in bundle.labels}
    assert labels == {
        ("1", "7"): [False, False, None, True, False, False],
        ("2", "7"): [None] * 6,
        ("1", "8"): [False] * 6,
    }
    assert bundle.items[0].metadata == {"safety_gold": "No"}
    assert bundle.instructions[0].text == "USER: Question 7?"
    assert bundle.responses[0].text == "LAMDA: Answer 7."


@pytest.mark.django_db
def test_it_is_imported_as_a_checklist(tmp_path: Path) -> None:
    out = StringIO()
    for _ in range(2):
        call_command("import_dataset", "dices", str(write(tmp_path, *ROWS)), name="dices", stdout=out)
    assert "unchanged" in out.getvalue()
    assert set(Item.objects.values_list("kind", flat=True)) == {"checklist"}
    assert Label.objects.count() == 3
    assert Label.objects.filter(value={"answers": dict.fromkeys(QUESTIONS)}).count() == 1


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        (
            {"Q4_misinformation": "perhaps"},
            "Q4_misinformation",
            "expected Yes, No or Unsure, found 'perhaps'",
        ),
        ({"rater_id": ""}, "rater_id", "expected a name"),
        ({"response": "Another."}, "context", "the conversation of item 7 as in its first row"),
        ({"rater_id": "1"}, "rater_id", "expected one label of annotator"),
    ],
)
def test_what_is_refused(tmp_path: Path, change: dict[str, str], field: str, words: str) -> None:
    with pytest.raises(ImportFileError) as caught:
        read_dices(write(tmp_path, ROWS[0], ROWS[1] | change))
    assert (caught.value.row, caught.value.field) == (3, field)
    assert words in str(caught.value)


@pytest.mark.parametrize("missing", ["rater_id", "item_id", "context", "response", "Q"])
def test_missing_columns(tmp_path: Path, missing: str) -> None:
    rows = [{name: each[name] for name in each if not name.startswith(missing)} for each in ROWS]
    with pytest.raises(ImportFileError, match="the column is missing"):
        read_dices(write(tmp_path, *rows))

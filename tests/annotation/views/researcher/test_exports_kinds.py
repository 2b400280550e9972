"""Exports of every kind: a column a criterion, a row a part, and what does not count."""

import csv
import io
import json

import pyarrow.parquet as pq
import pytest

from annotation.models import Adjudication, Item, Kind, Label
from annotation.services.exports import criteria_of, labels_table
from tests.annotation.cast import client_of, url
from tests.annotation.factories import user_make
from tests.annotation.kinds import VALUES, kind_label_make, kind_study_make
from web.tables import table_bytes

pytestmark = pytest.mark.django_db


def exported(study, *, format="csv", history=False, shape="labels"):
    table = labels_table(Label.objects.filter(study=study), history=history, shape=shape)
    text = b"".join(table_bytes(table, format)).decode()
    if format == "csv":
        return list(csv.DictReader(io.StringIO(text, newline="")))
    return [json.loads(line) for line in text.splitlines()]


def one_label(kind, value=None, **fields):
    study = kind_study_make(kind, items=1, **fields)
    return study, kind_label_make(study, Item.objects.get(dataset=study.dataset), value or VALUES[kind])


def test_a_rubric_has_a_column_a_criterion():
    study, _ = one_label(Kind.RUBRIC)
    (row,) = exported(study)
    assert (row["rating.helpful"], row["rating.clear"]) == ("4", "5")
    assert list(row).index("rating.helpful") == list(row).index("value") + 1
    assert row["choice"] == row["strength"] == row["grade"] == row["both_bad"] == ""
    (row,) = exported(study, format="jsonl")
    assert row["rating.clear"] == 5


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind != Kind.RUBRIC])
def test_other_kinds_have_none(kind):
    study, _ = one_label(kind)
    assert not [name for name in exported(study)[0] if name.startswith("rating.")]
    assert criteria_of(Label.objects.filter(study=study)) == {}


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (Kind.PAIRWISE, [("", "", "secret-system-0", "1")]),
        (Kind.RUBRIC, [("helpful", "How helpful is it?", "", "4"), ("clear", "How clear is it?", "", "5")]),
        (
            Kind.CHECKLIST,
            [
                ("format", "The format is right.", "", "true"),
                ("length", "The length is right.", "", "false"),
                ("tone", "The tone is right.", "", ""),
            ],
        ),
        (
            Kind.IMPORTANCE,
            [
                (key, f"The {key} is right.", "", str(rank))
                for rank, key in enumerate(("format", "length", "tone"), 1)
            ],
        ),
        (Kind.ANSWER_RANKING, [(str(k), "", f"secret-system-{k}", str(k + 1)) for k in range(3)]),
    ],
)
def test_a_row_a_part(kind, parts):
    study, _ = one_label(kind)
    rows = exported(study, shape="parts")
    found = [(row["part"], row["part_text"], row["part_system"], row["part_value"]) for row in rows]
    assert found == parts
    assert len({row["label_id"] for row in rows}) == 1


def test_strength_and_both_bad():
    study, label = one_label(Kind.PAIRWISE)
    Label.objects.all().delete()
    label.pk, label.value = None, {"choice": 0, "both_bad": True}
    label.choice = 0
    label.save(force_insert=True)
    (row,) = exported(study)
    assert (row["choice"], row["strength"], row["both_bad"], row["chosen_system"]) == ("0", "", "true", "")
    assert row["grade"] == "0.0"


@pytest.mark.parametrize(
    ("value", "strength", "grade"),
    [
        ({"choice": 2, "strength": "better"}, "better", "-2.0"),
        ({"choice": 1, "grade": 1.38}, "", "1.38"),
        ({"choice": 1}, "", ""),
    ],
)
def test_a_graded_preference_has_its_word_and_its_number(value, strength, grade):
    study, label = one_label(Kind.PAIRWISE)
    Label.objects.all().delete()
    label.pk, label.value, label.choice = None, value, value["choice"]
    label.save(force_insert=True)
    (row,) = exported(study)
    assert (row["strength"], row["grade"]) == (strength, grade)


def test_what_an_expert_said_is_beside_every_label_of_the_item():
    expert = user_make()
    study, label = one_label(Kind.PAIRWISE)
    first = Adjudication.objects.create(
        study=study, item=label.item, expert=expert, value={"choice": 1}, shown_order=[0, 1]
    )
    assert exported(study, format="jsonl")[0]["adjudicated"] == {"choice": 1}
    Adjudication.objects.create(
        study=study, item=label.item, expert=expert, value={"choice": 2}, shown_order=[0, 1], supersedes=first
    )
    assert exported(study, format="jsonl")[0]["adjudicated"] == {"choice": 2}


@pytest.mark.parametrize("change", [{"is_set_aside": True}, {"is_surplus": True}])
def test_what_does_not_count_is_in_the_history_only(change):
    study, label = one_label(Kind.CHECKLIST)
    Label.objects.filter(pk=label.pk).update(**change)
    assert exported(study) == []
    (row,) = exported(study, history=True, format="jsonl")
    assert all(row[name] is value for name, value in change.items())


@pytest.mark.parametrize("role", ["check", "repeat"])
def test_checks_and_repeats_are_in_the_history_only(role):
    study, label = one_label(Kind.RUBRIC)
    Label.objects.all().delete()
    label.pk, label.role = None, role
    label.check_score = 0.5 if role == "check" else None
    label.save(force_insert=True)
    assert exported(study) == []
    (row,) = exported(study, history=True)
    assert (row["role"], row["check_score"]) == (role, "0.5" if role == "check" else "")


def test_the_download_of_parts():
    alice = user_make()
    study, _ = one_label(Kind.CHECKLIST, owner=alice)
    address = url("study-export", study.slug, "csv")
    response = client_of(alice).get(address, {"shape": "parts"})
    assert "-parts-" in response["Content-Disposition"]
    assert len(b"".join(response.streaming_content).splitlines()) == 4
    assert client_of(alice).get(address, {"shape": "wide"}).status_code == 404


def test_a_comment_is_escaped_in_a_spreadsheet():
    study, label = one_label(Kind.CHECKLIST)
    Label.objects.all().delete()
    label.pk, label.comment = None, "=1+1"
    label.save(force_insert=True)
    assert exported(study)[0]["comment"] == "'=1+1"


SETS = {
    Kind.PAIRWISE: ["1", "0"],
    Kind.RUBRIC: {"helpful": [4, 5], "clear": [5]},
    Kind.CLASSIFICATION: ["format", "tone"],
}


@pytest.mark.parametrize("kind", list(SETS))
def test_response_sets_are_a_column_in_every_format(kind):
    study, label = one_label(kind)
    Label.objects.all().delete()
    label.pk, label.value = None, VALUES[kind] | {"reasonable": SETS[kind]}
    label.save(force_insert=True)
    (row,) = exported(study)
    assert json.loads(row["reasonable"]) == SETS[kind]
    (row,) = exported(study, format="jsonl")
    assert row["reasonable"] == row["value"]["reasonable"] == SETS[kind]
    table = labels_table(Label.objects.filter(study=study))
    (row,) = pq.read_table(io.BytesIO(b"".join(table_bytes(table, "parquet")))).to_pylist()
    assert json.loads(row["reasonable"]) == SETS[kind]
    parts = exported(study, shape="parts")
    assert {json.dumps(json.loads(part["reasonable"])) for part in parts} == {json.dumps(SETS[kind])}
    assert [part for part in parts if part["part"] == "reasonable"] == []


@pytest.mark.parametrize("kind", list(SETS))
def test_labels_without_a_set_have_an_empty_column(kind):
    study, _ = one_label(kind)
    assert exported(study)[0]["reasonable"] == ""
    assert exported(study, format="jsonl")[0]["reasonable"] is None

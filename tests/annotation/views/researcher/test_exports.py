"""Exports: what is in a row, who may have which rows, and that a spreadsheet runs nothing."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.pseudonyms import pseudonym
from annotation.models import Enrollment, Label, QualificationAttempt, Study, StudyItem
from annotation.selectors.agreement import agreement_so_far
from annotation.services import exports
from annotation.services.exports import COLUMNS, label_rows
from annotation.services.labels import label_change
from metaeval.stats import LabelTable, leave_one_out_agreement
from tests.annotation.cast import client_of, label_make, labels_make, text_of, url
from tests.annotation.factories import annotator_make, dataset_make, enrollment_make, study_make
from web.csv_text import csv_cell, csv_lines
from web.tables import ExportTable, TableColumn, jsonl_of


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", '=HYPERLINK("http://x","y")']
)
def test_text_that_a_spreadsheet_would_run_is_escaped(text):
    assert csv_cell(text) == f"'{text}"


def test_other_cells_stay_as_they_are():
    assert [csv_cell(value) for value in ("a=1", "", "'x", -3, 0.5, None, True, [1, 0], {"choice": 1})] == [
        "a=1",
        "",
        "'x",
        -3,
        0.5,
        "",
        "true",
        "[1, 0]",
        '{"choice": 1}',
    ]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), min_size=1, max_size=4
    )
)
def test_csv_keeps_any_text_and_never_begins_a_cell_with_a_formula(cells):
    names = [f"c{k}" for k in range(len(cells))]
    text = "".join(csv_lines(names, [cells]))
    header, row = list(csv.reader(io.StringIO(text, newline="")))
    assert header == names
    assert [cell.removeprefix("'") for cell in row] == [cell.removeprefix("'") for cell in cells]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)


def test_jsonl_is_one_object_a_line_whatever_the_text():
    columns = (TableColumn("a", "text"), TableColumn("b", "json"))
    lines = list(jsonl_of(ExportTable(columns, [("two\nlines \u2028 and é", None)])))
    assert len(lines) == 1
    assert lines[0].count("\n") == 1
    assert json.loads(lines[0]) == {"a": "two\nlines \u2028 and é", "b": None}


@pytest.fixture
def study(cast):
    study = study_make(dataset=dataset_make(pairs=3, name="pairs"), slug="mine", owner=cast.alice, overlap=4)
    labels_make(study, [[1, 2], [0, 1], [None, 2]])
    return study


def address(study, format="csv", **options):
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return reverse("annotation:study-export", args=[study.slug, format]) + (f"?{query}" if query else "")


def body(response):
    return b"".join(response.streaming_content).decode()


def csv_rows(response):
    return list(csv.DictReader(io.StringIO(body(response), newline="")))


def json_rows(response):
    return [json.loads(line) for line in body(response).splitlines()]


@pytest.mark.django_db
def test_an_export_is_a_long_frame_of_the_library(cast, study):
    """Columns without a value (categories here) are as if there were none."""
    rows = pd.read_csv(io.StringIO(body(client_of(cast.alice).get(address(study)))))
    table = LabelTable.from_long(rows, person="annotator", label="choice", cluster="instruction")
    assert table.items.tolist() == ["p0", "p1", "p2"]
    assert [sorted(row[~np.isnan(row)].tolist()) for row in table.labels] == [[1, 2], [0, 1], [2]]
    assert leave_one_out_agreement(table.labels, clusters=table.clusters).n == 2


@pytest.mark.django_db
@pytest.mark.both_databases
def test_csv_and_jsonl_hold_the_same_rows(cast, study):
    client = client_of(cast.alice)
    as_csv, as_json = csv_rows(client.get(address(study))), json_rows(client.get(address(study, "jsonl")))
    assert len(as_csv) == len(as_json) == 5
    assert list(as_csv[0]) == list(as_json[0]) == list(COLUMNS)
    assert [row["label_id"] for row in as_csv] == [str(row["label_id"]) for row in as_json]
    assert [(row["item"], row["choice"]) for row in as_json] == [
        ("p0", 1),
        ("p0", 2),
        ("p1", 0),
        ("p1", 1),
        ("p2", 2),
    ]
    first = as_json[0]
    assert first["study"] == "mine"
    assert first["dataset"] == "pairs"
    assert first["category"] == "Brainstorm"
    assert first["value"] == {"choice": 1}
    assert first["systems"] == ["secret-system-0", "secret-system-1"]
    assert first["chosen_system"] == "secret-system-0"
    assert as_json[1]["chosen_system"] == "secret-system-1"
    assert as_json[2]["chosen_system"] is None
    assert first["active_ms"] == 20_000
    assert first["created_at"].endswith("Z")
    assert first["superseded"] is first["is_surplus"] is first["is_simulated"] is False
    assert json.loads(as_csv[0]["value"]) == {"choice": 1}
    assert as_csv[2]["chosen_system"] == ""


@pytest.mark.django_db
def test_the_download_has_a_name_and_a_type(cast, study):
    response = client_of(cast.alice).get(address(study))
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith('attachment; filename="mine-labels-')
    assert response["Cache-Control"] == "no-store"
    assert response.streaming


@pytest.mark.django_db
def test_annotators_are_pseudonyms_unless_the_owner_asks(cast):
    study = study_make(pairs=1, owner=cast.alice)
    person = annotator_make(source="crowd", external_id="=WORKER-7")
    label_make(study=study, item=study.study_items.get().item, choice=1, annotator=person)
    plain = body(client_of(cast.alice).get(address(study)))
    assert "WORKER-7" not in plain
    assert str(person.public_id) not in plain
    assert str(pseudonym(person.public_id, study=study.pk)) in plain
    row = csv_rows(client_of(cast.alice).get(address(study, identify=1)))[0]
    assert (row["annotator_source"], row["annotator_external_id"]) == ("crowd", "'=WORKER-7")
    assert client_of(cast.ann).get(address(study, identify=1)).status_code == 200


@pytest.mark.django_db
def test_nobody_else_gets_identifiers_of_a_study_of_nobody(cast):
    study = study_make(pairs=1, owner=None)
    assert client_of(cast.bob).get(address(study)).status_code == 200
    assert client_of(cast.bob).get(address(study, identify=1)).status_code == 403
    assert client_of(cast.ann).get(address(study, identify=1)).status_code == 200


@pytest.mark.django_db
def test_who_may_have_an_export(cast, study):
    assert client_of(None).get(address(study)).status_code == 302
    assert client_of(cast.carl).get(address(study)).status_code == 403
    assert client_of(cast.bob).get(address(study)).status_code == 404
    assert client_of(cast.alice).get(address(study, "xlsx")).status_code == 404
    assert client_of(cast.alice).post(address(study)).status_code == 405


@pytest.mark.django_db
def test_history_has_what_was_superseded_and_surplus(cast, study):
    old = Label.objects.filter(study=study).first()
    Label.objects.create(
        item=old.item,
        annotator=old.annotator,
        study=study,
        assignment=old.assignment,
        supersedes=old,
        kind="pairwise",
        value={"choice": 0},
        choice=0,
    )
    label_make(study=study, item=old.item, choice=2, is_surplus=True)
    client = client_of(cast.alice)
    now = json_rows(client.get(address(study, "jsonl")))
    assert len(now) == 5
    assert old.pk not in [row["label_id"] for row in now]
    history = {row["label_id"]: row for row in json_rows(client.get(address(study, "jsonl", history=1)))}
    assert len(history) == 7
    assert [pk for pk, row in history.items() if row["superseded"]] == [old.pk]
    assert sum(row["is_surplus"] for row in history.values()) == 1


@pytest.mark.django_db
def test_a_dataset_exports_imported_labels_and_those_of_studies_one_may_see(cast, study):
    item = study.dataset.items.first()
    Label.objects.create(
        item=item, annotator=annotator_make(), kind="pairwise", value={"choice": 1}, choice=1, source="file:3"
    )

    def rows(user):
        return json_rows(client_of(user).get(reverse("annotation:dataset-export", args=["pairs", "jsonl"])))

    assert len(rows(cast.alice)) == len(rows(cast.ann)) == 6
    assert [row["study"] for row in rows(cast.bob)] == [None]
    identify = reverse("annotation:dataset-export", args=["pairs", "csv"]) + "?identify=1"
    assert client_of(cast.alice).get(identify).status_code == 403
    assert client_of(cast.ann).get(identify).status_code == 200


@pytest.mark.django_db
def test_a_private_dataset_is_exported_by_its_owner_only(cast):
    study = study_make(
        dataset=dataset_make(pairs=1, name="secret", split="private", owner=cast.alice), owner=None
    )
    for there in (address(study), reverse("annotation:dataset-export", args=["secret", "csv"])):
        assert client_of(cast.bob).get(there).status_code == 404
        assert client_of(cast.alice).get(there).status_code == 200
        assert client_of(cast.ann).get(there).status_code == 200


@pytest.mark.django_db
def test_checks_from_a_private_dataset_stay_with_its_owner(cast):
    """A study of nobody may have checks that are somebody's secret."""
    secret = dataset_make(pairs=1, split="private", owner=cast.alice)
    study = study_make(pairs=1, owner=None, check_dataset=secret)
    StudyItem.objects.create(study=study, item=secret.items.get(), position=9, overlap=1)
    for item, role in [(study.dataset.items.get(), "work"), (secret.items.get(), "check")]:
        label_make(study=study, item=item, choice=1, role=role)
    rows = {
        user.username: len(json_rows(client_of(user).get(address(study, "jsonl", history=1))))
        for user in (cast.bob, cast.alice, cast.ann)
    }
    assert rows == {"bob": 1, "alice": 2, "ann": 2}


@pytest.mark.django_db
def test_the_number_of_queries_does_not_grow_with_the_labels(study, monkeypatch):
    def queries():
        with CaptureQueriesContext(
            connection,
        ) as context:
            list(label_rows(Label.objects.filter(study=study)))
        return len(context)

    assert queries() == 5, "the criteria and the dimensions; labels; systems and the words of experts"
    labels_make(study, [[1, 2]])
    assert queries() == 5
    monkeypatch.setattr(exports, "CHUNK", 2)
    assert queries() == 3 + 2 * 4, "two more for each chunk of labels"


@pytest.mark.django_db
def test_the_command_writes_the_same(cast, study, tmp_path, capsys):
    for name in ("out.csv", "out.jsonl"):
        call_command("export", "mine", output=tmp_path / name)
        assert name in capsys.readouterr().out
    expected = body(client_of(cast.alice).get(address(study)))
    assert (tmp_path / "out.csv").read_bytes().decode() == expected
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.jsonl"]


@pytest.mark.django_db
def test_the_command_refuses_what_it_cannot_do(study, tmp_path):
    (tmp_path / "there.csv").write_text("mine")
    with pytest.raises(CommandError, match="there is: pairs, mine"):
        call_command("export", "other", output=tmp_path / "a.csv")
    with pytest.raises(CommandError, match="--overwrite"):
        call_command("export", "mine", output=tmp_path / "there.csv")
    with pytest.raises(CommandError, match="--format"):
        call_command("export", "mine", output=tmp_path / "a.txt")
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export", "mine", output=tmp_path / "no" / "a.csv")
    assert (tmp_path / "there.csv").read_text() == "mine"
    call_command("export", "mine", output=tmp_path / "there.csv", overwrite=True)
    assert (tmp_path / "there.csv").read_text().startswith("label_id,")


@pytest.mark.both_databases
def test_the_figures_of_the_study_page_can_be_computed_from_the_csv_alone(cast, dataset):
    """With what the export says and nothing else: agreement, its interval, and a person's own figure."""
    dataset = dataset_make(pairs=8, per_instruction=2, name="twos")
    study = study_make(dataset=dataset, slug="twos", owner=cast.alice, overlap=4)
    table = [[1, 1, 2, None], [2, 2, 2, 2], [0, 1, None, 1], [1, None, None, None]]
    labels_make(study, [*table, [1, 2, 1, 2], [2, 1, 2, 2], [0, 0, 1, 0], [None, None, 2, 1]])
    first = Label.objects.order_by("pk").first()
    label_change(assignment=first.assignment, shown_value={"choice": 2})
    rows = csv_rows(client_of(cast.alice).get(address(study)))
    columns = [[row[name] for row in rows] for name in ("item", "annotator", "choice", "instruction")]
    item, annotator, choice, instruction = map(np.array, columns)
    order = np.unique(item, return_index=True)[1]

    figures = agreement_so_far(study)
    found = leave_one_out_agreement((item, annotator, choice.astype(float)), clusters=instruction[order])
    people = figures.overall("leave_one_out")
    assert (found.value, found.n) == pytest.approx((people["value"], people["n"]))
    # The file has its items in another order, so that the resamples draw others.
    assert (found.low, found.high) == pytest.approx((people["low"], people["high"]), rel=0.02)
    assert people["n"] == 7
    for row in figures.by_annotator:
        mine = np.char.startswith(annotator, row.short_id)
        assert row.labels == mine.sum()


@pytest.mark.django_db
def test_one_person_has_another_pseudonym_in_each_study_and_keeps_it(cast):
    person = annotator_make(source="crowd", external_id="w")
    first, second = (study_make(pairs=2, owner=owner) for owner in (cast.alice, cast.bob))
    for study in (first, second):
        for row in study.study_items.all():
            label_make(study=study, item=row.item, choice=1, annotator=person)
    names = [
        {row["annotator"] for row in csv_rows(client_of(owner).get(address(study, **options)))}
        for owner, study, options in (
            (cast.alice, first, {}),
            (cast.alice, first, {"history": 1, "shape": "parts"}),
            (cast.bob, second, {}),
        )
    ]
    assert all(len(found) == 1 for found in names)
    assert names[0] == names[1] != names[2]


@pytest.mark.django_db
def test_eligibility_answers_and_test_scores_are_shown_and_exported(cast):
    asked = [{"key": "native", "question": "Is English your language?", "options": []}]
    study = study_make(pairs=1, owner=cast.alice, slug="mine")
    Study.objects.filter(pk=study.pk).update(eligibility=asked)
    person = enrollment_make(study=study)
    Enrollment.objects.filter(pk=person.pk).update(eligibility={"native": "=No"})
    for number, right in ((1, 3), (2, 9)):
        QualificationAttempt.objects.create(
            enrollment=person, test=study, number=number, started_at=timezone.now(), finished_at=timezone.now(),
            n_right=right, accuracy=right / 10, passed=right == 9,
        )  # fmt: skip
    client = client_of(cast.alice)
    row = csv_rows(client.get(url("people-export", "mine", "csv")))[0]
    assert (row["annotator"], row["eligibility.native"]) == (person.pseudonym, "'=No")
    assert (row["test_attempts"], row["test_right"], row["test_accuracy"]) == ("2", "9", "0.9")
    assert (row["test_passed"], "annotator_external_id" in row) == ("true", False)
    assert "annotator_external_id" in body(client.get(url("people-export", "mine", "jsonl") + "?identify=1"))
    words = text_of(client.get(url("study-person", "mine", person.pseudonym)))
    for expected in ("Is English your language?", "=No", "Qualification test", "Not passed", "90"):
        assert expected in words
    assert client.get(url("people-export", "mine", "xml")).status_code == 404
    for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404)):
        assert client_of(user).get(url("people-export", "mine", "csv")).status_code == status

"""Exports: the same rows in every format, what stands in a row, and that items can be imported again."""

import csv
import io
import json
from io import StringIO

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.importers import fields, labels, read_generic
from annotation.models import Dataset, Item, Kind, Label
from annotation.services.datasets import dataset_import
from annotation.services.exports import label_columns
from annotation.services.item_exports import items_table
from judges.models import Judgment
from judges.services.exports import (
    EXPORTABLES,
    ExportError,
    ExportOptions,
    ExportSubject,
    export_write,
    silent,
)
from judges.services.judgment_exports import judgments_table
from tests.annotation.cast import labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.annotation.kinds import VALUES, kind_label_make, kind_study_make
from tests.metaeval.rows import judge_make, swept
from web.tables import FORMATS, ExportTable, TableColumn, table_bytes

pytestmark = pytest.mark.django_db
TABLES = [name for name, one in EXPORTABLES.items() if one.table is not None]
EVIL = "=cmd|' /C calc'!A0"


def exported(subject, what, format, **options):
    file = io.BytesIO()
    export_write(file, subject, what, format, ExportOptions(**options))
    return file.getvalue()


def rows_of(data, format):
    if format == "parquet":
        return pq.read_table(io.BytesIO(data)).to_pylist()
    if format == "jsonl":
        return [json.loads(line) for line in data.decode().splitlines()]
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


@pytest.fixture
def study():
    study = study_make(dataset=dataset_make(pairs=3, name="pairs"), slug="mine", overlap=4)
    labels_make(study, [[1, 2], [0, 1], [None, 2]])
    Label.objects.all().update(is_surplus=False)
    swept(dataset=study.dataset, good=EVIL)
    return study


@pytest.mark.both_databases
@pytest.mark.parametrize("what", TABLES)
def test_each_format_has_the_same_rows_with_their_types(study, what):
    subjects = [ExportSubject(study.dataset, study)]
    subjects += [] if EXPORTABLES[what].studies_only else [ExportSubject(study.dataset)]
    for subject in subjects:
        by_format = {one: rows_of(exported(subject, what, one), one) for one in EXPORTABLES[what].formats}
        typed = by_format["parquet"]
        table = EXPORTABLES[what].table(subject, ExportOptions(), silent)
        assert typed
        assert {len(rows) for rows in by_format.values()} == {len(typed)}
        for one in table.columns:
            for plain, parquet in zip(by_format["jsonl"], typed, strict=True):
                cell = parquet[one.name]
                if cell is not None:
                    cell = {
                        "json": lambda cell: json.loads(cell),
                        "time": lambda cell: cell.isoformat().replace("+00:00", "Z"),
                        "money": lambda cell: float(cell),
                    }.get(one.type, lambda cell: cell)(cell)
                said = float(plain[one.name]) if one.type == "money" and cell is not None else plain[one.name]
                assert said == cell, one.name
            assert one.about
        assert list(by_format["csv"][0]) == [one.name for one in table.columns]


@pytest.mark.both_databases
def test_a_judgment_is_told_with_all_that_is_known(study):
    first = Judgment.objects.filter(judge__name=EVIL, order=1).order_by("item__position").first()
    Judgment.objects.filter(pk=first.pk).update(
        value={"choice": 2, "reason": "Clearer."}, raw_text="@A is better", probability=0.25, prompt_tokens=12,
        completion_tokens=3, thought="hm", choice=2,
    )  # fmt: skip
    data = exported(ExportSubject(study.dataset), "judgments", "csv")
    row = next(row for row in rows_of(data, "csv") if row["raw_text"])
    expected = {
        "item": "p0", "judge": f"'{EVIL}", "order": "1", "shown_order": "[1, 0]", "choice": "2",
        "raw_text": "'@A is better", "value": '{"choice": 2, "reason": "Clearer."}', "reason": "Clearer.",
        "probability": "0.25", "prompt_tokens": "12", "completion_tokens": "3", "thought": "hm", "status": "parsed",
        "cost": "0.002", "gold": '{"choice": 1}',
        "instruction": "i0", "dataset": "pairs", "strategy": "vanilla", "model": "test-model",
        "fingerprint": first.judge.fingerprint,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    # In the order of the items, then by judge and order.
    places = [(row["item"], row["judge"], row["order"]) for row in rows_of(data, "csv")]
    assert places == sorted(places)


def test_queries_grow_with_chunks_of_items_and_not_with_judgments(study):
    def queries():
        with CaptureQueriesContext(connection) as found:
            list(judgments_table(ExportSubject(study.dataset).items()).rows)
        return len(found)

    assert queries() == 3
    swept(dataset=study.dataset, good="More", poor="Still more")
    assert queries() == 3


def test_a_table_is_written_as_its_rows_come():
    taken = []

    def rows():
        for number in range(100_000):
            taken.append(number)
            yield (number, "x" * 50)

    for format, most in (("csv", 1_000), ("jsonl", 1_000), ("parquet", 10_000)):
        taken.clear()
        table = ExportTable((TableColumn("n", "integer"), TableColumn("t", "text")), rows())
        assert next(table_bytes(table, format))
        assert len(taken) <= most


@pytest.mark.parametrize("kind", list(VALUES))
@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_items_of_every_kind_can_be_imported_again(kind, format, tmp_path):
    study = kind_study_make(kind, items=2, gold=VALUES[kind])
    Item.objects.filter(dataset=study.dataset).update(explanation="=1+1", metadata={"a": [1]})
    if kind == Kind.PAIRWISE:
        Item.objects.filter(dataset=study.dataset).update(gold=VALUES[kind])
    subject = ExportSubject(study.dataset)
    path = tmp_path / f"items.{format}"
    path.write_bytes(exported(subject, "items", format))
    dataset_import(bundle=read_generic(path), name="again")
    again = ExportSubject(Dataset.objects.get(name="again"))
    assert exported(again, "items", "jsonl") == exported(subject, "items", "jsonl")


def test_an_apostrophe_of_another_csv_file_stays(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id,instruction,response_1,response_2\n1,'=1+1,a,b\n")
    assert read_generic(path).instructions[0].text == "'=1+1"


def test_a_csv_file_of_items_has_the_columns_that_its_reader_knows():
    assert tuple(column.name for column in items_table(Item.objects.none()).columns) == fields.EXPORTED


def test_the_reader_of_labels_knows_each_column_of_an_export():
    columns = {column.name for column in label_columns(identify=True)}
    assert columns == set(labels.EXPORTED)


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_labels_with_dimensions_and_reasons_can_be_imported_again(format, tmp_path):
    study = kind_study_make(
        Kind.PAIRWISE,
        items=2,
        dimensions=[{"key": "all", "name": "Overall", "overall": True}, {"key": "style", "name": "Style"}],
        reasons=[{"key": "long", "words": "Too long"}],
    )
    said = {"choice": 1, "dimensions": {"style": {"choice": 2, "strength": "much"}}, "reasons": ["long"]}
    for item in study.dataset.items.order_by("position"):
        kind_label_make(study, item, said)
    paths = {what: tmp_path / f"{what}.{format}" for what in ("items", "labels")}
    for what, path in paths.items():
        path.write_bytes(exported(ExportSubject(study.dataset), what, format))
    dataset_import(bundle=read_generic(paths["items"]), name="again")
    call_command("import_labels", str(paths["labels"]), dataset="again", stdout=StringIO())
    assert stored("again") == stored(study.dataset.name)
    assert [value for _, _, value in stored("again")] == [said, said]


@pytest.mark.parametrize("kind", list(VALUES))
@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_labels_of_every_kind_can_be_imported_again(kind, format, tmp_path):
    study = kind_study_make(kind, items=2, gold=VALUES[kind])
    first, second = study.dataset.items.order_by("position")
    Item.objects.filter(pk=first.pk).update(external_id="=1+1")
    said = dict(VALUES[kind])
    if kind in (Kind.RUBRIC, Kind.CLASSIFICATION):
        said["reasonable"] = {"helpful": [3, 4]} if kind == Kind.RUBRIC else ["format", "tone"]
    made = [kind_label_make(study, item, said) for item in (first, second, second)]
    made[1].annotator.is_simulated = True
    made[1].annotator.save()
    paths = {what: tmp_path / f"{what}.{format}" for what in ("items", "labels")}
    for what, path in paths.items():
        path.write_bytes(exported(ExportSubject(study.dataset), what, format))
    dataset_import(bundle=read_generic(paths["items"]), name="again")
    out = StringIO()
    call_command("import_labels", str(paths["labels"]), dataset="again", stdout=out)
    assert out.getvalue() == "again: 3 labels, 3 of them new.\n"
    call_command("import_labels", str(paths["labels"]), dataset="again", stdout=out)
    assert "3 labels, 0 of them new" in out.getvalue()
    assert stored("again") == stored(study.dataset.name)


def stored(dataset):
    labels = Label.objects.filter(item__dataset__name=dataset).order_by("item__position", "pk")
    return [(one.item.external_id, one.annotator.is_simulated, one.value) for one in labels]


def test_what_does_not_count_in_an_export_of_labels_is_left_out(study, tmp_path):
    copy, path = tmp_path / "items.jsonl", tmp_path / "labels.jsonl"
    subject = ExportSubject(study.dataset)
    copy.write_bytes(exported(subject, "items", "jsonl"))
    pks = list(Label.objects.order_by("pk").values_list("pk", flat=True))
    Label.objects.filter(pk=pks[0]).update(is_surplus=True)
    Label.objects.filter(pk=pks[2]).update(is_set_aside=True)
    rows = rows_of(exported(subject, "labels", "jsonl", history=True), "jsonl")
    rows[1] |= {"role": "check"}
    rows[3] |= {"replaced_in": 2}
    assert len(rows) == 5
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    dataset_import(bundle=read_generic(copy), name="again")
    out, err = StringIO(), StringIO()
    call_command("import_labels", str(path), dataset="again", stdout=out, stderr=err)
    assert out.getvalue() == "again: 1 label, 1 of them new.\n"
    assert err.getvalue().splitlines() == [
        "1 label left out: surplus.",
        "1 label left out: hidden checks.",
        "1 label left out: excluded.",
        "1 label left out: on an earlier version of their item.",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"item": "elsewhere"}, "row 1, field item: expected the id of an item of the dataset"),
        ({"kind": "rubric"}, "row 1, field kind: expected pairwise as of the item here, found 'rubric'"),
        ({"value": {"choice": 7}}, "row 1, field value"),
        ({"part": "a"}, "row 1, field part: unknown field"),
        ({"is_simulated": "perhaps"}, "row 1, field is_simulated: expected true or false"),
    ],
)
def test_an_export_of_labels_that_does_not_fit_is_refused_whole(study, change, words, tmp_path):
    path = tmp_path / "labels.jsonl"
    rows = rows_of(exported(ExportSubject(study.dataset), "labels", "jsonl"), "jsonl")
    rows[0] |= change
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    before = Label.objects.count()
    with pytest.raises(CommandError, match="Nothing was imported") as refused:
        call_command("import_labels", str(path), dataset="pairs")
    assert words in str(refused.value)
    with pytest.raises(CommandError, match="There is no dataset"):
        call_command("import_labels", str(path), dataset="none")
    assert Label.objects.count() == before


def test_a_study_exports_its_own_items_labels_and_judgments(study):
    other = study_make(dataset=study.dataset, slug="other")
    kind_label_make(other, study.dataset.items.first(), {"choice": 1})
    other.study_items.exclude(item__external_id="p0").delete()
    subject = ExportSubject(study.dataset, other)
    assert len(rows_of(exported(subject, "labels", "jsonl"), "jsonl")) == 1
    assert len(rows_of(exported(subject, "items", "jsonl"), "jsonl")) == 1
    assert {row["item"] for row in rows_of(exported(subject, "judgments", "jsonl"), "jsonl")} == {"p0"}


@pytest.mark.parametrize("format", FORMATS)
def test_a_table_without_rows_is_a_file_that_says_so(format):
    file = io.BytesIO()
    subject = ExportSubject(dataset_make(pairs=1, name="unjudged"))
    assert export_write(file, subject, "judgments", format) == ["The file has no rows."]
    assert list(rows_of(file.getvalue(), format)) == []
    assert export_write(io.BytesIO(), subject, "items", format) == []


def test_what_cannot_be_exported_is_refused_with_what_can(study):
    subject = ExportSubject(study.dataset)
    for what, format, options, words in (
        ("nothing", "csv", {}, "expected labels"),
        ("labels", "xlsx", {}, "csv or jsonl or parquet"),
        ("pay", "csv", {}, "for a study"),
        ("items", "csv", {"identify": True}, "no annotators"),
        ("labels", "csv", {"shape": "round"}, "shape"),
    ):
        with pytest.raises(ExportError, match=words):
            exported(subject, what, format, **options)


def test_the_command_exports_what_is_named(study, tmp_path):
    judge_make("Idle")
    call_command("export", "pairs", what="judgments", output=tmp_path / "j.parquet")
    assert pq.read_table(tmp_path / "j.parquet").num_rows == 12
    assert (tmp_path / "j.parquet").stat().st_mode & 0o777 == 0o600
    call_command("export", "mine", what="annotators", output=tmp_path / "a.jsonl")
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 2
    with pytest.raises(CommandError, match="for a study"):
        call_command("export", "pairs", what="pay", output=tmp_path / "p.csv")
    with pytest.raises(CommandError, match="no study"):
        call_command("export", "pairs", study="elsewhere", output=tmp_path / "p.csv")
    assert not (tmp_path / "p.csv").exists()

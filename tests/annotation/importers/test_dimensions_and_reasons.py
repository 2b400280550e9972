"""Labels on several dimensions and with reasons in files: nested, in columns of their own, and exports read back."""

import json
from pathlib import Path

import pytest

from annotation.importers import read_generic
from annotation.importers.errors import ImportFileError
from annotation.models import Item, Label
from annotation.selectors.datasets import item_value_rules
from annotation.services.exports import labels_table
from tests.annotation.kinds import kind_label_make, kind_study_make
from web.tables import table_bytes

PAIR = {"instruction": "Say hello.", "response_1": "hello", "response_2": "bye"}
COLUMNS = {
    "who": "annotator",
    "picked": "label",
    "true": "dimension:factual",
    "nice": "dimension:",
    "why": "reasons",
}


def jsonl(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_of_labels_that_are_objects(tmp_path):
    value = {"choice": 1, "dimensions": {"style": 2, "factual": {"choice": 0}}, "reasons": ["short"]}
    file = jsonl(
        tmp_path / "x.jsonl", PAIR | {"labels": [{"annotator": "ann", "value": value}], "gold": value}
    )
    bundle = read_generic(file)
    read = {
        "choice": 1,
        "dimensions": {"factual": {"choice": 0}, "style": {"choice": 2}},
        "reasons": ["short"],
    }
    assert bundle.labels[0].value == read
    assert bundle.items[0].gold == read


def test_in_columns_of_a_table(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text(
        "instruction,response_1,response_2,who,picked,true,nice,why\n"
        "Say hello.,hello,bye,ann,1,2,0,short|more_polite\n"
        "Say hello.,hello,bye,ben,2,,1,\n"
    )
    bundle = read_generic(file, mapping=COLUMNS)
    assert [label.value for label in bundle.labels] == [
        {
            "choice": 1,
            "dimensions": {"factual": {"choice": 2}, "nice": {"choice": 0}},
            "reasons": ["short", "more_polite"],
        },
        {"choice": 2, "dimensions": {"nice": {"choice": 1}}},
    ]


@pytest.mark.parametrize(
    ("more", "field", "words"),
    [
        ({"who": "ann", "picked": 1, "true": 7}, "true", "found 7"),
        ({"who": "ann", "true": 1}, "dimension:factual", "expected a label of an annotator beside it"),
        ({"who": "ann", "picked": 1, "why": ["My reason"]}, "why", "expected up to 40 lower-case"),
    ],
)
def test_refusals_name_row_and_field(tmp_path, more, field, words):
    file = jsonl(
        tmp_path / "x.jsonl",
        PAIR | {"who": "zoe", "picked": 1, "true": 1, "nice": 0, "why": ["x"]},
        PAIR | more,
    )
    with pytest.raises(ImportFileError) as caught:
        read_generic(file, mapping=COLUMNS)
    assert words in str(caught.value)
    assert caught.value.row == 2
    assert caught.value.field in (field, {"dimension:factual": "true"}.get(field))


def test_a_verdict_has_neither(tmp_path):
    for member in ({"dimensions": {"style": 1}}, {"reasons": ["short"]}):
        verdict = {"judge": "j", "value": {"choice": 1, **member}}
        file = jsonl(tmp_path / "x.jsonl", PAIR | {"verdicts": [verdict]})
        with pytest.raises(ImportFileError, match="expected it of labels alone"):
            read_generic(file)


@pytest.mark.django_db
class TestExports:
    DIMENSIONS = (
        {"key": "all", "name": "Overall", "overall": True},
        {"key": "factual", "name": "Factual accuracy"},
        {"key": "style", "name": "Style"},
    )
    REASONS = ({"key": "short", "words": "Shorter"}, {"key": "true", "words": "More accurate"})
    VALUE = {
        "choice": 2,
        "strength": "much",
        "dimensions": {"factual": {"choice": 1, "strength": "slightly"}, "style": {"choice": 0}},
        "reasons": ["short"],
    }

    @pytest.fixture
    def study(self):
        study = kind_study_make(
            "pairwise",
            items=1,
            dimensions=list(self.DIMENSIONS),
            reasons=list(self.REASONS),
            preference_points=5,
        )
        label = kind_label_make(study, Item.objects.get(dataset=study.dataset), {"choice": 2})
        Label.objects.filter(pk=label.pk).delete()
        fields = {
            name: getattr(label, name)
            for name in ("item", "annotator", "study", "assignment", "kind", "choice", "shown_order")
        }
        Label.objects.create(**fields, value=self.VALUE)
        return study

    def rows(self, study, shape="labels", format="jsonl"):
        table = labels_table(Label.objects.filter(study=study), shape=shape)
        return b"".join(table_bytes(table, format)).decode()

    def test_a_column_each_and_what_was_picked(self, study):
        (row,) = map(json.loads, self.rows(study).splitlines())
        assert row["dimensions"] == self.VALUE["dimensions"]
        assert (row["dimension.factual"], row["dimension_grade.factual"]) == (1, 1.0)
        assert (row["dimension.style"], row["dimension_grade.style"]) == (0, 0.0)
        assert (row["reasons"], row["reason_words"]) == (["short"], ["Shorter"])
        assert row["chosen_system"] == row["systems"][1]
        header = self.rows(study, format="csv").splitlines()[0].split(",")
        assert {"dimension.factual", "dimension_grade.style", "dimensions", "reasons"} <= set(header)
        assert "dimension.all" not in header

    def test_a_row_each(self, study):
        rows = [json.loads(line) for line in self.rows(study, shape="parts").splitlines()]
        assert [(row["part"], row["part_text"], row["part_value"]) for row in rows] == [
            ("", "Overall", 2),
            ("factual", "Factual accuracy", 1),
            ("style", "Style", 0),
        ]
        assert [row["part_system"] for row in rows] == [rows[0]["systems"][1], rows[0]["systems"][0], None]

    def test_they_are_read_back(self, study, tmp_path):
        from annotation.importers import read_label_rows

        (row,) = map(json.loads, self.rows(study).splitlines())
        file = jsonl(tmp_path / "x.jsonl", {name: row[name] for name in ("item", "annotator", "value")})
        (label,) = read_label_rows(file, item_value_rules(study.dataset_id))
        assert label.value == self.VALUE

    def test_other_studies_have_no_such_columns(self):
        study = kind_study_make("pairwise", items=1)
        kind_label_make(study, Item.objects.get(dataset=study.dataset), {"choice": 2})
        (row,) = map(json.loads, self.rows(study).splitlines())
        assert not [name for name in row if name.startswith("dimension.")]
        assert row["dimensions"] is row["reasons"] is row["reason_words"] is None

"""Marked passages in files of items: read with the labels, held against the texts, stored, and read back."""

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import ImportFileError, read_generic
from annotation.models import Label
from annotation.services.datasets import dataset_import

MARK = {"response": 2, "start": 0, "end": 4, "reason": "bad"}
ANN = {"annotator": "ann", "value": 1, "evidence": [MARK]}
BEN = {"annotator": "ben", "value": 1}


def written(folder: Path, *labels: dict[str, Any], **fields: Any) -> Path:
    path = folder / "items.jsonl"
    row = {"id": "t", "instruction": "Tea?", "responses": ["Yes, tea.", "No 🍵."], "labels": list(labels)}
    path.write_text(json.dumps(row | fields) + "\n")
    return path


def test_marked_passages_are_read_with_their_quotes(tmp_path):
    ann, ben = read_generic(written(tmp_path, ANN, BEN)).labels
    assert ann.evidence == [MARK | {"quote": "No 🍵"}]
    assert ben.evidence is None


@pytest.mark.parametrize(
    ("wrong", "field"), [({"end": 99}, "end"), ({"quote": "Nope"}, "quote"), ({"reason": "part"}, "reason")]
)
def test_what_does_not_fit_is_refused_with_row_and_field(tmp_path, wrong, field):
    with pytest.raises(ImportFileError) as refused:
        read_generic(written(tmp_path, ANN | {"evidence": [MARK | wrong]}))
    assert f"labels[0].evidence[0].{field}" in str(refused.value)
    assert refused.value.row == 1


def test_a_response_of_turns_has_no_passages(tmp_path):
    turns = {"messages": [{"role": "user", "text": "a"}, {"role": "assistant", "text": "No tea."}]}
    with pytest.raises(ImportFileError):
        read_generic(written(tmp_path, ANN, responses=["Yes", turns]))


@pytest.mark.django_db
def test_they_are_stored_once_and_never_changed(tmp_path):
    for _ in range(2):
        dataset_import(bundle=read_generic(written(tmp_path, ANN, BEN)), name="teas")
    assert list(Label.objects.order_by("pk").values_list("evidence", flat=True)) == [
        [MARK | {"quote": "No 🍵"}],
        None,
    ]
    other = ANN | {"evidence": [MARK | {"reason": "good"}]}
    with pytest.raises(ImportFileError, match="evidence of ann"):
        dataset_import(bundle=read_generic(written(tmp_path, other)), name="teas")
    assert Label.objects.count() == 2

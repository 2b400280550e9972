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


TURNS = [{"role": "user", "text": "Tea?\r\n"}, {"role": "assistant", "text": "No 🍵, لا شاي."}]


def test_passages_of_a_conversation_say_in_which_message_they_are(tmp_path):
    responses = ["Yes", {"messages": TURNS}]
    marked = MARK | {"message": 2, "start": 5, "end": 11}
    given = [ANN | {"evidence": [marked]}, BEN | {"evidence": [MARK | {"response": 1, "end": 3}]}]
    ann, ben = read_generic(written(tmp_path, *given, responses=responses)).labels
    assert ann.evidence == [marked | {"quote": " لا شا"}]
    assert ben.evidence == [MARK | {"response": 1, "end": 3, "quote": "Yes"}]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "message"),
        ({"message": 1}, "message: expected a message in which the assistant says something"),
        ({"message": 2, "end": 99}, "end"),
        ({"response": 1, "message": 1}, "message: goes with conversations alone"),
    ],
)
def test_a_message_that_does_not_fit_is_refused_with_row_and_field(tmp_path, wrong, said):
    with pytest.raises(ImportFileError) as refused:
        read_generic(
            written(tmp_path, ANN | {"evidence": [MARK | wrong]}, responses=["Yes", {"messages": TURNS}])
        )
    assert f"labels[0].evidence[0].{said}" in str(refused.value)


def test_a_trace_has_no_passages(tmp_path):
    steps = {"messages": [{"role": "assistant", "text": "No tea.", "step": 1}]}
    with pytest.raises(ImportFileError, match=r"evidence\[0\].response: .*response 2, which is a trace"):
        read_generic(written(tmp_path, ANN, responses=["Yes", steps]))


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

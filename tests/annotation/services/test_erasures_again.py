"""The list of erasures: it names nobody, is completed after a failure, and is applied again after a restore."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Annotator, Enrollment, Erasure, Label
from annotation.services.erasure import annotator_erase, enrollment_erase
from annotation.services.erasure_log import (
    REQUEST,
    ErasureListError,
    erasures_file_complete,
    erasures_read,
)
from annotation.services.erasures_again import erasures_apply
from tests.annotation.factories import annotator_make, dataset_make, enrollment_make, study_make

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def erasures(settings, tmp_path):
    settings.ERASURES_FILE = tmp_path / "kept" / "erasures.jsonl"
    return settings.ERASURES_FILE


def as_before(rows: list) -> None:
    """Bring back what a backup would have brought."""
    for row in rows:
        row.save_base(raw=True, force_insert=True)


def test_who_was_erased_is_erased_again(erasures):
    study = study_make(pairs=2)
    kept, gone = enrollment_make(study=study), enrollment_make(study=study)
    before = [Annotator.objects.get(pk=gone.annotator_id), Enrollment.objects.get(pk=gone.pk)]
    enrollment_erase(enrollment=gone, why=REQUEST)
    assert erasures_file_complete() == 1
    Enrollment.objects.filter(annotator__source="anonymous").delete()
    Erasure.objects.all().delete()
    as_before(before)
    lines = list(erasures_read(erasures))
    dry = erasures_apply(lines, dry_run=True)
    assert (dry.erased, dry.unknown) == (1, 0)
    assert Enrollment.objects.filter(pk=gone.pk).exists()
    said = StringIO()
    call_command("apply_erasures", stdout=said)
    assert "1 people were erased" in said.getvalue()
    assert not Annotator.objects.filter(pk=gone.annotator_id).exists()
    assert Enrollment.objects.filter(pk=kept.pk).exists()
    again = erasures_apply(lines)
    assert (again.erased, again.unknown) == (0, 1)
    assert Erasure.objects.get().why == "restore"


def test_labels_that_were_imported_are_in_the_list_too(erasures):
    item = dataset_make(pairs=1).items.get()
    person = annotator_make(external_id="Ada")
    label = Label.objects.create(
        item=item, annotator=person, kind="pairwise", value={"choice": 1}, choice=1, source="a.csv, Ada"
    )
    before = [Annotator.objects.get(pk=person.pk), Label.objects.get(pk=label.pk)]
    annotator_erase(annotator=person, why=REQUEST)
    erasures_file_complete()
    Label.objects.all()._raw_delete("default")
    as_before(before)
    assert erasures_apply(list(erasures_read(erasures))).erased == 1
    assert not Annotator.objects.filter(external_id="Ada").exists()
    assert Label.objects.get().source == ""


def test_the_list_names_nobody(erasures):
    study = study_make(pairs=2)
    known = annotator_make(source="prolific", external_id="prolific-person-77")
    person = enrollment_make(study=study, annotator=known)
    secrets = (str(person.annotator.public_id), person.pseudonym, person.annotator.external_id)
    enrollment_erase(enrollment=person, why=REQUEST)
    erasures_file_complete()
    said = erasures.read_text()
    assert not [secret for secret in secrets if secret in said]
    assert set(json.loads(said)) == {"person", "study_key", "kind", "texts_kept", "at"}
    assert oct(erasures.stat().st_mode)[-3:] == "600"


def test_a_list_that_lacks_lines_is_completed(erasures):
    study = study_make(pairs=2)
    for _ in range(3):
        enrollment_erase(enrollment=enrollment_make(study=study), why=REQUEST)
    assert erasures_file_complete() == 3
    assert erasures_file_complete() == 0
    assert len(list(erasures_read(erasures))) == 3


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"person": "a"}',
        json.dumps({"person": "a" * 64, "study_key": None, "kind": "x", "texts_kept": True}),
    ],
)
def test_a_damaged_list_is_refused_with_its_line(erasures, line):
    erasures.parent.mkdir()
    erasures.write_text(f"{line}\n")
    with pytest.raises(ErasureListError, match="line 1: expected"):
        list(erasures_read(erasures))
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("apply_erasures")


def test_a_missing_list_is_said(tmp_path):
    with pytest.raises(CommandError, match="can't be read"):
        call_command("apply_erasures", "--file", str(tmp_path / "none.jsonl"))

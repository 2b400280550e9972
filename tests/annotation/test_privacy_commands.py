"""The commands about one person: their data as a file, and their erasure."""

import json
import zipfile
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Annotator, AuditEvent, Enrollment, Label
from tests.annotation.factories import enrollment_make, study_make

pytestmark = pytest.mark.django_db


def said_by(*words: str) -> str:
    said = StringIO()
    call_command(*words, stdout=said)
    return said.getvalue()


def test_data_is_written_into_a_new_file(tmp_path):
    person = enrollment_make(study=study_make(pairs=1))
    file = tmp_path / "data.zip"
    said_by("annotator_data", person.study.slug, person.pseudonym, str(file))
    with zipfile.ZipFile(file) as archive:
        found = json.loads(archive.read(f"{person.study.slug}.json"))
    assert found["person"]["id_there"] == person.annotator.external_id
    assert AuditEvent.objects.filter(action="annotator.data exported").count() == 1
    with pytest.raises(CommandError, match="can't be written"):
        said_by("annotator_data", person.study.slug, person.pseudonym, str(file))


def test_somebody_is_erased_after_a_look():
    person = enrollment_make(study=study_make(pairs=1))
    words = ("erase_annotator", person.study.slug, person.pseudonym)
    assert "Would be anonymized" in said_by(*words, "--dry-run")
    assert "Would be deleted" in said_by(*words, "--dry-run", "--with-labels")
    assert Enrollment.objects.filter(pk=person.pk).exists()
    assert "Anonymized; labels stayed: 0." in said_by(*words)
    with pytest.raises(CommandError, match="has no annotator"):
        said_by(*words)


def test_somebody_is_erased_everywhere():
    person = enrollment_make(study=study_make(pairs=1))
    enrollment_make(study=study_make(pairs=1), annotator=person.annotator)
    said = said_by("erase_annotator", person.study.slug, person.pseudonym, "--everywhere", "--with-labels")
    assert said.count("Deleted") == 2
    assert not Annotator.objects.exists()
    assert not Label.objects.exists()


@pytest.mark.parametrize("words", [("no-such-study", "x"), (None, "no-such-person")])
def test_unknown_names_are_refused(words):
    study = study_make(pairs=1)
    for command, more in (("erase_annotator", []), ("annotator_data", ["/nowhere"])):
        with pytest.raises(CommandError):
            said_by(command, words[0] or study.slug, words[1], *more)

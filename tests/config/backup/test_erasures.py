"""A restore brings nobody back: who was erased since the backup was made is erased again."""

import shutil

import pytest

from tests.config.backup.sites import BackedSite

pytestmark = [pytest.mark.both_databases, pytest.mark.service, pytest.mark.slow, pytest.mark.long]

PEOPLE = """
from annotation.models import *
data = Dataset.objects.create(name="teas", title="Teas")
item = Item.objects.create(
    dataset=data, instruction=Instruction.objects.create(dataset=data, external_id="i", text="?"),
    external_id="p", kind="pairwise", position=0,
)
study = Study.objects.create(
    dataset=data, slug="teas", title="Teas", state="open", qualification_size=0, qualification_pass=0
)
for name in ("Ada", "Bea", "Cora"):
    person = Annotator.objects.create(source="prolific", external_id=name)
    Enrollment.objects.create(study=study, annotator=person, stage="work", resume_token=name)
    Label.objects.create(study=study, item=item, annotator=person, kind="pairwise", value={"choice": 1}, choice=1)
"""
ERASE = """
from annotation.models import Enrollment
from annotation.services.erasure import enrollment_erase
person = Enrollment.objects.get(annotator__external_id={!r})
enrollment_erase(enrollment=person, why="request", with_labels={})
"""
NAMES = "SELECT external_id FROM annotation_annotator WHERE source = 'prolific' ORDER BY id"
LABELS = "SELECT count(*) FROM annotation_label"


def test_a_restored_site_does_not_know_them_again(site: BackedSite) -> None:
    site.run(PEOPLE)
    backup = site.backup()
    site.run(ERASE.format("Ada", False))
    site.run(ERASE.format("Bea", True))
    assert site.rows(NAMES) == [("Cora",)]
    said = site.manage("restore", str(backup), "--replace")
    assert "2 people erased again" in said
    assert site.rows(NAMES) == [("Cora",)]
    assert site.rows(LABELS) == [(2,)]
    assert "0 people were erased; 2 others" in site.manage("apply_erasures")


def test_on_another_machine_a_copy_of_the_list_does_it(site: BackedSite, elsewhere: BackedSite) -> None:
    site.run(PEOPLE)
    backup = site.backup()
    site.run(ERASE.format("Ada", False))
    copied = elsewhere.var / "copied.jsonl"
    shutil.copy(site.var / "erasures.jsonl", copied)
    said = elsewhere.manage("restore", str(backup))
    assert "There's no list of erasures" in said
    assert elsewhere.rows(NAMES) == [("Ada",), ("Bea",), ("Cora",)]
    assert "1 people would be erased" in elsewhere.manage(
        "apply_erasures", "--file", str(copied), "--dry-run"
    )
    assert "1 people were erased" in elsewhere.manage("apply_erasures", "--file", str(copied))
    assert elsewhere.rows(NAMES) == [("Bea",), ("Cora",)]


def test_a_list_that_was_lost_is_written_from_the_database_that_is_replaced(site: BackedSite) -> None:
    site.run(PEOPLE)
    backup = site.backup()
    site.run(ERASE.format("Ada", False))
    (site.var / "erasures.jsonl").unlink()
    assert "1 people erased again" in site.manage("restore", str(backup), "--replace")
    assert site.rows(NAMES) == [("Bea",), ("Cora",)]


def test_a_damaged_list_is_said_and_the_site_is_restored(site: BackedSite) -> None:
    site.run(PEOPLE)
    backup = site.backup()
    (site.var / "erasures.jsonl").write_text("{")
    said = site.manage("restore", str(backup), "--replace", fails=True)
    assert "line 1: expected an erasure" in said
    assert "The site is restored" in said
    assert site.rows(NAMES) == [("Ada",), ("Bea",), ("Cora",)]

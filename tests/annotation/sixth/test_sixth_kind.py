"""A sixth kind of item goes the whole way, from a file to agreement, by one class, its figures and one template."""

import copy
import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.domain.errors import StudyRuleError
from annotation.importers.errors import ImportFileError
from annotation.importers.generic import read_generic
from annotation.kinds import KINDS, kind_of, register
from annotation.models import Assignment, Dataset, Invitation, Item, Label, Study
from annotation.selectors.adjudication import disputed_items
from annotation.selectors.shown import shown_clear
from annotation.services.studies import study_create
from judges.models import Judgment
from metaeval.figures import FIGURES, checklist
from tests.annotation.cast import client_of, study_fields, text_of
from tests.annotation.factories import user_make
from tests.annotation.sixth import Acceptable

pytestmark = pytest.mark.django_db

ROWS: list[dict[str, Any]] = [
    {
        "id": f"a{number}",
        "kind": "acceptable",
        "instruction": f"Name a {what}.",
        "responses": [{"system": "secret-system", "text": f"It is {what} number {number}."}],
        "gold": {"acceptable": number != 1},
        "verdicts": [{"judge": "j", "value": {"acceptable": True}}],
    }
    for number, what in enumerate(("tree", "fish", "bird"))
]

# One question with two answers: a checklist of one aspect.
FIGURES_OF_ACCEPTABLE = replace(checklist.KIND, so_far=("pair_exact", "agreement"))


@pytest.fixture(autouse=True)
def sixth(settings: Any) -> Iterator[Acceptable]:
    kind = Acceptable()
    templates = copy.deepcopy(settings.TEMPLATES)
    templates[0]["DIRS"] = [*templates[0]["DIRS"], Path(__file__).parent / "templates"]
    settings.TEMPLATES = templates
    register(kind)
    FIGURES[kind.name] = FIGURES_OF_ACCEPTABLE
    yield kind
    del KINDS[kind.name], FIGURES[kind.name]
    shown_clear()


def file_of(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "acceptable.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def opened(folder: Path) -> tuple[Client, Study]:
    """A dataset by the command line, and a study of it by the researcher's pages."""
    owner = user_make(username="alice")
    call_command(
        "import_dataset", "generic", str(file_of(folder, ROWS)), "--name", "accept", "--owner", "alice"
    )
    dataset, alice = Dataset.objects.get(name="accept"), client_of(owner)
    fields = study_fields(
        dataset, kind="acceptable", consent="", guidelines="", qualification_size=0, qualification_pass=0
    )
    created = alice.post(
        reverse("annotation:study-create"), fields | {"question": kind_of("acceptable").question}
    )
    assert created.status_code == 302, text_of(created)
    study = Study.objects.get()
    told = alice.post(reverse("annotation:study-state", args=[study.slug]), {"action": "open"}, follow=True)
    study.refresh_from_db()
    assert study.state == "open", text_of(told)
    alice.post(reverse("annotation:invitation-create", args=[study.slug]), {})
    return alice, study


def answered(study: Study, said: list[str]) -> Client:
    """Somebody who comes in by the invitation and answers in the order of the dataset."""
    person = Client()
    person.post(reverse("annotation:join", args=[Invitation.objects.get().token]), follow=True)
    work = reverse("annotation:work", args=[study.slug])
    wanted = dict(zip((row["id"] for row in ROWS), said, strict=True))
    for _ in ROWS:
        page = person.post(work, follow=True)
        assert 'name="acceptable"' in page.content.decode(), text_of(page)
        assert "secret-system" not in page.content.decode()
        lease = Assignment.objects.get(state="open")
        name = lease.study_item.item.external_id
        page = reverse("annotation:assignment", args=[study.slug, lease.pk])
        assert "Choose an answer first." in text_of(person.post(page, {}))
        person.post(page, {"acceptable": wanted[name]}, follow=True)
    return person


def test_from_a_file_to_agreement(tmp_path: Path):
    alice, study = opened(tmp_path)
    assert study.state == "open"
    person = answered(study, ["yes", "no", "yes"])
    answered(study, ["yes", "yes", "yes"])

    assert Label.objects.current().count() == 6
    assert {label.value["acceptable"] for label in Label.objects.filter(item__external_id="a1")} == {
        True,
        False,
    }
    mine = person.get(reverse("annotation:answers", args=[study.slug]))
    assert "Not acceptable" in text_of(mine)
    first = person.get(
        reverse("annotation:assignment", args=[study.slug, Assignment.objects.earliest("pk").pk])
    )
    assert "You answered: Acceptable" in text_of(first)

    live = text_of(alice.get(reverse("annotation:study-live", args=[study.slug])))
    assert "Pairwise agreement" in live
    assert "66.7" in live
    people = text_of(alice.get(reverse("annotation:study-people", args=[study.slug])))
    assert "As shown" not in people

    assert alice.get(reverse("metaeval:report-list")).status_code == 200

    (disputed,) = disputed_items(study)
    item = Item.objects.get(pk=disputed.item)
    assert item.external_id == "a1"
    said = alice.get(reverse("annotation:study-adjudicate-item", args=[study.slug, item.pk]) + "?said=1")
    assert "Acceptable" in text_of(said)
    decided = reverse("annotation:study-adjudicate-item", args=[study.slug, item.pk])
    alice.post(decided, {"acceptable": "no", "note": "It is no fish."})

    for shape, column in (("labels", "value"), ("parts", "part_value")):
        export = alice.get(reverse("annotation:study-export", args=[study.slug, "csv"]) + f"?shape={shape}")
        body = b"".join(export.streaming_content).decode()  # type: ignore[attr-defined]
        rows = list(csv.DictReader(io.StringIO(body, newline="")))
        assert len(rows) == 6
        assert {row["kind"] for row in rows} == {"acceptable"}
        assert len({row[column] for row in rows}) == 2


def test_a_judge_said_the_same_form(tmp_path: Path):
    alice, _study = opened(tmp_path)
    judgment = Judgment.objects.get(item__external_id="a1")
    assert judgment.value == {"acceptable": True}
    page = text_of(alice.get(reverse("judges:judgment", args=[judgment.pk])))
    assert "Acceptable" in page
    assert "Acceptability" in page
    listed = alice.get(reverse("judges:judgment-list", args=["accept"]))
    assert listed.status_code == 200


def test_a_file_with_another_value_is_refused(tmp_path: Path):
    with pytest.raises(ImportFileError, match="expected true or false, found 'maybe'"):
        read_generic(file_of(tmp_path, [ROWS[0] | {"gold": {"acceptable": "maybe"}}]))


def test_a_study_of_it_has_no_rules_of_others(tmp_path: Path):
    _alice, study = opened(tmp_path)
    with pytest.raises(StudyRuleError, match="only pairs have a strength of preference"):
        study_create(dataset=study.dataset, title="Odd", kind="acceptable", preference_points=5)


def test_a_name_that_nobody_registered_is_no_kind(tmp_path: Path):
    _alice, study = opened(tmp_path)
    with pytest.raises(StudyRuleError, match="expected one of pairwise, rubric"):
        study_create(dataset=study.dataset, title="Odd", kind="poem")
    study.kind = "poem"
    with pytest.raises(ValidationError, match="poem"):
        study.full_clean()


def test_how_right_it_is():
    kind = kind_of("acceptable")
    assert kind.score({"acceptable": True}, {"acceptable": True}) == 1.0
    assert kind.score({"acceptable": True}, {"acceptable": False}) == 0.0
    assert not kind.grade({"acceptable": False}, {"acceptable": True}).is_right

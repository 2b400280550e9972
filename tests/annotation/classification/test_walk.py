"""Items to classify go the whole way, from a file to agreement: one category, and several."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Dataset, Invitation, Item, Label, Study
from annotation.selectors.adjudication import disputed_items
from judges.backends.mock_server import running_mock_server
from judges.models import Judgment
from tests.annotation.cast import client_of, study_fields, text_of
from tests.annotation.factories import user_make
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

pytestmark = pytest.mark.django_db

TOPICS = {
    "list": [
        {"key": "sport", "definition": "Games, athletes and their results."},
        {"key": "money", "definition": "Prices, wages and markets."},
        "weather",
    ]
}
ROWS: list[dict[str, Any]] = [
    {
        "id": f"n{number}",
        "kind": "classification",
        "instruction": text,
        "gold": gold,
        "verdicts": [{"judge": "j", "value": said}],
    }
    for number, (text, gold, said) in enumerate(
        (
            ("The home team won.", "sport", "sport"),
            ("Bread costs more.", "Money", "sport"),
            ("It rains.", "weather", "weather"),
        )
    )
]


def file_of(folder: Path, rows: list[dict[str, Any]], name: str = "topics.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def opened(folder: Path, several: bool = False) -> tuple[Client, Study]:
    """A dataset by the command line, and a study of it by the researcher's pages."""
    owner = user_make(username="alice")
    declared = [{"categories": TOPICS | {"several": several}}]
    path = file_of(folder, declared + ROWS)
    call_command("import_dataset", "generic", str(path), "--name", "topics", "--owner", "alice")
    dataset, alice = Dataset.objects.get(name="topics"), client_of(owner)
    fields = study_fields(
        dataset,
        kind="classification",
        consent="",
        guidelines="",
        qualification_size=0,
        qualification_pass=0,
        question="What is it about?",
    )
    created = alice.post(reverse("annotation:study-create"), fields)
    assert created.status_code == 302, text_of(created)
    study = Study.objects.get()
    alice.post(reverse("annotation:study-state", args=[study.slug]), {"action": "open"}, follow=True)
    study.refresh_from_db()
    assert study.state == "open"
    alice.post(reverse("annotation:invitation-create", args=[study.slug]), {})
    return alice, study


def answered(study: Study, said: list[dict[str, str]]) -> Client:
    """Somebody who comes in by the invitation and answers in the order of the dataset."""
    person = Client()
    person.post(reverse("annotation:join", args=[Invitation.objects.get().token]), follow=True)
    wanted = dict(zip((row["id"] for row in ROWS), said, strict=True))
    for _ in ROWS:
        work = person.post(reverse("annotation:work", args=[study.slug]), follow=True)
        shown = text_of(work)
        assert "Games, athletes and their results." in shown
        assert "What is it about?" in shown
        lease = Assignment.objects.get(state="open")
        page = reverse("annotation:assignment", args=[study.slug, lease.pk])
        assert "first." in text_of(person.post(page, {}))
        person.post(page, wanted[lease.study_item.item.external_id], follow=True)
    return person


def one(name: str) -> dict[str, str]:
    return {"category": name}


def sets(*names: str) -> dict[str, str]:
    return {f"category-{name}": "yes" for name in names}


def test_one_category_from_a_file_to_agreement(tmp_path: Path):
    alice, study = opened(tmp_path)
    person = answered(study, [one("sport"), one("money"), one("weather")])
    answered(study, [one("sport"), one("sport"), one("weather")])
    answered(study, [one("sport"), one("money"), one("weather")])

    first = Label.objects.filter(item__external_id="n1").earliest("pk")
    assert first.value == {"categories": {"sport": False, "money": True, "weather": False}}
    assert "money" in text_of(person.get(reverse("annotation:answers", args=[study.slug])))

    live = text_of(alice.get(reverse("annotation:study-live", args=[study.slug])))
    assert "alpha, nominal" in live
    assert "MASI" not in live
    assert "ordinal" not in live
    # Two of three items agreed on; on the third one of three pairs.
    assert "77.8" in live

    (disputed,) = disputed_items(study)
    item = Item.objects.get(pk=disputed.item)
    assert item.external_id == "n1"
    page = reverse("annotation:study-adjudicate-item", args=[study.slug, item.pk])
    shown = text_of(alice.get(page + "?said=1"))
    assert "Chosen" in shown
    alice.post(page, one("money") | {"note": "It is about prices."})

    for shape, rows_of_label in (("labels", 1), ("parts", 3)):
        export = alice.get(reverse("annotation:study-export", args=[study.slug, "csv"]) + f"?shape={shape}")
        body = b"".join(export.streaming_content).decode()  # type: ignore[attr-defined]
        assert len(list(csv.DictReader(io.StringIO(body, newline="")))) == 9 * rows_of_label


def test_several_categories(tmp_path: Path):
    alice, study = opened(tmp_path, several=True)
    answered(study, [sets("sport"), sets("money", "weather"), sets("weather")])
    answered(study, [sets("sport"), sets("money"), sets("weather")])
    live = text_of(alice.get(reverse("annotation:study-live", args=[study.slug])))
    assert "alpha, MASI 0.722" in live
    assert "nominal" not in live


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("several", [False, True])
def test_judges_classify_in_a_sweep_with_a_comparison(tmp_path: Path, several: bool):
    alice, study = opened(tmp_path, several)
    for right in ("money", "sport", "money"):
        said = ("sport", right, "weather")
        answered(study, [sets(name) if several else one(name) for name in said])
    dataset = Dataset.objects.get(name="topics")
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url, structured="json_schema")
        judges = [
            judge_make(endpoint, "mock-overlap", name="plain", strategy="classification_direct"),
            judge_make(
                endpoint,
                "mock-random",
                name="reasons",
                strategy="classification_direct",
                params={"cot": True},
            ),
            judge_make(endpoint, "mock-first", name="own", strategy="own_classification"),
        ]
        jury = judge_make(None, name="jury", strategy="jury", members=dict(zip("abc", judges, strict=True)))
        sweep = sweep_make([*judges, jury], dataset)
        run()
    sweep.refresh_from_db()
    assert sweep.state == "finished"
    found = Judgment.objects.filter(judge__name__in=("plain", "reasons", "own", "jury"))
    assert found.count() == 12
    for judgment in found:
        if judgment.status == "parsed":
            chosen = judgment.value["categories"]
            assert list(chosen) == ["sport", "money", "weather"]
            assert sum(chosen.values()) == 1 or several
        else:
            assert (judgment.judge.name, judgment.value["reason"]) == ("jury", "the members' votes are drawn")
    first = {"sport": True, "money": False, "weather": False}
    assert [row.value["categories"] for row in found.filter(judge__name="own")] == [first] * 3
    page = text_of(alice.get(reverse("metaeval:comparison", args=[sweep.pk])))
    assert "jury" in page
    assert "Macro F1" in page


def test_a_judge_says_the_same_form(tmp_path: Path):
    alice, _study = opened(tmp_path)
    judgment = Judgment.objects.get(item__external_id="n1")
    assert judgment.value == {"categories": {"sport": True, "money": False, "weather": False}}
    page = text_of(alice.get(reverse("judges:judgment", args=[judgment.pk])))
    assert "sport" in page
    assert alice.get(reverse("judges:judgment-list", args=["topics"])).status_code == 200

"""Planning a study: from guesses, from a pilot, with hostile numbers, of somebody else's dataset."""

import hashlib
import json
import re
import time

import numpy as np
import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse

from metaeval.models import Preregistration, Report
from metaeval.reports.preregistration import preregistration_hash
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.metaeval.rows import judge_make, judgments_make
from tests.metaeval.rows import labels_make as choices_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db


def address(dataset, name="plan"):
    return reverse(f"metaeval:{name}", args=[dataset.name])


def pilot_make(n=40, annotators=6, **study):
    """A dataset whose study has labels that two judges mostly agree with."""
    dataset = dataset_make(pairs=n, gold=False)
    rng = np.random.default_rng(0)
    lean = 1 + (np.arange(n) % 2)
    said = [[int(3 - one if rng.random() < 0.25 else one) for _ in range(annotators)] for one in lean]
    study = study_make(dataset=dataset, overlap=annotators, state="draft", **study)
    choices_make(dataset=dataset, choices=said, study=study)
    good, poor = judge_make("Good"), judge_make("Poor", strategy="cot")
    judgments_make(judge=good, dataset=dataset, choices=[(int(one),) * 2 for one in lean])
    judgments_make(
        judge=poor,
        dataset=dataset,
        choices=[(int(one if k % 3 else 3 - one),) * 2 for k, one in enumerate(lean)],
    )
    return dataset, study, good, poor


def test_a_plan_from_guesses_names_the_cheapest_design_that_will_do(client):
    alice = user_make(username="alice")
    client.force_login(alice)
    dataset = dataset_make(pairs=2)
    page = client.get(address(dataset)).content.decode()
    assert page.partition("plan-table")[2].count("<tr") == 1 + 4 * 3
    assert "cheapest of these designs that reaches a power of" in page
    # 800 items x 2 labels at $0.50, 800 x 2 judges x 2 orders at $0.002.
    asked = {"items": "800", "labels": "2", "question": "precise", "figure": "people", "width": "9"}
    page = client.get(address(dataset), asked).content.decode()
    assert "$800.00" in page
    page = client.get(address(dataset), asked | {"figure": "judge", "width": "0.1"}).content.decode()
    assert "$806.40" in page
    assert "None of these designs reaches" in page


def test_a_plan_from_a_pilot_has_its_labels_its_pay_and_says_what_money_buys(client):
    alice = user_make(username="alice")
    client.force_login(alice)
    dataset, study, good, poor = pilot_make(owner=alice, pay_per_item="0.25", pay_currency="EUR")
    asked = {
        "pilot": f"study-{study.slug}",
        "figure": "judge_minus_judge",
        "question": "superior",
        "margin": "0",
    }
    response = client.get(address(dataset), asked)
    page = response.content.decode()
    form = response.context["form"]
    assert (form["label_price"].value(), form["judge"].value()) == ("0.25", good.fingerprint)
    assert form["rival"].value() == poor.fingerprint
    found = response.context["page"].rows[0]
    # They differ on a third of the items, and there one label in four is on the poor one's side: (0.75 - 0.25) / 3.
    assert found.interval.value == pytest.approx(0.167, abs=0.05)
    assert "What the next €100.00 buy" in page
    assert "Pay for more" in page
    assert not Report.objects.exists()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"items": "9" * 400}, "at most 80 characters"),
        ({"items": "٣٠٠"}, "Enter whole numbers"),
        ({"items": "10,20,30,40,50,60,70"}, "Enter at most 6"),
        ({"items": "9000000"}, "Enter numbers from 10"),
        ({"items": ""}, "This field is required"),
        ({"labels": "51"}, "Enter numbers from 2"),
        ({"labels": "5", "people": "3"}, "more labels per item than annotators"),
        ({"margin": "nan"}, "Enter a number"),
        ({"margin": "1e400"}, "Enter a number"),
        ({"margin": "<script>"}, "Enter a number"),
        ({"n_judges": "99999999999999999999"}, "less than or equal"),
        ({"ahead": "30", "discordance": "20"}, "These assumptions contradict each other"),
        ({"figure": "people", "question": "superior"}, "Power needs a difference"),
        ({"figure": "nothing"}, "Select a valid choice"),
        ({"question": "equivalent", "margin": "0"}, "margin above 0"),
    ],
)
def test_what_cannot_be_planned_is_said_beside_its_field(client, asked, words):
    client.force_login(user_make(username="alice"))
    response = client.get(address(dataset_make(pairs=1)), asked)
    assert response.status_code == 200
    text = re.sub(r"<[^>]+>", " ", response.content.decode())
    assert words in text
    assert response.context.get("page") is None


def test_the_largest_plan_is_bounded_and_whatever_the_guesses_it_answers(client):
    client.force_login(user_make(username="alice"))
    dataset = dataset_make(pairs=1)
    most = {
        "items": "10,20,30,400,500,1000000",
        "labels": "2,48,49,50",
        "people": "50,60,10000",
        "n_judges": "1000",
    }
    begun = time.process_time()
    for guesses in (
        {"agree_people": "100", "agree_judge": "100"},
        {"agree_people": "0", "agree_judge": "50", "person_sd": "50"},
        {"ahead": "0", "discordance": "0", "figure": "judge_minus_judge", "question": "superior"},
        {"per_instruction": "1000", "intraclass": "1"},
        {"question": "equivalent", "margin": "99", "confidence": "99", "figure": "judge_minus_judge"},
    ):
        response = client.get(address(dataset), most | guesses)
        assert response.status_code == 200
        assert len(response.context["page"].rows) == 72
    # Processor time, of five plans of the largest size that the form takes.
    assert time.process_time() - begun < 30


def test_a_pilot_is_whose_it_is(client):
    alice, bob = user_make(username="alice"), user_make(username="bob")
    dataset, study, *_ = pilot_make(n=6, owner=alice)
    client.force_login(bob)
    response = client.get(address(dataset), {"pilot": f"study-{study.slug}"})
    assert study.title not in response.content.decode()
    assert response.context["form"]["pilot"].value() == "guess"
    # What the dataset has for Bob are no labels of Alice's study.
    response = client.get(address(dataset), {"pilot": "dataset"})
    assert "Enter assumptions instead" in response.content.decode()
    hidden = dataset_make(pairs=1, split="private", owner=alice)
    assert client.get(address(hidden)).status_code == 404
    client.logout()
    assert client.get(address(dataset)).status_code == 302


# --- preregistrations ----------------------------------------------------------------------------------------------

SENT = {
    "design": "800-3-16",
    "title": "Judge | <b>against</b> people",
    "question": "May the judge label in place of people?",
    "epsilon": "0.2",
    "stopping": "fixed",
    "notes": "",
}


def register(client, dataset, query="?margin=7", **changed):
    return client.post(address(dataset, "plan-register") + query, SENT | changed)


def test_a_design_is_frozen_with_its_hash_and_can_be_taken_away(client):
    alice = user_make(username="alice")
    client.force_login(alice)
    dataset = dataset_make(pairs=2)
    response = register(client, dataset)
    frozen = Preregistration.objects.get()
    assert response.url == reverse("metaeval:preregistration", args=[frozen.pk])
    page = client.get(response.url).content.decode()
    assert "800" in page
    assert "7.0 points" in page
    assert frozen.sha256 in page
    assert "<b>against" not in page
    json_file, text = (
        client.get(reverse("metaeval:preregistration-download", args=[frozen.pk, suffix])).content
        for suffix in ("json", "md")
    )
    assert hashlib.sha256(json_file).hexdigest() == frozen.sha256
    document = json.loads(json_file)
    assert (document["margin"], document["epsilon"], document["labels_before"]) == (0.07, 0.2, 0)
    assert document["design"] == {"n_items": 800, "labels_per_item": 3, "n_people": 16, "n_judges": 2}
    assert frozen.sha256 in text.decode()
    assert "<b>" not in text.decode()
    assert frozen.title in client.get(address(dataset)).content.decode().replace("&lt;", "<").replace(
        "&gt;", ">"
    )
    with pytest.raises(DatabaseError, match="frozen"), transaction.atomic():
        Preregistration.objects.update(title="Another")


@pytest.mark.parametrize(
    ("query", "changed", "words"),
    [
        ("?margin=7", {"design": "1-2-3"}, "Design: Select a valid choice"),
        ("?margin=7", {"title": ""}, "Title: This field is required"),
        ("?margin=7", {"question": "x" * 2001}, "Research question"),
        ("?margin=7", {"stopping": "other"}, "Describe the stopping rule"),
        ("?margin=7", {"epsilon": "7"}, "Epsilon"),
        ("?margin=x", {}, "cannot be calculated"),
        ("?labels=9&people=2", {}, "more labels per item than annotators"),
        ("?pilot=dataset", {}, "Nothing was registered"),
    ],
)
def test_what_cannot_be_registered_is_said(client, query, changed, words):
    client.force_login(user_make(username="alice"))
    response = client.post(
        address(dataset_make(pairs=1), "plan-register") + query, SENT | changed, follow=True
    )
    assert words in response.content.decode()
    assert not Preregistration.objects.exists()


def test_sent_twice_it_is_one_and_a_changed_one_is_a_new_one(client):
    alice, bob = user_make(username="alice"), user_make(username="bob")
    client.force_login(alice)
    dataset = dataset_make(pairs=2)
    first, second = register(client, dataset), register(client, dataset)
    assert first.url == second.url
    register(client, dataset, title="Another")
    assert Preregistration.objects.count() == 2
    # Somebody else's is theirs alone, and hidden from who did not make it.
    client.force_login(bob)
    assert client.get(first.url).status_code == 404
    assert client.get(first.url + "preregistration.json").status_code == 404
    assert "people" not in client.get("/reports/").content.decode().partition("Preregistration")[2]
    assert register(client, dataset_make(pairs=1, split="private", owner=alice)).status_code == 404
    client.logout()
    assert register(client, dataset).url.startswith("/login/")
    assert Preregistration.objects.count() == 2


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_sent_by_many_at_once_it_is_one():
    alice = user_make(username="alice")
    dataset = dataset_make(pairs=2)
    browsers = browsers_of(alice, 4)
    urls = all_at_once(lambda browser: register(browser, dataset).url, browsers)
    assert len(set(urls)) == Preregistration.objects.count() == 1
    frozen = Preregistration.objects.get()
    assert preregistration_hash(frozen.content) == frozen.sha256


def test_a_report_says_line_by_line_what_was_kept(client):
    alice = user_make(username="alice")
    client.force_login(alice)
    dataset, study, *_ = pilot_make(n=20, annotators=6, owner=alice)
    register(client, dataset, "?items=20,40&labels=6&people=6&margin=5", design="20-6-6", title="Kept?")
    frozen = Preregistration.objects.get()
    assert frozen.content["labels_before"] == 120
    sent = {"name": f"study/{study.slug}", "epsilon": "0.2", "margin": "3", "annotators": "alike"}
    plain = client.post("/reports/new/", sent)
    named = client.post("/reports/new/", sent | {"preregistration": str(frozen.pk)})
    assert plain.url != named.url
    assert client.post("/reports/new/", sent | {"preregistration": str(frozen.pk)}).url == named.url
    report = Report.objects.get(preregistration=frozen)
    kept = {line["what"]: line["kept"] for line in report.content["planned"]["lines"]}
    assert kept == {
        "Dataset": True, "Estimand": True, "Hypothesis": None, "Items": True, "Labels per item": True,
        "Annotators": True, "Judges": True,
        "Population": True, "Margin": False, "Epsilon": True, "Confidence level": True, "Stopping rule": True,
    }  # fmt: skip
    page = client.get(named.url).content.decode()
    assert "Preregistered plan" in page
    assert "<strong>differs</strong>" in page
    assert "Preregistered plan" not in client.get(plain.url).content.decode()
    for suffix, words in {
        "md": "## Preregistered plan",
        "tex": "Preregistered plan",
        "json": '"planned"',
    }.items():
        assert words in client.get(f"{named.url}report.{suffix}").content.decode()
        assert words not in client.get(f"{plain.url}report.{suffix}").content.decode()
    # Of a plan that is somebody else's there is no report.
    client.force_login(user_make(username="bob"))
    sent = {"name": f"dataset/{dataset.name}/pairwise", "preregistration": str(frozen.pk)}
    client.post("/reports/new/", sent)
    assert Report.objects.filter(preregistration=frozen).count() == 1

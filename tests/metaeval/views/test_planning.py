"""Planning a study: from guesses, from a pilot, with hostile numbers, of somebody else's dataset."""

import re
import time

import numpy as np
import pytest
from django.urls import reverse

from metaeval.models import Report
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.metaeval.rows import judge_make, judgments_make
from tests.metaeval.rows import labels_make as choices_make

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
    assert page.count("<tr") == 1 + 4 * 3
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
        ({"ahead": "30", "discordance": "20"}, "These guesses contradict each other"),
        ({"figure": "people", "question": "superior"}, "Power is of a difference"),
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
    assert "Enter guesses instead" in response.content.decode()
    hidden = dataset_make(pairs=1, split="private", owner=alice)
    assert client.get(address(hidden)).status_code == 404
    client.logout()
    assert client.get(address(dataset)).status_code == 302

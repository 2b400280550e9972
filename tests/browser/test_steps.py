"""The steps before the work in a real browser: by key, wide and narrow, light and dark, under axe-core."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Enrollment, Kind, QualificationQuestion, Stage, Study
from annotation.selectors.steps import question_next
from tests.annotation.factories import enrollment_make, invitation_make, study_make
from tests.annotation.kinds import VALUES, kind_study_make
from tests.browser.axe import violations
from tests.browser.conftest import press

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

QUESTIONS = [
    {
        "key": "native",
        "question": "Is English your first language?",
        "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
    },
    {
        "key": "degree",
        "question": "What is the highest degree that you have finished?",
        "options": [
            {"text": "None of these", "eligible": False},
            {"text": "Bachelor", "eligible": True},
            {"text": "Master or doctorate", "eligible": True},
        ],
    },
]


def part_make(study: Study, part: str, size: int = 1, skip: int = 0) -> None:
    for place, item in enumerate(study.dataset.items.order_by("position")[skip : skip + size]):
        QualificationQuestion.objects.create(study=study, item=item, position=place, part=part)
    study.dataset.items.update(explanation="It **follows** the instruction, and the other does not.")


def opened(page: Page, live_server, person: Enrollment) -> None:
    page.goto(live_server.url + reverse("annotation:resume", args=[person.resume_token]))


def test_from_the_link_to_the_work_by_keys(live_server, page: Page):
    study = study_make(
        pairs=4,
        eligibility=QUESTIONS,
        training_size=1,
        qualification=1,
        passing=1,
        pay_per_item="0.10",
        qualification_attempts=2,
        pay_for_test="0.50",
    )
    part_make(study, "training", skip=1)
    page.goto(live_server.url + reverse("annotation:join", args=[invitation_make(study=study).token]))
    press(page, "Enter")
    page.wait_for_selector("text=Before you start")
    press(page, "a")
    press(page, "Enter")
    page.wait_for_selector("h1:has-text('About you')")
    found = violations(page)  # of two questions, where the walk through all pages has one
    press(page, "1")  # Yes; the next question is the current one then
    press(page, "Enter")
    assert page.locator("#part-2").get_attribute("aria-current") == "true"
    press(page, "3")
    assert page.get_by_role("radio", name="Master or doctorate").is_checked()
    press(page, "Enter")
    page.wait_for_selector("text=Start the training")
    press(page, "Enter")
    page.wait_for_selector("text=This is practice")
    press(page, "a")
    press(page, "Enter")
    page.wait_for_selector("#verdict")
    press(page, "Enter")
    page.wait_for_selector("text=Question 1 of 1")
    person = Enrollment.objects.get()
    question = question_next(person)
    shown = question.order.index(question.question.item.gold["choice"] - 1)
    press(page, "ab"[shown])
    press(page, "Enter")
    page.wait_for_url(f"**/s/{study.slug}/work/**")
    assert not found, "\n".join(found)
    person.refresh_from_db()
    assert person.stage == Stage.WORK


@pytest.mark.parametrize("kind", [kind for kind in Kind.values if kind != Kind.PAIRWISE])
def test_training_and_test_of_every_kind(kind, live_server, page: Page):
    study = kind_study_make(
        kind, gold=VALUES[kind], training_size=2, qualification_size=1, qualification_pass=1
    )
    part_make(study, "training", size=2)
    part_make(study, "test", skip=2)
    person = enrollment_make(study=study, stage=Stage.TRAINING)
    opened(page, live_server, person)
    page.wait_for_selector("text=This is practice")
    found = violations(page)
    answer_by_keys(page, kind)
    page.wait_for_selector("#verdict")
    found += violations(page)
    press(page, "Enter")
    page.wait_for_selector("text=Training 2 of 2")
    answer_by_keys(page, kind)
    page.wait_for_selector("text=Start the test")
    press(page, "Enter")
    page.wait_for_selector("text=Question 1 of 1")
    found += violations(page)
    assert not found, "\n".join(found)


def answer_by_keys(page: Page, kind: str) -> None:
    by_kind = {"rubric": "45", "checklist": "yny", "importance": "123", "answer_ranking": "123"}
    keys = (by_kind | {"classification": "1"})[kind]
    given = "[data-ranked] [data-rank-card]" if kind in ("importance", "answer_ranking") else ".part :checked"
    for number, key in enumerate(keys, start=1):
        press(page, key)
        expect(page.locator(given)).to_have_count(number)
    expect(page.locator(".answer-bar button[type=submit]")).to_be_enabled()
    press(page, "Enter")

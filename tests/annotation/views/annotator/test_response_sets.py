"""A study that asks for response sets: the page, what is stored, drafts, changes, what people and experts read."""

import json
import re

import pytest
from django.test import Client

from annotation.models import (
    Adjudication,
    Assignment,
    Enrollment,
    Kind,
    Label,
    QualificationAnswer,
    QualificationQuestion,
    Stage,
    Study,
)
from annotation.selectors.steps import training_next
from annotation.services.assignments import assignment_claim
from annotation.services.labels import label_change
from tests.annotation.cast import client_of as staff_of
from tests.annotation.cast import text_of
from tests.annotation.cast import url as staff_url
from tests.annotation.factories import annotator_make, enrollment_make
from tests.annotation.kinds import kind_study_make
from tests.annotation.visits import client_of, url
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
KINDS = [Kind.PAIRWISE, Kind.RUBRIC, Kind.CLASSIFICATION]
ANSWERS = {
    Kind.PAIRWISE: {"choice": "1"},
    Kind.RUBRIC: {"rating-helpful": "4", "rating-clear": "5"},
    Kind.CLASSIFICATION: {"category": "length"},
}
MARKS = {
    Kind.PAIRWISE: {"reasonable-0": "yes"},
    Kind.RUBRIC: {"reasonable-5.helpful": "yes", "reasonable-5.clear": "yes"},
    Kind.CLASSIFICATION: {"reasonable-tone": "yes"},
}
SETS = {
    Kind.PAIRWISE: lambda first: [str(first), "0"] if first == 1 else ["0", "2"],
    Kind.RUBRIC: lambda _: {"helpful": [4, 5], "clear": [5]},
    Kind.CLASSIFICATION: lambda _: ["length", "tone"],
}


def at_work(kind, **rules):
    study = kind_study_make(kind, response_sets=True, **rules)
    person = Enrollment.objects.select_related("study", "annotator").get(pk=enrollment_make(study=study).pk)
    lease = assignment_claim(enrollment=person)
    assert lease is not None
    return study, client_of(person), lease


def page_of(study, lease):
    return url("assignment", study, lease.pk)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_asks_and_the_label_has_the_set(kind):
    study, browser, lease = at_work(kind)
    html = browser.get(page_of(study, lease)).content.decode()
    groups = re.findall(r"<fieldset class=\"reasonable[^>]*>\s*<legend>(Also reasonable)", html)
    assert len(groups) == (2 if kind == Kind.RUBRIC else 1)
    boxes = re.findall(r'<input type="checkbox" id="([^"]+)" name="(reasonable-[^"]+)" value="yes"', html)
    assert (
        len({box for box, _ in boxes})
        == len(boxes)
        == {"pairwise": 3, "rubric": 10, "classification": 3}[kind]
    )
    assert all(f'for="{box}"' in html for box, _ in boxes)
    assert set(MARKS[kind]) <= {name for _, name in boxes}
    answered = browser.post(page_of(study, lease), ANSWERS[kind] | MARKS[kind], follow=True)
    assert answered.status_code == 200
    label = Label.objects.get()
    assert label.value["reasonable"] == SETS[kind](lease.shown_order[0] + 1)
    # Sent twice it is one label; without marks the set is the choice alone.
    browser.post(page_of(study, lease), ANSWERS[kind] | MARKS[kind], follow=True)
    assert Label.objects.count() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_other_studies_do_not_ask(kind):
    study, browser, lease = at_work(kind)
    Study.objects.update(response_sets=False)
    assert "reasonable" not in browser.get(page_of(study, lease)).content.decode()
    browser.post(page_of(study, lease), ANSWERS[kind] | MARKS[kind], follow=True)
    assert "reasonable" not in Label.objects.get().value


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_keeps_the_marks(kind):
    study, browser, lease = at_work(kind)
    draft = url("draft", study, lease.pk)
    assert browser.post(draft, ANSWERS[kind] | MARKS[kind]).status_code == 204
    html = browser.get(page_of(study, lease)).content.decode()
    ticked = re.findall(r'name="(reasonable-[^"]+)" value="yes" data-also checked', html)
    assert set(ticked) == set(MARKS[kind])
    assert browser.post(draft, ANSWERS[kind]).status_code == 204
    assert "data-also checked" not in browser.get(page_of(study, lease)).content.decode()


def test_an_answer_that_is_missing_leaves_the_marks():
    study, browser, lease = at_work(Kind.RUBRIC)
    page = browser.post(page_of(study, lease), {"rating-helpful": "4", **MARKS[Kind.RUBRIC]})
    assert page.status_code == 422
    assert page.content.decode().count("data-also checked") == 2
    assert not Label.objects.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_read_and_changed_with_its_set(kind):
    study, browser, lease = at_work(kind)
    browser.post(page_of(study, lease), ANSWERS[kind] | MARKS[kind], follow=True)
    said = text_of(browser.get(url("answers", study)))
    assert "(also reasonable: " in said
    html = browser.get(page_of(study, lease)).content.decode()
    assert ("also reasonable: " in html) == (kind == Kind.PAIRWISE)  # other kinds show it in the form alone
    assert html.count("data-also checked") >= 2  # what was chosen is in the set
    assert set(MARKS[kind]) <= set(
        re.findall(r'name="(reasonable-[^"]+)" value="yes" data-also checked', html)
    )
    browser.post(page_of(study, lease), {"change": "1", **ANSWERS[kind]}, follow=True)
    first, second = Label.objects.order_by("pk")
    assert second.supersedes == first
    assert first.value["reasonable"] != second.value["reasonable"]
    everything = json.dumps(second.value["reasonable"])
    assert everything.count(",") == (1 if kind == Kind.RUBRIC else 0)


def test_marks_that_nobody_offered_are_left_out():
    study, browser, lease = at_work(Kind.PAIRWISE, tie_policy="off")
    browser.post(
        page_of(study, lease), {"choice": "2", "reasonable-0": "yes", "reasonable-9": "yes"}, follow=True
    )
    label = Label.objects.get()
    assert label.value["reasonable"] == [str(label.choice)]


def test_nobody_answers_for_another():
    study, _browser, lease = at_work(Kind.PAIRWISE)
    stranger = client_of(enrollment_make(study=study))
    assert stranger.post(page_of(study, lease), {"choice": "1", "reasonable-0": "yes"}).status_code == 404
    Client().post(page_of(study, lease), {"choice": "1", "reasonable-0": "yes"})
    assert not Label.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_changes_at_once_leave_one_that_stands():
    study, browser, lease = at_work(Kind.PAIRWISE)
    browser.post(page_of(study, lease), {"choice": "1"}, follow=True)
    done = Assignment.objects.get(pk=lease.pk)

    def change(answers):
        return label_change(assignment=done, shown_value={"choice": 1, "reasonable": answers})

    all_at_once(change, [["1", "0"], ["1", "2"]])
    assert Label.objects.count() == 3
    assert Label.objects.standing().count() == 1


def test_experts_see_what_is_reasonable_and_decide_with_sets(cast):
    study = kind_study_make(Kind.PAIRWISE, response_sets=True, owner=cast.alice)
    item = study.dataset.items.first()
    for value in ({"choice": 1, "reasonable": ["1", "0"]}, {"choice": 2, "reasonable": ["2"]}):
        Label.objects.create(
            item=item,
            annotator=annotator_make(),
            study=study,
            kind="pairwise",
            value=value,
            choice=value["choice"],
            shown_order=[0, 1],
        )
    expert = staff_of(cast.alice)
    said = text_of(expert.get(staff_url("study-adjudicate-said", study.slug, item.pk), follow=True))
    assert re.search("Reasonable: +Answer A: +1 +Tie: +1 +Answer B: +1", said)
    page = staff_url("study-adjudicate-item", study.slug, item.pk)
    assert 'name="reasonable-0"' in expert.get(page).content.decode()
    expert.post(page, {"choice": "0", "reasonable-1": "yes", "reasonable-2": "yes", "reasonable-0": "yes"})
    assert Adjudication.objects.get().value == {"choice": 0, "reasonable": ["1", "0", "2"]}


def test_guidelines_say_what_it_means():
    study, browser, lease = at_work(Kind.PAIRWISE)
    Study.objects.update(guidelines="Be fair.")
    assert "mark every other answer that you find reasonable" in text_of(browser.get(page_of(study, lease)))


GOLD = {
    Kind.PAIRWISE: {"choice": 1, "reasonable": ["1", "0"]},
    Kind.RUBRIC: {"ratings": {"helpful": 4, "clear": 3}, "reasonable": {"helpful": [3, 4], "clear": [2, 3]}},
    Kind.CLASSIFICATION: {
        "categories": {"format": False, "length": True, "tone": False},
        "reasonable": ["format", "length"],
    },
}
SHOWN = {
    Kind.PAIRWISE: (["also reasonable: Tie"], "also reasonable: Tie"),
    Kind.RUBRIC: (["also reasonable: 5"], "also reasonable: 2"),
    Kind.CLASSIFICATION: (["also reasonable: tone"], "also reasonable: format"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_training_shows_the_set_beside_that_of_the_right_answer(kind):
    study = kind_study_make(kind, response_sets=True, training_size=1, gold=GOLD[kind])
    item = study.dataset.items.order_by("position").first()
    item.gold = GOLD[kind]
    item.save()
    QualificationQuestion.objects.create(study=study, item=item, position=0, part="training")
    person = enrollment_make(study=study, stage=Stage.TRAINING)
    browser = client_of(person)
    question = training_next(person).question
    form = {"question": question.pk} | ANSWERS[kind] | MARKS[kind]
    page = browser.post(url("training", study), form, follow=True)
    html = page.content.decode()
    given, right = html.split("You answered", 1)[1], SHOWN[kind][1]
    for said in SHOWN[kind][0]:
        assert said in given
    assert right in given
    assert QualificationAnswer.objects.get().value["reasonable"]

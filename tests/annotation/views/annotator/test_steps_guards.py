"""Each step's button: pressed by a stranger, for somebody else, twice, and many times at once."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    QualificationAnswer,
    QualificationAttempt,
    QualificationQuestion,
    QuestionPart,
    Stage,
    Study,
)
from annotation.selectors.steps import question_next, training_next
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.services.consent import consent_fingerprint
from annotation.services.qualification import qualification_answer
from tests.annotation.cast import text_of
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.annotation.visits import client_of, url
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
QUESTIONS = [
    {
        "key": "native",
        "question": "Is English your first language?",
        "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
    }
]
AT_ONCE = 6
# Step, name of its address, where it leads.
STEPS = [
    (Stage.CONSENT, "consent", Stage.ELIGIBILITY),
    (Stage.ELIGIBILITY, "eligibility", Stage.GUIDELINES),
    (Stage.GUIDELINES, "guidelines", Stage.TRAINING),
    (Stage.TRAINING, "training", Stage.TRAINING),
    (Stage.QUALIFICATION, "qualification", Stage.QUALIFICATION),
    (Stage.QUALIFICATION, "retry", Stage.QUALIFICATION),
    (Stage.WORK, "finish", Stage.DONE),
]
NAMES = [name for _, name, _ in STEPS]


def study_of_all_steps() -> Study:
    study = study_make(
        dataset=dataset_make(pairs=6),
        qualification=2,
        eligibility=QUESTIONS,
        training_size=1,
        qualification_attempts=2,
    )
    place = study.study_items.order_by("position").last()
    QualificationQuestion.objects.create(study=study, item=place.item, part=QuestionPart.TRAINING, position=0)
    place.delete()
    return study


def person_at(study: Study, stage: str, name: str) -> Enrollment:
    """Somebody at the step, as far as its button needs them to be."""
    pk = enrollment_make(study=study, stage=stage).pk
    person = Enrollment.objects.select_related("study", "annotator").get(pk=pk)
    if name == "retry":  # one attempt has failed
        for _ in range(2):
            question = question_next(person)
            right = question.question.item.gold["choice"]
            wrong = 1 + (question.order[0] == right - 1)
            qualification_answer(enrollment=person, question=question.question, shown_value={"choice": wrong})
    if name == "finish":
        lease = assignment_claim(enrollment=person)
        assignment_submit(assignment=lease, shown_value={"choice": 1})
        assignment_claim(enrollment=Enrollment.objects.select_related("study", "annotator").get(pk=pk))
    return Enrollment.objects.select_related("study", "annotator").get(pk=pk)


def data_of(person: Enrollment, name: str) -> dict[str, object]:
    if name == "consent":
        return {"agree": "yes", "fingerprint": consent_fingerprint(person.study)}
    if name == "eligibility":
        return {"question-native": "Yes"}
    if name in ("training", "qualification"):
        found = training_next(person) if name == "training" else question_next(person)
        return {"question": found.question.pk, "choice": "1", "attempt": "1"}
    return {}


def what_there_is() -> tuple[object, ...]:
    """Everything that the steps write, beside the moments."""
    people = Enrollment.objects.order_by("pk").values_list("pk", "stage", "eligibility", "completion_code")
    return (
        tuple(map(str, people)),
        QualificationAnswer.objects.count(),
        QualificationAttempt.objects.count(),
        Assignment.objects.filter(state=AssignmentState.OPEN).count(),
    )


@pytest.mark.parametrize(("stage", "name", "after"), STEPS, ids=NAMES)
def test_the_way_on(stage, name, after):
    study = study_of_all_steps()
    person = person_at(study, stage, name)
    before = what_there_is()
    assert client_of(person).post(url(name, study), data_of(person, name)).status_code == 302
    person.refresh_from_db()
    assert person.stage == after
    assert what_there_is() != before


@pytest.mark.parametrize(("stage", "name", "after"), STEPS, ids=NAMES)
def test_strangers_and_others_do_nothing_to_it(stage, name, after):
    study = study_of_all_steps()
    person = person_at(study, stage, name)
    elsewhere = enrollment_make(study=study_make(), stage=Stage.WORK)
    done = enrollment_make(study=study, stage=Stage.DONE)
    before = what_there_is()
    data = data_of(person, name)
    assert Client().post(url(name, study), data).status_code == 404
    assert client_of(elsewhere).post(url(name, study), data).status_code == 404
    client_of(done).post(url(name, study), data)
    assert what_there_is() == before


@pytest.mark.parametrize(("stage", "name", "after"), STEPS, ids=NAMES)
def test_twice_is_once(stage, name, after):
    study = study_of_all_steps()
    person = person_at(study, stage, name)
    browser, data = client_of(person), data_of(person, name)
    browser.post(url(name, study), data)
    once = what_there_is()
    browser.post(url(name, study), data)
    assert what_there_is() == once


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("stage", "name", "after"), STEPS, ids=NAMES)
def test_many_times_at_once_is_once(stage, name, after):
    study = study_of_all_steps()
    person = person_at(study, stage, name)
    other = person_at(study, stage, name)
    client_of(other).post(url(name, study), data_of(other, name))
    once, alone = what_there_is(), Enrollment.objects.get(pk=other.pk)
    data, browsers = data_of(person, name), [client_of(person) for _ in range(AT_ONCE)]
    answers = all_at_once(lambda browser: browser.post(url(name, study), data).status_code, browsers)
    assert set(answers) == {302}
    person.refresh_from_db()
    assert (person.stage, bool(person.completion_code)) == (alone.stage, bool(alone.completion_code))
    added = [now - then for now, then in zip(what_there_is()[1:], once[1:], strict=True)]
    assert added in ([0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, -1])


@pytest.mark.parametrize("stage", [stage for stage, _, _ in STEPS[:5]])
def test_after_the_deadline_no_step_goes_on(stage):
    study = study_of_all_steps()
    name = next(name for at, name, _ in STEPS if at == stage)
    person = person_at(study, stage, name)
    browser, data = client_of(person), data_of(person, name)
    Study.objects.filter(pk=study.pk).update(closes_at=timezone.now() - timedelta(seconds=1))
    before = what_there_is()
    browser.post(url(name, study), data)
    assert what_there_is() == before
    assert "The study has ended" in text_of(browser.get(url("place", study)))


def test_who_is_suspended_does_not_leave_to_come_in_anew():
    study = study_make()
    person = enrollment_make(study=study, stage=Stage.CONSENT, suspended_at=timezone.now())
    client_of(person).post(url("consent", study), {"answer": "decline"})
    person.refresh_from_db()
    assert person.stage == Stage.CONSENT


@pytest.mark.parametrize("broken", [{"a": 1}, [{"key": "native"}], ["x"], "x", [[]]])
def test_questions_about_a_person_that_were_broken_let_nobody_by(broken, caplog):
    study = study_make(eligibility=broken)
    person = enrollment_make(study=study, stage=Stage.ELIGIBILITY)
    browser = client_of(person)
    assert browser.post(url("eligibility", study), {"question-native": "Yes"}).status_code == 302
    page = browser.get(url("place", study))
    assert (page.status_code, "The study is paused" in text_of(page)) == (200, True)
    assert study.slug in caplog.text
    person.refresh_from_db()
    assert person.stage == Stage.ELIGIBILITY


@pytest.mark.both_databases
@pytest.mark.parametrize("stage", [Stage.TRAINING, Stage.WORK])
def test_numbers_that_no_row_has(stage):
    study = study_of_all_steps()
    browser = client_of(enrollment_make(study=study, stage=stage))
    for page in ("training/{}/", "work/{}/", "work/{}/draft/", "work/{}/skip/", "messages/{}/"):
        for number in ("9" * 19, "9" * 400, "0"):
            for send in (browser.get, browser.post):
                assert send(f"/s/{study.slug}/{page.format(number)}").status_code < 500, (page, number[:20])


@pytest.mark.both_databases
@pytest.mark.parametrize("name", ["training", "qualification"])
def test_questions_that_are_none(name):
    study = study_of_all_steps()
    browser = client_of(person_at(study, name, name))
    for number in ("9" * 19, "9" * 400, "9" * 5000, "-1", "\x00", ""):
        data = {"question": number, "attempt": number, "choice": "1"}
        assert browser.post(url(name, study), data).status_code == 302, number[:20]
        assert not QualificationAnswer.objects.exists()


def test_guidelines_that_are_edited_while_they_are_read():
    """What was read is what the page showed; the edit is told at the work."""
    study = study_make(overlap=1)
    person = enrollment_make(study=study, stage=Stage.GUIDELINES)
    browser = client_of(person)
    page = browser.get(url("place", study)).content.decode()
    assert '<input type="hidden" name="version" value="1">' in page
    Study.objects.filter(pk=study.pk).update(guidelines="Another text.", guidelines_version=2)
    browser.post(url("guidelines", study), {"version": "1"})
    person.refresh_from_db()
    assert (person.stage, person.guidelines_read_version) == (Stage.WORK, 1)
    page = browser.post(url("work", study), follow=True).content.decode()
    assert "The guidelines have changed" in page
    for version, read in (("1", 1), ("9", 2), ("1", 2), ("x", 2)):
        browser.post(url("guidelines", study), {"version": version})
        person.refresh_from_db()
        assert person.guidelines_read_version == read


@pytest.mark.parametrize(("cookie", "words"), [("", "doesn't keep cookies"), ("x", "open for too long")])
def test_a_form_without_its_token_is_refused_in_plain_words(cookie, words):
    browser = Client(enforce_csrf_checks=True)
    if cookie:
        browser.cookies["csrftoken"] = cookie
    answer = browser.post("/account/sign-in/", {"email": "ann@example.org", "password": "x"})
    assert answer.status_code == 403
    assert words in text_of(answer)
    assert "CSRF" not in text_of(answer)

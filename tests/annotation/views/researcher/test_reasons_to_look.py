"""The researcher's page of reasons to look: who may see it, what it says, and that nothing follows from it."""

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import (
    Annotator,
    AnswerSignals,
    Assignment,
    AssignmentState,
    Enrollment,
    Label,
    Study,
    StudyItem,
)
from annotation.selectors.signals import signal_answers, signals_of
from tests.annotation.cast import client_of, text_of, url
from tests.annotation.factories import annotator_make, enrollment_make, study_make

pytestmark = pytest.mark.django_db
PEOPLE, ITEMS = 9, 10
COUNTED = {"pointer": 50, "touch": 0, "keys": 2, "untrusted": 0, "scrolled": 100, "hidden": 0}


@pytest.fixture
def study(cast) -> Study:
    """Nine people who answer as people do, and the last one who answers at once in a driven browser."""
    study = study_make(
        pairs=ITEMS, overlap=12, owner=cast.alice, slug="mine", title="Mine", machine_text=True
    )
    for number in range(PEOPLE):
        answers_make(study, odd=number == PEOPLE - 1, seed=number)
    return study


def answers_make(study: Study, *, odd: bool, seed: int = 0) -> Annotator:
    rng = np.random.default_rng(seed)
    person = enrollment_make(study=study, annotator=annotator_make())
    for place in StudyItem.objects.filter(study=study).select_related("item"):
        seconds = 0.5 if odd else float(np.exp(rng.normal(3.4, 0.5)))
        lease = Assignment.objects.create(
            study_item=place, enrollment=person, state=AssignmentState.SUBMITTED, shown_order=[0, 1],
            leased_at=timezone.now(), expires_at=timezone.now(), submitted_at=timezone.now(),
        )  # fmt: skip
        Label.objects.create(
            item=place.item, annotator=person.annotator, study=study, assignment=lease, kind="pairwise",
            value={"choice": 1}, choice=1, shown_order=[0, 1], active_ms=round(1000 * seconds),
            comment=f"A is better, {study.reader_word}" if odd and not place.position else "",
        )  # fmt: skip
        counted = COUNTED | ({"pointer": 0, "keys": 0, "automated": True} if odd else {})
        AnswerSignals.objects.create(assignment=lease, **counted)
    return person.annotator


def odd_one(study: Study) -> Enrollment:
    return Enrollment.objects.filter(study=study).select_related("annotator", "study").latest("pk")


def page_of(client) -> str:
    return text_of(client.get(url("study-reasons-to-look", "mine")))


def test_evidence_with_counts_and_what_else_explains_it(cast, study):
    words = page_of(client_of(cast.alice))
    assert odd_one(study).short_pseudonym in words
    for person in Enrollment.objects.filter(study=study).select_related("annotator").order_by("-pk")[1:]:
        assert person.short_pseudonym not in words
    assert "10 of 10 answers (100.0%) came without any event of a mouse, a finger or a key" in words
    assert "of the other annotators’ answers, 0 of 80 (0.0%)" in words
    assert "1 of 10 answers have the word in the comment that only the hidden text asks for" in words
    assert "What else explains it: Screen readers, voice control" in words
    assert "Adjusted p" in words
    assert "A reason is not a verdict" in words
    assert "90 of 90 answers" in words


def test_nothing_follows_from_it(cast, study):
    client_of(cast.alice).get(url("study-reasons-to-look", "mine"))
    person = odd_one(study)
    assert person.suspended_at is None
    assert not person.interventions.exists()
    assert not Label.objects.filter(is_set_aside=True).exists()


def test_the_page_of_people_asks_for_it_and_the_person_s_page_has_it(cast, study):
    client, person = client_of(cast.alice), odd_one(study)
    address = url("study-reasons-to-look", "mine")
    assert f'hx-get="{address}"' in client.get(url("study-people", "mine")).content.decode()
    part = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "Reasons to look" in part
    assert "came without any event" in text_of(client.get(url("study-person", "mine", person.pseudonym)))
    others = (
        Enrollment.objects.filter(study=study)
        .exclude(pk=person.pk)
        .select_related("annotator", "study")
        .first()
    )
    assert "Reasons to look" not in text_of(client.get(url("study-person", "mine", others.pseudonym)))


def test_strangers(cast, study):
    address = url("study-reasons-to-look", "mine")
    assert client_of(None).get(address).status_code == 302
    assert client_of(cast.carl).get(address).status_code == 403
    assert client_of(cast.bob).get(address).status_code == 404
    assert client_of(cast.alice).post(address).status_code == 405


def test_who_may_not_identify_sees_no_identifier(cast, study):
    Annotator.objects.update(source="prolific")
    Annotator.objects.filter(pk=odd_one(study).annotator_id).update(external_id="WORKER-9")
    assert "WORKER-9" not in client_of(cast.alice).get(url("study-reasons-to-look", "mine")).content.decode()


def test_nobody_and_nothing(cast):
    study_make(owner=cast.alice, slug="mine", collect_signals=False)
    words = page_of(client_of(cast.alice))
    assert "No answers yet" in words
    assert "This study doesn’t collect signals" in words


def test_nobody_stands_out(cast):
    study = study_make(pairs=ITEMS, overlap=12, owner=cast.alice, slug="mine")
    for number in range(7):
        answers_make(study, odd=False, seed=number)
    assert "Nobody stands out in" in page_of(client_of(cast.alice))


def test_queries_do_not_grow(cast, study):
    counts = []
    for _ in range(2):
        cache.clear()
        for _ in range(2):
            with CaptureQueriesContext(connection) as context:
                signals_of(study)
            counts.append(len(context))
        answers_make(study, odd=True)
    assert counts == [4, 1, 4, 1]


def test_words_are_those_of_the_item_and_a_change_keeps_the_first_signals(study):
    answers = signal_answers(study)
    assert len(answers) == PEOPLE * ITEMS
    assert all(answer.words >= 8 for answer in answers)
    first = Label.objects.filter(annotator=odd_one(study).annotator_id).earliest("pk")
    Label.objects.create(
        item=first.item, annotator=first.annotator, study=study, assignment=first.assignment, kind="pairwise",
        value={"choice": 2}, choice=2, shown_order=[0, 1], active_ms=900_000, supersedes=first,
    )  # fmt: skip
    later = [each for each in signal_answers(study) if each.annotator == first.annotator_id][-1]
    assert np.isnan(later.seconds)
    assert later.signals.automated


def test_the_file_of_people_has_counts_and_reasons(cast, study):
    import csv
    import io

    page = client_of(cast.alice).get(url("people-export", "mine", "csv"))
    text = b"".join(page.streaming_content).decode("utf-8-sig")
    rows = {row["annotator"]: row for row in csv.DictReader(io.StringIO(text))}
    odd = rows[odd_one(study).pseudonym]
    assert (odd["answers_with_signals"], odd["still_answers"], odd["automated_answers"]) == ("10", "10", "10")
    assert odd["reader_word_answers"] == "1"
    assert {"still", "automated", "reader_word"} <= set(odd["reasons_to_look"].split("; "))
    others = [row for name, row in rows.items() if name != odd["annotator"]]
    assert [row["reasons_to_look"] for row in others] == [""] * (PEOPLE - 1)
    assert {row["still_answers"] for row in others} == {"0"}


def test_the_api_has_them_for_whom_may_see_the_study(cast, study):
    from tests.annotation.api.test_resources import Caller

    found = Caller(cast.alice)("GET", "studies/mine/reasons-to-look/")
    assert (found["answers"], found["with_signals"]) == (90, 90)
    (one,) = found["annotators"]
    assert one["annotator"] == odd_one(study).pseudonym
    reasons = {reason["signal"]: reason for reason in one["reasons"]}
    assert reasons["automated"]["adjusted_p"] is None
    assert reasons["still"]["adjusted_p"] <= 0.05
    assert reasons["still"]["explanations"].startswith("Screen readers")
    Caller(cast.bob)("GET", "studies/mine/reasons-to-look/", status=404)

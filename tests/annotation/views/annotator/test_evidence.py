"""A study that asks for evidence: the page with and without scripts, what is stored, changes, experts, exports."""

import csv
import io
import json
import re

import pyarrow.parquet as pq
import pytest
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse

from annotation.forms.evidence import marks_written
from annotation.kinds.evidence import Mark
from annotation.models import Assignment, Enrollment, Kind, Label, Response, Study
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.services.exports import labels_table
from annotation.services.labels import label_change
from tests.annotation.cast import client_of as staff_of
from tests.annotation.cast import label_make, text_of
from tests.annotation.cast import url as staff_url
from tests.annotation.factories import enrollment_make
from tests.annotation.kinds import kind_label_make, kind_study_make
from tests.annotation.visits import client_of, url
from tests.races import all_at_once
from web.tables import table_bytes

pytestmark = pytest.mark.django_db
TEXT = "Fold the **paper**. Fold the paper 🦢 &amp; again."
ANSWERS = {
    Kind.PAIRWISE: {"choice": "1"},
    Kind.RUBRIC: {"rating-helpful": "4", "rating-clear": "5"},
    Kind.CHECKLIST: {"answer-format": "yes", "answer-length": "no", "answer-tone": "yes"},
    Kind.CLASSIFICATION: {"category": "length"},
    Kind.ANSWER_RANKING: {"rank-0": "2", "rank-1": "1", "rank-2": "3"},
}
N_RESPONSES = {Kind.PAIRWISE: 2, Kind.ANSWER_RANKING: 3}
REASONS = {
    Kind.PAIRWISE: "bad",
    Kind.RUBRIC: "part:clear",
    Kind.CHECKLIST: "part:length",
    Kind.CLASSIFICATION: "choice",
    Kind.ANSWER_RANKING: "bad",
}
PAPER = TEXT.index("paper **"[:5], 20)  # the second one


def at_work(kind=Kind.PAIRWISE, **rules):
    study = kind_study_make(kind, **({"evidence": "optional"} | rules))
    Response.objects.update(text=TEXT)
    person = Enrollment.objects.select_related("study", "annotator").get(pk=enrollment_make(study=study).pk)
    lease = assignment_claim(enrollment=person)
    assert lease is not None
    return study, client_of(person), lease


def page_of(study, lease):
    return url("assignment", study, lease.pk)


def field(*marks):
    return {"evidence": marks_written(marks)}


def second_paper(kind=Kind.PAIRWISE):
    return Mark(0, PAPER, PAPER + 5, REASONS[kind])


@pytest.mark.parametrize("kind", list(ANSWERS))
def test_a_mark_is_stored_in_canonical_order_with_its_quote(kind):
    study, browser, lease = at_work(kind)
    html = browser.get(page_of(study, lease)).content.decode()
    assert "data-evidence-field" in html
    assert "js/evidence" in html
    assert html.count("data-source=") == N_RESPONSES.get(kind, 1)
    sent = ANSWERS[kind] | field(second_paper(kind))
    assert browser.post(page_of(study, lease), sent, follow=True).status_code == 200
    browser.post(page_of(study, lease), sent, follow=True)  # a double submit is one label
    label = Label.objects.get()
    (stored,) = label.evidence
    assert stored["quote"] == TEXT[PAPER : PAPER + 5] == "paper"
    assert (stored["start"], stored["end"]) == (PAPER, PAPER + 5)
    assert stored["response"] == (lease.shown_order[0] + 1 if kind in N_RESPONSES else 1)
    assert ":".join(filter(None, (stored["reason"], stored.get("part")))) == REASONS[kind]


@pytest.mark.parametrize("kind", list(ANSWERS))
def test_other_studies_do_not_ask(kind):
    study, browser, lease = at_work(kind, evidence="off")
    html = browser.get(page_of(study, lease)).content.decode()
    assert "evidence" not in html
    assert "data-source" not in html
    browser.post(page_of(study, lease), ANSWERS[kind] | field(second_paper(kind)), follow=True)
    assert Label.objects.get().evidence is None


def test_a_draft_keeps_the_marks_and_an_incomplete_answer_too():
    study, browser, lease = at_work()
    assert browser.post(url("draft", study, lease.pk), field(second_paper())).status_code == 204
    html = browser.get(page_of(study, lease)).content.decode()
    assert f'value="[[0,{PAPER},{PAPER + 5},&quot;bad&quot;]]"' in html
    assert re.search(r'<q class="marked-quote"[^>]*>paper</q>', html)
    again = browser.post(page_of(study, lease), field(second_paper()))
    assert again.status_code == 422
    assert "&quot;bad&quot;]]" in again.content.decode()
    assert browser.post(url("draft", study, lease.pk), {}).status_code == 204
    assert "&quot;bad&quot;]]" not in browser.get(page_of(study, lease)).content.decode()


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (Mark(0, 0, 999, "good"), "expected a whole number from 1 to"),
        (Mark(0, 0, 4, "part:clear"), "found &#x27;part:clear&#x27;"),
    ],
)
def test_a_mark_that_does_not_fit_is_refused_and_nothing_is_stored(mark, words):
    study, browser, lease = at_work()
    page = browser.post(page_of(study, lease), {"choice": "1"} | field(mark))
    assert page.status_code == 422
    assert words in page.content.decode()
    assert not Label.objects.exists()


def test_marks_of_responses_that_are_not_there_are_none():
    study, browser, lease = at_work()
    browser.post(page_of(study, lease), {"choice": "1"} | field(Mark(7, 0, 4, "good")), follow=True)
    assert Label.objects.get().evidence == []


def test_a_required_mark_is_asked_for():
    study, browser, lease = at_work(evidence="required")
    page = browser.post(page_of(study, lease), {"choice": "1"})
    assert page.status_code == 422
    assert "Mark at least one passage that is a reason." in text_of(page)
    browser.post(page_of(study, lease), {"choice": "1"} | field(second_paper()), follow=True)
    assert Label.objects.get().evidence


def test_what_can_not_be_marked_needs_no_mark():
    study, browser, lease = at_work(Kind.RUBRIC, evidence="required")
    Response.objects.update(text=" ")
    html = browser.get(page_of(study, lease)).content.decode()
    assert "data-evidence-field" not in html
    browser.post(page_of(study, lease), ANSWERS[Kind.RUBRIC], follow=True)
    assert Label.objects.get().evidence == []


def test_without_a_script_passages_are_copied_and_found():
    study, browser, lease = at_work()
    html = browser.get(page_of(study, lease)).content.decode()
    assert html.count('<textarea id="passage-') == 4
    copied = {
        "choice": "2",
        "passage-0.good": "Fold the\r\n  the   paper 🦢 & again \r\n",
        "passage-1.bad": "paper. Fold",
    }
    page = browser.post(page_of(study, lease), copied, follow=True)
    assert "“Fold the” occurs 2 times in the answer. The first one is marked." in text_of(page)
    label = Label.objects.get()
    order = lease.shown_order
    assert sorted((one["response"], one["quote"], one["reason"]) for one in label.evidence) == sorted(
        [
            (order[0] + 1, "Fold the", "good"),
            (order[0] + 1, "the paper 🦢 &amp; again", "good"),
            (order[1] + 1, "paper**. Fold", "bad"),
        ]
    )
    html = browser.get(page_of(study, lease)).content.decode()
    assert html.count('name="unmark-') == 3
    kept = re.search(r'name="evidence" value="([^"]*)"', html)[1].replace("&quot;", '"')
    browser.post(page_of(study, lease), {"change": "1", "choice": "2", "evidence": kept, "unmark-0": "1"})
    assert len(Label.objects.standing().get().evidence) == 2


def test_answers_to_rank_are_marked_without_a_script():
    study, browser, lease = at_work(Kind.ANSWER_RANKING, evidence="required")
    html = browser.get(page_of(study, lease)).content.decode()
    assert html.count('<textarea id="passage-') == 6
    assert len(re.findall(r'aria-label="Marked passages of answer [ABC]"', html)) == 3
    assert browser.post(page_of(study, lease), ANSWERS[Kind.ANSWER_RANKING]).status_code == 422
    copied = {"passage-2.bad": "the paper 🦢", "passage-0.good": "again"}
    browser.post(page_of(study, lease), ANSWERS[Kind.ANSWER_RANKING] | copied, follow=True)
    order = lease.shown_order
    assert {one["response"]: one["quote"] for one in Label.objects.get().evidence} == {
        order[2] + 1: "the paper 🦢",
        order[0] + 1: "again",
    }
    html = browser.get(page_of(study, lease)).content.decode()
    kept = re.search(r'name="evidence" value="([^"]*)"', html)[1].replace("&quot;", '"')
    assert [row[0] for row in json.loads(kept)] == [0, 2]  # as they were shown


def test_marks_of_answers_to_rank_are_shown_where_they_are_read(cast):
    study = kind_study_make(Kind.ANSWER_RANKING, evidence="optional", owner=cast.alice, overlap=3)
    study.dataset.owner = cast.alice
    study.dataset.save()
    Response.objects.update(text=TEXT)
    item = study.dataset.items.first()
    mark = {"response": 3, "start": PAPER, "end": PAPER + 5, "quote": "paper", "reason": "bad"}
    for ranks, evidence in (({"0": 1, "1": 2, "2": 3}, [mark]), ({"0": 3, "1": 2, "2": 1}, [])):
        kind_label_make(study, item, {"ranks": ranks}, evidence=evidence)
    expert = staff_of(cast.alice)
    html = expert.get(staff_url("study-adjudicate-item", study.slug, item.pk) + "?said=1").content.decode()
    assert html.count("data-source=") == 3
    assert re.search(r'<span class="muted">Answer [ABC]</span>', html)
    html = expert.get(reverse("metaeval:dataset-item", args=[study.dataset.name, item.pk])).content.decode()
    assert '<span class="muted">Response 3</span>' in html
    assert f'data-marks="[[2,{PAPER},{PAPER + 5},&quot;bad&quot;]]"' in html


def test_without_a_script_what_is_not_in_the_answer_is_said():
    study, browser, lease = at_work()
    page = browser.post(page_of(study, lease), {"choice": "1", "passage-1.bad": "unfold"})
    assert page.status_code == 422
    assert "“unfold” isn’t in the answer" in text_of(page)
    assert ">\nunfold</textarea>" in page.content.decode()
    assert not Label.objects.exists()


def test_a_change_of_marks_alone_is_a_change():
    study, browser, lease = at_work()
    browser.post(page_of(study, lease), {"choice": "1"} | field(second_paper()), follow=True)
    browser.post(page_of(study, lease), {"change": "1", "choice": "1"} | field(second_paper()), follow=True)
    assert Label.objects.count() == 1
    browser.post(page_of(study, lease), {"change": "1", "choice": "1"}, follow=True)
    first, second = Label.objects.order_by("pk")
    assert (second.supersedes, second.evidence, len(first.evidence)) == (first, [], 1)
    with pytest.raises(DatabaseError), transaction.atomic():
        Label.objects.filter(pk=first.pk).update(evidence=[])


def test_nobody_marks_for_another():
    study, _browser, lease = at_work()
    stranger = client_of(enrollment_make(study=study))
    sent = {"choice": "1"} | field(second_paper())
    assert stranger.post(page_of(study, lease), sent).status_code == 404
    Client().post(page_of(study, lease), sent)
    assert not Label.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_submits_at_once_are_one_label_and_one_change_stands():
    study, _browser, lease = at_work()
    marks = [[second_paper()], [Mark(1, 0, 4, "good")]]

    def submit(given):
        return assignment_submit(assignment=lease, shown_value={"choice": 1}, shown_marks=given).outcome

    assert sorted(all_at_once(submit, marks)) == ["accepted", "different"]
    assert Label.objects.count() == 1
    done = Assignment.objects.get(pk=lease.pk)

    def change(given):
        return label_change(assignment=done, shown_value={"choice": 1}, shown_marks=given)

    all_at_once(change, [[], [*marks[0], *marks[1]]])
    assert Label.objects.standing().count() == 1
    assert study


def test_the_page_takes_no_further_query(django_assert_max_num_queries):
    counts = []
    for rule in ("off", "optional"):
        study, browser, lease = at_work(evidence=rule)
        browser.get(page_of(study, lease))
        with django_assert_max_num_queries(40) as found:
            browser.get(page_of(study, lease))
        counts.append(len(found))
    assert counts[0] == counts[1]


def test_an_expert_sees_marks_without_names_and_decides_without_any(cast):
    study = kind_study_make(Kind.PAIRWISE, evidence="required", owner=cast.alice, overlap=3)
    Response.objects.update(text=TEXT)
    item = study.dataset.items.first()
    mark = {"response": 2, "start": PAPER, "end": PAPER + 5, "quote": "paper", "reason": "bad"}
    labels = [
        label_make(study=study, item=item, choice=choice, evidence=evidence)
        for choice, evidence in ((1, [mark]), (2, []), (2, [mark | {"reason": "good"}]))
    ]
    expert = staff_of(cast.alice)
    page = staff_url("study-adjudicate-item", study.slug, item.pk)
    before = expert.get(page).content.decode()
    assert "data-marks=" not in before
    assert before.count("data-source=") == 2
    html = expert.get(f"{page}?said=1").content.decode()
    said = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", html))
    assert "Annotator 1 Bad Answer" in said or "Annotator 1 Good Answer" in said
    assert "Annotator 3" not in said
    for label in labels:
        assert str(label.annotator.public_id) not in html
    assert expert.post(page, {"choice": "0"}).status_code == 302


def test_evidence_is_exported_in_every_format():
    study, browser, lease = at_work(Kind.RUBRIC)
    browser.post(page_of(study, lease), ANSWERS[Kind.RUBRIC] | field(second_paper(Kind.RUBRIC)), follow=True)
    expected = [
        {"response": 1, "start": PAPER, "end": PAPER + 5, "reason": "part", "part": "clear", "quote": "paper"}
    ]
    labels = Label.objects.filter(study=study)
    text = b"".join(table_bytes(labels_table(labels), "csv")).decode()
    (row,) = csv.DictReader(io.StringIO(text))
    assert json.loads(row["evidence"]) == expected
    (line,) = b"".join(table_bytes(labels_table(labels), "jsonl")).splitlines()
    assert json.loads(line)["evidence"] == expected
    (row,) = pq.read_table(io.BytesIO(b"".join(table_bytes(labels_table(labels), "parquet")))).to_pylist()
    assert json.loads(row["evidence"]) == expected
    Study.objects.update(evidence="off")
    other, browser, lease = at_work(Kind.RUBRIC, evidence="off")
    browser.post(page_of(other, lease), ANSWERS[Kind.RUBRIC], follow=True)
    (line,) = b"".join(table_bytes(labels_table(Label.objects.filter(study=other)), "jsonl")).splitlines()
    assert json.loads(line)["evidence"] is None

"""Pairs on several dimensions, and reasons of every kind: the page, what is stored, drafts, changes, experts."""

import re

import pytest
from django.test import Client

from annotation.domain.simulation import SimulatedAnnotator
from annotation.models import Adjudication, Assignment, Enrollment, Kind, Label, QualificationQuestion, Stage
from annotation.selectors.steps import training_next
from annotation.services.assignments import assignment_claim
from annotation.services.labels import label_change
from annotation.services.simulation import labels_simulate
from tests.annotation.cast import client_of as staff_of
from tests.annotation.cast import text_of
from tests.annotation.cast import url as staff_url
from tests.annotation.factories import annotator_make, enrollment_make
from tests.annotation.kinds import kind_study_make
from tests.annotation.visits import client_of, url
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
DIMENSIONS = [
    {"key": "factual", "name": "Factual accuracy", "definition": "Fewer false statements."},
    {"key": "all", "name": "Overall", "overall": True},
    {"key": "style", "name": "Style"},
]
REASONS = [{"key": "true", "words": "More accurate"}, {"key": "short", "words": "Shorter & clearer"}]
ANSWERS = {
    Kind.PAIRWISE: {"choice": "1"},
    Kind.RUBRIC: {"rating-helpful": "4", "rating-clear": "5"},
    Kind.CHECKLIST: {"answer-format": "yes", "answer-length": "no", "answer-tone": "unknown"},
    Kind.IMPORTANCE: {"rank-format": "1", "rank-length": "2", "rank-tone": "3"},
    Kind.ANSWER_RANKING: {"rank-0": "1", "rank-1": "2", "rank-2": "3"},
    Kind.CLASSIFICATION: {"category": "length"},
}
CHOSEN = r'name="(?:choice|dimension-[a-z]+)"[^>]* checked>'
ON_ALL = {"choice": "1-much", "dimension-factual": "2-slightly", "dimension-style": "0"}


def at_work(kind=Kind.PAIRWISE, **rules):
    study = kind_study_make(kind, **rules)
    person = Enrollment.objects.select_related("study", "annotator").get(pk=enrollment_make(study=study).pk)
    lease = assignment_claim(enrollment=person)
    assert lease is not None
    return study, client_of(person), lease


def on_dimensions(**rules):
    return at_work(dimensions=DIMENSIONS, **{"preference_points": 5, **rules})


def page_of(study, lease):
    return url("assignment", study, lease.pk)


def test_each_dimension_has_its_own_answers_with_keys_and_ids_of_its_own():
    study, browser, lease = on_dimensions(tie_policy="both_bad", show_differences=True)
    html = browser.get(page_of(study, lease)).content.decode()
    for name in ("dimension-factual", "choice", "dimension-style"):
        keys = re.findall(rf'data-part-key="([^"]+)"[^>]*><input type="radio" id="[^"]+" name="{name}"', html)
        assert keys == ["1", "2 a", "3 t", "4 b", "5", "x"]
    ids = re.findall(r'<input type="radio" id="([^"]+)"', html)
    assert len(set(ids)) == len(ids) == 18
    assert all(f'for="{one}"' in html for one in ids)
    # The overall answer alone marks the cards, which no click on their heads chooses.
    assert len(re.findall(r'name="choice"[^>]*data-choice=', html)) == 6
    assert not re.search(r'name="dimension-[^"]+"[^>]*data-choice=', html)
    assert 'class="response-head" for=' not in html
    # J and K go between the dimensions, so sections have Shift.
    assert re.findall(r'data-key="((?:shift\+)?[jk])"', html) == ["shift+j", "shift+k", "k", "j"]
    assert "Fewer false statements." in html
    assert "js/rubric.js" in html


def test_on_three_points_letters_answer():
    study, browser, lease = on_dimensions(preference_points=3)
    html = browser.get(page_of(study, lease)).content.decode()
    assert re.findall(r'data-part-key="([^"]+)"', html) == ["a", "t", "b"] * 3


def test_a_study_without_dimensions_has_the_page_that_it_had():
    study, browser, lease = at_work()
    html = browser.get(page_of(study, lease)).content.decode()
    assert "data-parts" not in html
    assert "js/rubric.js" not in html
    assert 'class="response-head" for="choice-a"' in html


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_label_has_the_answer_on_each(order):
    study, browser, lease = on_dimensions()
    Assignment.objects.update(shown_order=order)
    for _ in range(2):  # sent twice, as once
        assert browser.post(page_of(study, lease), ON_ALL, follow=True).status_code == 200
    label = Label.objects.get()
    first, second = (1, 2) if order == [0, 1] else (2, 1)
    assert label.choice == first
    assert label.value == {
        "choice": first,
        "strength": "much",
        "dimensions": {"factual": {"choice": second, "strength": "slightly"}, "style": {"choice": 0}},
    }


def test_one_that_is_missing_is_named_and_the_others_stay():
    study, browser, lease = on_dimensions()
    page = browser.post(page_of(study, lease), ON_ALL | {"dimension-style": ""})
    assert page.status_code == 422
    html = page.content.decode()
    assert html.count("Choose an answer on every dimension first.") == 1
    (missing,) = re.findall(r'<fieldset class="dimension" id="([^"]+)"[^>]* data-missing', html)
    assert missing == "part-3"
    assert len(re.findall(CHOSEN, html)) == 2
    assert not Label.objects.exists()
    page = browser.post(page_of(study, lease), ON_ALL | {"dimension-style": "9"})
    assert page.status_code == 422


def test_a_draft_keeps_every_answer():
    study, browser, lease = on_dimensions(reasons=REASONS)
    draft = url("draft", study, lease.pk)
    assert browser.post(draft, {"dimension-style": "0", "reason-short": "yes"}).status_code == 204
    html = browser.get(page_of(study, lease)).content.decode()
    assert re.findall(r'id="([a-z-]+(?:tie|[0-9]))"[^>]* checked', html) == [
        "dimension-style-tie",
        "reason-2",
    ]


def test_an_answer_is_read_and_changed_dimension_by_dimension():
    study, browser, lease = on_dimensions()
    browser.post(page_of(study, lease), ON_ALL, follow=True)
    said = text_of(browser.get(url("answers", study)))
    assert "Factual accuracy: B is slightly better, Overall: A is much better, Style: Tie" in said
    page = browser.get(page_of(study, lease))
    assert len(re.findall(CHOSEN, page.content.decode())) == 3
    assert "Overall A is much better" in text_of(page)
    browser.post(page_of(study, lease), {"change": "1", **ON_ALL, "dimension-style": "2-much"}, follow=True)
    first, second = Label.objects.order_by("pk")
    assert second.supersedes == first
    assert second.choice == first.choice
    assert first.value["dimensions"]["style"] == {"choice": 0}
    assert second.value["dimensions"]["style"]["strength"] == "much"


def test_nobody_answers_for_another():
    study, _browser, lease = on_dimensions()
    stranger = client_of(enrollment_make(study=study))
    assert stranger.post(page_of(study, lease), ON_ALL).status_code == 404
    Client().post(page_of(study, lease), ON_ALL)
    assert not Label.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_changes_at_once_leave_one_that_stands():
    study, browser, lease = on_dimensions(preference_points=3)
    browser.post(page_of(study, lease), dict.fromkeys(ON_ALL, "1"), follow=True)
    done = Assignment.objects.get(pk=lease.pk)

    def change(choice):
        said = {"factual": {"choice": choice}, "style": {"choice": 1}}
        return label_change(assignment=done, shown_value={"choice": 1, "dimensions": said})

    all_at_once(change, [2, 0])
    assert Label.objects.count() == 3
    assert Label.objects.standing().count() == 1


def test_a_training_compares_with_gold_on_the_overall_one():
    study = kind_study_make(Kind.PAIRWISE, dimensions=DIMENSIONS, training_size=1, gold={"choice": 1})
    item = study.dataset.items.order_by("position").first()
    QualificationQuestion.objects.create(study=study, item=item, position=0, part="training")
    person = enrollment_make(study=study, stage=Stage.TRAINING)
    shown = training_next(person)
    browser = client_of(person)
    right = "1" if shown.order == [0, 1] else "2"
    form = {"question": shown.question.pk, "choice": right, "dimension-factual": "0", "dimension-style": "2"}
    page = text_of(browser.post(url("training", study), form, follow=True))
    letter = "A" if right == "1" else "B"
    answered, known = page.split("You answered", 1)[1].split("Right answer", 1)
    assert f"Overall {letter} is better" in answered
    assert "Style B is better" in answered
    assert f"Overall {letter} is better" in known
    assert "Style" not in known
    assert page.count("Right") >= 2


def test_experts_decide_on_each_and_see_what_annotators_said(cast):
    study = kind_study_make(
        Kind.PAIRWISE, dimensions=DIMENSIONS, reasons=REASONS, require_reason=True, owner=cast.alice
    )
    item = study.dataset.items.first()
    for choice, style in ((1, 2), (2, 2)):
        value = {"choice": choice, "dimensions": {"factual": {"choice": 0}, "style": {"choice": style}}}
        Label.objects.create(
            item=item,
            annotator=annotator_make(),
            study=study,
            kind="pairwise",
            value=value | {"reasons": ["short"]},
            choice=choice,
            shown_order=[0, 1],
        )
    expert = staff_of(cast.alice)
    said = text_of(expert.get(staff_url("study-adjudicate-said", study.slug, item.pk), follow=True))
    assert re.search(r"Factual accuracy +Answer A: +0 +Tie: +2 +Answer B: +0", said)
    assert re.search(r"Overall +Answer A: +1 +Answer B: +1", said)
    assert re.search(r"Reasons +Shorter &amp; clearer: +2", said)
    page = staff_url("study-adjudicate-item", study.slug, item.pk)
    assert 'name="reason-' not in expert.get(page).content.decode()
    sent = {"choice": "1", "dimension-factual": "0", "dimension-style": "1"}
    assert expert.post(page, sent).status_code == 302
    decided = Adjudication.objects.get().value
    assert decided.keys() == {"choice", "dimensions"}
    assert decided["dimensions"]["factual"] == {"choice": 0}


def test_a_required_comment_does_not_stop_an_expert(cast):
    study = kind_study_make(Kind.PAIRWISE, ask_comment=True, require_comment=True, owner=cast.alice)
    item = study.dataset.items.first()
    for choice in (1, 2):
        Label.objects.create(
            item=item,
            annotator=annotator_make(),
            study=study,
            kind="pairwise",
            value={"choice": choice},
            choice=choice,
            shown_order=[0, 1],
        )
    page = staff_url("study-adjudicate-item", study.slug, item.pk)
    assert staff_of(cast.alice).post(page, {"choice": "0"}).status_code == 302
    assert Adjudication.objects.get().value == {"choice": 0}


class TestReasons:
    """Of every kind, beside the answer."""

    @pytest.mark.parametrize("kind", list(Kind))
    def test_they_are_offered_and_stored(self, kind):
        study, browser, lease = at_work(kind, reasons=REASONS)
        html = browser.get(page_of(study, lease)).content.decode()
        assert re.findall(r'data-key="(shift\+\d)" data-key-label="Reason: ([^"]+)"', html) == [
            ("shift+1", "More accurate"),
            ("shift+2", "Shorter &amp; clearer"),
        ]
        for _ in range(2):  # sent twice, as once
            sent = ANSWERS[kind] | {"reason-short": "yes", "reason-other": "yes"}
            assert browser.post(page_of(study, lease), sent, follow=True).status_code == 200
        label = Label.objects.get()
        assert label.value["reasons"] == ["short"]
        assert "Reasons: Shorter &amp; clearer" in text_of(browser.get(url("answers", study)))
        browser.post(page_of(study, lease), {"change": "1", **ANSWERS[kind]}, follow=True)
        assert Label.objects.latest("pk").value["reasons"] == []

    @pytest.mark.parametrize("kind", list(Kind))
    def test_a_study_may_require_one(self, kind):
        study, browser, lease = at_work(kind, reasons=REASONS, require_reason=True)
        page = browser.post(page_of(study, lease), ANSWERS[kind])
        assert page.status_code == 422
        assert "Pick at least one reason." in page.content.decode()
        assert re.search(r'id="reason-1"[^>]* autofocus', page.content.decode())
        assert not Label.objects.exists()
        browser.post(page_of(study, lease), ANSWERS[kind] | {"reason-true": "yes"}, follow=True)
        assert Label.objects.get().value["reasons"] == ["true"]

    @pytest.mark.parametrize("kind", list(Kind))
    def test_other_studies_have_none(self, kind):
        study, browser, lease = at_work(kind)
        assert "reason-" not in browser.get(page_of(study, lease)).content.decode()
        browser.post(page_of(study, lease), ANSWERS[kind] | {"reason-true": "yes"}, follow=True)
        assert "reasons" not in Label.objects.get().value

    @pytest.mark.parametrize("kind", [Kind.PAIRWISE, Kind.RUBRIC, Kind.CLASSIFICATION])
    @pytest.mark.parametrize("points", [3, 7])
    def test_their_keys_are_no_others_of_the_page(self, kind, points):
        reasons = [{"key": f"k{n}", "words": f"Reason {n}"} for n in range(12)]
        rules = {"preference_points": points} if kind == Kind.PAIRWISE else {}
        if kind == Kind.PAIRWISE:
            rules["show_differences"] = True
        study, browser, lease = at_work(kind, reasons=reasons, response_sets=True, **rules)
        html = browser.get(page_of(study, lease)).content.decode()
        own = re.findall(r'<label class="reason" data-key="([^"]+)"', html)
        assert len(own) >= 10
        assert html.count('class="reason"') == 12
        rest = re.sub(r'<label class="reason" data-key="[^"]+"', "", html)
        others = {key for keys in re.findall(r'data-(?:part-)?key="([^"]+)"', rest) for key in keys.split()}
        assert not others & set(own)
        assert len(set(own)) == len(own)


def test_a_simulated_study_has_answers_on_every_dimension():
    study = kind_study_make(
        Kind.PAIRWISE, dimensions=DIMENSIONS, preference_points=7, is_simulated=True, overlap=2
    )
    people = [SimulatedAnnotator(f"p{n}", "plain", 0.8, 0.0, 0.1, 20.0, n) for n in range(3)]
    study.dataset.items.update(metadata={"margin": 2})
    labels_simulate(study=study, people=people, labels_per_item=2, open_items=0, seed=0)
    assert Label.objects.exists()
    for label in Label.objects.all():
        assert label.value["dimensions"].keys() == {"factual", "style"}


def test_the_preview_shows_them(cast):
    study = kind_study_make(Kind.PAIRWISE, dimensions=DIMENSIONS, reasons=REASONS, owner=cast.alice)
    address = f"{staff_url('study-preview', study.slug)}work/1/"
    page = staff_of(cast.alice).get(address)
    assert 'name="dimension-style"' in page.content.decode()
    assert 'name="reason-true"' in page.content.decode()

"""A new item's page is put together from what is kept of it: it says what it would say if all of it was rendered."""

import pytest
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils.translation import override

from annotation.models import Action, Enrollment, GuidelinesRevision, Intervention, Kind, Study
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.views.annotator.parts import item_context
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.annotation.kinds import kind_study_make
from tests.annotation.work import fresh

pytestmark = pytest.mark.django_db
DIMENSIONS = [
    {"key": "true", "name": "Accuracy", "definition": "Is it <true>?"},
    {"key": "all", "name": "Overall", "overall": True},
]
REASONS = [{"key": "short", "words": "Shorter & clearer"}]
RULES = [
    {},
    {"tie_policy": "off", "question": "Which one is <kinder>?", "allow_changes": False},
    {"tie_policy": "both_bad", "response_sets": True, "show_word_counts": True},
    {"preference_points": 7, "reasons": REASONS, "ask_comment": True, "require_comment": True},
    {"preference_points": 5, "evidence": "required", "submit_on_choice": False, "show_differences": True},
    {"dimensions": DIMENSIONS, "evidence": "optional", "guidelines": ""},
    {"submit_on_choice": True, "machine_text": True, "collect_signals": True, "idle_seconds": 77},
    {"fetch_ahead": 2, "lease_minutes": 7, "check_rate": 0.2},
]


def shown(lease, person, **more):
    request = RequestFactory().get("/")
    request.htmx = True
    context = item_context(request, lease) | {"is_part": True, "request": request, **more}
    assert context["untouched"] == (lease.enrollment.study.kind == Kind.PAIRWISE)
    part = "annotation/annotator/_work.html"
    whole = render_to_string(part, context | {"untouched": False})
    assert render_to_string(part, context) == whole
    assert f'data-person="{person.pk}"' in whole
    assert f'data-assignment="{person.pk}-{lease.pk}"' in whole
    return whole


@pytest.mark.parametrize("rules", RULES)
def test_a_new_item_says_what_all_of_it_would_say(rules):
    study = study_make(dataset=dataset_make(pairs=6), overlap=2, **rules)
    pages = []
    for number in range(2):
        person = fresh(enrollment_make(study=study))
        for turn in range(3):
            lease = assignment_claim(enrollment=person)
            for language in ("en", "ar", "de"):
                with override(language):
                    more = {
                        "csrf_token": f"token-{number}-{turn}",
                        "saved": "B is <better>" if turn == 1 else "",
                        "undo_url": "/s/x/work/1/" if turn else "",
                        "messages": ["Your time is <over>."] if turn == 2 else [],
                    }
                    pages.append(shown(lease, person, **more))
            _answer(lease)
            person = fresh(person)
    assert len(set(pages)) == len(pages)


def _answer(lease):
    dimensions = lease.enrollment.study.dimensions
    value = {"choice": 1} | ({"dimensions": {"true": {"choice": 1}}} if dimensions else {})
    comment = "Clear." if lease.enrollment.study.require_comment else ""
    assignment_submit(assignment=lease, shown_value=value, comment=comment)


@pytest.mark.parametrize("kind", [kind for kind in Kind.values if kind != Kind.PAIRWISE])
def test_other_kinds_say_it_too(kind):
    study = kind_study_make(kind, evidence="off")
    person = fresh(enrollment_make(study=study))
    assert shown(assignment_claim(enrollment=person), person, csrf_token="token")


def test_texts_and_new_guidelines_are_on_the_page_of_one_person_alone():
    study = study_make(pairs=3, overlap=2)
    told, other = (fresh(enrollment_make(study=study)) for _ in range(2))
    Intervention.objects.create(enrollment=told, action=Action.RESTORE, text="Please <read> on.")
    pages = [shown(assignment_claim(enrollment=one), one, csrf_token="token") for one in (other, told, other)]
    assert ["Please &lt;read&gt; on." in page for page in pages] == [False, True, False]
    GuidelinesRevision.objects.create(study=study, version=2, text="New.")
    Study.objects.filter(pk=study.pk).update(guidelines_version=2)
    Enrollment.objects.filter(pk=other.pk).update(guidelines_read_version=1)
    page = shown(assignment_claim(enrollment=fresh(other)), other, csrf_token="token")
    assert "The guidelines have changed" in page

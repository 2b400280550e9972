"""Blindness: no byte of any answer to an annotator tells a system, a right answer, a judge's verdict, what others said,
or which item is a check. And a check looks like everything else.
"""

import re
from itertools import count
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.kinds import kind_of
from annotation.models import (
    Annotator,
    Assignment,
    Enrollment,
    Instruction,
    Intervention,
    Item,
    Kind,
    Label,
    QualificationQuestion,
    Response,
    Stage,
    Study,
    StudyItem,
)
from annotation.selectors.shown import shown_clear
from judges.models import Judgment
from tests.annotation.factories import enrollment_make, invitation_make
from tests.annotation.kinds import VALUES, kind_label_make, kind_study_make
from tests.annotation.visits import url
from tests.judges.props import judge_make

pytestmark = pytest.mark.django_db
WORK, CHECKS = 14, 6
HTMX = {"HX-Request": "true"}
_numbers = count(1)


class Recorder(Client):
    """A browser that remembers all that it was ever told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, int, str]] = []

    def request(self, **request: Any) -> Any:
        response = super().request(**request)
        head = "\n".join(f"{name}: {value}" for name, value in response.items())
        cookies = response.cookies.output()
        self.told.append(
            (request["PATH_INFO"], response.status_code, f"{head}\n{cookies}\n\n{response.content.decode()}")
        )
        return response


def study_with_secrets(kind: str) -> Study:
    """Work, checks, repeats, training and a test, each item with everything that must not be told."""
    number = next(_numbers)
    study = kind_study_make(
        kind,
        items=WORK + CHECKS + 2,
        gold=VALUES[kind],
        check_rate=0.3,
        repeat_rate=0.2,
        check_size=CHECKS,
        overlap=2,
        ask_comment=True,
        training_size=1,
        qualification_size=1,
        qualification_pass=0,
        check_warn_below=1.0,
        check_minimum=1,
    )
    places = list(StudyItem.objects.filter(study=study).order_by("position"))
    for place, part in zip(places[:2], ("training", "test"), strict=True):
        QualificationQuestion.objects.create(study=study, item_id=place.item_id, position=0, part=part)
        place.delete()
    StudyItem.objects.filter(pk__in=[place.pk for place in places[2 : 2 + CHECKS]]).update(
        role="check", overlap=0
    )
    questions = study.qualification_questions.values("item")
    items = Item.objects.filter(dataset=study.dataset)
    items.update(metadata={"note": "secret-metadata"})
    items.exclude(pk__in=questions).update(explanation="secret-explanation")
    Instruction.objects.filter(dataset=study.dataset).update(
        reference="secret-reference", metadata={"note": "secret-metadata"}
    )
    judge = judge_make(name=f"secret-judge-{number}")
    for item in items:
        Judgment.objects.create(
            judge=judge,
            item=item,
            order=0,
            status="parsed",
            value=VALUES[kind],
            choice=1,
            raw_text="secret-verdict",
        )
    other = Annotator.objects.create(source="secret-source", external_id=f"secret-person-{number}")
    kind_label_make(study, places[-1].item, VALUES[kind], annotator=other, comment="secret-comment")
    return study


def answer_of(kind: str) -> dict[str, str]:
    return {**kind_of(kind).fields(VALUES[kind]), "comment": "mine"}


def work_through(browser: Recorder, study: Study) -> None:
    """Answer everything there is, by way of a draft, a look back, a wrong answer and a change.

    With scripts and without, in turn: what is told is a part of a page, or the way to the next.
    """
    for headers in (HTMX, {}):
        part = browser.post(url("work", study), headers=headers)
    for turn in range(2 * (WORK + CHECKS)):
        headers = {} if turn % 2 else HTMX
        if not (
            lease := Assignment.objects.filter(state="open", enrollment__study=study).order_by("-pk").first()
        ):
            break
        here = url("assignment", study, lease.pk)
        browser.get(here)
        browser.post(f"{here}draft/", answer_of(study.kind))
        assert browser.post(here, {}, headers=headers).status_code == 422
        part = browser.post(here, answer_of(study.kind), headers=headers)
        assert part.status_code in (200, 302)
        browser.get(here)
    browser.get(url("answers", study))
    for headers in (HTMX, {}):
        browser.post(here, {**answer_of(study.kind), "change": "1"}, headers=headers)


def walk(study: Study) -> Recorder:
    """A person's whole way, and what goes wrong on it."""
    browser = Recorder()
    invitation = invitation_make(study=study)
    join = reverse("annotation:join", args=[invitation.token])
    page = browser.get(join)
    browser.post(join, {"visit": page.context["visit"]}, follow=True)
    person = Enrollment.objects.latest("pk")
    for stage in (Stage.CONSENT, Stage.GUIDELINES, Stage.TRAINING, Stage.QUALIFICATION):
        Enrollment.objects.filter(pk=person.pk).update(stage=stage)
        browser.get(url("place", study))
        for name in ("training", "qualification"):
            browser.post(url(name, study), answer_of(study.kind), follow=True)
            for question in study.qualification_questions.all():
                browser.post(
                    url(name, study), {**answer_of(study.kind), "question": question.pk}, follow=True
                )
    Enrollment.objects.filter(pk=person.pk).update(stage=Stage.WORK, resume_token=f"resume-{person.pk}")
    browser.get(reverse("annotation:resume", args=[f"resume-{person.pk}"]), follow=True)
    Intervention.objects.create(enrollment=person, action="warn", text="Take care.", reason="secret-reason")
    work_through(browser, study)
    lease = Assignment.objects.filter(enrollment=person).first()
    for address in (
        f"{url('assignment', study, lease.pk)}skip/",
        f"{url('assignment', study, lease.pk)}report/",
    ):
        browser.get(address, follow=True)
        browser.post(address, {"reason": "other"}, follow=True)
    browser.get(url("rest", study), follow=True)
    browser.get(url("assignment", study, 999_999))
    browser.get(url("done", study), follow=True)
    Enrollment.objects.filter(pk=person.pk).update(
        stage=Stage.WORK, suspended_at=person.created_at, suspended_because="secret-reason"
    )
    browser.get(url("work", study))
    browser.cookies.clear()
    browser.get(url("work", study))
    return browser


# Words of the interface that are not about roles: classes, ARIA, names of states of inputs.
INNOCENT = re.compile(
    r'class="[^"]*"|\brole="[a-z]+"|check(?:list|ed|box)|type="checkbox"|/static/\S+|csrfmiddlewaretoken[^>]*>|'
    r"Check answers|"  # the step of a checklist
    r"(?:Set-Cookie|csrftoken|studies=)[^\n]*"
)
ROLE_WORDS = re.compile(
    r"\b(?:check|checks|hidden check|repeat|repeats|gold|is_check|check_score|surplus)\b", re.I
)


@pytest.mark.parametrize("kind", Kind.values)
def test_nothing_is_told(kind):
    shown_clear()
    study = study_with_secrets(kind)
    browser = walk(study)
    roles = set(Label.objects.filter(study=study).values_list("role", flat=True))
    assert roles == {"work", "check", "repeat"}  # or else nothing was tried
    statuses = {status for _, status, _ in browser.told}
    assert {200, 302, 404, 422} <= statuses
    for path, _, told in browser.told:
        assert "secret-" not in told, path
        found = ROLE_WORDS.search(INNOCENT.sub("", told))
        assert found is None, (path, told[max(0, found.start() - 100) : found.end() + 100])


def normal(told: str) -> str:
    """What a page is apart from ids, tokens, times and numbers."""
    told = re.sub(r'(csrfmiddlewaretoken" value=|X-CSRFToken": )"[^"]*"', r'\1""', told)
    told = re.sub(r"X-Request-ID: [0-9a-f]{32}", "", told)
    told = re.sub(r"csrftoken=[^;]*|studies=[^;]*|expires=[^;]*", "", told)
    return re.sub(r"\d+", "0", told)


@pytest.mark.parametrize("kind", Kind.values)
def test_a_check_looks_like_everything_else(kind):
    """With the same texts everywhere, pages of work, checks and repeats are the same bytes but for ids and numbers."""
    shown_clear()
    study = study_with_secrets(kind)
    Instruction.objects.filter(dataset=study.dataset).update(text="The same.")
    Response.objects.filter(instruction__dataset=study.dataset).update(text="The same.")
    for instruction in Instruction.objects.filter(dataset=study.dataset):
        instruction.aspects.update(text="The same.")
    Study.objects.filter(pk=study.pk).update(check_warn_below=None)  # a warning is told, and no secret
    study.refresh_from_db()
    shown_clear()
    person = enrollment_make(study=study)
    browser = Recorder()
    browser.get(reverse("annotation:resume", args=[person.resume_token]))
    # The first item has nothing to undo, and no answers before it.
    browser.post(url("work", study), headers=HTMX)
    pages: dict[str, set[str]] = {}
    parts: dict[str, set[str]] = {}
    kept: dict[str, set[str]] = {}
    for _ in range(WORK + CHECKS):
        lease = Assignment.objects.filter(state="open", enrollment=person).first()
        if lease is None:
            break
        here = url("assignment", study, lease.pk)
        is_first = lease.enrollment.assignments.count() == 1
        if not is_first:
            browser.get(here)
            pages.setdefault(lease.role, set()).add(_shown_alike(normal(browser.told[-1][2]), study))
        part = browser.post(here, answer_of(kind), headers=HTMX)
        following = Assignment.objects.filter(state="open", enrollment=person).first()
        if following is not None:
            assert part.status_code == 200
            parts.setdefault(following.role, set()).add(_shown_alike(normal(browser.told[-1][2]), study))
        if not is_first:
            browser.get(here)
            kept.setdefault(lease.role, set()).add(_shown_alike(normal(browser.told[-1][2]), study))
    for found in (pages, parts, kept):
        assert set(found) >= {"work", "check"}
        assert len(set.union(*found.values())) == 1, {role: len(texts) for role, texts in found.items()}
    everything = re.search(r"(\d+) of (\d+)|(\d+) done", browser.told[-1][2])
    assert everything, "progress is shown"


def _shown_alike(told: str, study: Study) -> str:
    """Aspects are shown in an order of their own for each item: their keys are no difference between roles."""
    return re.sub(r"(rank|answer|rating)-(format|length|tone)", r"\1-key", told)

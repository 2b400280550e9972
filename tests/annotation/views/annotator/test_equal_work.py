"""The time to the next item must not tell a hidden check from work: same statements, same rendering.

Times differ from machine to machine; what is done does not, so that is what is compared here (`bench.timing` measures
the times).
"""

import re
from collections import defaultdict

import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test import Client
from django.test.utils import CaptureQueriesContext
from markdown_it import MarkdownIt

from annotation.models import Assignment, Enrollment, ItemRole, Response, Study, StudyItem
from annotation.selectors import shown
from annotation.services.assignments import assignment_claim
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.annotation.visits import client_of, url
from web import rendering

pytestmark = pytest.mark.django_db

RULES = {
    "check_rate": 0.25,
    "check_window": 4,
    "check_minimum": 2,
    "check_warn_below": 0.1,
    "check_suspend_below": 0.05,
}
LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b|\b(?:NULL|true|false)\b|\[[^\]]*\]")
SAVEPOINT = re.compile(r'"s\d+_x\d+"')


def study_with_hidden(**rules: object) -> Study:
    study = study_make(pairs=40, overlap=3, **(RULES | rules))
    gold = dataset_make(pairs=12)
    StudyItem.objects.bulk_create(
        StudyItem(study=study, item=item, position=1000 + k, overlap=0, role=ItemRole.CHECK)
        for k, item in enumerate(gold.items.all())
    )
    # No text of a check is one of the work's: that would be known.
    gold.instructions.update(text=Concat(F("text"), Value(" (checked)")))
    Response.objects.filter(instruction__dataset=gold).update(text=Concat(F("text"), Value(" (checked)")))
    return study


def claimed(person: Enrollment) -> Assignment:
    found = assignment_claim(
        enrollment=Enrollment.objects.select_related("study", "annotator").get(pk=person.pk)
    )
    assert found is not None
    return found


def right_choice(lease: Assignment) -> int:
    """As it is shown: nobody is suspended by these rules who answers so."""
    gold = lease.study_item.item.gold or {}
    return lease.shown_order.index(gold.get("choice", 1) - 1) + 1


def work_through(browser: Client, study: Study, lease: Assignment, answers: int, ask):
    """Answer so many items as a script of the page does, each through `ask`, which is given the roles and the act."""
    for _ in range(answers):
        fields = {"choice": right_choice(lease), "active_ms": 900, "wall_ms": 1000}
        page = url("assignment", study, lease.pk)
        done = ask(
            lambda page=page, fields=fields: browser.post(page, fields, headers={"HX-Request": "true"})
        )
        assert done.status_code == 200
        following = Assignment.objects.select_related("study_item__item").get(
            enrollment=lease.enrollment_id, state="open"
        )
        yield (lease.role, following.role)
        lease = following


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "rules", [{}, {"repeat_rate": 0.1}, {"check_suspend_below": None, "check_warn_below": None}]
)
def test_a_check_is_the_same_statements_as_work(rules):
    study = study_with_hidden(**rules)
    person = enrollment_make(study=study)
    browser, lease = client_of(person), claimed(person)
    captured: list[list[str]] = []

    def ask(act):
        with CaptureQueriesContext(connection) as context:
            done = act()
        captured.append([SAVEPOINT.sub("s", LITERAL.sub("?", query["sql"])) for query in context])
        return done

    found = defaultdict(list)
    for number, roles in enumerate(work_through(browser, study, lease, 24, ask)):
        # A repeat tells itself by its text, which this person has seen, and this process has kept for them.
        if (
            number >= 2 and roles[1] != "repeat"
        ):  # the first answers have no cursor, and read what is kept for all
            found[roles].append(captured[-1])
    assert {("work", "work"), ("work", "check"), ("check", "work")} <= set(found)
    first = found["work", "work"][0]
    for roles, sequences in found.items():
        for sequence in sequences:
            assert sequence == first, roles


def test_a_check_that_everybody_has_seen_is_rendered_like_work_that_nobody_has_seen(monkeypatch):
    study = study_with_hidden()
    others = [enrollment_make(study=study) for _ in range(2)]
    rendered: list[str] = []
    parse = MarkdownIt.parse
    monkeypatch.setattr(
        MarkdownIt, "parse", lambda self, text, env: rendered.append(text) or parse(self, text, env)
    )
    rendering.rendered_clear()
    shown.shown_clear()
    counts, read = defaultdict(set), list[str]()

    def ask(act):
        rendered.clear()
        with CaptureQueriesContext(connection) as context:
            done = act()
        read[:] = [query["sql"] for query in context if "annotation_itemresponse" in query["sql"]]
        return done

    for person in others:
        browser, lease = client_of(person), claimed(person)
        for number, roles in enumerate(work_through(browser, study, lease, 16, ask)):
            if number:
                counts[roles].add((len(rendered), len(read)))
    assert len(counts) >= 3
    assert len(set().union(*counts.values())) == 1, counts


@pytest.mark.both_databases
@pytest.mark.parametrize("rules", [{}, {"repeat_rate": 0.1}])
def test_to_fetch_a_check_ahead_is_the_same_statements_as_to_fetch_work(rules):
    """What an answer does depends neither on its own role nor on that of what comes with it."""
    study = study_with_hidden(fetch_ahead=3, **rules)
    person = enrollment_make(study=study)
    browser = client_of(person)
    found = browser.post(url("ahead", study), {"known": ""}).json()
    sequences = defaultdict(list)
    for number in range(24):
        known, answered = ",".join(map(str, found["order"])), Assignment.objects.get(pk=found["order"][0])
        with CaptureQueriesContext(connection) as context:
            done = browser.post(
                url("assignment", study, answered.pk),
                {
                    "choice": right_choice(answered),
                    "ahead": "1",
                    "known": known,
                    "active_ms": 900,
                    "wall_ms": 1000,
                },
            )
        found = done.json()
        fetched = Assignment.objects.get(pk=found["order"][-1])
        assert list(found["parts"]) == [str(fetched.pk)]
        if number >= 2 and fetched.role != "repeat":
            statements = [SAVEPOINT.sub("s", LITERAL.sub("?", query["sql"])) for query in context]
            sequences[answered.role, fetched.role].append(statements)
    assert {("work", "work"), ("work", "check"), ("check", "work")} <= set(sequences)
    first = sequences["work", "work"][0]
    for roles, each in sequences.items():
        for statements in each:
            assert statements == first, roles

"""What the pages of the steps and of the answers say, and only where it is so."""

import re

import pytest
from django.test import Client

from annotation.kinds.shown import ShownAspect, ShownItem
from annotation.models import Enrollment, Kind, Label, Stage
from annotation.templatetags.answers import compared_words
from tests.annotation.cast import text_of
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.visits import client_of, url
from web.rendering import render_markdown

pytestmark = pytest.mark.django_db


def submit(browser: Client, lease, **fields):
    return browser.post(url("assignment", lease.enrollment.study, lease.pk), fields, follow=True)


def test_a_passed_test_says_so():
    study = study_make(pairs=3, qualification=2)
    person = enrollment_make(study=study, stage=Stage.QUALIFICATION)
    browser = client_of(person)
    page = browser.get(url("place", study), follow=True)
    for _ in range(2):
        question = page.context["question"]
        gold = question.question.item.gold["choice"]
        fields = {"question": question.question.pk, "choice": question.order.index(gold - 1) + 1}
        page = browser.post(
            url("qualification", study), fields | {"attempt": question.attempt or ""}, follow=True
        )
    assert Enrollment.objects.get().stage == Stage.WORK
    assert "You passed the test: 2 of 2 of your answers were right." in text_of(page)


def test_feedback_marks_the_rows_that_were_wrong():
    item = ShownItem(
        kind=Kind.CHECKLIST,
        instruction="x",
        aspects=(ShownAspect("a", "Short?"), ShownAspect("b", "Polite?")),
    )
    given, right = {"answer-a": "yes", "answer-b": "no"}, {"answer-a": "yes", "answer-b": "yes"}
    assert [said.is_wrong for said, _ in compared_words(item, given, right)] == [False, True]


def test_a_ranking_is_compared_in_the_right_order():
    item = ShownItem(
        kind=Kind.IMPORTANCE,
        instruction="x",
        aspects=(ShownAspect("a", "Short"), ShownAspect("b", "Polite"), ShownAspect("c", "True")),
    )
    given = {"rank-a": "1", "rank-b": "2", "rank-c": "3"}
    right = {"rank-a": "3", "rank-b": "2", "rank-c": "1"}
    pairs = compared_words(item, given, right)
    assert [expected.name for _, expected in pairs] == ["True", "Polite", "Short"]
    assert [(said.name, said.words, said.is_wrong) for said, _ in pairs] == [
        ("True", "3", True),
        ("Polite", "2", False),
        ("Short", "1", True),
    ]


def test_changed_is_said_only_of_what_was_changed(browser, lease, study):
    submit(browser, lease, choice="1")
    assert "Your answer was changed" not in text_of(submit(browser, lease, choice="1", change="1"))
    assert Label.objects.count() == 1
    assert "Your answer was changed" in text_of(submit(browser, lease, choice="2", change="1"))
    assert Label.objects.count() == 2


def test_your_answers_shows_them(browser, lease, study):
    submit(browser, lease, choice="2")
    assert "B is better" in text_of(browser.get(url("answers", study)))
    submit(browser, lease, choice="1", change="1")
    page = text_of(browser.get(url("answers", study)))
    assert "A is better" in page
    assert "B is better" not in page


def test_who_has_finished_is_not_offered_a_break(browser, lease, study, person):
    submit(browser, lease, choice="1")
    at_work = browser.get(url("assignment", study, lease.pk)).content.decode()
    assert "Take a break" in at_work
    browser.post(url("finish", study))
    finished = browser.get(url("assignment", study, lease.pk)).content.decode()
    assert "Your answer" in finished
    assert "Take a break" not in finished


@pytest.mark.parametrize("text", ["50.", "+ 5", "- 3", "* 2", "> 7", "1986. A great year", "12) b", "1)"])
def test_an_answer_of_one_line_stays_as_it_is_written(text):
    html = render_markdown(text)
    assert re.sub(r"<[^>]*>", "", html).strip().replace("&gt;", ">") == text
    assert not re.search("<(ol|ul|li|blockquote)", html)


def test_a_list_is_a_list():
    assert "<ul" in render_markdown("- a\n- b")
    assert re.search('<ol [^>]*start="50"', render_markdown("50. a\n51. b"))


@pytest.mark.parametrize(
    "text",
    ["So:\n\n50.", "The sum is\n+ 5\n= 8", "10\n- 3\n= 7", "2 + 3 = 5\n\n- 5", "x\n> 5", "a\n\n* 2 = 4"],
)
def test_a_line_of_figures_in_a_longer_text_stays_as_it_is_written(text):
    html = render_markdown(text)
    assert not re.search("<(ol|ul|li|blockquote)", html)
    shown = html.replace("</p>\n<p", "\n\n<p").replace("<br>\n", "\n")
    assert re.sub(r"<[^>]*>", "", shown).strip().replace("&gt;", ">") == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- 1\n- 2", ["<ul", "<li", "<li"]),
        ("+ 5\n\n+ 6", ["<ul", "<li", "<li"]),
        ("> 5\n> 6", ["<blockquote"]),
        ("1.\n2.\n3.", ["<ol", "<li", "<li", "<li"]),
        ("So:\n\n50. apples", ['<ol start="50"', "<li"]),
        ("50. a\n40. b\n41. c", ['<ol start="50"', "<li", '<li value="40"', "<li"]),
        ("1. a\n1. b", ["<ol", "<li", "<li"]),
        ("```\n+ 5\n```", ["<code"]),
    ],
)
def test_lists_stay_lists_with_the_numbers_that_are_written(text, found):
    html = render_markdown(text)
    pattern = r'<(?:ul|blockquote|code|ol(?: start="\d+")?|li(?: value="\d+")?)'
    assert re.findall(pattern, html) == found


def test_stopping_for_good_asks_once_on_a_page_of_its_own(browser, lease, study):
    address = url("finish", study)
    for name, pk in (("assignment", [lease.pk]), ("rest", [])):
        page = browser.get(url(name, study, *pk)).content.decode()
        assert f'href="{address}"' in page
        assert not re.findall(rf'<form [^>]*action="{address}"', page)
    asked = browser.get(address).content.decode()
    assert "Stop for good?" in asked
    assert len(re.findall(r'<form method="post"', asked.partition("</main>")[0])) == 1
    assert "data-confirm" not in asked
    assert Enrollment.objects.get(study=study).stage == Stage.WORK
    assert browser.post(address).status_code == 302
    assert Enrollment.objects.get(study=study).stage == Stage.DONE


def test_one_live_region_says_a_choice(browser, lease, study):
    page = browser.get(url("assignment", study, lease.pk)).content.decode()
    bar = page[page.index('class="answer-bar"') :]
    assert len(re.findall(r'role="status"|aria-live', bar[: bar.index("</section>")])) == 1


def test_wall_time_is_the_servers(browser, lease, study):
    submit(browser, lease, choice="1", active_ms="900", wall_ms="86400000")
    assert Label.objects.get().wall_ms < 86_400_000

"""The personal link: replaced by its owner, and at an end with the study."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Enrollment, Study, StudyState
from tests.annotation.factories import enrollment_make
from tests.races import all_at_once


def path(person):
    return f"/s/{person.study.slug}/link/"


def plan(browser, person):
    page = browser.get(path(person)).content.decode()
    return {"plan": re.search(r'name="plan" value="([^"]+)"', page)[1]}


def old_link(person):
    return f"/resume/{person.resume_token}/"


def is_in(browser, person):
    return browser.get(path(person)).status_code == 200


def test_a_link_is_replaced_and_other_browsers_are_out(person, browser):
    other = Client()
    other.get(old_link(person))
    assert is_in(other, person)
    assert browser.post(path(person), plan(browser, person)).url == path(person)
    assert is_in(browser, person)
    assert not is_in(other, person)
    assert Client().get(old_link(person)).status_code == 404
    new = Enrollment.objects.get(pk=person.pk).resume_token
    assert new in browser.get(path(person)).content.decode()
    assert Client().get(f"/resume/{new}/").status_code == 302


def test_sent_twice_it_is_replaced_once(person, browser):
    form = plan(browser, person)
    second = Client()
    second.cookies.update(browser.cookies)
    browser.post(path(person), form)
    new = Enrollment.objects.get(pk=person.pk).resume_token
    assert second.post(path(person), form).url == path(person), "its cookie has the old link"
    assert is_in(second, person)
    assert Enrollment.objects.get(pk=person.pk).resume_token == new


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_two_pages_at_once_leave_one_link(person, browser):

    def send(form):
        own = Client()
        own.cookies.update(browser.cookies)
        return own.post(path(person), form).status_code

    answers = all_at_once(send, [plan(browser, person) for _ in range(4)])
    assert answers.count(302) == 1, "the others were made for a link that is gone"


def test_nobody_replaces_the_link_of_another(person, browser, study):
    stranger = Client()
    stranger.get(old_link(enrollment_make(study=study)))
    for form in ({}, {"plan": "made-up"}):
        stranger.post(path(person), form)
        assert Client().post(path(person), form).status_code == 404
    assert Enrollment.objects.get(pk=person.pk).resume_token == person.resume_token
    assert is_in(browser, person)


@pytest.mark.parametrize(
    "end", [{"state": StudyState.CLOSED}, {"closes_at": timezone.now() - timedelta(minutes=1)}]
)
def test_a_link_ends_with_its_study(person, browser, end):
    Study.objects.filter(pk=person.study.pk).update(**end)
    answer = Client().get(old_link(person))
    assert answer.status_code == 410
    assert "The study has ended" in answer.content.decode()
    assert browser.get(old_link(person)).status_code == 302, "this browser was in it before"

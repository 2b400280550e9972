"""In which language a person's pages are: what they chose, else the study's, else what their browser asks for."""

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from annotation.models import Annotator, Enrollment, Stage
from annotation.services.accounts import account_create
from annotation.services.languages import language_of_browser_keep
from tests.annotation.factories import enrollment_make, invitation_make, study_make
from tests.annotation.visits import client_of, url
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
COOKIE = settings.LANGUAGE_COOKIE_NAME
HERE = reverse("annotation:language")
SIGN_IN = reverse("annotation:account-sign-in")


def language_of(browser: Client, address: str, **headers: str) -> str:
    html = browser.get(address, headers=headers).content.decode()
    return html.partition('<html lang="')[2].partition('"')[0]


def test_the_browser_decides_where_there_is_no_study():
    browser = Client()
    assert language_of(browser, SIGN_IN) == "en"
    assert language_of(browser, SIGN_IN, accept_language="pt-BR,pt;q=0.9,en;q=0.8") == "pt"
    assert language_of(browser, SIGN_IN, accept_language="sv, zh-CN;q=0.8") == "zh-hans"
    assert language_of(browser, SIGN_IN, accept_language="sv") == "en"
    answer = browser.get(SIGN_IN, headers={"accept-language": "ar"})
    assert '<html lang="ar" dir="rtl">' in answer.content.decode()
    assert answer.headers["Content-Language"] == "ar"
    assert {"Accept-Language", "Cookie"} <= set(answer.headers["Vary"].split(", "))


def test_the_study_comes_before_the_browser_unless_it_leaves_it_to_the_browser():
    study = study_make(pairs=1, language="de")
    join = reverse("annotation:join", args=[invitation_make(study=study).token])
    assert language_of(Client(), join, accept_language="fr") == "de"
    study.language = "auto"
    study.save()
    assert language_of(Client(), join, accept_language="fr") == "fr"
    assert (
        language_of(client_of(enrollment_make(study=study)), url("work", study), accept_language="hi") == "hi"
    )


def test_a_choice_comes_before_the_study_and_goes_with_the_person_to_another_browser():
    study = study_make(pairs=1, language="de")
    person = enrollment_make(study=study)
    browser, work = client_of(person), url("work", study)
    assert language_of(browser, work) == "de"
    for _ in range(2):  # sent twice, as once
        answer = browser.post(HERE, {"language": "ja", "next": work})
        assert (answer.status_code, answer.url) == (302, work)
        assert answer.cookies[COOKIE].value == "ja"
    assert Annotator.objects.get(pk=person.annotator_id).language == "ja"
    assert language_of(browser, work) == "ja"
    assert language_of(client_of(person), work) == "ja"


def test_a_choice_before_there_is_a_person_is_kept_with_the_person_who_joins():
    study = study_make(pairs=1)
    join = reverse("annotation:join", args=[invitation_make(study=study).token])
    browser = Client()
    browser.post(HERE, {"language": "ar", "next": join})
    page = browser.get(join)
    assert 'dir="rtl"' in page.content.decode()
    browser.post(join, {"visit": page.context["visit"]})
    assert Enrollment.objects.get(study=study).annotator.language == "ar"


def test_the_choice_of_an_account_is_kept_with_it():
    account = account_create(email="a@example.org", password="long enough 1")
    browser = Client()
    browser.post(SIGN_IN, {"email": "a@example.org", "password": "long enough 1"})
    browser.post(HERE, {"language": "fr", "next": "/account/"})
    account.annotator.refresh_from_db()
    assert account.annotator.language == "fr"
    assert language_of(browser, reverse("annotation:account")) == "fr"


def test_nobody_chooses_for_others():
    study = study_make(pairs=1)
    one, other = enrollment_make(study=study), enrollment_make(study=study)
    client_of(one).post(HERE, {"language": "es"})
    forged = Client()
    forged.cookies["studies"] = f"{study.slug}:{other.resume_token}"
    forged.post(HERE, {"language": "es"})
    found = {each.pk: each.language for each in Annotator.objects.all()}
    assert found == {one.annotator_id: "es", other.annotator_id: ""}


@pytest.mark.parametrize("wrong", ["", "xx", "../ar", "en-GB"])
def test_another_language_than_ours_is_refused(wrong):
    answer = Client().post(HERE, {"language": wrong, "next": SIGN_IN})
    assert answer.status_code == 422
    assert COOKIE not in answer.cookies


@pytest.mark.parametrize(
    "back", ["https://example.org/", "//example.org/", "javascript:alert(1)", "\\\\example.org"]
)
def test_it_leads_to_no_other_site(back):
    answer = Client().post(HERE, {"language": "es", "next": back})
    assert (answer.status_code, answer.url) == (302, reverse("annotation:account"))
    assert back not in Client().get(f"{HERE}?next={back}").content.decode()


def test_pages_of_staff_stay_english_and_so_does_the_next_request_of_the_thread():
    browser = Client(headers={"accept-language": "de"})
    browser.cookies[COOKIE] = "ar"
    assert language_of(browser, SIGN_IN) == "ar"
    assert language_of(browser, reverse("login")) == "en"
    assert language_of(Client(), SIGN_IN) == "en"


def test_english_pages_have_no_words_for_scripts_and_others_have_theirs():
    study = study_make(pairs=1)
    browser = client_of(enrollment_make(study=study, stage=Stage.WORK))
    assert 'id="words"' not in browser.get(url("work", study)).content.decode()
    browser.post(HERE, {"language": "es"})
    page = browser.get(url("work", study)).content.decode()
    assert '<script id="words" type="application/json">' in page
    assert "Borrador guardado" in page


@pytest.mark.django_db(transaction=True)
def test_two_choices_at_the_same_time_leave_one_of_them():
    person = enrollment_make(study=study_make(pairs=1))
    codes = ["es", "de"]
    all_at_once(lambda code: language_of_browser_keep(tokens=[person.resume_token], code=code), codes)
    person.annotator.refresh_from_db()
    assert person.annotator.language in codes

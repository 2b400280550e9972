"""Accounts of annotators: signing up and in, choosing studies, and the same person by two doors."""

import pytest
from django.contrib.auth.hashers import check_password
from django.test import Client
from django.urls import reverse

from annotation.models import Account, Annotator, Enrollment, Stage, Study, StudyState
from annotation.services.accounts import AccountRefusedError, account_create
from tests.annotation.entry.props import arrive, link_make
from tests.annotation.factories import PASSWORD, invitation_make, study_make, user_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
EMAIL = "mia@example.org"
HOME, SIGN_UP, SIGN_IN = "/account/", "/account/sign-up/", "/account/sign-in/"


def sign_up(client: Client, email: str = EMAIL, password: str = PASSWORD):
    return client.post(SIGN_UP, {"email": email, "password": password})


def sign_in(client: Client, email: str = EMAIL, password: str = PASSWORD):
    return client.post(SIGN_IN, {"email": email, "password": password})


def join(client: Client, study: Study):
    return client.post(reverse("annotation:account-join", args=[study.slug]))


def place(study: Study) -> str:
    return reverse("annotation:place", args=[study.slug])


@pytest.fixture
def study() -> Study:
    return study_make(open_signup=True, title="Open to all")


# --- Signing up and in ------------------------------------------------------------------------------------------------


def test_a_new_account(client):
    assert client.get(SIGN_UP).status_code == 200
    assert sign_up(client, " Mia@Example.ORG ").url == HOME
    account = Account.objects.select_related("annotator").get()
    assert account.email == EMAIL
    assert check_password(PASSWORD, account.password)
    assert account.annotator.source == "account"
    assert EMAIL not in account.annotator.external_id
    assert EMAIL in client.get(HOME).content.decode()


@pytest.mark.parametrize("password", ["short", "password", "mia@example.org", ""])
def test_weak_passwords(client, password):
    response = sign_up(client, password=password)
    assert response.status_code == 422
    assert not Account.objects.exists()
    assert not Annotator.objects.exists()


def test_an_address_that_is_taken_is_not_told_from_a_wrong_one(client):
    sign_up(client)
    response = sign_up(Client(), password="another long password")
    assert response.status_code == 422
    text = response.content.decode()
    assert "create an account with this email and password" in text
    assert "exists" not in text
    assert "taken" not in text
    assert Account.objects.count() == 1


def test_signing_up_twice_is_signing_in(client):
    sign_up(client)
    other = Client()
    assert sign_up(other, "MIA@example.org").url == HOME
    assert other.get(HOME).status_code == 200
    assert (Account.objects.count(), Annotator.objects.count()) == (1, 1)


def test_an_address_that_grows_when_it_is_written_plainly(client):
    assert sign_up(client, f"a@{'ﷺ' * 60}.org").status_code == 422
    assert not Annotator.objects.exists()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_signing_up_many_times_at_once_makes_one_account():
    pks = all_at_once(lambda _: account_create(email=EMAIL, password=PASSWORD).pk, list(range(8)))
    assert len(set(pks)) == 1
    assert (Account.objects.count(), Annotator.objects.count()) == (1, 1)
    with pytest.raises(AccountRefusedError):
        account_create(email=EMAIL, password="another long password")


@pytest.mark.parametrize(
    ("email", "password"),
    [(EMAIL, "wrong"), ("nobody@example.org", PASSWORD), ("nobody@example.org", "wrong")],
)
def test_signing_in_wrongly_says_the_same(client, email, password):
    sign_up(client)
    response = sign_in(Client(), email, password)
    assert response.status_code == 422
    assert "address or the password is wrong" in response.content.decode()


def test_signing_in_and_out(client):
    sign_up(client)
    browser = Client()
    assert browser.get(HOME).url == SIGN_IN
    browser.get(SIGN_IN)
    assert sign_in(browser).url == HOME
    assert browser.get(SIGN_IN).url == HOME
    assert browser.post("/account/sign-out/").url == SIGN_IN
    assert browser.get(HOME).url == SIGN_IN
    assert browser.get("/account/sign-out/").status_code == 405


def test_the_session_gets_a_new_key(client):
    sign_up(client)
    browser = Client()
    session = browser.session
    session["planted"] = True
    session.save()
    planted = session.session_key
    sign_in(browser)
    assert browser.session.session_key != planted


def test_an_account_is_no_user_of_the_site(client):
    sign_up(client)
    assert client.get("/studies/").status_code == 302
    user = user_make()
    client.force_login(user)
    assert client.get("/studies/").status_code == 200


def test_who_tries_many_passwords_is_stopped(client, settings):
    sign_up(client)
    settings.RATELIMIT_ENABLE = True
    codes = [sign_in(Client(), password=f"wrong {n}").status_code for n in range(22)]
    assert codes[:5] == [422] * 5
    assert 429 in codes


def test_who_makes_many_accounts_is_stopped(settings):
    settings.RATELIMIT_ENABLE = True
    codes = {sign_up(Client(), f"m{n}@example.org").status_code for n in range(62)}
    assert codes == {302, 429}


@pytest.mark.parametrize("page", [SIGN_UP, SIGN_IN, HOME, "/account/sign-out/"])
def test_a_nul_breaks_nothing(client, page):
    assert client.post(page, {"email": "a\x00@b.cd", "password": "\x00"}).status_code in (302, 405, 422)


# --- My studies -------------------------------------------------------------------------------------------------------


def test_studies_that_are_offered(client, study):
    study_make(title="By invitation")
    study_make(title="Paused", open_signup=True, state=StudyState.PAUSED)
    sign_up(client)
    text = client.get(HOME).content.decode()
    assert "Open to all" in text
    assert "By invitation" not in text
    assert "Paused" not in text


def test_taking_part(client, study):
    sign_up(client)
    assert join(client, study).url == place(study)
    assert client.get(place(study)).status_code == 200
    assert join(client, study).url == place(study)
    person = Enrollment.objects.get()
    assert (person.stage, person.annotator.source) == (Stage.CONSENT, "account")
    Enrollment.objects.update(stage=Stage.DONE, completion_code="TS-ABC")
    text = client.get(HOME).content.decode()
    assert "TS-ABC" in text
    assert "Open it" in text


def test_only_who_is_signed_in_takes_part(client, study):
    assert join(client, study).url == SIGN_IN
    sign_up(client)
    assert client.get(reverse("annotation:account-join", args=[study.slug])).status_code == 405


@pytest.mark.parametrize("fields", [{"open_signup": False}, {"state": StudyState.DRAFT}])
def test_a_study_that_is_not_offered(client, study, fields):
    Study.objects.update(**fields)
    sign_up(client)
    assert join(client, study).status_code == 404
    assert join(client, study).status_code == client.post("/account/join/nothing/").status_code


def test_a_study_that_is_full(client, study):
    Study.objects.update(max_annotators=1)
    other = Client()
    sign_up(other, "first@example.org")
    join(other, study)
    sign_up(client)
    assert join(client, study).context["reason"] == "full"


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_taking_part_many_times_at_once():
    study = study_make(open_signup=True)
    browser = Client()
    sign_up(browser)

    def click(_: int) -> str:
        other = Client()
        other.cookies = browser.cookies.copy()
        return str(join(other, study).url)

    assert set(all_at_once(click, list(range(6)))) == {place(study)}
    assert Enrollment.objects.count() == 1


def test_queries_of_my_studies(client, study, django_assert_max_num_queries):
    sign_up(client)
    join(client, study)
    for _ in range(5):
        study_make(open_signup=True)
    with django_assert_max_num_queries(14):
        client.get(HOME)


# --- One person, two doors --------------------------------------------------------------------------------------------


def test_an_account_in_two_browsers_is_one_person(client, study):
    sign_up(client)
    join(client, study)
    other = Client()
    sign_in(other)
    assert other.get(place(study)).status_code == 200
    assert join(other, study).url == place(study)
    assert Enrollment.objects.count() == 1


def test_an_invitation_then_an_account_in_one_browser(client, study):
    door = reverse("annotation:join", args=[invitation_make(study=study).token])
    client.post(door, {"visit": client.get(door).context["visit"]})
    sign_up(client)
    assert "through another link" in client.get(HOME).content.decode()
    assert join(client, study).url == place(study)
    assert Enrollment.objects.count() == 1


def test_an_account_then_an_invitation(client, study):
    sign_up(client)
    join(client, study)
    door = reverse("annotation:join", args=[invitation_make(study=study).token])
    assert client.get(door).url == place(study)
    other = Client()
    sign_in(other)
    assert other.get(door).url == place(study)
    assert Enrollment.objects.count() == 1


def test_an_account_then_prolific(client, study):
    link = link_make(study)
    sign_up(client)
    join(client, study)
    assert arrive(client, link).url == place(study)
    assert Enrollment.objects.count() == 1


def test_the_mark_of_the_browser_keeps_a_second_account_out(client, study):
    sign_up(client)
    join(client, study)
    client.post("/account/sign-out/")
    assert client.get(place(study)).status_code == 404
    sign_up(client, "second@example.org")
    assert join(client, study).context["reason"] == "device"
    Study.objects.update(one_per_device=False)
    assert join(client, study).url == place(study)

"""Single sign-on against a real provider process: who comes in with which role, and what is refused."""

import logging
import re
from html import unescape
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import pytest
import requests
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEvent, Role, User
from annotation.sign_in import provider as single_sign_on
from annotation.sign_in import recent
from annotation.sign_in.provider import account_key
from tests.annotation.factories import PASSWORD, user_make
from tests.annotation.sign_in.conftest import app_set_up, log_in, signed_in
from tests.annotation.sign_in.provider import provider_running

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture(scope="module")
def running():
    with provider_running() as found:
        yield found


@pytest.fixture
def provider(running, settings):
    settings.OIDC_ISSUER = running.issuer
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = "touchstone", "not-told-to-anybody"
    settings.OIDC_NAME = "Example University"
    settings.OIDC_GROUPS = {"lab": "researcher", "it": "administrator"}
    running.person(
        "zoe", preferred_username="zoe", email="zoe@example.org", email_verified=True, groups=["lab"]
    )
    return running


def begin(client, **sent):
    """Go to the provider; returns the address that the page leads to."""
    page = client.post(reverse("single-sign-on"), sent)
    assert page.status_code == 200, page.content.decode()[-2000:]
    return unescape(re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.content.decode())[1])


def come_in(client, provider, sub="zoe", change=None, **sent):
    """The whole way of a person; `change` alters the request on its way to the provider."""
    address = begin(client, **sent)
    if change:
        parts = urlsplit(address)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()} | change
        address = urlunsplit(parts._replace(query=urlencode(query)))
    return client.get(provider.authorize(address, sub))


def is_in(client):
    return client.get("/studies/").status_code == 200


def refused(answer, title="Single sign-on didn't work"):
    return answer.status_code == 403 and title in unescape(answer.content.decode())


class TestComingIn:
    def test_a_person_with_a_group_gets_an_account_with_its_role(self, provider):
        client = Client()
        answer = come_in(client, provider, next="/datasets/")
        assert answer.url == "/datasets/"
        assert is_in(client)
        user = User.objects.get()
        assert (user.username, user.role, user.email) == ("zoe", "researcher", "zoe@example.org")
        assert not user.has_usable_password()
        account = SocialAccount.objects.get()
        assert account.uid == account_key(provider.issuer, "zoe")
        assert account.extra_data == {"iss": provider.issuer, "sub": "zoe"}, "nothing else is stored"
        assert not SocialToken.objects.exists()
        assert {"user.created", "user.signed in"} <= set(AuditEvent.objects.values_list("action", flat=True))

    def test_the_second_time_it_is_the_same_one(self, provider):
        come_in(Client(), provider)
        come_in(Client(), provider)
        assert User.objects.count() == SocialAccount.objects.count() == 1

    def test_the_role_follows_the_groups_at_each_sign_in(self, provider):
        first = Client()
        come_in(first, provider)
        provider.person("zoe", groups=["it", "lab"])
        second = Client()
        come_in(second, provider)
        assert User.objects.get().role == Role.ADMINISTRATOR
        assert second.get("/admin/").status_code == 200
        assert not is_in(first), "another role ends the other sessions"
        event = AuditEvent.objects.filter(action="user.changed").first()
        assert (event.before, event.after) == ({"role": "researcher"}, {"role": "administrator"})
        provider.person("zoe", groups=["lab"])
        come_in(Client(), provider)
        assert User.objects.get().role == Role.RESEARCHER

    @pytest.mark.parametrize(
        "claims", [{}, {"groups": []}, {"groups": ["guests"]}, {"groups": {"lab": 1}}, {"groups": 7}]
    )
    def test_without_a_mapped_group_a_page_says_so_and_there_is_no_account(self, provider, claims):
        provider.person("eve", preferred_username="eve", **claims)
        client = Client()
        assert refused(come_in(client, provider, "eve"), "Your account has no access here")
        assert not User.objects.exists()
        assert not is_in(client)
        assert AuditEvent.objects.filter(action="user.single sign-on refused").count() == 1

    def test_a_person_who_lost_their_groups_is_out_everywhere(self, provider):
        client = Client()
        come_in(client, provider)
        provider.person("zoe", groups=[])
        assert refused(come_in(Client(), provider), "Your account has no access here")
        assert not is_in(client)
        assert User.objects.get().role == Role.ANNOTATOR

    def test_groups_may_be_deeper_in_a_claim(self, provider, settings):
        settings.OIDC_GROUPS_CLAIM = "realm_access.roles"
        provider.person("max", realm_access={"roles": ["lab"]})
        come_in(Client(), provider, "max")
        assert User.objects.get().role == Role.RESEARCHER

    def test_an_account_that_is_switched_off_stays_out(self, provider):
        come_in(Client(), provider)
        User.objects.update(is_active=False)
        client = Client()
        answer = come_in(client, provider)
        assert refused(answer, "You can't sign in")
        assert not is_in(client)

    def test_its_second_factor_here_is_asked_for(self, provider):
        client = Client()
        come_in(client, provider)
        app_set_up(client)
        other = Client()
        assert come_in(other, provider).url == reverse("mfa_authenticate")
        assert not is_in(other)

    @pytest.mark.parametrize(
        ("amr", "opens"), [(["pwd", "mfa"], True), (["pwd"], False), ("mfa", False), (None, False)]
    )
    def test_a_second_factor_at_the_provider_counts_where_one_is_required(
        self, provider, settings, amr, opens
    ):
        settings.SECOND_FACTOR = "required"
        provider.person("zoe", groups=["lab"], **({} if amr is None else {"amr": amr}))
        client = Client()
        come_in(client, provider)
        assert is_in(client) == opens

    def test_a_second_factor_at_the_provider_counts_for_that_person_alone(self, provider, settings):
        client = Client()
        provider.person("zoe", groups=["lab"], amr=["mfa"])
        come_in(client, provider)
        app_set_up(client)
        other = Client()
        come_in(other, provider)  # and stops before the second step
        settings.SECOND_FACTOR = "required"
        log_in(other, user_make(username="bob"))
        assert other.get("/studies/").url == reverse("mfa_index")

    def test_a_second_sign_in_over_the_first_keeps_it(self, provider, settings):
        settings.SECOND_FACTOR = "required"
        provider.person("zoe", groups=["lab"], amr=["mfa"])
        client = Client()
        come_in(client, provider)
        come_in(client, provider)
        assert is_in(client)


class TestIdentity:
    def test_a_name_that_is_taken_is_another_person(self, provider):
        alice = user_make(username="zoe", email="zoe@example.org", role=Role.ADMINISTRATOR)
        client = Client()
        come_in(client, provider)
        assert client.get(reverse("me")).context["person"].username == "zoe-2"
        assert not SocialAccount.objects.filter(user=alice).exists(), "an address proves nothing"

    def test_an_address_that_is_not_verified_is_not_stored(self, provider):
        provider.person("zoe", groups=["lab"], email="boss@example.org", email_verified="true")
        come_in(Client(), provider)
        assert User.objects.get().email == ""

    def test_the_same_subject_of_another_issuer_is_another_person(self, provider):
        come_in(Client(), provider)
        SocialAccount.objects.update(uid=account_key("https://other.example", "zoe"))
        come_in(Client(), provider)
        assert User.objects.count() == 2

    def test_a_provider_in_the_database_is_none(self, provider):
        SocialApp.objects.create(
            provider="openid_connect", provider_id="evil", name="Evil", client_id="x", secret="y",
            settings={"server_url": "https://evil.example"},
        )  # fmt: skip
        come_in(Client(), provider)
        assert User.objects.count() == 1


class TestConnecting:
    def test_a_person_connects_an_account_that_they_have(self, provider):
        alice = user_make(username="alice", role=Role.ADMINISTRATOR)
        client = signed_in(alice)
        assert come_in(client, provider, process="connect").url == reverse("me")
        assert "You can sign in with Example University" in client.get(reverse("me")).content.decode()
        assert AuditEvent.objects.filter(action="user.single sign-on connected", subject="alice").count() == 1
        other = Client()
        come_in(other, provider)
        assert other.get(reverse("me")).context["person"] == alice
        alice.refresh_from_db()
        assert alice.role == Role.RESEARCHER, "from now on it comes from the groups"

    def test_it_asks_who_one_is_after_five_minutes(self, provider, monkeypatch):
        client = signed_in(user_make(username="alice"))
        monkeypatch.setattr(recent, "RECENT_SECONDS", -1)
        assert client.post(reverse("single-sign-on"), {"process": "connect"}).url == reverse("confirm")

    def test_an_account_of_another_person_is_not_connected(self, provider):
        come_in(Client(), provider)
        alice = user_make(username="alice")
        client = signed_in(alice)
        come_in(client, provider, process="connect")
        assert "belongs to another account" in client.get(reverse("me")).content.decode()
        assert not SocialAccount.objects.filter(user=alice).exists()

    def test_and_takes_it_off_again(self, provider):
        alice = user_make(username="alice")
        client = signed_in(alice)
        come_in(client, provider, process="connect")
        for _ in range(2):
            assert client.post(reverse("single-sign-on-disconnect")).url == reverse("me")
        assert not SocialAccount.objects.exists()
        assert AuditEvent.objects.filter(action="user.single sign-on disconnected").count() == 1

    def test_not_where_it_is_the_only_way_in(self, provider):
        client = Client()
        come_in(client, provider)
        assert client.post(reverse("single-sign-on-disconnect")).status_code == 403
        assert SocialAccount.objects.exists()

    def test_who_is_not_signed_in_connects_nothing(self, provider):
        for process in ("connect", "confirm", "redirect", "x"):
            assert Client().post(reverse("single-sign-on"), {"process": process}).status_code == 403
        assert Client().post(reverse("single-sign-on-disconnect")).url.startswith(reverse("login"))


class TestConfirming:
    def test_a_person_without_a_password_confirms_at_the_provider(self, provider, monkeypatch):
        client = Client()
        come_in(client, provider)
        key = client.session.session_key
        monkeypatch.setattr(recent, "RECENT_SECONDS", -1)
        asked = client.get(reverse("mfa_activate_totp"))
        page = client.get(asked.url).content.decode()
        assert "Confirm with Example University" in page
        assert "Your password" not in page
        address = begin(client, process="confirm", next=reverse("mfa_activate_totp"))
        assert "prompt=login" in address
        assert "max_age=0" in address
        monkeypatch.setattr(recent, "RECENT_SECONDS", 300)
        assert client.get(provider.authorize(address, "zoe")).url == reverse("mfa_activate_totp")
        assert client.get(reverse("mfa_activate_totp")).status_code == 200
        assert client.session.session_key != key
        assert "This session" in client.get(reverse("me")).content.decode()

    def test_another_person_confirms_nothing(self, provider):
        client = Client()
        come_in(client, provider)
        provider.person("max", groups=["lab"])
        assert refused(come_in(client, provider, "max", process="confirm"))
        come_in(Client(), provider, "max")
        assert refused(come_in(client, provider, "max", process="confirm"))
        assert client.get(reverse("me")).context["person"].username == "zoe"

    def test_a_provider_that_did_not_ask_again_confirms_nothing(self, provider, monkeypatch):
        client = Client()
        come_in(client, provider)
        monkeypatch.setattr(single_sign_on, "LEEWAY_SECONDS", -3600)  # an hour after it was asked
        assert refused(come_in(client, provider, process="confirm"))


class TestOnly:
    @pytest.fixture(autouse=True)
    def only(self, provider, settings):
        settings.OIDC_ONLY = True

    def test_a_person_of_the_provider_has_no_password_here(self, provider, mailoutbox):
        alice = user_make(username="alice", email="alice@example.org")
        client = signed_in(alice)
        come_in(client, provider, process="connect")
        other = Client()
        answer = log_in(other, alice)
        assert answer.status_code == 200
        assert "no password here. Sign in with the button for Example University" in answer.content.decode()
        assert not is_in(other)
        page = client.get(reverse("me")).content.decode()
        assert "Change the password" not in page
        sent = {"old_password": PASSWORD, "new_password1": "x" * 20, "new_password2": "x" * 20}
        assert client.post(reverse("password-change"), sent).status_code == 403
        Client().post(reverse("password-forgot"), {"email": "alice@example.org"})
        assert mailoutbox == []

    def test_a_wrong_password_tells_nothing_of_it(self, provider):
        alice = user_make(username="alice")
        come_in(signed_in(alice), provider, process="connect")
        assert "no password here" not in log_in(Client(), alice, "wrong").content.decode()

    def test_the_others_sign_in_as_before(self, provider):
        assert log_in(Client(), user_make(username="bob")).status_code == 302


class TestHostile:
    def test_a_state_that_was_never_sent(self, provider):
        client = Client()
        back = provider.authorize(begin(client), "zoe")
        assert refused(client.get(re.sub(r"state=[^&]+", "state=made-up", back)))
        assert not User.objects.exists()

    def test_the_answer_of_somebody_elses_sign_in(self, provider):
        back = provider.authorize(begin(Client()), "zoe")
        victim = Client()
        begin(victim)
        assert refused(victim.get(back))
        assert not is_in(victim)

    def test_an_answer_works_once(self, provider):
        client = Client()
        back = provider.authorize(begin(client), "zoe")
        assert client.get(back).status_code == 302
        client.post(reverse("logout"))
        assert refused(client.get(back))

    def test_a_code_works_once(self, provider):
        client = Client()
        first = provider.authorize(begin(client), "zoe")
        client.get(first)
        client.post(reverse("logout"))
        second = provider.authorize(begin(client), "zoe")
        used = parse_qs(urlsplit(first).query)["code"][0]
        assert refused(client.get(re.sub(r"code=[^&]+", f"code={used}", second)))
        assert not is_in(client)

    def test_a_code_of_somebody_elses_sign_in_lacks_the_verifier(self, provider):
        stolen = parse_qs(urlsplit(provider.authorize(begin(Client()), "zoe")).query)["code"][0]
        thief = Client()
        back = provider.authorize(begin(thief), "eve")
        assert refused(thief.get(re.sub(r"code=[^&]+", f"code={stolen}", back)))
        assert not is_in(thief)

    def test_another_nonce(self, provider, caplog):
        client = Client()
        assert refused(come_in(client, provider, change={"nonce": "of-another-sign-in"}))
        assert not is_in(client)
        assert "the nonce differs" in caplog.text

    def test_another_client(self, provider, settings, caplog):
        client = Client()
        back = provider.authorize(begin(client), "zoe")
        settings.OIDC_CLIENT_ID = "another"
        assert refused(client.get(back))

    def test_an_answer_that_names_another_issuer(self, provider):
        client = Client()
        back = provider.authorize(begin(client), "zoe")
        assert refused(client.get(f"{back}&iss=https://evil.example"))
        assert not is_in(client)

    def test_metadata_of_another_issuer(self, provider, settings, caplog):
        settings.OIDC_ISSUER = provider.issuer + "/"  # not to the letter what the metadata says
        answer = Client().post(reverse("single-sign-on"))
        assert answer.status_code == 502
        assert f"The metadata is that of '{provider.issuer}'" in caplog.text.replace('\\"', "").replace(
            '"', ""
        )

    @pytest.mark.parametrize(
        "url",
        [
            "http://169.254.169.254/x",
            "https://localhost/x",
            "http://localhost:1/x",
            "http://evil.example",
            "file:///etc/x",
        ],
    )
    def test_other_hosts_are_never_asked(self, provider, url):
        with pytest.raises(requests.RequestException, match="no address of the provider"):
            single_sign_on.ProviderSession().get(url)

    def test_no_redirect_is_followed(self, provider):
        to = {"redirect_uri": "http://169.254.169.254/"}
        answer = single_sign_on.ProviderSession().post(
            f"{provider.issuer}/oauth2/end_session/confirm", data=to
        )
        assert answer.status_code == 302

    def test_metadata_that_leads_elsewhere(self, provider, monkeypatch, caplog):
        client = Client()
        back = provider.authorize(begin(client), "zoe")
        found = single_sign_on.provider_json(f"{provider.issuer}/.well-known/openid-configuration")
        lie = found | {"token_endpoint": "http://169.254.169.254/token"}
        monkeypatch.setattr(single_sign_on, "provider_json", lambda url, token="": lie)
        assert refused(client.get(back))
        assert "169.254.169.254 is no address of the provider" in caplog.text

    def test_metadata_with_a_script_for_an_address(self, provider, monkeypatch):
        lie = {"issuer": provider.issuer, "authorization_endpoint": "javascript:alert(1)"}
        lie |= {"token_endpoint": provider.issuer, "jwks_uri": provider.issuer}
        monkeypatch.setattr(single_sign_on, "provider_json", lambda url, token="": lie)
        assert Client().post(reverse("single-sign-on")).status_code == 502

    def test_a_provider_that_is_away(self, settings, provider, caplog):
        settings.OIDC_ISSUER = "http://localhost:1"
        answer = Client().post(reverse("single-sign-on"))
        assert answer.status_code == 502
        assert "can't be reached" in unescape(answer.content.decode())
        assert refused(Client().get(reverse("openid_connect_callback"), {"code": "x", "state": "y"}))

    @pytest.mark.parametrize(
        "wanted", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
    )
    def test_it_never_leads_to_another_site(self, provider, wanted):
        client = Client()
        assert come_in(client, provider, next=wanted).url == "/"
        back = provider.authorize(begin(Client()), "zoe")
        assert refused(Client().get(f"{back}&next={wanted}"))

    def test_a_person_who_says_no(self, provider):
        client = Client()
        assert refused(client.get(provider.authorize(begin(client))))

    @pytest.mark.parametrize(
        "query",
        [{}, {"code": "x"}, {"state": "x"}, {"error": "access_denied"}, {"state": "\0", "code": "\0"}],
    )
    def test_an_answer_that_is_none(self, provider, query):
        assert refused(Client().get(reverse("openid_connect_callback"), query))

    def test_it_is_begun_by_a_post_of_this_site_alone(self, provider):
        assert Client().get(reverse("single-sign-on")).status_code == 405
        strict = Client(enforce_csrf_checks=True)
        assert strict.post(reverse("single-sign-on")).status_code == 403

    def test_what_is_sent_in_the_address_changes_no_request(self, provider):
        client = Client()
        page = client.post(
            reverse("single-sign-on")
            + "?scope=admin&auth_params=nonce%3Dx%26redirect_uri%3Dhttps://evil.example"
        )
        address = unescape(page.content.decode())
        assert "evil" not in address
        assert "admin" not in re.search(r"url=(\S+)", address)[1]

    def test_many_attempts_are_refused(self, provider, limited):
        answers = [Client().get(reverse("openid_connect_callback")).status_code for _ in range(61)]
        assert answers[-1] == 429

    def test_secrets_and_codes_are_not_logged(self, provider, caplog):
        caplog.set_level(logging.DEBUG)
        client = Client()
        back = provider.authorize(begin(client), "zoe")
        client.get(back)
        refused(client.get(back))
        code = parse_qs(urlsplit(back).query)["code"][0]
        ours = " ".join(one.getMessage() for one in caplog.records if not one.name.startswith("httpcore"))
        assert "Single sign-on failed" in ours
        assert code not in ours
        assert "not-told-to-anybody" not in ours


def test_without_an_issuer_there_is_none(db):
    assert Client().post(reverse("single-sign-on")).status_code == 404
    assert Client().get(reverse("openid_connect_callback")).status_code == 404
    assert "Sign in with" not in Client().get(reverse("login")).content.decode().replace(
        "Sign in with a passkey", ""
    )

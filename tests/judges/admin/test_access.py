"""Who reaches the administrators' pages, and how."""

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Role, User
from judges.models import Sweep
from tests.annotation.factories import dataset_make, user_make
from tests.judges.props import endpoint_make, judge_make, sweep_make

pytestmark = pytest.mark.django_db

PAGES = (
    "admin:index",
    "admin:judges_sweep_changelist",
    "admin:judges_sweep_add",
    "admin:judges_judge_changelist",
    "admin:judges_judge_add",
    "admin:judges_prompttext_changelist",
    "admin:judges_prompttext_add",
    "admin:judges_endpoint_changelist",
    "admin:judges_endpoint_add",
    "admin:judges_judgment_changelist",
    "admin:annotation_user_changelist",
    "admin:password_change",
)
BUTTONS = ("sweep_start", "sweep_pause", "sweep_cancel", "sweep_resume", "endpoint_try", "judge_heuristics")


def client_of(user: User | None) -> Client:
    client = Client(enforce_csrf_checks=False)
    if user is not None:
        client.force_login(user)
    return client


@pytest.fixture
def sweep() -> Sweep:
    return sweep_make([judge_make()], dataset_make(), start=False)


@pytest.mark.parametrize("name", PAGES)
def test_anonymous_is_led_to_the_one_login_and_back(name: str) -> None:
    url = reverse(name)
    response = client_of(None).get(url, follow=True)
    address, _ = response.redirect_chain[-1]
    assert address == f"{reverse('login')}?next={url.replace('/', '%2F')}"
    assert b"csrfmiddlewaretoken" in response.content


@pytest.mark.parametrize("role", [Role.RESEARCHER, Role.ANNOTATOR])
@pytest.mark.parametrize("name", PAGES)
def test_who_is_no_administrator_is_refused(name: str, role: str) -> None:
    # The staff flag of Django does not open the door either.
    client = client_of(user_make(role=role, username=f"u-{role}"))
    User.objects.update(is_staff=True)
    assert client.get(reverse(name), follow=True).status_code == 403


@pytest.mark.parametrize("name", PAGES)
def test_administrators_come_in_by_role_alone(name: str) -> None:
    user = User.objects.create_user("a", password="x", role=Role.ADMINISTRATOR)
    assert client_of(user).get(reverse(name)).status_code == 200


def test_createsuperuser_makes_an_administrator() -> None:
    call_command("createsuperuser", "--noinput", username="root", email="root@example.org", verbosity=0)
    user = User.objects.get(username="root")
    assert user.role == Role.ADMINISTRATOR
    assert client_of(user).get(reverse("admin:index")).status_code == 200


def test_an_administrator_who_was_switched_off_is_out() -> None:
    user = User.objects.create_user("a", password="x", role=Role.ADMINISTRATOR)
    client = client_of(user)
    User.objects.update(is_active=False)
    assert client.get(reverse("admin:index")).status_code == 302


@pytest.mark.parametrize("button", BUTTONS)
def test_buttons_are_posts_of_administrators(button: str, sweep: Sweep) -> None:
    pk = endpoint_make().pk if button.startswith("endpoint") else sweep.pk
    url = reverse(f"admin:judges_{button}", args=[] if button == "judge_heuristics" else [pk])
    admin, researcher = user_make(role=Role.ADMINISTRATOR), user_make()
    assert client_of(admin).get(url).status_code == 405
    assert client_of(researcher).post(url, follow=True).status_code == 403
    assert client_of(None).post(url).status_code == 302
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(admin)
    assert strict.post(url).status_code == 403
    assert Sweep.objects.get().state == "draft"


def test_progress_is_for_administrators(sweep: Sweep) -> None:
    url = reverse("admin:judges_sweep_progress", args=[sweep.pk])
    assert client_of(None).get(url).status_code == 302
    assert client_of(user_make()).get(url, follow=True).status_code == 403
    assert client_of(user_make(role=Role.ADMINISTRATOR)).post(url).status_code == 405


def test_a_poll_after_the_session_ended_reloads_the_page(sweep: Sweep) -> None:
    """The part of the page that asks is not filled with a login form."""
    url = reverse("admin:judges_sweep_progress", args=[sweep.pk])
    response = client_of(None).get(url, headers={"HX-Request": "true"}, follow=True)
    assert response["HX-Refresh"] == "true"
    assert response.content == b""


def test_the_login_leads_nowhere_else() -> None:
    url = reverse("admin:login")
    response = client_of(None).get(url, {"next": "https://example.org/"})
    assert response["Location"] == f"{reverse('login')}?next=%2Fadmin%2F"
    admin = client_of(user_make(role=Role.ADMINISTRATOR))
    assert admin.get(url, {"next": "//example.org"})["Location"] == reverse("admin:index")


def test_the_index_begins_with_what_is_needed_first() -> None:
    page = client_of(user_make(role=Role.ADMINISTRATOR)).get(reverse("admin:index")).content.decode()
    page = page[page.index("<main") :]  # below the site's own navigation
    places = [page.index(f">{name}<") for name in ("Sweeps", "Judges", "Endpoints", "Judgments", "Users")]
    assert places == sorted(places)
    assert "Groups" not in page

"""What signing in costs pages that don't need it: annotators' pages ask the database nothing for it."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.sign_in.conftest import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

OURS = "allauth.account.middleware.AccountMiddleware"


def queries_of(client, address):
    """The tables that a page asks, after it was opened once."""
    assert client.get(address).status_code == 200
    with CaptureQueriesContext(
        connection,
    ) as asked:
        client.get(address)
    return [query["sql"] for query in asked]


@pytest.mark.parametrize("is_staff", [False, True])
def test_an_annotators_page_asks_for_no_session_and_no_account(cast, settings, is_staff):
    person = enrollment_make(study=study_make())
    client = signed_in(cast.alice) if is_staff else Client()
    client.get(reverse("annotation:resume", args=[person.resume_token]))
    address = reverse("annotation:work", args=[person.study.slug])
    with_it = queries_of(client, address)
    for table in ("session", "staffsession", "account", "mfa", "annotation_user"):
        assert not any(f'"{table}' in sql or f"django_{table}" in sql for sql in with_it), table
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if name != OURS]
    without = Client()
    without.cookies = client.cookies
    assert len(queries_of(without, address)) == len(with_it)


def test_a_page_of_staff_asks_for_the_session_and_the_person_alone(cast, settings):
    settings.SECOND_FACTOR = "required"
    client = signed_in(cast.alice)
    session = client.session
    session["second_factor_shown"] = True
    session.save()
    asked = queries_of(client, reverse("annotation:screens"))
    assert [sql.split('FROM "')[1].split('"')[0] for sql in asked if "FROM" in sql][:2] == [
        "django_session",
        "annotation_user",
    ]
    assert not any("mfa_" in sql or "socialaccount" in sql or "staffsession" in sql for sql in asked)

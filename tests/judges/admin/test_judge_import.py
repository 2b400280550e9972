"""A judge as a file, out of the admin and into it."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from judges.models import Endpoint, Judge
from tests.annotation.factories import user_make
from tests.judges.admin_forms import errors
from tests.judges.props import endpoint_make, judge_make

pytestmark = pytest.mark.django_db

IMPORT = "admin:judges_judge_import"


def sent(client, content, **fields):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    file = SimpleUploadedFile("judge.json", body, "application/json")
    return client.post(reverse(IMPORT), {"file": file, **fields}, follow=True)


def exported(client, judge):
    return json.loads(client.get(reverse("admin:judges_judge_export", args=[judge.pk])).content)


def test_a_judge_leaves_and_comes_back_the_same(admin):
    judge = judge_make(endpoint_make(), strategy="cot", params={"rules": True})
    document = exported(admin, judge)
    judge.delete()
    page = sent(admin, document).content.decode()
    back = Judge.objects.get()
    assert (back.fingerprint, back.name) == (judge.fingerprint, judge.name)
    assert back.created_by is not None
    assert f"'{judge.name}' is imported." in page.replace("&#x27;", "'")
    assert "is this judge already" in sent(admin, document).content.decode()
    assert Judge.objects.count() == 1


def test_another_endpoint_and_name_make_another_judge_and_say_so(admin):
    judge = judge_make(endpoint_make(), strategy="cot")
    other = endpoint_make("http://127.0.0.1:10/v1")
    page = sent(admin, exported(admin, judge), endpoint=other.pk, name="Elsewhere").content.decode()
    assert "it is another judge" in page
    assert Judge.objects.get(name="Elsewhere").endpoint == other


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "Not UTF-8"),
        (b'{"spec": ', "Not JSON or YAML"),
        (b"- a", "Expected a judge"),
        ({"schema": "touchstone.judge/9"}, "schema: expected"),
        ({"schema": "touchstone.judge/2", "name": "x", "fingerprint": "0", "spec": {}}, "strategy: missing"),
        ({"strategy": "longest", "temper": 3}, "temper: unknown field"),
    ],
)
def test_a_file_that_is_no_judge_is_refused_at_its_field(admin, content, said):
    response = sent(admin, content)
    assert said in " ".join(errors(response)["file"])
    assert not Judge.objects.exists()


def test_without_a_fitting_endpoint_it_says_which_is_needed(admin):
    judge = judge_make(endpoint_make(), strategy="cot")
    document = exported(admin, judge)
    judge.delete()
    Endpoint.objects.all().delete()
    assert "has no endpoint of the kind" in " ".join(errors(sent(admin, document))["file"])


def test_only_administrators_import_and_export(client):
    judge = judge_make()
    for url in (reverse(IMPORT), reverse("admin:judges_judge_export", args=[judge.pk])):
        assert client.get(url).status_code == 302
        client.force_login(user_make())
        assert client.get(url).status_code == 302
        client.logout()
    assert Judge.objects.count() == 1

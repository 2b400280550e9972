"""The API speaks JSON when something is wrong, too, and says the same whoever asks."""

import pytest
from django.test import Client

from annotation.models import Role
from annotation.services.tokens import token_create
from tests.annotation.factories import dataset_make, user_make
from tests.judges.props import judge_make, sweep_make

pytestmark = pytest.mark.django_db

NOTHING = {
    "type": "/api/v1/docs/#problem-not-found",
    "title": "Not found",
    "status": 404,
    "detail": "There is no page at this address.",
    "errors": [{"message": "There is no page at this address."}],
}
PROBLEM = "application/problem+json"


def client_make(role=None, **options):
    if role is None:
        return Client(**options)
    secret = token_create(user=user_make(username=f"a-{role}", role=role), name="test")[1]
    return Client(headers={"Authorization": f"Bearer {secret}"}, **options)


def draft():
    return sweep_make([judge_make()], dataset_make(pairs=2), start=False)


@pytest.mark.parametrize("role", [None, Role.RESEARCHER, Role.ADMINISTRATOR])
@pytest.mark.parametrize(
    "address",
    ["/api/", "/api/v1/nothing/", "/api/v1/sweeps/x/", "/api/v2/sweeps/", "/api/nothing", "/api/%00/"],
)
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_an_unknown_address_is_told_in_json_alike_for_everybody(role, address, method):
    response = getattr(client_make(role), method)(address)
    assert response.status_code == 404
    assert response["Content-Type"] == PROBLEM
    assert response.json() == NOTHING


def test_pages_still_say_it_in_a_page():
    for address in ("/nothing/", "/apian/"):
        response = Client().get(address)
        assert response.status_code == 404
        assert "<h1>Page not found</h1>" in response.content.decode()


def test_a_missing_slash_still_leads_on():
    assert Client().get("/api/v1/sweeps")["Location"] == "/api/v1/sweeps/"


def test_who_may_not_look_learns_not_what_exists():
    sweep = draft()
    sweep.datasets.update(split="private")
    for role, status in ((None, 401), (Role.RESEARCHER, 404)):
        client = client_make(role)
        there, missing = (client.get(f"/api/v1/sweeps/{pk}/") for pk in (sweep.pk, sweep.pk + 1))
        assert there.status_code == missing.status_code == status
        assert there.content == missing.content


def test_a_wrong_method_is_told_in_json():
    response = client_make(Role.ADMINISTRATOR).delete("/api/v1/sweeps/")
    assert response.status_code == 405
    assert response["Content-Type"] == PROBLEM
    assert response.json()["errors"] == [{"message": 'Method "DELETE" not allowed.'}]
    assert Client().delete("/api/v1/sweeps/").status_code == 401, "who asks comes first"


def test_a_fault_is_told_in_json_without_its_text(monkeypatch):
    def broken(*_args, **_options):
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr("judges.api.views.sweep_estimate", broken)
    response = client_make(Role.ADMINISTRATOR, raise_request_exception=False).get(
        f"/api/v1/sweeps/{draft().pk}/estimate/"
    )
    assert response.status_code == 500
    assert "secret" not in response.content.decode()
    assert "Something went wrong on our side" in response.json()["errors"][0]["message"]


def test_a_request_that_cannot_be_read_is_told_in_json(settings):
    settings.ALLOWED_HOSTS = ["testserver"]
    response = Client().get("/api/v1/sweeps/", headers={"Host": "elsewhere"})
    assert response.status_code == 400
    assert response.json()["errors"] == [{"message": "The request can't be read."}]


def test_a_field_that_is_wrong_is_named():
    address = f"/api/v1/sweeps/{draft().pk}/resume/"
    client = client_make(Role.ADMINISTRATOR)
    response = client.post(address, {"budget": -5, "budgets": 1}, content_type="application/json")
    assert response.status_code == 400
    assert response.json()["errors"] == [{"field": "budgets", "message": "Unknown field."}]
    response = client.post(address, {"budget": -5}, content_type="application/json")
    assert response.json()["errors"] == [
        {"field": "budget", "message": "Ensure this value is greater than or equal to 0."}
    ]
    response = client.post("/api/v1/sweeps/", "[1]", content_type="application/json")
    assert response.json()["errors"] == [{"message": "Expected a JSON object."}]

"""The schema of the API: complete, valid, true of what is answered, and readable as a page."""

import json

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import RESOURCES
from config.api.schema import schema_make
from tests.access_world import World, addresses

pytestmark = pytest.mark.django_db


def test_the_schema_is_generated_without_a_warning(tmp_path):
    path = tmp_path / "schema.json"
    call_command(
        "spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", "--file", str(path)
    )
    made = json.loads(path.read_text())
    assert made["openapi"] == "3.1.0"
    assert made["paths"] == json.loads(json.dumps(schema_make()["paths"]))


def test_it_has_every_address_and_names_its_scope():
    own = {"api:schema", "api:docs"}
    routes = {a.route for a in addresses() if a.name.startswith("api:") and a.name not in own}
    assert len(schema_make()["paths"]) == len(routes)
    operations = [one for path in schema_make()["paths"].values() for one in path.values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    for one in operations:
        (tag,) = one["tags"]
        assert tag == "api" or f"Scope: `{tag}:" in one["description"]
        assert one["summary"]
    assert {one["tags"][0] for one in operations} <= {*RESOURCES, "api"}


def test_the_page_shows_every_operation_and_loads_nothing_from_elsewhere():
    page = Client().get(reverse("api:docs")).content.decode()
    for path in schema_make()["paths"]:
        assert path in page
    assert "<script>" not in page
    assert "//" not in page.replace("http://127.0.0.1", "").replace("http://www.w3.org", "").split("<body")[0]
    assert "style=" not in page


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_list_takes_six_queries_whatever_its_size(django_assert_max_num_queries):
    """Beside those of the token, which is looked up once a request."""
    world = World(split="public")
    client = Client(headers={"Authorization": f"Bearer {world.tokens['owner']}"})
    client.get("/api/v1/")  # notes that the token was used
    lists = [a for a in addresses() if a.name.startswith("api:") and a.name.endswith("s")]
    seen = 0
    for address in lists:
        path = world.address_of(address)
        for limit in (1, 1000):
            with django_assert_max_num_queries(6):
                response = client.get(path, {"limit": limit})
            if response.status_code == 200 and b'"results"' in response.content:
                seen += bool(response.json()["results"])
    assert seen >= 16, seen

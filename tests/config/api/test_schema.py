"""The schema of the API: complete, valid, true of what is answered, and readable as a page."""

import json
import re

import pytest
import schemathesis
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from annotation.models import RESOURCES
from config.api.schema import schema_make
from tests.access_world import World, addresses

UNFILTERED = {"/api/v1/items/{id}/notes/"}

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


def test_each_operation_is_described_with_an_example_that_its_schema_allows():
    made = json.loads(json.dumps(schema_make()))
    whole = {"$id": "urn:touchstone", "components": made["components"]}
    registry = Registry().with_resource("urn:touchstone", DRAFT202012.create_resource(whole))
    shown = 0
    for path, operations in made["paths"].items():
        for method, one in operations.items():
            name = one["operationId"]
            assert one["summary"], name
            assert one["description"].startswith(one["summary"][:20]), name
            for status, answer in one["responses"].items():
                if not status.startswith("2"):
                    assert list(answer["content"]) == ["application/problem+json"], (name, status)
                    assert answer["description"], (name, status)
            assert {"400", "401", "403", "404", "429"} <= set(one["responses"]), name
            taken = [one["requestBody"]["content"]["application/json"]] if "requestBody" in one else []
            given = [
                media
                for status, answer in one["responses"].items()
                for kind, media in answer.get("content", {}).items()
                if status.startswith("2") and kind == "application/json" and not path.endswith("/file/")
            ]
            assert given or "204" in one["responses"] or path.endswith("/file/"), (name, method)
            for media in (*taken, *given):
                assert media["examples"], name
                schema = json.loads(
                    json.dumps(media["schema"]).replace("#/components", "urn:touchstone#/components")
                )
                for example in media["examples"].values():
                    Draft202012Validator(schema, registry=registry).validate(example["value"])
                    shown += 1
    assert shown > 100


def test_the_schema_is_openapi_3_1(tmp_path):
    """By the rules of its own specification, as the fuzzer's library has them."""
    made = json.loads(json.dumps(schema_make()))
    found = schemathesis.openapi.from_dict(made)
    found.validate()
    assert found.specification.version == "3.1.0"
    for path, operations in made["paths"].items():
        for one in operations.values():
            named = {each["name"] for each in one.get("parameters", []) if each["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path)), path


def test_lists_are_cut_by_cursors_and_narrowed():
    """Every list takes `cursor` and `limit`, and all but those of one row's parts a filter."""
    bare = set()
    for path, operations in schema_make()["paths"].items():
        if "get" in operations and operations["get"]["operationId"].endswith("_list"):
            names = {one["name"] for one in operations["get"].get("parameters", []) if one["in"] == "query"}
            if path.endswith("/strategies/"):  # one page has them all
                continue
            assert {"cursor", "limit"} <= names, path
            if names == {"cursor", "limit"}:
                bare.add(path)
    assert bare <= UNFILTERED, bare - UNFILTERED


def test_the_page_shows_every_operation_and_loads_nothing_from_elsewhere():
    page = Client().get(reverse("api:docs")).content.decode()
    for path in schema_make()["paths"]:
        assert path in page
    assert "<script>" not in page
    assert "`" not in page.partition("<main")[2].partition("</main")[0].replace("```", "")
    assert "<code>composite</code>" in page
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

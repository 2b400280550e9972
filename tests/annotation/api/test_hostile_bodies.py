"""Bodies that nobody should send: refused with a problem, whatever the write."""

import pytest
from django.test import Client

from annotation.services.tokens import token_create
from tests.annotation.factories import user_make

pytestmark = pytest.mark.django_db

BODIES = {
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "Latin-1": '{"name": "é"}'.encode("latin-1"),
    "nested": b'{"items": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "huge": b'{"name": "' + b"x" * 1_000_000 + b'"}',
    "a list": b"[1]",
    "nothing": b"",
    "not a number": b'{"name": NaN}',
    "a surrogate": b'{"name": "\\ud800"}',
    "a NUL": b'{"name": "a\\u0000b"}',
    "no end": b'{"name": ',
}


@pytest.mark.parametrize(
    "path",
    ["datasets/", "labels/", "studies/", "reports/", "comparisons/", "webhooks/", "selections/", "exports/"],
)
def test_it_is_refused_with_a_problem(path):
    secret = token_create(user=user_make(), name="t")[1]
    client = Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)
    for name, body in BODIES.items():
        answer = client.post(f"/api/v1/{path}", body, content_type="application/json")
        assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json"), name
        assert answer.json()["errors"], name
    other = client.post(f"/api/v1/{path}", "name=x", content_type="application/x-www-form-urlencoded")
    assert other.status_code == 415


DEEP = '{"name": "[[[",\n "items": ' + "[" * 50_000 + "]" * 50_000 + "}"
PLACES = {
    '{"name": "x",\n "items": [1,]}': ("", "line 2, column 14: Illegal trailing comma|line 2, column 14: Expecting"),
    '{"name": ': ("", "line 1, column 10: Expecting value"),
    '{"name": "x"} []': ("", "line 1, column 15: Extra data"),
    '{"items": [{"id": "a", "gold": NaN}]}': ("items.0.gold", "found NaN, which isn't JSON; write null."),
    '{"items": [{}, {"gold": -Infinity}]}': ("items.1.gold", "found -Infinity"),
    '{"items": [{}, {"gold": {"choice": 1e999}}]}': ("items.1.gold.choice", "1e999, which is too large"),
    '{"title": ' + "9" * 5_000 + "}": ("title", "which is too large"),
    '{"items": [{"id": "a", "id": "b"}]}': ("items.0", "the key 'id' twice in one object"),
    '{"name": "a", "name": "b"}': ("", "the key 'name' twice in one object"),
    '{"name": "a\\u0000b"}': ("name", "the character NUL"),
    '{"items": [{"id": "\\ud800"}]}': ("items.0.id", "a lone surrogate"),
    DEEP: ("", "line 2, column 44: more than 34 levels of nesting"),
    '{"items": ' + "[" * 40 + "]" * 40 + "}": ("items" + ".0" * 33, "at most 34 levels of nesting"),
}  # fmt: skip


def test_the_place_of_what_is_wrong_is_named():
    secret = token_create(user=user_make(), name="t")[1]
    client = Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)

    def errors(body):
        answer = client.post("/api/v1/datasets/", body, content_type="application/json")
        assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json"), body[:60]
        (error,) = answer.json()["errors"]
        return error.get("field", ""), error["message"]

    for body, (field, words) in PLACES.items():
        found = errors(body)
        assert found[0] == field, (body[:60], found)
        assert any(one in found[1] for one in words.split("|")), (body[:60], found)
    place = errors('{"name": "x",\n "title": "é"}'.encode("latin-1"))
    assert place == ("", "Not JSON: line 2, column 12: expected UTF-8 text, found the byte 0xe9.")

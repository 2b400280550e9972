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

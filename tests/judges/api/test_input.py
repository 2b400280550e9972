"""What nobody should send to the API is refused in words: characters, sizes, numbers, fields, cursors."""

import json

import pytest
from django.test import Client

from annotation.models import Role
from annotation.services.tokens import token_create
from judges.services.sweeps import sweep_pause
from tests.annotation.factories import dataset_make, user_make
from tests.judges.props import endpoint_make, judge_make, sweep_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

PLAN = '{"name": "x", "datasets": ["DATASET"], "judges": ["JUDGE"]'
MODEL = '{"strategy": "vanilla", "endpoint": "ENDPOINT"'


@pytest.fixture
def client():
    secret = token_create(user=user_make(role=Role.ADMINISTRATOR), name="test")[1]
    return Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)


@pytest.fixture
def sweep():
    row = sweep_make([judge_make(name="JUDGE")], dataset_make(pairs=1))
    sweep_pause(sweep=row)
    return row


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("sweeps/", '{"name": "x", "datasets": ["\\ud800"]}', "found a lone surrogate"),
        ("sweeps/", '{"name": "x", "datasets": ["a\\u0000b"]}', "found the character NUL"),
        ("judges/", '{"strategy": "vanilla", "endpoint": "\\udfff"}', "found a lone surrogate"),
        ("judges/", '{"\\ud800": 1}', "found a lone surrogate"),
        ("judges/", "[" * 100_000 + "]" * 100_000, "Not JSON"),
        ("judges/", '{"notes": "' + "x" * 1_000_000 + '"}', "Larger than 1,000,000 bytes"),
        ("judges/", '{"notes": NaN}', "NaN, which isn't JSON"),
        ("judges/", "5", "Expected a JSON object"),
        ("judges/", MODEL + ', "model": "' + "m" * 300 + '"}', "at most 200 characters"),
        ("judges/", MODEL + ', "model": "m", "prompt": 5}', "judge"),
        ("judges/", '{"strategy": "jury", "members": {"' + "m" * 101 + '": "JUDGE"}}', "at most 100"),
        ("sweeps/", PLAN + ', "budget": -5}', "0 or more"),
        ("sweeps/", PLAN + ', "seed": 99999999999999999999}', "seed"),
        ("sweeps/", PLAN + ', "grid": {"strategy": "vanilla", "params": 3}}', "expected settings by name"),
        ("sweeps/SWEEP/resume/", '{"budget": -5}', "greater than or equal to 0"),
        ("sweeps/SWEEP/resume/", '{"budget_tokens": 1' + "0" * 30 + "}", "less than or equal"),
        ("sweeps/SWEEP/resume/", '{"budget_minutes": 1' + "0" * 18 + "}", "less than or equal"),
        ("sweeps/SWEEP/resume/", '{"bugdet": 5}', "Unknown field"),
    ],
    ids=lambda value: value[:60],
)
def test_it_is_refused_in_words(client, sweep, path, body, words):
    dataset, endpoint = sweep.datasets.get(), endpoint_make()
    body = body.replace("DATASET", dataset.name).replace("ENDPOINT", endpoint.name)
    path = path.replace("SWEEP", str(sweep.pk))
    answer = client.post(f"/api/v1/{path}", body, content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert words in json.dumps(answer.json())


@pytest.mark.parametrize(
    ("query", "status"),
    [("judge=%00", 200), ("status=%00parsed", 200), ("cursor=x", 404), ("cursor=cD0lMDA%3D", 404)],
)
def test_addresses_that_were_made_up(client, sweep, query, status):
    assert client.get(f"/api/v1/sweeps/{sweep.pk}/judgments/?{query}").status_code == status
    assert client.post("/api/v1/sweeps/99999999999999999999999/start/").status_code == 404

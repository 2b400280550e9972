"""Every field of what the API takes, with every kind of value that it does not expect.

Nothing is answered with an error of the server, and after each request the lists can still be read: a value that is
stored and cannot be shown would close them for everybody.
"""

import pytest
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.test import Client

from annotation.models import Role
from annotation.services.tokens import token_create
from judges.models import Sweep
from judges.services.plans import (  # the fields that it knows, so that a new one is in here by itself
    JUDGE_FIELDS,
    PLAN_FIELDS,
)
from tests.annotation.factories import dataset_make, user_make
from tests.judges.props import endpoint_make, judge_make, sweep_make

pytestmark = pytest.mark.django_db

VALUES = [
    *("null", "true", "0", "-1", "1.5", "1e999", "-1e999", "99999999999999999999", '""', '"x"', '"1"', '" "'),
    *('"NaN"', '"nan"', '"Infinity"', '"-inf"', '"1e999"', '"\\u202e"', '"' + "x" * 5000 + '"', "[]", "[[]]"),
    *(
        "[null]",
        '["x"]',
        "[1e999]",
        "{}",
        '{"": ""}',
        '{"x": null}',
        '{"x": "NaN"}',
        '{"x": {"x": []}}',
        '[{"x": 1}]',
    ),
]
NESTED = {
    "decoding": ("temperature", "top_p", "max_tokens", "seed", "stop"),
    "params": ("rules", "n", "threshold", "temperature"),
    "grid": ("strategy", "endpoint", "model", "decoding", "decoding.temperature", "params.rules", ""),
    "roles": ("judge", "x"),
    "members": ("x",),
    "step_prompts": ("x",),
    "backend_options": ("x",),
}


@pytest.fixture
def client():
    secret = token_create(user=user_make(role=Role.ADMINISTRATOR), name="test")[1]
    client = Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)
    dataset_make(pairs=1, name="data")
    judge_make(name="JUDGE")
    endpoint_make(name="local")
    return client


def answers_well(client, path: str, fields: dict[str, str]) -> None:
    cache.clear()  # so many requests are more than one may send a minute
    body = "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}"
    answer = client.post(f"/api/v1/{path}", body, content_type="application/json")
    assert answer.status_code < 500, (path, body[:300])
    if answer.status_code < 300:
        assert client.get(f"/api/v1/{path}").status_code == 200, ("the list after", body[:300])


@pytest.mark.both_databases
@pytest.mark.parametrize("field", sorted(PLAN_FIELDS))
def test_a_plan(client, field):
    plan = {"name": '"x"', "datasets": '["data"]', "judges": '["JUDGE"]'}
    for value in VALUES:
        answers_well(client, "sweeps/", plan | {field: value})
    for inner in NESTED.get(field, ()):
        for value in VALUES:
            answers_well(client, "sweeps/", plan | {field: f'{{"{inner}": {value}}}'})


# What is kept in columns of JSON is shown on PostgreSQL by one of them, and by the plan's.
ELSEWHERE = {"params", "roles", "members", "step_prompts", "backend_options"}


@pytest.mark.parametrize(
    "field",
    [
        pytest.param(field, marks=[pytest.mark.both_databases] * (field not in ELSEWHERE))
        for field in sorted(JUDGE_FIELDS)
    ],
)
def test_a_judge(client, field):
    judge = {"strategy": '"vanilla"', "endpoint": '"local"', "model": '"m"'}
    for value in VALUES:
        answers_well(client, "judges/", judge | {field: value})
    for inner in NESTED.get(field, ()):
        for value in VALUES:
            answers_well(client, "judges/", judge | {field: f'{{"{inner}": {value}}}'})


@pytest.mark.both_databases
@pytest.mark.parametrize("value", ['"NaN"', '"Infinity"', "1e999", '"-inf"', "1.5", "-0.5"])
def test_a_share_that_is_none_is_refused_and_nothing_is_stored(client, value):
    body = f'{{"name": "x", "datasets": ["data"], "judges": ["JUDGE"], "stop_unparsed": {value}}}'
    answer = client.post("/api/v1/sweeps/", body, content_type="application/json")
    assert answer.status_code == 400
    assert not Sweep.objects.exists()


@pytest.mark.both_databases
@pytest.mark.parametrize("share", [1.5, -1.0])
def test_the_database_keeps_the_bounds_too(share):
    sweep = sweep_make([judge_make()], dataset_make(pairs=1))
    with pytest.raises(IntegrityError, match="stop_unparsed_bounded"), transaction.atomic():
        Sweep.objects.filter(pk=sweep.pk).update(stop_unparsed=share)

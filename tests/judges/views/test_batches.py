"""Batches on pages, by the API and in files: how they are switched on, and what a sweep's page says of them."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Role
from annotation.services.tokens import token_create
from judges.backends.mock_server import running_mock_server
from judges.engine.batch_work import BatchTimes, batches_work
from judges.models import Endpoint, ModelRequest, RequestBatch, Sweep
from judges.services.sweeps import SweepError, sweep_cancel, sweep_create, sweep_delete, sweep_start
from tests.annotation.factories import dataset_make, user_make
from tests.judges.admin_forms import errors
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

pytestmark = [pytest.mark.django_db(transaction=True)]
ADD = "admin:judges_endpoint_add"
AT_ONCE = BatchTimes(look=0.0, settle=0.0, backoff=0.0)
FORM = {
    "name": "server",
    "base_url": "https://api.example/v1",
    "structured": "none",
    "max_concurrency": "4",
    "timeout_seconds": "30",
    "price_input": "2",
    "price_output": "4",
    "in_batches": "on",
}


@pytest.mark.parametrize(("kind", "kept"), [("openai", True), ("anthropic", True), ("litellm", False)])
def test_the_page_switches_batches_on_where_a_vendor_has_them(admin, kind, kept):
    admin.post(reverse(ADD), FORM | {"kind": kind})
    endpoint = Endpoint.objects.get()
    assert (endpoint.kind, endpoint.in_batches) == (kind, kept)
    assert endpoint.price_of("m") == ((1.0, 2.0) if kept else (2.0, 4.0))


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"kind": "openai", "addresses": "https://other.example/v1"}, "in_batches", "one server"),
        ({"kind": "anthropic", "structured": "vllm"}, "structured", "no vLLM structured outputs"),
        ({"kind": "anthropic", "base_url": ""}, "base_url", "https://api.anthropic.com/v1"),
    ],
)
def test_what_batches_cannot_be_combined_with_stands_at_its_field(admin, fields, field, words):
    response = admin.post(reverse(ADD), FORM | fields)
    assert words in errors(response)[field][0]
    assert not Endpoint.objects.exists()


def test_the_api_and_a_file_switch_batches_on(client, tmp_path):
    user = user_make(username="ada", role=Role.ADMINISTRATOR)
    token = token_create(user=user, name="t", scopes=["judges:write"])[1]
    headers = {"Authorization": f"Bearer {token}"}
    body = {"name": "claude", "kind": "anthropic", "base_url": "https://api.example/v1", "in_batches": True}
    made = client.post(
        "/api/v1/endpoints/", json.dumps(body), content_type="application/json", headers=headers
    )
    assert (made.status_code, made.json()["in_batches"]) == (201, True)
    (tmp_path / "site.yaml").write_text(
        'endpoints:\n  - {name: cheap, base_url: "https://api.example/v1", in_batches: true}\n'
    )
    call_command("apply", str(tmp_path / "site.yaml"), user="ada", stdout=StringIO())
    assert dict(Endpoint.objects.values_list("name", "in_batches")) == {"claude": True, "cheap": True}


def test_a_sweeps_page_shows_its_open_batches_and_then_none(admin):
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, in_batches=True, name="cheap"), "mock-longer")
        sweep = sweep_make([judge], dataset_make(pairs=3))
        run()
        pages = [
            reverse("judges:sweep-detail", args=[sweep.pk]),
            reverse("admin:judges_sweep_progress", args=[sweep.pk]),
        ]
        for page in pages:
            shown = admin.get(page).content.decode()
            assert "6 requests are in batches" in shown
            assert "Being submitted" in shown
        batches_work(times=AT_ONCE)
        remote = RequestBatch.objects.get().remote
        assert remote
        assert remote in admin.get(pages[0]).content.decode()
        for _ in range(4):
            batches_work(times=AT_ONCE)
            run()
        assert Sweep.objects.get().state == "finished"
        assert "requests are in batches" not in admin.get(pages[0]).content.decode()


def test_a_sweep_with_an_open_batch_is_not_deleted(admin):
    judge = judge_make(endpoint_make(in_batches=True), "mock-longer")
    sweep = sweep_make([judge], dataset_make(pairs=2))
    run()
    assert sweep_cancel(sweep=sweep)
    with pytest.raises(SweepError, match="has not ended"):
        sweep_delete(sweep=sweep)
    batches_work(times=AT_ONCE)
    assert sweep_delete(sweep=sweep)
    assert not ModelRequest.objects.exists()
    assert not RequestBatch.objects.exists()


def test_a_judge_that_needs_more_than_answers_is_refused_before_the_start():
    judge = judge_make(endpoint_make(in_batches=True), "m", strategy="reward")
    sweep = sweep_create(name="s", judges=[judge], datasets=[dataset_make(pairs=2)])
    with pytest.raises(SweepError, match="endpoint with batches does not give"):
        sweep_start(sweep=sweep)

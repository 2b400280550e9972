"""Endpoints in the admin: every kind, options, prices, trials."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Role
from judges.backends.mock_server import running_mock_server
from judges.models import BackendKind, Endpoint, Judgment
from tests.annotation.factories import dataset_make, user_make
from tests.judges.admin_forms import errors
from tests.judges.props import endpoint_make, judge_make, run, sweep_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db

ADD = "admin:judges_endpoint_add"


def endpoint_form(**fields: Any) -> dict[str, Any]:
    return {
        "name": "server",
        "base_url": "http://127.0.0.1:8001/v1",
        "structured": "none",
        "max_concurrency": "4",
        "timeout_seconds": "30",
        "price_input": "0",
        "price_output": "0",
    } | fields


def test_an_endpoint_is_made_and_changed(admin: Client) -> None:
    response = admin.post(reverse(ADD), endpoint_form(is_local="on"))
    endpoint = Endpoint.objects.get()
    assert response.url == reverse("admin:judges_endpoint_change", args=[endpoint.pk])
    admin.post(response.url, endpoint_form(max_concurrency="9"))
    endpoint.refresh_from_db()
    assert (endpoint.max_concurrency, endpoint.is_local) == (9, False)


def test_what_an_endpoint_may_not_be_stands_at_its_field(admin: Client) -> None:
    data = endpoint_form(base_url="ftp://x", api_key_env="sk-abc", max_concurrency="0", name="a b")
    response = admin.post(reverse(ADD), data)
    assert set(errors(response)) == {"base_url", "api_key_env", "max_concurrency", "name"}
    (words,) = errors(response)["name"]
    assert "no spaces" in words
    assert "slug" not in response.content.decode().casefold()


def test_a_server_of_judges_that_judged_moves_to_other_addresses_and_keeps_its_answers(admin: Client) -> None:
    dataset = dataset_make(pairs=2)
    with running_mock_server() as old:
        endpoint = endpoint_make(old.url, name="server")
        judge = judge_make(endpoint, model="mock-first")
        sweep_make([judge], dataset)
        run()
    url = reverse("admin:judges_endpoint_change", args=[endpoint.pk])
    refused = admin.post(url, endpoint_form(base_url=old.url, addresses="http://127.0.0.1:1"))
    assert "up to and with /v1" in errors(refused)["addresses"][0]
    with running_mock_server() as one, running_mock_server() as two:
        lines = f"{one.url}\r\n\r\n {two.url} "
        assert (
            admin.post(url, endpoint_form(base_url=old.url, addresses=lines, is_local="on")).status_code
            == 302
        )
        endpoint.refresh_from_db()
        assert endpoint.addresses == [one.url, two.url]
        assert one.url in admin.get(url).content.decode()
        # The same requests are known by the server's name; another judge's go to the new addresses.
        Judgment.objects.all().delete()
        again = sweep_make([judge], dataset)
        sweep_make([judge_make(endpoint, model="mock-second")], dataset)
        run()
        assert sum(server.stats()["requests"] for server in (one, two)) == 4
    assert [(row.n_shared, row.n_done) for row in again.runs.all()] == [(4, 4)]
    assert Judgment.objects.filter(status="parsed").count() == 8


def test_the_address_of_judges_that_judged_stays(admin: Client) -> None:
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url, name="server")
        sweep_make([judge_make(endpoint, name="Used")], dataset_make(pairs=1))
        run()
        url = reverse("admin:judges_endpoint_change", args=[endpoint.pk])
        response = admin.post(url, endpoint_form(base_url="http://127.0.0.1:1/v1"))
        assert "'Used' judged with the current settings" in errors(response)["base_url"][0]
        endpoint.refresh_from_db()
        assert endpoint.base_url == server.url
        # The page's head shows what is stored, not what was refused.
        assert server.url in response.content.decode()


def test_trying_an_endpoint_shows_its_answer(admin: Client) -> None:
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url)
        url = reverse("admin:judges_endpoint_try", args=[endpoint.pk])
        page = admin.post(url, {"model": "mock-first"}, follow=True).content.decode()
        assert "answered as mock-first in" in page
        assert 'aria-describedby="try-hint" value="mock-first"' in page, "to be tried again"
        page = admin.post(url, {"model": ""}, follow=True).content.decode()
        assert "Enter a model" in page
        assert server.stats()["requests"] == 1


def test_a_trial_that_fails_says_why_and_never_shows_the_key(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIAL_KEY", "sk-very-secret")
    with running_mock_server(api_key="another") as server:
        endpoint = endpoint_make(server.url, api_key_env="TRIAL_KEY")
        url = reverse("admin:judges_endpoint_try", args=[endpoint.pk])
        page = admin.post(url, {"model": "mock-first"}, follow=True).content.decode()
    assert "did not answer" in page
    assert "401" in page
    for name in ("admin:judges_endpoint_changelist", "admin:index"):
        page += admin.get(reverse(name)).content.decode()
    assert "TRIAL_KEY" in page
    assert "sk-very-secret" not in page


def test_a_key_that_is_not_there_is_said(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    endpoint = endpoint_make(api_key_env="NO_SUCH_KEY")
    assert "Not set" in admin.get(reverse("admin:judges_endpoint_changelist")).content.decode()
    page = admin.get(reverse("admin:judges_endpoint_change", args=[endpoint.pk])).content.decode()
    assert "is not set here" in page


def test_an_endpoint_without_an_answer(admin: Client) -> None:
    endpoint = endpoint_make("http://127.0.0.1:9/v1")
    url = reverse("admin:judges_endpoint_try", args=[endpoint.pk])
    assert "did not answer" in admin.post(url, {"model": "m"}, follow=True).content.decode()


def test_endpoints_of_judges_are_protected(admin: Client) -> None:
    endpoint = endpoint_make()
    judge_make(endpoint)
    url = reverse("admin:judges_endpoint_delete", args=[endpoint.pk])
    for number in range(13):
        judge_make(endpoint, model=f"mock-slow-{number}", name=f"Slow {number:02}")
    page = admin.get(url).content.decode()
    assert "You can't delete it" in page
    assert page.count("<li>Judge: ") == 12
    assert "<li>and 2 more</li>" in page
    admin.post(url, {"post": "yes"})
    assert Endpoint.objects.exists()


# --- kinds --------------------------------------------------------------------------------------------------------


def test_an_engine_in_the_worker_has_no_address_and_its_options_by_name(admin: Client) -> None:
    data = endpoint_form(
        name="engine",
        kind="vllm",
        base_url="not an address",
        api_key_env="KEY",
        queue="gpu",
        dtype="bfloat16",
        quantization="awq",
        tensor_parallel_size="2",
        max_model_len="4096",
        device="cuda:1",
        other_options='{"enforce_eager": true}',
    )
    admin.post(reverse(ADD), data)
    endpoint = Endpoint.objects.get()
    assert (endpoint.kind, endpoint.base_url, endpoint.api_key_env, endpoint.queue) == ("vllm", "", "", "gpu")
    # The device is a setting of another kind, and was out of sight.
    assert endpoint.options == {
        "enforce_eager": True,
        "dtype": "bfloat16",
        "quantization": "awq",
        "tensor_parallel_size": 2,
        "max_model_len": 4096,
    }
    assert endpoint.keeps_private
    form = admin.get(reverse("admin:judges_endpoint_change", args=[endpoint.pk])).context["form"]
    assert form["tensor_parallel_size"].value() == 2
    assert '"enforce_eager": true' in form["other_options"].value()
    assert "tensor_parallel_size" not in form["other_options"].value()


@pytest.mark.parametrize(
    ("kind", "queue"),
    [("openai", "http"), ("litellm", "http"), ("vllm_server", "cpu"), ("transformers", "cpu")],
)
def test_servers_are_asked_by_http_workers_and_engines_run_on_processors_unless_told(
    admin: Client, kind: str, queue: str
) -> None:
    admin.post(reverse(ADD), endpoint_form(kind=kind))
    assert Endpoint.objects.get().queue == queue


def test_a_server_needs_an_address_and_a_vendor_may_do_without(admin: Client) -> None:
    assert errors(admin.post(reverse(ADD), endpoint_form(base_url="")))["base_url"] == [
        "Enter the address of the server."
    ]
    assert admin.post(reverse(ADD), endpoint_form(kind="litellm", base_url="")).status_code == 302
    assert Endpoint.objects.get().kind == BackendKind.LITELLM


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("{", "be used"),
        ("[1]", "expected an object"),
        ('{"api_key": "sk-1"}', "secrets are not stored"),
        ('{"dtype": "float16"}', "has a field of its own"),
    ],
)
def test_options_that_cannot_be_are_refused(admin: Client, options: str, words: str) -> None:
    response = admin.post(reverse(ADD), endpoint_form(kind="transformers", other_options=options))
    assert words in errors(response)["other_options"][0]
    assert not Endpoint.objects.exists()


def test_an_option_that_vllm_does_not_know_is_refused_before_a_worker_meets_it(admin: Client) -> None:
    response = admin.post(reverse(ADD), endpoint_form(kind="vllm", other_options='{"enforce_egger": true}'))
    assert "enforce_egger" in errors(response)["other_options"][0]


def test_an_unknown_kind_is_refused(admin: Client) -> None:
    assert "kind" in errors(admin.post(reverse(ADD), endpoint_form(kind="imported")))


def test_trying_an_engine_says_that_it_runs_in_the_worker(admin: Client) -> None:
    endpoint = Endpoint.objects.create(name="engine", kind="transformers", queue="cpu")
    url = reverse("admin:judges_endpoint_change", args=[endpoint.pk])
    assert "It runs in the worker" in admin.get(url).content.decode()
    page = admin.post(reverse("admin:judges_endpoint_try", args=[endpoint.pk]), {"model": "m"}, follow=True)
    assert "it runs in the worker" in page.content.decode()


# --- prices and limits --------------------------------------------------------------------------------------------


def price_rows(*rows: tuple[str, str, str]) -> dict[str, str]:
    data = {"prices_rows": str(len(rows))}
    for number, row in enumerate(rows):
        data |= {
            f"price{number}_{part}": value
            for part, value in zip(("model", "input", "output"), row, strict=True)
        }
    return data


def test_prices_by_model_and_limits_a_minute(admin: Client) -> None:
    rows = price_rows(("large", "2.5", "10"), ("", "", ""), ("small", "0", "0.4"))
    limits = {"requests_per_minute": "60", "tokens_per_minute": "90000"}
    admin.post(reverse(ADD), endpoint_form(**rows, **limits))
    endpoint = Endpoint.objects.get()
    assert endpoint.prices == {"large": [2.5, 10.0], "small": [0.0, 0.4]}
    assert (endpoint.requests_per_minute, endpoint.tokens_per_minute) == (60, 90_000)
    form = admin.get(reverse("admin:judges_endpoint_change", args=[endpoint.pk])).context["form"]
    assert [fields[0].value() for _, fields in form.prices] == ["large", "small", ""]
    assert form["price_input"].value() == "0"


def test_a_price_that_is_wrong_names_its_row(admin: Client) -> None:
    rows = price_rows(("a", "1", "1"), ("a", "2", "2"), ("", "3", ""), ("b", "1", ""), ("c", "-1", "x"))
    found = errors(admin.post(reverse(ADD), endpoint_form(**rows)))
    assert found["price1_model"] == ["Row 2: 'a' has prices in a row above."]
    assert found["price2_model"] == ["Row 3: name the model of these prices."]
    assert found["price3_model"] == ["Row 4: 'b' needs both prices; 0 is allowed."]
    assert set(found) == {"price1_model", "price2_model", "price3_model", "price4_input", "price4_output"}


def test_more_rows_keep_what_was_typed_and_save_nothing(admin: Client) -> None:
    data = endpoint_form(name="half done", base_url="", **price_rows(("a", "x", "")), _redraw="prices")
    response = admin.post(reverse(ADD), data)
    form = response.context["form"]
    assert response.status_code == 200
    assert len(form.prices) == 4
    assert (form["price0_input"].value(), form["name"].value()) == ("x", "half done")
    assert not form.errors
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("rows", ["-1", "x", "999999", "²"])
def test_a_number_of_rows_that_is_none_is_no_trouble(admin: Client, rows: str) -> None:
    assert admin.post(reverse(ADD), endpoint_form(prices_rows=rows)).status_code == 302


# --- twice --------------------------------------------------------------------------------------------------------


def test_sending_the_form_twice_makes_one_endpoint(admin: Client) -> None:
    for status in (302, 200):
        assert admin.post(reverse(ADD), endpoint_form()).status_code == status
    assert Endpoint.objects.count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_the_same_form_sent_at_the_same_moment_makes_one_endpoint() -> None:
    user = user_make(role=Role.ADMINISTRATOR)

    def send(each: Client) -> int:
        return each.post(reverse(ADD), endpoint_form()).status_code

    statuses = sorted(all_at_once(send, browsers_of(user, 4)))
    assert statuses == [200, 200, 200, 302]
    assert Endpoint.objects.count() == 1


def test_the_list_takes_as_many_queries_for_many_endpoints(
    admin: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        judge_make(endpoint_make(), model=f"m{number}")
    Endpoint.objects.create(name="engine", kind="vllm", queue="gpu")
    with django_assert_max_num_queries(6):
        page = admin.get(reverse("admin:judges_endpoint_changelist")).content.decode()
    assert "In the worker" in page
    assert "queue gpu" in page


def test_options_that_nest_too_deep_are_refused_in_their_field(admin: Client) -> None:
    data = {
        "name": "deep",
        "kind": "vllm",
        "max_concurrency": 1,
        "timeout_seconds": 1,
        "other_options": "[" * 5000,
    }
    response = admin.post(reverse("admin:judges_endpoint_add"), data)
    assert "be used" in str(response.context["form"].errors["other_options"])


def test_how_a_server_is_told_to_think(admin: Client) -> None:
    admin.post(reverse(ADD), endpoint_form(thinking_form="gemini", reasoning_parser="qwen3"))
    endpoint = Endpoint.objects.get()
    assert endpoint.options == {"thinking_form": "gemini"}  # the parser is vLLM's
    url = reverse("admin:judges_endpoint_change", args=[endpoint.pk])
    assert admin.get(url).context["form"]["thinking_form"].value() == "gemini"
    admin.post(url, endpoint_form(name="server", thinking_form=""))
    endpoint.refresh_from_db()
    assert endpoint.options == {}
    admin.post(reverse(ADD), endpoint_form(name="own", kind="vllm_server", reasoning_parser="qwen3"))
    assert Endpoint.objects.get(name="own").options == {"reasoning_parser": "qwen3"}

"""Judges and endpoints in the admin: forms, refusals, copies, trials."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from judges.models import BackendKind, Judge
from judges.services.judges import heuristic_judges_ensure
from judges.strategies.registry import STRATEGIES
from tests.annotation.factories import dataset_make
from tests.judges.admin_forms import errors, judge_form
from tests.judges.props import endpoint_make, judge_make, run, sweep_make

pytestmark = pytest.mark.django_db

ADD = "admin:judges_judge_add"


def used_judge(**fields: Any) -> Judge:
    judge = judge_make(**fields)
    sweep_make([judge], dataset_make(pairs=1))
    run()
    return judge


def test_a_judge_is_made(admin: Client) -> None:
    endpoint = endpoint_make()
    data = judge_form(endpoint=endpoint.pk, model="m", strategy="cot", cot__rules="on", allow_tie="on")
    response = admin.post(reverse(ADD), data, follow=True)
    assert "is saved" in response.content.decode()
    judge = Judge.objects.get()
    assert (judge.model, judge.backend, judge.endpoint) == ("m", BackendKind.OPENAI, endpoint)
    assert judge.spec["params"]["rules"] is True
    assert judge.spec["allow_tie"] is True
    assert judge.created_by is not None


def test_a_judge_without_a_model_needs_neither_endpoint_nor_model(admin: Client) -> None:
    admin.post(reverse(ADD), judge_form(strategy="random", random__seed="7", endpoint="", model="x"))
    judge = Judge.objects.get()
    assert (judge.backend, judge.endpoint, judge.model) == (BackendKind.HEURISTIC, None, "")
    assert judge.spec["params"]["seed"] == 7


def test_what_is_wrong_stands_at_its_field(admin: Client) -> None:
    data = judge_form(name="", temperature="3", top_p="x", model="", endpoint="")
    response = admin.post(reverse(ADD), data)
    assert response.status_code == 200
    assert set(errors(response)) == {"name", "temperature", "top_p", "model", "endpoint"}
    assert "Not saved" in response.content.decode()
    assert not Judge.objects.exists()


def test_an_unknown_strategy_is_refused(admin: Client) -> None:
    assert "strategy" in errors(admin.post(reverse(ADD), judge_form(strategy="tarot")))


def test_the_same_judge_again_is_named(admin: Client) -> None:
    endpoint = endpoint_make()
    judge_make(endpoint, model="m", name="The first", strategy="vanilla")
    response = admin.post(reverse(ADD), judge_form(name="Another", endpoint=endpoint.pk, model="m"))
    assert errors(response) == {
        "__all__": ["This is the judge 'The first' already: its configuration is the same."]
    }
    assert "The first" in response.content.decode()


def test_sending_the_form_twice_makes_one_judge(admin: Client) -> None:
    data = judge_form(strategy="longest")
    assert admin.post(reverse(ADD), data).status_code == 302
    assert admin.post(reverse(ADD), data).status_code == 200
    assert Judge.objects.count() == 1


def test_a_name_that_is_taken_is_refused(admin: Client) -> None:
    judge_make(name="A judge")
    assert "name" in errors(admin.post(reverse(ADD), judge_form(strategy="shortest")))


def test_an_unused_judge_can_be_changed(admin: Client) -> None:
    judge = judge_make(endpoint_make(), model="m", name="Old")
    url = reverse("admin:judges_judge_change", args=[judge.pk])
    page = admin.get(url)
    assert page.context["form"]["model"].value() == "m"
    before = judge.fingerprint
    admin.post(url, judge_form(name="New", endpoint=judge.endpoint_id, model="n", temperature="0.5"))
    judge.refresh_from_db()
    assert (judge.name, judge.model, judge.spec["decoding"]["temperature"]) == ("New", "n", 0.5)
    assert judge.fingerprint != before


def test_saving_unchanged_changes_nothing(admin: Client) -> None:
    """What the form has no field for is kept: stop words, settings of the backend."""
    judge = judge_make(
        endpoint_make(),
        model="m",
        name="A judge",
        decoding={"stop": ["END"], "max_tokens": 1024},
        backend_options={"extra_body": {"top_k": 1}},
    )
    url = reverse("admin:judges_judge_change", args=[judge.pk])
    admin.post(url, judge_form(endpoint=judge.endpoint_id, model="m"))
    before = judge.fingerprint
    judge.refresh_from_db()
    assert judge.fingerprint == before
    assert judge.spec["decoding"]["stop"] == ["END"]


def test_a_judge_that_has_judged_is_shown_and_not_changed(admin: Client) -> None:
    judge = used_judge(name="Used")
    url = reverse("admin:judges_judge_change", args=[judge.pk])
    page = admin.get(url).content.decode()
    assert "Copy as a new judge" in page
    assert "2 judgments" in page
    assert 'name="strategy"' not in page
    assert admin.post(url, judge_form(name="Changed", strategy="shortest")).status_code == 403
    refused = admin.post(reverse("admin:judges_judge_delete", args=[judge.pk]), {"post": "yes"}, follow=True)
    assert "has judged, so it can't be changed" in refused.content.decode()
    judge.refresh_from_db()
    assert (judge.name, judge.strategy) == ("Used", "longest")


def test_a_judge_that_judged_while_its_form_was_open(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = used_judge(name="Used")
    monkeypatch.setattr("judges.admin.judges.judge_has_judged", lambda judge: False)
    url = reverse("admin:judges_judge_change", args=[judge.pk])
    response = admin.post(url, judge_form(name="Changed", strategy="shortest"))
    assert "has judged" in errors(response)["__all__"][0]


def test_a_copy_starts_from_the_judge_and_must_differ(admin: Client) -> None:
    judge = judge_make(
        endpoint_make(),
        model="m",
        name="First",
        strategy="cot",
        params={"rules": True},
        decoding={"stop": ["END"]},
    )
    url = f"{reverse(ADD)}?copy={judge.pk}"
    form = admin.get(url).context["form"]
    assert form["name"].value() == "First (copy)"
    assert form["cot__rules"].value() is True
    assert form["endpoint"].value() == judge.endpoint_id
    data = judge_form(name="Second", strategy="cot", cot__rules="on", endpoint=judge.endpoint_id, model="m")
    assert "already" in errors(admin.post(url, data))["__all__"][0]
    assert admin.post(url, data | {"temperature": "1"}).status_code == 302
    copy = Judge.objects.get(name="Second")
    assert copy.spec["decoding"]["stop"] == ["END"]
    assert copy.spec["decoding"]["temperature"] == 1.0


@pytest.mark.parametrize("wanted", ["999", "x", "", "-1", "²"])
def test_a_copy_of_nothing_is_an_empty_form(admin: Client, wanted: str) -> None:
    response = admin.get(f"{reverse(ADD)}?copy={wanted}")
    assert response.status_code == 200
    assert response.context["form"]["name"].value() is None


def test_imported_judges_are_read_only_and_not_copied(admin: Client) -> None:
    judge = Judge.objects.create(
        name="GPT-4, imported",
        backend=BackendKind.IMPORTED,
        strategy="imported",
        spec={},
        fingerprint="f" * 16,
    )
    page = admin.get(reverse("admin:judges_judge_change", args=[judge.pk])).content.decode()
    assert "verdicts were imported" in page
    assert "Copy as a new judge" not in page
    assert admin.get(f"{reverse(ADD)}?copy={judge.pk}").context["form"]["name"].value() is None
    assert "verdicts imported" in admin.get(reverse("admin:judges_judge_changelist")).content.decode()


def test_the_form_says_what_each_strategy_is_and_needs(admin: Client) -> None:
    page = admin.get(reverse(ADD)).content.decode()
    assert "gives its reasons first" in page
    needing = [info for info in STRATEGIES.values() if info.needs_reference]
    assert page.count("needs a human-written reference") == len(needing)
    assert len(re.findall(r'name="strategy"', page)) == len(STRATEGIES)
    assert {info.family for info in STRATEGIES.values()} == set(re.findall(r"<legend>(.+)</legend>", page))


def test_judges_without_a_model_are_added_once(admin: Client) -> None:
    url = reverse("admin:judges_judge_heuristics")
    for _ in range(2):
        assert admin.post(url).url == reverse("admin:judges_judge_changelist")
    assert Judge.objects.count() == 6


def test_an_unused_judge_is_deleted_after_a_question(admin: Client) -> None:
    judge = judge_make(name="Gone soon")
    url = reverse("admin:judges_judge_delete", args=[judge.pk])
    assert "Gone soon" in admin.get(url).content.decode()
    admin.post(url, {"post": "yes"})
    assert not Judge.objects.exists()


def test_a_judge_of_a_sweep_is_protected(admin: Client) -> None:
    judge = judge_make(name="Wanted")
    sweep_make([judge], dataset_make(pairs=1))
    url = reverse("admin:judges_judge_delete", args=[judge.pk])
    assert "You can't delete it" in admin.get(url).content.decode()
    admin.post(url, {"post": "yes"})
    assert Judge.objects.exists()


def test_the_list_takes_as_many_queries_for_many_judges(
    admin: Client, django_assert_max_num_queries: Any
) -> None:
    heuristic_judges_ensure()
    endpoint = endpoint_make()
    for number in range(12):
        judge_make(endpoint, model=f"m{number}")
    with django_assert_max_num_queries(6):
        admin.get(reverse("admin:judges_judge_changelist"))
    found = admin.get(reverse("admin:judges_judge_changelist"), {"q": "m11"}).context["rows"]
    assert [judge.model for judge, *_ in found] == ["m11"]

"""The pages of generations, and the form that makes pairs of them."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Dataset, Item, Response, Role, User
from judges.models import Generation
from tests.annotation.factories import user_make
from tests.judges.contestants import answers_make, contestant_make, form_of, source_make
from tests.races import all_at_once, browsers_of

pytestmark = pytest.mark.django_db

PAIRS = "admin:judges_generation_pairs"


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(user_make(role=Role.ADMINISTRATOR, username="boss"))
    return client


def test_the_form_makes_pairs_and_twice_the_same_ones_once(admin: Client) -> None:
    source, contestant = source_make(), contestant_make("one")
    answers_make(contestant, source)
    url = f"{reverse(PAIRS)}?dataset={source.pk}"
    page = admin.get(url).content.decode()
    assert "one: 4 instructions answered" in page
    assert 'value="tea-pairs"' in page
    for words in ("4 pairs.", "all there already"):
        response = admin.post(url, form_of(contestant), follow=True)
        assert words in response.content.decode()
    assert Dataset.objects.get(name="pairs").owner == User.objects.get(username="boss")
    assert Item.objects.count() == 4


def test_what_the_form_refuses(admin: Client) -> None:
    source, one, two = source_make(), contestant_make("one"), contestant_make("two")
    answers_make(one, source)
    answers_make(two, source)
    url = f"{reverse(PAIRS)}?dataset={source.pk}"
    for changes, words in (
        ({"contestants": []}, "This field is required"),
        ({"name": "no name"}, "valid “slug”"),
        ({"name": "tea"}, "with other content"),
        ({"against": f"contestant:{one.pk}"}, "is among the contestants"),
        ({"against": "system:gpt"}, "Select a valid choice"),
        ({"seed": "-1"}, "greater than or equal to 0"),
        ({"samples": "some"}, "Select a valid choice"),
    ):
        page = admin.post(url, form_of(one) | changes).content.decode().replace("&quot;", '"')
        assert words in page, words
    assert Dataset.objects.count() == 1
    assert admin.post(url, form_of(one) | {"against": f"contestant:{two.pk}"}).status_code == 302


def test_the_form_asks_first_which_dataset(admin: Client) -> None:
    assert "No contestant has answered" in admin.get(reverse(PAIRS)).content.decode()
    source, contestant = source_make(), contestant_make("one")
    answers_make(contestant, source)
    page = admin.get(reverse(PAIRS)).content.decode()
    assert "Choose a dataset" in page
    assert "csrfmiddlewaretoken" not in page.partition("<main")[2]
    assert admin.post(reverse(PAIRS), form_of(contestant)).status_code == 200
    assert admin.get(f"{reverse(PAIRS)}?dataset=x").status_code == 200
    assert Dataset.objects.count() == 1


def test_who_may_make_pairs(admin: Client) -> None:
    source, contestant = source_make(split="private"), contestant_make("one")
    answers_make(contestant, source)
    generation = Generation.objects.first()
    assert generation is not None
    url = f"{reverse(PAIRS)}?dataset={source.pk}"
    researcher = Client()
    researcher.force_login(user_make())
    for address in (
        url,
        reverse("admin:judges_generation_changelist"),
        reverse("admin:judges_generation_change", args=[generation.pk]),
    ):
        assert Client().post(address, form_of(contestant)).status_code == 302
        assert researcher.post(address, form_of(contestant), follow=True).status_code == 403
        assert admin.get(address).status_code == 200
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="boss"))
    assert strict.post(url, form_of(contestant)).status_code == 403
    assert admin.post(reverse("admin:judges_generation_change", args=[generation.pk])).status_code == 403
    assert admin.get(reverse("admin:judges_generation_add")).status_code == 403
    assert Dataset.objects.count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_sent_four_times_at_the_same_moment() -> None:
    user = user_make(role=Role.ADMINISTRATOR)
    source, contestant = source_make(), contestant_make("one")
    answers_make(contestant, source)

    def send(each: Client) -> int:
        return each.post(f"{reverse(PAIRS)}?dataset={source.pk}", form_of(contestant)).status_code

    assert all_at_once(send, browsers_of(user, 4)) == [302] * 4
    assert Dataset.objects.count() == 2
    assert Item.objects.count() == 4
    assert Response.objects.count() == 8


def test_the_list_of_generations(admin: Client, django_assert_max_num_queries: Any) -> None:
    source, one, two = source_make(60), contestant_make("one"), contestant_make("two")
    answers_make(one, source)
    answers_make(two, source)
    Generation.objects.filter(contestant=two, instruction__external_id="i5").update(
        status="failed", text="<script>alert(1)</script>"
    )
    url = reverse("admin:judges_generation_changelist")
    with django_assert_max_num_queries(6) as queries:
        page = admin.get(url).content.decode()
    assert "COUNT(" not in " ".join(query["sql"].upper() for query in queries.captured_queries)
    assert page.count("<tr") == 51
    seen, address = [], url
    while address:
        page = admin.get(address).content.decode()
        seen += [
            part.partition("/")[0]
            for part in page.split("/admin/judges/generation/")[1:]
            if part[0].isdigit()
        ]
        older = page.rpartition('rel="next" href="')[2].partition('"')[0] if 'rel="next"' in page else ""
        address = url + older.replace("&amp;", "&") if older else ""
    assert seen == [str(pk) for pk in Generation.objects.order_by("-pk").values_list("pk", flat=True)]
    failed = admin.get(url, {"contestant": two.pk, "dataset": source.pk, "status": "failed"}).content.decode()
    assert failed.count("<tr") == 2
    assert "<script>alert" not in failed
    newer = admin.get(url, {"after": seen[-1]}).content.decode()
    assert newer.count("<tr") == 51
    for odd in ("?contestant=x&dataset=9999&status=odd", "?before=0&after=x"):
        assert admin.get(url + odd).status_code == 200

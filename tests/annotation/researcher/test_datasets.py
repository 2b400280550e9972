"""Datasets as researchers see them: who sees which, what is counted, and finding an item."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Instruction
from tests.annotation.cast import client_of, labels_make, text_of
from tests.annotation.factories import dataset_make, study_make

pytestmark = pytest.mark.django_db

LIST = "annotation:dataset-list"


def page(user, name, query=""):
    return client_of(user).get(reverse("annotation:dataset-detail", args=[name]) + query)


def test_private_datasets_are_for_their_owner_and_administrators(cast):
    dataset_make(name="open-one")
    dataset_make(name="in-work", split="development", owner=cast.alice)
    dataset_make(name="confidential", split="private", owner=cast.alice)
    dataset_make(name="orphan", split="private")

    def seen(user):
        listed = client_of(user).get(reverse(LIST)).content.decode()
        names = {name for name in ("open-one", "in-work", "confidential", "orphan") if name in listed}
        assert {
            name
            for name in ("open-one", "in-work", "confidential", "orphan")
            if page(user, name).status_code == 200
        } == names
        return names

    assert seen(cast.alice) == {"open-one", "in-work", "confidential"}
    assert seen(cast.bob) == {"open-one", "in-work"}
    assert seen(cast.ann) == {"open-one", "in-work", "confidential", "orphan"}
    assert page(cast.bob, "nothing").status_code == 404


def test_strangers(cast):
    dataset_make(name="d")
    assert page(None, "d").status_code == 302
    assert page(cast.carl, "d").status_code == 403


def test_counts(cast):
    dataset = dataset_make(pairs=6, name="d", per_instruction=2)
    study = study_make(dataset=dataset, owner=cast.alice, title="The study", overlap=4)
    labels_make(study, [[1, 2], [0, None]])
    response = page(cast.alice, "d")
    text = text_of(response)
    assert "Items 6 of 3 instructions" in text
    assert "With gold 6" in text
    assert "Labels 3" in text
    assert "Annotators 2" in text
    assert "The study" in text
    assert "1 first, 0 tie, 1 second" in text
    assert "The study" not in text_of(page(cast.bob, "d"))
    listed = text_of(client_of(cast.alice).get(reverse(LIST)))
    assert "d 6 6 3 1" in listed


def test_an_item_shows_its_responses_and_systems(cast):
    dataset_make(pairs=1, name="d")
    text = text_of(page(cast.alice, "d"))
    for words in ("Write sentence number 0.", "Response 0 to pair 0.", "secret-system-0", "Gold: response 1"):
        assert words in text


def test_items_are_found(cast):
    dataset = dataset_make(pairs=6, name="d")
    first, second, *rest = dataset.instructions.order_by("pk")
    Instruction.objects.filter(pk=first.pk).update(subset="Adversarial/Neighbor", text="About 50% of herons")
    Instruction.objects.filter(pk=second.pk).update(subset="Adversarial")
    Instruction.objects.filter(pk__in=[one.pk for one in rest]).update(subset="Adversarially")

    def found(query):
        return [item.external_id for item in page(cast.alice, "d", query).context["page_obj"]]

    assert found("?search=HERON") == ["p0"]
    assert found("?search=50%25") == ["p0"]
    assert found("?search=p3") == ["p3"]
    assert found("?subset=Adversarial/Neighbor") == ["p0"]
    assert found("?subset=Adversarial") == ["p0", "p1"]
    assert found("?category=Rewrite") == ["p1", "p3", "p5"]
    assert found("?category=Rewrite&search=p5") == ["p5"]
    assert found("?search=nothing+like+it") == []
    assert found("?search=%00") == [f"p{k}" for k in range(6)]


def test_pages(cast):
    dataset_make(pairs=45, name="d")
    assert len(page(cast.alice, "d").context["page_obj"]) == 20
    assert [item.external_id for item in page(cast.alice, "d", "?page=3").context["page_obj"]] == [
        f"p{k}" for k in range(40, 45)
    ]
    assert page(cast.alice, "d", "?page=999").status_code == 200
    assert page(cast.alice, "d", "?page=x").status_code == 200


def test_text_of_others_is_safe(cast):
    dataset = dataset_make(pairs=1, name="d", description="<script>alert(1)</script>")
    dataset.instructions.update(text="<script>alert(2)</script>", category="<b>x</b>")
    content = page(cast.alice, "d").content.decode()
    assert "<script>alert" not in content
    assert "<b>x</b>" not in content


@pytest.mark.parametrize("where", ["list", "detail"])
def test_queries_do_not_grow(cast, where):
    client, counts = client_of(cast.alice), []
    dataset_make(pairs=1, name="d0")
    for size in (2, 20):
        with CaptureQueriesContext(connection) as context:
            client.get(
                reverse(LIST)
                if where == "list"
                else reverse("annotation:dataset-detail", args=[f"d{len(counts)}"])
            )
        counts.append(len(context))
        study = study_make(dataset=dataset_make(pairs=size, name=f"d{len(counts)}"), owner=cast.alice)
        labels_make(study, [[1, 2], [1, 2]])
    assert counts[0] == counts[1]
    assert counts[0] <= 16


def test_nothing_yet(cast):
    assert "No datasets yet" in text_of(client_of(cast.alice).get(reverse(LIST)))


def test_labels_of_somebody_elses_study_are_not_counted(cast, dataset, study):
    labels_make(study, [[1, 2]])
    mine, theirs = (text_of(page(user, "pairs")) for user in (cast.alice, cast.bob))
    assert "1 first, 0 tie, 1 second" in mine
    assert "1 first" not in theirs
    assert "Labels 2" in mine
    assert "Labels 0" in theirs
    rows = {
        user: client_of(user).get(reverse(LIST)).context["rows"][0].labels for user in (cast.alice, cast.bob)
    }
    assert rows == {cast.alice: 2, cast.bob: 0}

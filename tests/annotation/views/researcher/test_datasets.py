"""Datasets as researchers see them: who sees which, what is counted, and finding an item."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Dataset, Instruction
from tests.annotation.cast import Cast, client_of, labels_make, text_of, url
from tests.annotation.factories import dataset_make, study_make
from tests.races import all_at_once, browsers_of

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
    assert "Items 6 : all items of 3 instructions" in text
    assert "With gold 6" in text
    assert "Labels 3" in text
    assert "Annotators 2" in text
    assert "The study" in text
    assert "1 first, 0 tie, 1 second" in text
    assert "The study" not in text_of(page(cast.bob, "d"))
    listed = text_of(client_of(cast.alice).get(reverse(LIST)))
    assert "d 6 items of D 6 items with a gold answer of D 3 labels of D on 2 items 1" in listed


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
    labels_make(study_make(dataset=dataset_make(pairs=1, name="d0"), owner=cast.alice), [[1, 2]])
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
    assert counts[0] <= 19


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
        user: client_of(user).get(reverse(LIST)).context["rows"][0][0].labels
        for user in (cast.alice, cast.bob)
    }
    assert rows == {cast.alice: 2, cast.bob: 0}


class TestSettings:
    SENT = {"title": "A better title", "split": "private", "licence": "CC0-1.0"}

    def test_the_owner_changes_title_split_and_licence(self, cast):
        dataset_make(name="hers", owner=cast.alice, split="public", pairs=1)
        client = client_of(cast.alice)
        assert "Change title, split or license" in text_of(client.get(url("dataset-detail", "hers")))
        page = client.post(url("dataset-settings", "hers"), self.SENT, follow=True)
        assert "The dataset was changed" in text_of(page)
        dataset = Dataset.objects.get(name="hers")
        assert (dataset.title, dataset.split, dataset.licence) == tuple(self.SENT.values())
        assert (dataset.version, dataset.items.count()) == (1, 1)
        assert client_of(cast.bob).get(url("dataset-detail", "hers")).status_code == 404
        page = client.post(url("dataset-settings", "hers"), self.SENT, follow=True)
        assert "Nothing to change" in text_of(page)

    @pytest.mark.parametrize("wrong", [{"title": " "}, {"split": "secret"}, {"licence": "x" * 101}])
    def test_what_is_wrong_changes_nothing(self, cast, wrong):
        dataset = dataset_make(name="hers", owner=cast.alice, split="public")
        page = client_of(cast.alice).post(url("dataset-settings", "hers"), self.SENT | wrong, follow=True)
        assert "Nothing was changed" in text_of(page)
        assert Dataset.objects.get().title == dataset.title

    def test_who_may_not(self, cast):
        dataset_make(name="hers", owner=cast.alice, split="public")
        dataset_make(name="nobodys", owner=None, split="public")
        for user, name, status in (
            (None, "hers", 302),
            (cast.carl, "hers", 403),
            (cast.bob, "hers", 404),
            (cast.bob, "nobodys", 404),
        ):
            assert client_of(user).post(url("dataset-settings", name), self.SENT).status_code == status
        assert client_of(cast.alice).get(url("dataset-settings", "hers")).status_code == 405
        assert not Dataset.objects.filter(split="private").exists()
        assert "Change title" not in text_of(client_of(cast.bob).get(url("dataset-detail", "nobodys")))
        assert client_of(cast.ann).post(url("dataset-settings", "nobodys"), self.SENT).status_code == 302
        assert Dataset.objects.get(name="nobodys").split == "private"


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_one_change_from_many_tabs():
    cast = Cast.make()
    dataset_make(name="hers", owner=cast.alice, split="public")
    pages = all_at_once(
        lambda one: one.post(url("dataset-settings", "hers"), TestSettings.SENT).status_code,
        browsers_of(cast.alice, 4),
    )
    assert set(pages) == {302}
    assert Dataset.objects.get().split == "private"

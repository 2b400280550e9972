"""What researchers send about a dataset: ready-made criteria, and the items that a study offers."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.models import Criterion, Item, StudyItem
from tests.annotation.cast import Cast, client_of, text_of, url
from tests.annotation.factories import dataset_make, study_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


class TestCriteria:
    def test_they_are_added_once(self, cast):
        dataset_make(name="mine", owner=cast.alice)
        client = client_of(cast.alice)
        for _ in range(2):
            response = client.post(url("dataset-criteria", "mine"), {"criteria": "helm-instruct"})
            assert response.status_code == 302
        assert Criterion.objects.count() == 5
        assert "already has these criteria" in text_of(client.get(url("dataset-detail", "mine")))

    def test_other_words_are_refused(self, cast):
        dataset = dataset_make(name="mine", owner=cast.alice)
        Criterion.objects.create(dataset=dataset, key="helpfulness", question="Else?", options={}, position=0)
        client = client_of(cast.alice)
        client.post(url("dataset-criteria", "mine"), {"criteria": "helm-instruct"})
        assert Criterion.objects.count() == 1
        assert "Nothing was added" in text_of(client.get(url("dataset-detail", "mine")))

    def test_who_may_not(self, cast):
        dataset_make(name="mine", owner=cast.alice)
        address, sent = url("dataset-criteria", "mine"), {"criteria": "helm-instruct"}
        assert client_of(None).post(address, sent).status_code == 302
        assert client_of(cast.carl).post(address, sent).status_code == 403
        assert client_of(cast.bob).post(address, sent).status_code == 404
        assert client_of(cast.alice).get(address).status_code == 405
        assert client_of(cast.alice).post(address, {"criteria": "none"}).status_code == 404
        assert not Criterion.objects.exists()
        assert "Add ready-made" not in text_of(client_of(cast.bob).get(url("dataset-detail", "mine")))


class TestItems:
    def send(self, user, study, content, name="items.csv"):
        return client_of(user).post(
            url("study-items", study.slug), {"file": SimpleUploadedFile(name, content)}, follow=True
        )

    @pytest.fixture
    def draft(self, cast, dataset):
        study = study_make(dataset=dataset, slug="draft", owner=cast.alice, state="draft")
        study.study_items.all().delete()
        return study

    def test_a_draft_offers_what_is_in_the_file(self, cast, draft):
        page = self.send(cast.alice, draft, b"item,overlap\np1,\np2,5\n")
        assert "2 items chosen" in text_of(page)
        assert "asks for 7 labels: 2 items" in text_of(page)
        page = client_of(cast.alice).post(url("study-items", "draft"), {"action": "forget"}, follow=True)
        assert "asks for 24 labels: 12 items, 2 each" in text_of(page)

    def test_a_name_that_was_escaped_for_spreadsheets(self, cast, draft):
        Item.objects.filter(external_id="p1").update(external_id="=p1")
        page = self.send(cast.alice, draft, b"item\n'=p1\n")
        assert "1 items chosen" in text_of(page)
        page = self.send(cast.alice, draft, b"item\n'=p1\n=p1\n")
        assert "is named a second time" in text_of(page)

    def test_the_same_file_twice(self, cast, study):
        for _ in range(2):
            self.send(cast.alice, study, b"item,priority\np9,1\n")
        first = study.study_items.order_by("position").first()
        assert first.item.external_id == "p9"
        assert study.study_items.count() == 12

    @pytest.mark.parametrize(
        ("content", "name", "message"),
        [
            (b"item,priority\np1,1\np2,soon\n", "items.csv", "items.csv, row 3, field priority"),
            (b"item\np1\np99\n", "items.csv", "items.csv, row 3, field item"),
            (b"item\n", "items.txt", "Expected a file named"),
        ],
    )
    def test_what_is_wrong_is_said_and_nothing_changes(self, cast, draft, content, name, message):
        page = self.send(cast.alice, draft, content, name)
        assert "Nothing was changed" in text_of(page)
        assert message in text_of(page)
        assert not StudyItem.objects.exists()

    def test_an_open_study_does_not_forget(self, cast, study):
        response = client_of(cast.alice).post(url("study-items", "mine"), {"action": "forget"})
        assert response.status_code == 404
        assert study.study_items.count() == 12

    def test_who_may_not(self, cast, draft):
        for user, status in ((None, 302), (cast.carl, 403), (cast.bob, 404)):
            sent = {"file": SimpleUploadedFile("items.csv", b"item\np1\n")}
            assert client_of(user).post(url("study-items", "draft"), sent).status_code == status
        assert client_of(cast.alice).get(url("study-items", "draft")).status_code == 405
        assert not StudyItem.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_the_same_copy_from_many_tabs_is_one_copy():
    cast = Cast.make()
    study = study_make(owner=cast.alice, slug="mine")
    clients = [client_of(cast.alice) for _ in range(4)]
    pages = all_at_once(
        lambda client: client.post(url("study-copy", "mine"), {"nonce": "abcd"}).status_code, clients
    )
    assert set(pages) == {302}
    assert type(study).objects.count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_one_file_of_items_from_many_tabs():
    cast = Cast.make()
    study = study_make(owner=cast.alice, slug="mine", pairs=6)
    clients = [client_of(cast.alice) for _ in range(4)]

    def send(client):
        content = SimpleUploadedFile("items.csv", b"item,priority,overlap\np4,2,5\np1,1,\n")
        return client.post(url("study-items", "mine"), {"file": content}).status_code

    assert set(all_at_once(send, clients)) == {302}
    found = [(one.item.external_id, one.overlap) for one in study.study_items.order_by("position")]
    assert found == [("p4", 5), ("p1", 2), ("p0", 2), ("p2", 2), ("p3", 2), ("p5", 2)]

"""Adjudication: which items are disputed, what the expert sees and when, and what is kept."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Adjudication, Aspect, Criterion, Item, Label, Study, StudyItem
from annotation.selectors.adjudication import (
    AdjudicationQueue,
    adjudications_of,
    disputed_items,
    expert_order,
    queue_of,
    waiting_counts,
)
from tests.annotation.cast import client_of, labels_make, text_of, url
from tests.annotation.factories import annotator_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


def said(study: Study, item: Item, *values: dict[str, Any]) -> None:
    """Each value from another person."""
    for value in values:
        Label.objects.create(
            item=item,
            annotator=annotator_make(),
            study=study,
            kind=study.kind,
            value=value,
            choice=value.get("choice"),
            shown_order=[0, 1],
        )


def of_kind(study: Study, kind: str) -> list[Item]:
    Study.objects.filter(pk=study.pk).update(kind=kind)
    Item.objects.filter(dataset=study.dataset).update(kind=kind)
    study.refresh_from_db()
    return list(study.dataset.items.order_by("position"))


class TestDisputed:
    def test_pairs_most_disputed_first(self, cast, study):
        labels_make(study, [[1, 1, 1, None], [1, 2, 1, 1], [1, None, None, None], [1, 2, 0, None]])
        items = list(study.dataset.items.order_by("position"))
        found = disputed_items(study)
        assert [row.item for row in found] == [items[3].pk, items[1].pk]
        assert [row.dispute for row in found] == [1.0, pytest.approx(1 / 3)]

    def test_only_labels_that_count(self, cast, study):
        labels_make(study, [[1, 2]])
        Label.objects.filter(choice=2).update(is_set_aside=True)
        assert disputed_items(study) == []

    def test_withdrawn_items_are_left_out(self, cast, study):
        labels_make(study, [[1, 2]])
        StudyItem.objects.update(withdrawn_at="2026-01-01T00:00Z")
        assert disputed_items(study) == []

    def test_rubrics_by_the_widest_criterion(self, study):
        items = of_kind(study, "rubric")
        said(study, items[0], {"ratings": {"a": 3, "b": 4}}, {"ratings": {"a": 4, "b": 4}})
        said(study, items[1], {"ratings": {"a": 3, "b": 4}}, {"ratings": {"a": 5, "b": 4}})
        said(study, items[2], {"ratings": {"a": 1, "b": 4}}, {"ratings": {"a": 5, "b": 4}})
        assert [(row.item, row.dispute) for row in disputed_items(study)] == [
            (items[2].pk, 1.0),
            (items[1].pk, 0.5),
        ]

    def test_checklists_by_any_split(self, study):
        items = of_kind(study, "checklist")
        same = {"answers": {"x": True, "y": None}}
        said(study, items[0], same, same)
        said(study, items[1], same, {"answers": {"x": True, "y": False}})
        assert [row.item for row in disputed_items(study)] == [items[1].pk]

    def test_rankings_by_rho(self, study):
        items = of_kind(study, "answer_ranking")
        up, down = {"ranks": {"0": 1, "1": 2, "2": 3}}, {"ranks": {"0": 3, "1": 2, "2": 1}}
        flat = {"ranks": {"0": 1, "1": 1, "2": 1}}
        said(study, items[0], up, up)
        said(study, items[1], up, down)
        said(study, items[2], up, flat)
        said(study, items[3], flat, flat)
        found = {row.item: row.dispute for row in disputed_items(study)}
        assert found == {items[1].pk: 1.0, items[2].pk: 0.5}


def test_the_queue_goes_round():
    queue = AdjudicationQueue((5, 3, 9), frozenset({3}))
    assert (queue.left, queue.done) == (2, 1)
    assert queue.next() == 5
    assert queue.next(after=5) == 9
    assert queue.next(after=9) == 5
    assert queue.next(after=77) == 5
    assert AdjudicationQueue((5,), frozenset({5})).next() is None


def test_experts_see_orders_of_their_own_that_stay(cast, study):
    items = [item.pk for item in study.dataset.items.all()]
    orders = {user.pk: [expert_order(study, item, user) for item in items] for user in (cast.alice, cast.ann)}
    again = [expert_order(study, item, cast.alice) for item in items]
    assert orders[cast.alice.pk] == again
    assert orders[cast.alice.pk] != orders[cast.ann.pk]


@pytest.fixture
def disputed(study) -> list[Item]:
    """Two disputed items, the first more than the second."""
    labels_make(study, [[1, 2, 0], [1, 2, 1], [1, 1, 1]])
    return list(study.dataset.items.order_by("position"))[:2]


def address(item: Item) -> str:
    return url("study-adjudicate-item", "mine", item.pk)


class TestPage:
    def test_the_most_disputed_first(self, cast, study, disputed):
        response = client_of(cast.alice).get(url("study-adjudicate", "mine"))
        assert response["Location"] == address(disputed[0])
        after = client_of(cast.alice).get(url("study-adjudicate", "mine"), {"after": disputed[0].pk})
        assert after["Location"] == address(disputed[1])
        for strange in ("x", "-1", "9" * 30):
            found = client_of(cast.alice).get(url("study-adjudicate", "mine"), {"after": strange})
            assert found["Location"] == address(disputed[0])

    def test_nothing_that_people_said_and_no_system(self, cast, study, disputed):
        response = client_of(cast.alice).get(address(disputed[0]))
        page = response.content.decode()
        assert "Response 0 to pair 0." in page
        assert "secret-system" not in page
        assert "Annotators' answers" not in page
        assert response.context["tally"] is None
        for label in Label.objects.all():
            assert str(label.annotator.public_id)[:8] not in page

    def test_one_place_for_words(self, cast, study, disputed):
        """A comment is what annotators write; an expert's would be kept nowhere."""
        Study.objects.filter(pk=study.pk).update(ask_comment=True)
        page = client_of(cast.alice).get(address(disputed[0])).content.decode()
        assert 'name="note"' in page
        assert 'name="comment"' not in page

    def test_what_people_said_on_demand(self, cast, study, disputed):
        client = client_of(cast.alice)
        place = url("study-adjudicate-said", "mine", disputed[1].pk)
        part = client.get(place, headers={"HX-Request": "true"})
        order = expert_order(study, disputed[1].pk, cast.alice)
        a, b = (2, 1) if order == [0, 1] else (1, 2)
        assert f"Answer A: {a} Answer B: {b}" in re.sub(r" +", " ", text_of(part)).replace("  ", " ")
        assert "<html" not in part.content.decode()
        plain = client.get(place)
        assert plain["Location"].endswith("?said=1")
        assert "Answer A" in text_of(client.get(plain["Location"]))

    def test_only_what_is_disputed_or_decided(self, cast, study, disputed):
        agreed = study.dataset.items.order_by("position")[2]
        assert client_of(cast.alice).get(address(agreed)).status_code == 404
        assert client_of(cast.alice).get(url("study-adjudicate-item", "mine", 10**9)).status_code == 404

    def test_queries(self, cast, study, disputed):
        client = client_of(cast.alice)
        client.get(address(disputed[0]))
        with CaptureQueriesContext(connection) as context:
            client.get(address(disputed[0]))
        assert len(context) <= 9

    @pytest.mark.parametrize("kind", ["rubric", "checklist", "importance", "answer_ranking"])
    def test_of_every_kind(self, cast, study, kind):
        items = of_kind(study, kind)
        Criterion.objects.create(
            dataset=study.dataset, key="help", question="How helpful?", position=0,
            options={str(n): f"level {n}" for n in range(1, 6)},
        )  # fmt: skip
        for position, key in enumerate(["tone", "facts"]):
            Aspect.objects.create(instruction=items[0].instruction, key=key, text=key, position=position)
        values, fields = {
            "rubric": (({"ratings": {"help": 1}}, {"ratings": {"help": 5}}), {"rating-help": "4"}),
            "checklist": (
                ({"answers": {"tone": True, "facts": True}}, {"answers": {"tone": False, "facts": True}}),
                {"answer-tone": "yes", "answer-facts": "unknown"},
            ),
            "importance": (
                ({"ranks": {"tone": 1, "facts": 2}}, {"ranks": {"tone": 2, "facts": 1}}),
                {"rank-tone": "1", "rank-facts": "2"},
            ),
            "answer_ranking": (
                ({"ranks": {"0": 1, "1": 2}}, {"ranks": {"0": 2, "1": 1}}),
                {"rank-0": "1", "rank-1": "2"},
            ),
        }[kind]
        said(study, items[0], *values)
        client = client_of(cast.alice)
        assert client.get(address(items[0])).status_code == 200
        assert client.get(f"{address(items[0])}?said=1").status_code == 200
        assert client.post(address(items[0]), fields).status_code == 302
        (row,) = Adjudication.objects.all()
        assert row.shown_order == expert_order(study, items[0].pk, cast.alice)
        again = client.get(address(items[0]))
        assert "Decide again" in text_of(again)
        assert again.context["fields"] == fields


def test_a_tab_does_not_read_a_million_labels(cast, study, disputed, monkeypatch):
    monkeypatch.setattr("annotation.selectors.adjudication.MANY_LABELS", 1)
    assert waiting_counts(study) == {"disputed": None, "reports": 0, "erasures": 0}
    page = text_of(client_of(cast.alice).get(url("study-pay", "mine")))
    assert "Adjudicate (" not in page
    assert queue_of(study).left == 2


class TestDecide:
    def test_kept_in_canonical_order_and_the_next_one_comes(self, cast, study, disputed):
        client = client_of(cast.alice)
        response = client.post(address(disputed[0]), {"choice": "1", "note": "A is right."})
        assert response["Location"] == address(disputed[1])
        (row,) = Adjudication.objects.all()
        order = expert_order(study, disputed[0].pk, cast.alice)
        assert row.value == {"choice": order[0] + 1}
        assert (row.expert, row.note, row.shown_order) == (cast.alice, "A is right.", order)
        assert adjudications_of(study) == {disputed[0].pk: row.value}
        assert waiting_counts(study) == {"disputed": 1, "reports": 0, "erasures": 0}
        done = client.post(address(disputed[1]), {"choice": "0"})
        assert done["Location"] == url("study-adjudicate", "mine")
        page = text_of(client.get(done["Location"]))
        assert "Everything is decided" in page
        assert "A is right." in page

    def test_after_it_what_people_said_is_shown(self, cast, study, disputed):
        client = client_of(cast.alice)
        client.post(address(disputed[0]), {"choice": "2"})
        page = client.get(address(disputed[0]))
        assert "Annotators' answers" in text_of(page)
        assert page.context["fields"] == {"choice": "2"}
        # Another expert is told that there is a word, and neither it nor the counts.
        other = client_of(cast.ann).get(address(disputed[0]))
        assert "Someone has decided" in text_of(other)
        assert "Annotators' answers" not in text_of(other)
        assert other.context["fields"] == {}

    def test_a_change_supersedes_and_the_same_again_does_not(self, cast, study, disputed):
        client = client_of(cast.alice)
        for choice in ("1", "1", "2"):
            client.post(address(disputed[0]), {"choice": choice})
        first, second = Adjudication.objects.order_by("pk")
        assert second.supersedes == first
        assert adjudications_of(study) == {disputed[0].pk: second.value}

    def test_what_does_not_fit_is_refused_with_what_was_typed(self, cast, study, disputed):
        response = client_of(cast.alice).post(address(disputed[0]), {"choice": "7", "note": "Hm."})
        assert response.status_code == 422
        assert "Choose an answer first." in text_of(response)
        assert "Hm." in response.content.decode()
        assert not Adjudication.objects.exists()

    def test_strangers(self, cast, study, disputed):
        for client, status in [
            (client_of(None), 302),
            (client_of(cast.carl), 403),
            (client_of(cast.bob), 404),
        ]:
            assert client.get(url("study-adjudicate", "mine")).status_code == status
            assert client.get(url("study-adjudicate-said", "mine", disputed[0].pk)).status_code == status
            assert client.get(address(disputed[0])).status_code == status
            assert client.post(address(disputed[0]), {"choice": "1"}).status_code == status
        assert not Adjudication.objects.exists()

    def test_the_database_never_stores_what_it_cannot(self, cast, study, disputed):
        client_of(cast.alice).post(address(disputed[0]), {"choice": "1", "note": "a\x00b"})
        assert Adjudication.objects.get().note == "ab"


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_many_words_at_once_are_one_chain(cast, study, disputed):
    clients = [client_of(user) for user in (cast.alice, cast.ann) for _ in range(3)]
    choices = ["0", "1", "2"] * 2
    sent = all_at_once(
        lambda pair: pair[0].post(address(disputed[0]), {"choice": pair[1]}).status_code,
        list(zip(clients, choices, strict=True)),
    )
    assert sent == [302] * 6
    assert Adjudication.objects.filter(supersedes=None).count() == 1
    assert Adjudication.objects.filter(superseded_by=None).count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_one_form_sent_many_times_at_once_is_one_word(cast, study, disputed):
    clients = [client_of(cast.alice) for _ in range(4)]
    all_at_once(lambda client: client.post(address(disputed[0]), {"choice": "1"}), clients)
    assert Adjudication.objects.count() == 1

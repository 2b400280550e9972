"""Lists over a dataset, or a judge, of any size: read page by page, and counted up to a bound."""

import pytest
from django.core.cache import cache

from annotation.models import Dataset, Item, Role
from annotation.selectors import costly
from annotation.selectors.costly import counted_of_version
from annotation.selectors.judged_items import dataset_kinds
from judges.selectors import reading
from judges.selectors.item_filter import ItemFilter
from judges.selectors.item_list import item_neighbours, item_order, item_page
from judges.selectors.reading import judges_of_dataset, judgment_counts
from tests.annotation.factories import dataset_make, user_make
from tests.metaeval.rows import judge_make, judgments_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def interleaved():
    """Two datasets of four pairs whose primary keys take turns, and a third one of two pairs."""
    first, second, third = (dataset_make(pairs=n) for n in (4, 4, 2))
    mine, theirs = (list(each.items.order_by("pk")) for each in (first, second))
    for one, other in zip(mine[::2], theirs[::2], strict=True):
        # Of the texts nothing is asked here: an item of the one is given to the other, and the other way round.
        Item.objects.filter(pk=one.pk).update(dataset=second, external_id=f"{one.external_id}-moved")
        Item.objects.filter(pk=other.pk).update(dataset=first, external_id=f"{other.external_id}-moved")
    return first, second, third


def test_pages_by_number_are_those_of_the_whole_order():
    dataset, *_ = interleaved()
    # Two items at one number: the primary key decides.
    Item.objects.filter(dataset=dataset).update(position=7)
    other = dataset_make(pairs=7)
    Item.objects.filter(pk=other.items.order_by("pk").last().pk).update(position=0)
    for each, n in ((dataset, 4), (other, 7)):
        filters = ItemFilter(dataset_id=each.pk, kind="pairwise")
        ids = item_order(filters)
        assert len(ids) == n
        for size in (1, 2, 3, n, n + 1):
            seen, after = [], None
            while True:
                page = item_page(filters, after=after, size=size)
                assert page.n_found == n
                assert page.newer == (page.rows[0].item.item_id if after is not None else None)
                seen += [row.item.item_id for row in page.rows]
                if page.older is None:
                    break
                after = page.older
            assert seen == ids
            for place, pk in enumerate(ids):
                page = item_page(filters, before=pk, size=size)
                assert [row.item.item_id for row in page.rows] == ids[max(0, place - size) : place]
                assert page.newer == (ids[place - size] if place > size else None)
                assert page.older == (ids[place - 1] if place else None)
        for place, pk in enumerate(ids):
            beside = [None, *ids, None][place : place + 3]
            assert item_neighbours(filters, pk) == (beside[0], beside[2])
    assert item_neighbours(ItemFilter(dataset_id=dataset.pk, kind="pairwise"), other.items.first().pk) == (
        None,
        None,
    )
    gone = item_page(ItemFilter(dataset_id=dataset.pk, kind="pairwise"), after=other.items.first().pk, size=2)
    assert [row.item.item_id for row in gone.rows] == item_order(
        ItemFilter(dataset_id=dataset.pk, kind="pairwise")
    )[:2]


def test_judgments_are_counted_up_to_a_bound_and_datasets_exactly(monkeypatch):
    first, second, third = interleaved()
    one, other, idle = judge_make("One"), judge_make("Other"), judge_make("Idle")
    judgments_make(judge=one, dataset=first, choices=[(1, 1)] * 4)
    judgments_make(judge=one, dataset=third, choices=[(1, 1)] * 2)
    judgments_make(judge=other, dataset=second, choices=[(2, None)] * 4)
    admin = user_make(role=Role.ADMINISTRATOR)
    pks = [judge.pk for judge in (one, other, idle)]
    counts = judgment_counts(admin, pks)
    n = {judge.pk: judge.judgments.count() for judge in (one, other)}
    assert counts == {one.pk: (n[one.pk], 2), other.pk: (n[other.pk], 1), idle.pk: (0, 0)}
    monkeypatch.setattr(reading, "MOST_COUNTED", 3)
    assert judgment_counts(admin, pks) == {one.pk: (4, 2), other.pk: (4, 1), idle.pk: (0, 0)}
    assert [list(judges_of_dataset(each)) for each in (first, second, third)] == [[one], [other], [one]]


def test_judgments_of_a_dataset_that_one_may_not_see_are_not_counted():
    mine = user_make()
    first = dataset_make(pairs=2, owner=mine)
    hidden = dataset_make(pairs=3, owner=user_make(), split="private")
    judge = judge_make("One")
    judgments_make(judge=judge, dataset=first, choices=[(1, 1)] * 2)
    judgments_make(judge=judge, dataset=hidden, choices=[(1, 1)] * 3)
    assert judgment_counts(mine, [judge.pk])[judge.pk] == (4, 1)


def test_what_took_long_is_kept_for_a_version_and_no_longer(monkeypatch):
    monkeypatch.setattr(costly, "KEPT_SECONDS", -1.0)
    cache.clear()
    dataset = dataset_make(pairs=2)
    assert list(dataset_kinds(dataset)) == ["pairwise"]
    Item.objects.filter(dataset=dataset).update(kind="rubric")
    assert list(dataset_kinds(dataset)) == ["pairwise"]
    Dataset.objects.filter(pk=dataset.pk).update(version=2)
    assert list(dataset_kinds(Dataset.objects.get(pk=dataset.pk))) == ["rubric"]
    staged = Dataset(pk=dataset.pk, created_at=dataset.created_at, is_staged=True)
    assert [counted_of_version(staged, "n", lambda n=n: n) for n in (1, 2)] == [1, 2]
    cache.clear()

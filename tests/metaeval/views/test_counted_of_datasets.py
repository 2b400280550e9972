"""The tiles of a dataset's page open exactly the items that they count."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Item, Kind, Label
from tests.annotation.cast import Cast, client_of
from tests.annotation.cast import labels_make as study_labels_make
from tests.annotation.factories import dataset_make, study_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.kinds import joined, kind_labels
from tests.metaeval.rows import labels_make
from tests.metaeval.views.test_counted_items import GOLD, LABELS, link_in, n_items, plain, rows_of

pytestmark = pytest.mark.django_db


def tiles_of(browser, dataset):
    """By its name, the text and the links of a tile."""
    page = browser.get(reverse("annotation:dataset-detail", args=[dataset.name]))
    assert page.status_code == 200
    found = re.findall(r'<div class="tile"><dt>(.*?)</dt>(.*?)</div>', page.content.decode(), re.DOTALL)
    return {
        name: (plain(text), [link_in(f"{one}</a>") for one in text.split("</a>") if 'class="behind"' in one])
        for name, text in found
    }


def test_tiles_of_one_kind(cast: Cast):
    dataset = dataset_make(pairs=len(LABELS), owner=cast.alice)
    people = labels_make(dataset=dataset, choices=LABELS)
    Label.objects.filter(item__dataset=dataset, annotator=people[0]).update(is_set_aside=True)
    for item, gold in zip(dataset.items.order_by("position"), GOLD, strict=True):
        Item.objects.filter(pk=item.pk).update(gold=None if gold is None else {"choice": gold})
    browser = client_of(cast.alice)
    tiles = tiles_of(browser, dataset)
    expected = {"Items": 10, "With gold": 5, "Labels": 8, "Annotators": 8}
    for name, n in expected.items():
        (link,) = tiles[name][1]
        assert n_items(browser, link) == n, name
    assert tiles["Items"][0].startswith("10")
    assert tiles["With gold"][0].startswith("5")
    assert "on 8 items" in tiles["Labels"][0]


def test_tiles_of_several_kinds_lead_to_the_items_of_each(cast: Cast):
    dataset = joined(dataset_make(pairs=4, owner=cast.alice), kind_dataset_make(Kind.RUBRIC, items=3))
    labels_make(dataset=dataset, choices=[(1, 1), (2, None)])
    kind_labels(dataset, Kind.RUBRIC, (0,))
    browser = client_of(cast.alice)
    tiles = tiles_of(browser, dataset)
    assert [n_items(browser, link) for link in tiles["Items"][1]] == [4, 3]
    assert [n_items(browser, link) for link in tiles["Labels"][1]] == [2, 3]
    assert [n_items(browser, link) for link in tiles["Annotators"][1]] == [2, 3]
    assert tiles["Items"][0].startswith("7")


def test_labels_of_others_studies_count_in_neither(cast: Cast):
    dataset = dataset_make(pairs=3, owner=cast.alice)
    study_labels_make(study_make(dataset=dataset, owner=cast.alice), [[1, 1], [2, 2]])
    for who, n in ((cast.alice, 2), (cast.bob, 0)):
        browser = client_of(who)
        text, links = tiles_of(browser, dataset)["Labels"]
        assert [n_items(browser, link) for link in links] == ([n] if n else [])
        assert text.startswith(str(2 * n))


def test_a_page_of_a_dataset_takes_as_many_queries_whatever_its_kinds(cast: Cast):
    counts = []
    for kinds in ([], [Kind.RUBRIC, Kind.CHECKLIST]):
        dataset = dataset_make(pairs=4, owner=cast.alice)
        for kind in kinds:
            joined(dataset, kind_dataset_make(kind, items=3))
        browser = client_of(cast.alice)
        address = reverse("annotation:dataset-detail", args=[dataset.name])
        browser.get(address)
        with CaptureQueriesContext(connection) as queries:
            browser.get(address)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 28


def test_the_list_of_datasets_leads_to_the_items_that_each_row_counts(cast: Cast):
    one = dataset_make(pairs=len(LABELS), owner=cast.alice)
    labels_make(dataset=one, choices=LABELS)
    several = joined(
        dataset_make(pairs=4, owner=cast.alice, gold=False), kind_dataset_make(Kind.RUBRIC, items=3)
    )
    study_labels_make(study_make(dataset=several, owner=cast.alice), [[1, 1], [2, 2]])
    browser = client_of(cast.alice)
    rows = rows_of(browser.get(reverse("annotation:dataset-list")), "Datasets")

    def cells(dataset, browser_rows=rows):
        return next(cells for head, cells in browser_rows.items() if head.endswith(dataset.name))

    items, gold, labels, *_ = cells(one)
    n_labels = Label.objects.filter(item__dataset=one).count()
    assert n_items(browser, link_in(items)) == 10
    assert n_items(browser, link_in(gold)) == 10
    assert n_items(browser, link_in(labels)) == 9
    assert plain(labels).startswith(f"{n_labels} labels of")
    assert "on 9 items" in plain(labels)
    items, gold, labels, *_ = cells(several)
    links = [link_in(f"{one}</a>") for one in items.split("</a>") if "<a " in one]
    assert [n_items(browser, link) for link in links] == [4, 3]
    assert "<a " not in gold
    assert n_items(browser, link_in(labels)) == 2
    theirs = rows_of(client_of(cast.bob).get(reverse("annotation:dataset-list")), "Datasets")
    assert "<a " not in cells(several, theirs)[2]


def test_the_list_of_datasets_takes_as_many_queries_whatever_their_number(cast: Cast):
    browser = client_of(cast.alice)
    counts = []
    for _ in range(2):
        labels_make(dataset=dataset_make(pairs=2, owner=cast.alice), choices=[(1, 2)])
        browser.get(reverse("annotation:dataset-list"))
        with CaptureQueriesContext(connection) as queries:
            browser.get(reverse("annotation:dataset-list"))
        counts.append(len(queries))
    assert counts[0] == counts[1]

"""Figures of systems open the pairs that they count."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import ItemResponse, Label, Response
from judges.selectors.item_addresses import items_url
from metaeval.reports.systems import PEOPLE
from tests.annotation.cast import Cast, client_of
from tests.annotation.factories import dataset_make
from tests.metaeval.rows import judge_make, judgments_make, labels_make
from tests.metaeval.views.test_counted_items import link_in, n_items, plain, rows_of

pytestmark = pytest.mark.django_db

# By pair, its systems: one against itself, and one whose second response is of nobody.
SYSTEMS = [
    *(("alpha", "beta"), ("beta", "gamma"), ("gamma", "alpha"), ("alpha", "alpha"), ("alpha", "")),
    *(("beta", "alpha"), ("gamma", "beta"), ("alpha", "gamma"), ("alpha", "beta"), ("gamma", "beta")),
]
LABELS = [(1, 1), (1, 2), (2, None), (1, 1), (1, 1), (None, 2), (None, None), (0, 1), (2, 1), (1, 1)]
VERDICTS = [(1, 2), (None, None), (1,), (1, 1), (2, 2), (), (2, None), (1, 1), (0, 0), (1, 2)]


@pytest.fixture
def ranked(cast):
    dataset = dataset_make(pairs=len(SYSTEMS), owner=cast.alice)
    for item, pair in zip(dataset.items.order_by("position"), SYSTEMS, strict=True):
        for link in ItemResponse.objects.filter(item=item):
            Response.objects.filter(pk=link.response_id).update(system=pair[link.position])
    labels_make(dataset=dataset, choices=LABELS)
    Label.objects.filter(item=dataset.items.get(position=9)).update(is_set_aside=True)
    judge = judge_make("One")
    judgments_make(judge=judge, dataset=dataset, choices=VERDICTS)
    return dataset, judge


@pytest.mark.parametrize("by", [PEOPLE, "judge"])
def test_each_figure_of_a_system_opens_the_pairs_that_it_counts(cast: Cast, ranked, by):
    dataset, judge = ranked
    browser = client_of(cast.alice)
    address = reverse("metaeval:systems", args=[dataset.name])
    page = browser.get(address, {"by": judge.fingerprint if by == "judge" else by})
    chosen = page.context["chosen"]
    (caption,) = re.findall(r">(Systems by [^<]*)</caption>", page.content.decode())
    table = rows_of(page, caption)
    assert len({row.win_rate["n"] for row in chosen.systems}) > (1 if by == PEOPLE else 0)
    for row in chosen.systems:
        rate, pairs, strength, *_ = table[row.system]
        assert n_items(browser, link_in(rate)) == row.win_rate["n"], row.system
        assert n_items(browser, link_in(pairs)) == row.win_rate["n"]
        assert plain(pairs).startswith(str(row.win_rate["n"]))
        if row.strength is not None and row.strength["value"] is not None:
            assert n_items(browser, link_in(strength)) == row.win_rate["n"]
    (all_pairs,) = re.findall(r"answers on (<a.*?</a>)", page.content.decode())
    assert n_items(browser, link_in(all_pairs)) == chosen.n_pairs


def test_the_filters_by_system(cast: Cast, ranked):
    dataset, _ = ranked
    browser = client_of(cast.alice)

    def found(**asked):
        page = browser.get(items_url(dataset.name, **asked))
        names = list(dataset.items.order_by("position").values_list("external_id", flat=True))
        return [names.index(row.item.external_id) for row in page.context["page"].rows]

    assert found(system="alpha") == [0, 2, 3, 4, 5, 7, 8]
    assert found(system="alpha", has="named") == [0, 2, 5, 7, 8]
    assert found(system="alpha", against="beta") == found(system="beta", against="alpha") == [0, 5, 8]
    assert found(system="nobody") == []
    text = browser.get(items_url(dataset.name, system="alpha", against="beta")).content.decode()
    assert "alpha and beta" in text
    assert '<input type="hidden" name="system" value="alpha">' in text


def test_they_take_a_bounded_number_of_queries(cast: Cast, ranked):
    dataset, judge = ranked
    browser = client_of(cast.alice)
    address = items_url(
        dataset.name, judge=judge.pk, system="alpha", has=["named", "verdict", "lengths"], sort="wrong"
    )
    browser.get(address)
    with CaptureQueriesContext(connection) as queries:
        browser.get(address)
    assert len(queries) <= 30


def test_systems_of_another_researchers_dataset_are_not_shown(cast: Cast, ranked):
    dataset, _ = ranked
    dataset.split, dataset.owner = "private", cast.alice
    dataset.save()
    address = items_url(dataset.name, system="alpha")
    assert client_of(cast.bob).get(address).status_code == 404
    assert client_of(cast.carl).get(address).status_code == 403

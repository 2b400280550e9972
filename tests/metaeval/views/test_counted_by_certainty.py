"""Figures of selective evaluation open the items that a judge would decide, and those that it would leave."""

import re

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Item, Kind
from judges.models import Judgment
from judges.selectors.item_addresses import items_url
from tests.annotation.cast import Cast, client_of
from tests.annotation.factories import dataset_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make
from tests.metaeval.views.test_counted_items import link_in, n_items, plain

pytestmark = pytest.mark.django_db
N = 120


@pytest.fixture
def judged(cast):
    """120 pairs: labels of some, gold of others; a judge with probabilities on most, unparsed or silent on the rest."""
    dataset = dataset_make(pairs=N, owner=cast.alice)
    labels_make(
        dataset=dataset,
        choices=[
            (None,) if k % 6 == 5 else ((1, 2) if k % 13 == 0 else (1 + k % 2, 1 + k % 2)) for k in range(N)
        ],
    )
    for k, item in enumerate(dataset.items.order_by("position")):
        gold = None if k % 5 == 0 else {"choice": 0 if k % 17 == 0 else 1 + k % 2}
        Item.objects.filter(pk=item.pk).update(gold=gold)
    stored, votes = judge_make("Stored"), judge_make("Votes", strategy="cot")
    said = [
        () if k % 11 == 0 else ((None, None) if k % 10 == 9 else (1 + k % 2, 1 + k % 2)) for k in range(N)
    ]
    judgments_make(judge=stored, dataset=dataset, choices=said)
    rng = np.random.default_rng(0)
    for judgment in Judgment.objects.filter(judge=stored, choice__isnull=False):
        sure = round(float(rng.uniform(0.5, 1.0)), 6)
        judgment.probability = sure if judgment.choice == 1 else 1 - sure
        judgment.save(update_fields=["probability"])
    judgments_make(
        judge=votes, dataset=dataset, choices=[(1 + k % 2, 1 + (k + (k % 4 == 0)) % 2) for k in range(N)]
    )
    return dataset, sweep_make(judges=[stored, votes], datasets=[dataset]), stored, votes


def selective(page):
    """The links of the tiles of selective evaluation, by the head of the tile."""
    assert page.status_code == 200
    text = page.content.decode().partition('id="keep-title"')[2].partition("</section>")[0]
    tiles = re.findall(r'<div class="tile"><dt>(.*?)</dt>(.*?)</div>', text, re.DOTALL)
    return {
        name: (
            plain(value),
            [link_in(f"{one}</a>") for one in value.split("</a>") if 'class="behind"' in one],
        )
        for name, value in tiles
    }


@pytest.mark.parametrize("against", ["people", "gold"])
@pytest.mark.parametrize("name", ["Stored", "Votes"])
def test_tiles_of_selective_evaluation_open_the_items_that_they_count(cast: Cast, judged, name, against):
    _, sweep, *both = judged
    judge = next(one for one in both if one.name == name)
    browser = client_of(cast.alice)
    page = browser.get(
        reverse("metaeval:confidence", args=[sweep.pk]),
        {"against": against, "judge": judge.fingerprint, "risk": "8"},
    )
    found = page.context["page"]
    sure = found.certainty
    assert sure.threshold["threshold"] is not None
    tiles = selective(page)
    kept, all_judged = tiles["Decided by the judge"][1]
    n_kept = n_items(browser, kept)
    assert n_items(browser, all_judged) == found.n_rows
    assert n_kept / found.n_rows == pytest.approx(sure.threshold["coverage"]["value"])
    text, (link,) = tiles["Errors among these"]
    n = n_items(browser, link)
    assert n == sure.threshold["risk"]["n"] < n_kept
    assert f"observed on {n};" in text
    text, (link,) = tiles["Left to human annotators"]
    assert n_items(browser, link) == sure.n_abstained == found.n_rows - n_kept > 0
    assert text.startswith(str(sure.n_abstained))


def test_the_filter_by_certainty(cast: Cast, judged):
    dataset, _, stored, votes = judged
    browser = client_of(cast.alice)

    def n(**asked):
        return n_items(browser, items_url(dataset.name, **asked))

    both = Judgment.objects.filter(judge=votes).values("item").distinct().count()
    assert n(judge=votes.pk, certainty_from=1) + n(judge=votes.pk, certainty_below=1) == both == N
    assert n(judge=votes.pk, certainty_below=0.5) == 0
    assert n(judge=stored.pk, certainty_below=0.5) == n(judge=stored.pk, case="unparsed") > 0
    assert n(judge=stored.pk, certainty_from=0.6, certainty_below=0.8) < n(
        judge=stored.pk, certainty_from=0.6
    )
    # Whose certainty it is has to be said.
    assert n(certainty_from=0.1) == n(judge=[stored.pk, votes.pk], certainty_from=0.1) == 0
    assert n(certainty_from="high") == N
    page = browser.get(items_url(dataset.name, judge=votes.pk, certainty_from=0.755))
    assert "Certainty of at least 75.5%" in page.content.decode()
    address = items_url(dataset.name, judge=stored.pk, certainty_from=0.6, people="any", verdict="read")
    with CaptureQueriesContext(connection) as queries:
        browser.get(address)
    assert len(queries) <= 30


def test_where_nothing_says_how_certain_a_judge_is_no_item_fits(cast: Cast, judged):
    dataset, *_ = judged
    once = judge_make("Once", strategy="other")
    judgments_make(judge=once, dataset=dataset, choices=[(1,)] * N)
    browser = client_of(cast.alice)
    assert n_items(browser, items_url(dataset.name, judge=once.pk, certainty_from=0)) == 0
    ratings = kind_dataset_make(Kind.RUBRIC, items=3)
    assert n_items(browser, items_url(ratings.name, judge=once.pk, certainty_from=0)) == 0


def test_a_checklist_is_as_certain_as_any_of_its_questions(cast: Cast):
    dataset = kind_dataset_make(Kind.CHECKLIST, items=4)
    browser = client_of(cast.alice)
    judge = judge_make("Jury")
    for k, item in enumerate(dataset.items.order_by("position")):
        own = list(item.instruction.aspects.order_by("position").values_list("key", flat=True))
        votes = {str(m): dict.fromkeys(own, m < 2 + k % 2) for m in range(3)}
        Judgment.objects.create(
            judge=judge,
            item=item,
            order=0,
            status="parsed",
            value={"answers": dict.fromkeys(own, True), "votes": votes},
        )
    assert n_items(browser, items_url(dataset.name, judge=judge.pk, certainty_from=0.9)) == 2
    assert n_items(browser, items_url(dataset.name, judge=judge.pk, certainty_below=0.9)) == 2

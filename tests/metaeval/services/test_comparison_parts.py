"""Sweeps over a part of a dataset, in one order an item, with judges that are not done: who is compared on what."""

import numpy as np
import pytest
from django.urls import reverse

from judges.models import Judgment, Orders
from judges.strategies.presentation import order_drawn
from metaeval.inputs import Options
from metaeval.reports.errors import ReportError
from metaeval.reports.leading import comparable
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.comparisons import comparison_get
from metaeval.services.reports import inputs_read, report_build
from tests.annotation.factories import dataset_make, user_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.reports.arrays import content_build
from tests.metaeval.reports.test_content import validate
from tests.metaeval.rows import judge_make, judgments_make, sweep_make

pytestmark = pytest.mark.django_db
QUICK = Options(n_resamples=200)


def built(sweep, dataset):
    content = report_build(dataset=dataset, sweep=sweep_view(sweep.pk), options=QUICK).as_json()
    validate(content)
    return content


def gold_of(dataset):
    return [item.gold["choice"] for item in dataset.items.order_by("position")]


def test_items_outside_of_the_slice_are_no_part_of_it():
    dataset = dataset_make(pairs=40)
    gold = gold_of(dataset)
    everywhere, here = judge_make("Everywhere"), judge_make("Here")
    judgments_make(judge=everywhere, dataset=dataset, choices=[(choice, choice) for choice in gold])
    sweep = sweep_make(judges=[everywhere, here], datasets=[dataset], sample_size=12, seed=5)
    part = set(inputs_read(dataset=dataset, sweep=sweep_view(sweep.pk)).items.external_id)
    assert len(part) == 12
    wanted = [
        (choice, choice) if item.external_id in part else ()
        for item, choice in zip(dataset.items.order_by("position"), gold, strict=True)
    ]
    judgments_make(judge=here, dataset=dataset, choices=wanted)
    content = built(sweep, dataset)
    assert content["items"]["n_items"] == 12
    assert content["sweep"]["part"]["sample_size"] == 12
    selection = content["selections"]["accuracy"]
    assert (len(selection["ranking"]), selection["incomplete"], selection["n_compared"]) == (2, [], 12)
    # Rules and judges are measured on the same items.
    assert {judge["measures"]["accuracy"]["overall"]["n"] for judge in content["judges"]} == {12}


def test_a_slice_of_categories():
    dataset = dataset_make(pairs=10)
    judge = judge_make("One")
    judgments_make(judge=judge, dataset=dataset, choices=[(1, 1)] * 10)
    sweep = sweep_make(judges=[judge], datasets=[dataset], categories=["Rewrite"])
    assert [row["name"] for row in built(sweep, dataset)["items"]["categories"]] == ["Rewrite"]
    empty = sweep_make(judges=[judge], datasets=[dataset], categories=["Nothing"])
    with pytest.raises(ReportError, match="has no items of the kind pairwise comparison"):
        report_build(dataset=dataset, sweep=sweep_view(empty.pk))


def test_one_order_an_item():
    dataset = dataset_make(pairs=30)
    gold = gold_of(dataset)
    one, both = judge_make("One order"), judge_make("Both orders")
    sweep = sweep_make(judges=[one, both], datasets=[dataset], orders=Orders.RANDOM, seed=3)
    drawn = [order_drawn(3, item.external_id) for item in dataset.items.order_by("position")]
    assert set(drawn) == {0, 1}
    judgments_make(judge=one, dataset=dataset, choices=[(choice, choice) for choice in gold])
    for item, order in zip(dataset.items.order_by("position"), drawn, strict=True):
        Judgment.objects.filter(judge=one, item=item, order=1 - order).delete()
    # In the order that was not drawn this one is wrong: of another sweep, hence no part of this one.
    pairs = [
        (choice, 3 - choice) if order == 0 else (3 - choice, choice)
        for choice, order in zip(gold, drawn, strict=True)
    ]
    judgments_make(judge=both, dataset=dataset, choices=pairs)
    content = built(sweep, dataset)
    assert content["sweep"]["orders"] == "random"
    for judge in content["judges"][:2]:
        assert judge["orders"] == "random"
        assert (judge["n_judgments"], judge["n_items_judged"]) == (30, 30)
        assert judge["measures"]["accuracy"]["overall"]["value"] == 1
        assert "one presentation order" in judge["measures"]["positional_agreement"]["overall"]["reason"]
    assert content["selections"]["accuracy"]["n_compared"] == 30


def test_judges_that_are_not_done_are_ranked_on_the_items_of_all():
    # A is right on items 0 to 19 and wrong after; B judged 0 to 14 only and is right on 14 of them. On the 15 that
    # both judged A has 15 and B 14, whatever A did later.
    dataset = dataset_make(pairs=30)
    gold = gold_of(dataset)
    a, b, c = judge_make("A"), judge_make("B"), judge_make("C")
    judgments_make(
        judge=a, dataset=dataset, choices=[(g, g) if k < 20 else (3 - g, 3 - g) for k, g in enumerate(gold)]
    )
    judgments_make(
        judge=b, dataset=dataset, choices=[(g, g) if k else (3 - g, 3 - g) for k, g in enumerate(gold[:15])]
    )
    judgments_make(judge=c, dataset=dataset, choices=[(g, g) for g in gold[:2]])
    sweep = sweep_make(judges=[a, b, c], datasets=[dataset])
    content = built(sweep, dataset)
    selection = content["selections"]["accuracy"]
    assert (selection["ranking"], selection["incomplete"], selection["n_compared"]) == ([0, 1], [2], 15)
    assert selection["differences"][0]["value"] == pytest.approx(1 / 15)
    assert content["judges"][0]["measures"]["accuracy"]["overall"]["value"] == pytest.approx(20 / 30)


def test_the_page_says_on_how_many(client):
    dataset = dataset_make(pairs=30)
    a, b = judge_make("A"), judge_make("B")
    judgments_make(judge=a, dataset=dataset, choices=[(1, 1)] * 30)
    judgments_make(judge=b, dataset=dataset, choices=[(2, 2)] * 20)
    sweep = sweep_make(judges=[a, b], datasets=[dataset])
    client.force_login(user_make())
    text = client.get(reverse("metaeval:comparison", args=[sweep.pk])).content.decode()
    assert "ranked on the 20 items that all of them judged" in text
    assert "20 of 30 items" in text
    assert "Not ranked" not in text


def test_those_that_judged_other_items_are_not_compared():
    first, second = np.arange(10) < 5, np.arange(10) >= 5
    judges, common = comparable({0: first, 1: second})
    assert judges == [0]
    assert common.tolist() == first.tolist()
    assert comparable({})[0] == []


def test_contestants_are_no_judges(client):
    dataset = dataset_make(pairs=4)
    writer = judge_make("Writer", strategy="generate")
    writer.spec = {"strategy": "generate"}
    writer.save()
    judge = judge_make("Judge")
    judgments_make(judge=judge, dataset=dataset, choices=[(1, 1)] * 4)
    view = sweep_view(sweep_make(judges=[writer, judge], datasets=[dataset]).pk)
    assert (view.judge_ids, view.n_contestants) == ({judge.pk}, 1)
    names = [row["name"] for row in content_build(inputs_read(dataset=dataset, sweep=view), QUICK)["judges"]]
    assert "Writer" not in names
    alone = sweep_make(judges=[writer], datasets=[dataset])
    with pytest.raises(ReportError, match="contestants only"):
        comparison_get(sweep=sweep_view(alone.pk), dataset=dataset)
    client.force_login(user_make())
    text = client.get(reverse("metaeval:comparison", args=[alone.pk])).content.decode()
    assert "contestants only" in text
    of_kind = sweep_make(judges=[writer], datasets=[kind_dataset_make("rubric")])
    text = client.get(reverse("metaeval:comparison", args=[of_kind.pk])).content.decode()
    assert "contestants only" in text

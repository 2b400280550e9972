"""Items drawn for labelling by chance weigh one over it: figures by hand, the comparison, the rows they come from."""

from dataclasses import replace

import numpy as np
import pytest

from annotation.models import Label
from metaeval.inputs import Options
from metaeval.reports.content import build
from metaeval.selection import compare
from metaeval.selectors.inputs import inputs_read
from metaeval.stats import Resamples, fleiss_kappa, gwet_ac, krippendorff_alpha
from tests.annotation.factories import annotator_make, dataset_make, study_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.kinds import value_of
from tests.metaeval.reports.arrays import content_build, inputs_make, judge_make
from tests.metaeval.reports.shown import methods
from tests.metaeval.rows import label_make, labels_make

QUICK = Options(n_resamples=200)


def drawn(n=60):
    """Pairs of which every third was sure to be labelled and the judge is right on it; of the others one in four."""
    labels = [(k, person, 1) for k in range(n) for person in (0, 1)]
    verdicts = [(1, 1) if k % 3 == 0 else (2, 2) for k in range(n)]
    inputs = inputs_make(lengths=[(5, 3)] * n, labels=labels, judges=(judge_make("j", verdicts),))
    return replace(inputs, weights=np.array([1.0 if k % 3 == 0 else 4.0 for k in range(n)]))


def test_figures_by_hand():
    # The judge agrees on 20 of 60; the 40 others stand for four each: 20 / (20 + 160) = 1/9.
    content = content_build(drawn(), QUICK)
    agreement = content["judges"][0]["measures"]["agreement"]["overall"]
    assert agreement["value"] == pytest.approx(1 / 9)
    assert agreement["n"] == 60
    assert agreement["low"] < 1 / 9 < agreement["high"]
    assert content["people"]["n_drawn_by_chance"] == 40
    assert any("weighted by its inverse" in line for line in methods(content))
    # What does not rest on labels is of all items, each the same.
    assert content["judges"][0]["measures"]["expected_win_rate"]["overall"]["value"] == pytest.approx(1 / 3)


def test_agreement_beyond_chance_is_of_the_items_drawn_from():
    # Both people say 1, 2, 1, 2, ...; on every fourth item, which stands for three, the second says the other.
    n = 40
    labels = [(k, person, 1 + (k + (person and k % 4 == 0)) % 2) for k in range(n) for person in (0, 1)]
    weights = np.array([3.0 if k % 4 == 0 else 1.0 for k in range(n)])
    inputs = replace(inputs_make(lengths=[(5, 3)] * n, labels=labels), weights=weights)
    choices = np.array([choice for *_, choice in labels]).reshape(n, 2)
    found = content_build(inputs, QUICK)["people"]["measures"]
    for name, figure in {
        "krippendorff_alpha": krippendorff_alpha(choices, weights=weights, n_resamples=0),
        "fleiss_kappa": fleiss_kappa(choices, weights=weights, n_resamples=0),
        "gwet_ac1": gwet_ac(choices, sampling_weights=weights, n_resamples=0),
    }.items():
        assert found[name]["overall"]["value"] == pytest.approx(figure.value)
        plain = content_build(replace(inputs, weights=None), QUICK)["people"]["measures"][name]["overall"]
        assert found[name]["overall"]["value"] < plain["value"] - 0.2


def test_the_hash_is_of_the_weights_too():
    inputs = drawn()
    plain = replace(inputs, weights=None)
    assert inputs.hash(QUICK) != plain.hash(QUICK)
    ones = replace(inputs, weights=np.ones(60))
    same, even = content_build(ones, QUICK)["judges"], content_build(plain, QUICK)["judges"]
    assert same[0]["measures"]["agreement"] == even[0]["measures"]["agreement"]


def test_the_leader_is_the_leader_of_what_items_stand_for():
    # a is right on the ten that were sure, b on the ten that stand for five each.
    a = np.array([1.0] * 10 + [0.0] * 10 + [1.0] * 10)
    b = np.array([0.0] * 10 + [1.0] * 10 + [1.0] * 10)
    weights = np.array([1.0] * 10 + [5.0] * 10 + [1.0] * 10)
    found = compare({"a": a, "b": b}, resamples=Resamples(30, 500), weights=weights)
    assert found.leader == "b"
    assert found.differences["a"].value == pytest.approx((50 - 10) / 70)
    assert compare({"a": a, "b": b}, resamples=Resamples(30, 500)).differences["b"].value == 0


@pytest.mark.django_db
def test_chances_are_read_from_labels():
    dataset = dataset_make(pairs=4)
    study = study_make(dataset=dataset)
    people = labels_make(dataset=dataset, choices=[[1, 1]], study=study)
    items = list(dataset.items.order_by("position"))
    for item, chance in ((items[1], 0.5), (items[2], 0.25)):
        for person in people:
            label_make(item=item, annotator=person, choice=1, study=study, probability=chance)
    assert inputs_read(dataset=dataset).weights.tolist() == [1.0, 2.0, 4.0, 1.0]
    # A label that nobody drew lots for makes an item certain.
    label_make(item=items[2], annotator=labels_make(dataset=dataset, choices=[[2]])[0], choice=1)
    assert inputs_read(dataset=dataset).weights.tolist() == [1.0, 2.0, 1.0, 1.0]
    assert inputs_read(dataset=dataset, study=study).weights.tolist() == [1.0, 2.0, 4.0, 1.0]


@pytest.mark.django_db
def test_chances_of_other_kinds_are_read_and_count():
    dataset, people = kind_dataset_make("rubric", items=12), [annotator_make(), annotator_make()]
    for k, item in enumerate(dataset.items.order_by("position")):
        for shift, person in enumerate(people):
            value = value_of("rubric", k, shift if k % 2 else 0)
            chance = 0.25 if k % 2 else 1.0
            Label.objects.create(item=item, annotator=person, kind="rubric", value=value, probability=chance)
    inputs = inputs_read(dataset=dataset, kind="rubric")
    assert inputs.weights.tolist() == [1.0, 4.0] * 6
    found, plain = (
        build(one, Options()).as_json()["people"] for one in (inputs, replace(inputs, weights=None))
    )
    assert found["n_drawn_by_chance"] == 6
    # On items that stand for four the two differ.
    for name in ("alpha", "within_one", "pair_exact"):
        assert found["measures"][name]["overall"]["value"] < plain["measures"][name]["overall"]["value"]

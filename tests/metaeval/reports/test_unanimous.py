"""Where all say the same: Gwet's AC1 is defined, since it counts what could be said and not only what was."""

import numpy as np
import pytest

from annotation.models import TiePolicy
from metaeval.inputs import Options
from metaeval.selectors.inputs import inputs_read
from metaeval.stats import gwet_ac
from tests.annotation.factories import dataset_make, study_make
from tests.metaeval.reports.arrays import content_build, inputs_make
from tests.metaeval.rows import labels_make

QUICK = Options(n_resamples=100)


def ac1(inputs):
    return content_build(inputs, QUICK)["people"]["measures"]["gwet_ac1"]


def test_unanimous_labels_agree_fully():
    labels = [(k, person, 1) for k in range(12) for person in (0, 1)]
    found = content_build(inputs_make(lengths=[(5, 3)] * 12, labels=labels), QUICK)["people"]["measures"]
    assert found["gwet_ac1"]["overall"]["value"] == 1
    assert 0 < found["gwet_ac1"]["overall"]["low"] < 1
    for undefined in ("krippendorff_alpha", "fleiss_kappa"):
        assert found[undefined]["overall"]["value"] is None
        assert "one value" in found[undefined]["overall"]["reason"]


def test_a_group_is_measured_on_the_values_of_the_whole():
    # "easy" is unanimous; in "hard" one of ten pairs of labels differs, and nobody says tie there.
    choices = np.array([[1, 1]] * 10 + [[1, 2]] + [[1, 1]] * 8 + [[0, 0]])
    labels = [(k, person, choice) for k, row in enumerate(choices) for person, choice in enumerate(row)]
    category = ["easy"] * 10 + ["hard"] * 10
    found = ac1(inputs_make(lengths=[(5, 3)] * 20, labels=labels, category=category))
    assert found["category"]["easy"]["value"] == 1
    hard = gwet_ac(choices[10:], values=[0, 1, 2], n_resamples=0).value
    assert found["category"]["hard"]["value"] == pytest.approx(hard)


def test_no_label_is_still_no_figure():
    found = content_build(inputs_make(lengths=[(5, 3)] * 4), QUICK)["people"]["measures"]
    for name in ("gwet_ac1", "fleiss_kappa", "krippendorff_alpha"):
        assert found[name]["overall"]["reason"] == "no item has two labels"


@pytest.mark.django_db
def test_a_study_that_offers_ties_counts_them():
    dataset = dataset_make(pairs=2)
    with_ties = study_make(dataset=dataset, tie_policy=TiePolicy.TIE)
    without = study_make(dataset=dataset, tie_policy=TiePolicy.OFF)
    labels_make(dataset=dataset, choices=[[1, 2], [2, 2]], study=without)
    assert inputs_read(dataset=dataset).labels.possible == (1.0, 2.0)
    assert inputs_read(dataset=dataset, study=with_ties).labels.possible == (0.0, 1.0, 2.0)
    labels_make(dataset=dataset, choices=[[1, 2], [2, 2]], study=with_ties)
    assert inputs_read(dataset=dataset).labels.possible == (0.0, 1.0, 2.0)
    assert inputs_read(dataset=dataset, study=without).labels.possible == (1.0, 2.0)
    # Imported labels say what they could be by what they are.
    labels_make(dataset=(imported := dataset_make(pairs=2)), choices=[[1, 1], [0, 1]])
    assert inputs_read(dataset=imported).labels.possible == (0.0, 1.0, 2.0)

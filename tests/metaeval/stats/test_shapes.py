"""One convention of shapes, in the statistics and in the choice of a judge: rows are items."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest

from metaeval import selection, stats
from metaeval.selection import Candidate, JudgedDataset, choose
from metaeval.stats import InvalidInputError
from tests.cases import over
from tests.metaeval.stats.every_call import CASES, GOLD, LABELS, RIGHT, VERDICTS, N
from tests.metaeval.stats.test_every_function import quietly, same, tree

PUBLIC = [
    getattr(module, name)
    for module in (stats, selection)
    for name in module.__all__
    if callable(getattr(module, name))
]


@over(PUBLIC, lambda public: public.__name__)
def test_every_documented_shape_has_items_first(public):
    for shape in re.findall(r"shape \(([^)]*)\)", inspect.getdoc(public) or ""):
        axes = [axis.strip() for axis in shape.split(",") if axis.strip()]
        assert "n_items" not in axes[1:]
        assert (
            not {"n_people", "n_annotators", "n_judges"} & set(axes[:1])
            or len(axes) == 1
            or "n_items" not in axes
        )


def two_axes(value):
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[0] != value.shape[1]


TRANSPOSED = [
    (each, name)
    for each in CASES
    for name, value in each.items.items()
    if (two_axes(value) or (isinstance(value, dict) and all(map(two_axes, value.values()))))
    and (len(each.items) > 1 or each.takes("clusters"))
]


@over(TRANSPOSED)
def test_people_by_items_is_refused(each, name):
    turned = tree(each.items[name], lambda array: array.T)
    clusters = {} if len(each.items) > 1 else {"clusters": np.arange(N)}
    with pytest.raises(InvalidInputError):
        each.call({**each.items, name: turned}, **clusters)


def test_there_are_functions_whose_second_axis_is_tried():
    assert len(TRANSPOSED) > 30


def test_columns_of_a_matrix_and_of_a_frame_are_the_groups():
    """A matrix was read row by row: each item was a group."""
    columns = dict(zip("abc", RIGHT.T, strict=True))
    expected = stats.one_way_anova(list(RIGHT.T), blocks=np.arange(N), n_permutations=99)
    for groups in (RIGHT, columns, pd.DataFrame(columns)):
        assert stats.one_way_anova(groups, blocks=np.arange(N), n_permutations=99) == expected
    resamples = stats.Resamples(N, 0)
    expected = stats.critical_values(list(RIGHT.T), 3, resamples=resamples)
    assert stats.critical_values(RIGHT, 3, resamples=resamples) == expected
    assert stats.critical_values(pd.DataFrame(columns), 3, resamples=resamples) == expected


def chosen(verdicts, **given):
    one = JudgedDataset(
        "Traps",
        "gold",
        {"good": verdicts, "poor": VERDICTS},
        clusters=np.arange(N),
        categories=np.full(N, ""),
        gold=GOLD,
        **{"judged": {}, **given},
    )
    return choose([one], [Candidate("good", "Good"), Candidate("poor", "Poor")], n_resamples=10, n_repeats=1)


def test_a_judge_asked_in_one_order_has_one_column():
    """The same for the choice as for every figure: (n_items,) or (n_items, 2)."""
    one = np.stack([VERDICTS[:, 0], np.full(N, np.nan)], axis=1)
    expected = chosen(one)
    assert same(expected, chosen(VERDICTS[:, 0]))
    assert same(expected, chosen(VERDICTS[:, :1], judged={"good": np.ones(N, dtype=bool)}))
    costs = {"good": np.full(N, 0.001)}
    assert chosen(VERDICTS[:, 0], costs=costs).standing("good").cost_per_1000.value == pytest.approx(1)
    for wrong in (VERDICTS.T, VERDICTS[:-1], np.ones((N, 3))):
        found = quietly(chosen, wrong)
        assert re.search(
            r"dataset 'Traps': verdicts of 'good': expected shape \(40,\) or \(40, 2\)", str(found)
        )
    with pytest.raises(InvalidInputError, match="judged of 'good'"):
        chosen(VERDICTS[:, 0], judged={"good": np.ones(N - 1, dtype=bool)})


def test_labels_of_a_choice_are_items_by_people():
    given = {"judged": {}, "clusters": np.arange(N), "categories": np.full(N, "")}
    one = JudgedDataset("Pairs", "people", {"good": VERDICTS}, labels=LABELS.T, **given)
    with pytest.raises(InvalidInputError, match="'Pairs': labels: expected 40 items, got 4"):
        choose([one], [Candidate("good", "Good")])

"""How alike evaluators are: the correlation of every two, by hand; how many instructions distinguish them."""

import doctest
import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from scipy import stats

from annotation.kinds import kind_of
from metaeval.figures import evaluators
from metaeval.inputs import Options
from metaeval.pictures.rendering import to_csv, to_svg
from metaeval.reports.content import build
from metaeval.reports.pictures import report_pictures
from metaeval.reports.report import report_of
from metaeval.stats import capacity_curve
from tests.metaeval.kinds import inputs, judge, plain_items
from tests.metaeval.reports.arrays import inputs_make, judge_make
from tests.metaeval.reports.kind_values import CRITERIA, aspects, ranked, rated
from tests.metaeval.reports.test_content import validate

N = 60


@pytest.fixture(scope="module")
def pairs():
    """Uneven instructions, ties, unread verdicts, some items without labels."""
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 3, N)

    def said(right):
        table = np.where(rng.random((N, 2)) < right, truth[:, None], 3 - truth[:, None]).astype(float)
        table[rng.random((N, 2)) < 0.1] = 0
        table[rng.random((N, 2)) < 0.1] = np.nan
        return table

    tables = {name: said(right) for name, right in (("Good", 0.95), ("Middling", 0.8), ("Poor", 0.5))}
    labels = [
        (k, p, truth[k] if rng.random() < 0.8 else int(rng.integers(0, 3)))
        for k in range(N)
        if k % 7
        for p in range(1 + k % 4)
    ]
    found = inputs_make(
        lengths=rng.integers(5, 500, (N, 2)),
        gold=np.where(np.arange(N) % 5, truth, np.nan),
        cluster=[f"c{k // (1 + k % 3)}" for k in range(N)],
        labels=labels,
        judges=tuple(judge_make(name, table) for name, table in tables.items()),
    )
    return found, tables, labels


def preference(choices):
    return np.select([choices == 1, choices == 2, choices == 0], [1.0, 0.0, 0.5], np.nan)


def test_every_cell_is_pearsons_r_of_what_both_said(pairs):
    found, tables, labels = pairs
    report = build(found, Options(n_resamples=20))
    section = report.evaluators
    validate(report.as_json())
    assert report_of(json.loads(json.dumps(report.as_json()))) == report

    people = np.full(N, np.nan)
    for k in range(N):
        own = [choice for item, _, choice in labels if item == k]
        people[k] = preference(np.array(own)).mean() if own else np.nan
    with np.errstate(invalid="ignore"):
        given = {"people": people, "gold": preference(found.items.gold[:, 0])} | {
            f"f-{name}": np.array(
                [np.nan if np.isnan(row).all() else np.nanmean(preference(row)) for row in table]
            )
            for name, table in tables.items()
        }
    assert section["method"] == "pearson"
    seen = 0
    for one, row in section["correlations"].items():
        for other, cell in row.items():
            both = ~np.isnan(given[one]) & ~np.isnan(given[other])
            expected = stats.pearsonr(given[one][both], given[other][both]).statistic
            assert cell == {"value": pytest.approx(expected, abs=1e-9), "n": int(both.sum())}
            seen += 1
    assert seen == 10, "five evaluators"
    assert section["judges"][0] == report.judges[report.selection.ranking[0]].fingerprint


def test_sampling_weights_count_where_labels_do_and_nowhere_else(pairs):
    found, *_ = pairs
    weighed = replace(found, weights=np.where(np.arange(N) % 2, 1.0, 6.0))
    plain, drawn = (
        build(one, Options(n_resamples=20)).evaluators["correlations"] for one in (found, weighed)
    )
    assert all(plain["people"][key]["value"] != drawn["people"][key]["value"] for key in plain["people"])
    assert all(plain[key] == drawn[key] for key in plain if key != "people")


def test_ratings_are_compared_by_criterion_and_rankings_by_item():
    rng = np.random.default_rng(0)
    # The second criterion is rated higher by everybody, which is no agreement.
    scores = rng.integers(1, 4, (N, 2)) + np.array([0, 2])
    other = rng.integers(1, 4, (N, 2)) + np.array([0, 2])
    items = plain_items(N, gold={})
    labels = [(k, 0, rated(*map(int, scores[k]))) for k in range(N)]
    one = judge("J", {k: rated(*map(int, other[k])) for k in range(N)})
    section = build(
        inputs("rubric", items, labels, [one], criteria=CRITERIA), Options(n_resamples=20)
    ).evaluators
    by_criterion = [stats.pearsonr(scores[:, c], other[:, c]).statistic for c in (0, 1)]
    assert section["correlations"]["people"]["f-J"]["value"] == pytest.approx(np.mean(by_criterion))

    orders = [rng.permutation(4) + 1 for _ in range(N)]
    turned = [rng.permutation(4) + 1 for _ in range(N)]
    items = plain_items(N, gold={}, aspects=aspects(4))
    labels = [(k, 0, ranked(*map(int, orders[k]))) for k in range(N)]
    one = judge("J", {k: ranked(*map(int, turned[k])) for k in range(N)})
    section = build(inputs("importance", items, labels, [one]), Options(n_resamples=20)).evaluators
    assert section["method"] == "spearman"
    rho = [stats.spearmanr(orders[k], turned[k]).statistic for k in range(N)]
    assert section["correlations"]["people"]["f-J"]["value"] == pytest.approx(np.mean(rho))
    assert kind_of("importance").scale == "ranks"


def test_capacity_is_that_of_the_statistics(pairs):
    report = build(pairs[0], Options(n_resamples=20))
    section = report.capacity
    assert section["figure"] == report.primary
    assert section["sizes"][-1] == len({*pairs[0].items.cluster}) or section["sizes"][-1] <= N
    assert section["n_pairs"] == 3
    rng = np.random.default_rng(0)
    scores = rng.random((100, 3)) < [0.3, 0.5, 0.9]
    own = evaluators.capacity_section(scores.astype(float), np.arange(100))
    curve = capacity_curve(scores, sizes=own["sizes"], n_draws=own["n_draws"], quantiles=(0.8,), rng=0)
    assert own["share_significant"] == pytest.approx(curve.share_significant.tolist())
    assert own["p_values"] == pytest.approx(curve.p_values[:, 0].tolist())
    assert own["capacity"] == curve.capacity
    assert evaluators.capacity_section(scores[:10].astype(float), np.arange(10)) is None
    assert evaluators.capacity_section(scores[:, :1].astype(float), np.arange(100)) is None


def test_pictures_say_what_the_report_says(pairs):
    report = build(pairs[0], Options(n_resamples=20))
    found = {one.name: one for one in report_pictures(report, lambda judge, place: f"/items/?judge={judge}")}

    matrix, capacity = found["evaluators"], found["capacity"]
    assert [row[0] for row in matrix.rows][:3] == ["Human annotators", "Gold answers", "Good"]
    values = np.array([row[1:] for row in matrix.rows], dtype=float)
    assert np.array_equal(values, values.T, equal_nan=True)
    assert "Highest: " in matrix.description
    # People beside each judge lead to their items, in the row and in the column.
    assert len(matrix.links) == 6
    assert to_svg(matrix, "page").count("<a ") == 6
    assert to_csv(matrix).startswith("Evaluator,Human annotators,Gold answers,Good")
    assert f"With all {capacity.rows[-1][0]}, " in capacity.description
    assert "Four of five pairs" in to_svg(capacity)
    older = replace(report, evaluators=None, capacity=None)
    assert {"evaluators", "capacity"}.isdisjoint(one.name for one in report_pictures(older))
    assert "evaluators" not in older.as_json()


def test_examples_hold():
    assert doctest.testmod(evaluators).failed == 0


def test_a_report_that_says_more_is_refused_by_the_schema(pairs):
    content = build(pairs[0], Options(n_resamples=20)).as_json()
    content["evaluators"]["correlations"]["people"]["gold"]["value"] = 1.5
    with pytest.raises(jsonschema.ValidationError):
        validate(content)

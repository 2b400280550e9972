"""Every result is a long table, by one mixin, and those with intervals or curves are drawn, in any style."""

import dataclasses
import math
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

from metaeval import selection, stats
from metaeval.selection import Candidate, JudgedDataset, choose, compare
from metaeval.stats import Estimate, InvalidInputError, Resamples, plots
from metaeval.stats.results import COLUMNS, Result, to_frame
from tests.cases import over
from tests.metaeval.stats.every_call import BY_NAME, CASES, LABELS, RIGHT, VERDICTS, N

# What goes in, and what keeps count: no results.
INPUTS = {
    "LabelTable",
    "Preset",
    "RegularisingRows",
    "Candidate",
    "Constraints",
    "JudgedDataset",
    "AgreementModel",
    "ScoreModel",
    "StudyDesign",
}


def public_classes():
    for module in (stats, selection):
        for name in module.__all__:
            public = getattr(module, name)
            if dataclasses.is_dataclass(public) and name not in INPUTS:
                yield public


@over(public_classes(), lambda public: public.__name__)
def test_every_result_class_is_one(public):
    assert issubclass(public, Result)
    assert not {"to_frame", "plot"} & set(vars(public)), "by the mixin"


def results_in(value):
    """Results among what a function returned."""
    if isinstance(value, Result):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from results_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from results_in(part)


def numbers_in(value):
    """Every number that a result holds, however deep, but those of estimates' intervals and sizes."""
    if isinstance(value, Estimate):
        yield float(value.value)
        names = [each.name for each in dataclasses.fields(value)][7:]
        yield from numbers_in([getattr(value, name) for name in names])
    elif isinstance(value, Result):
        yield from numbers_in([getattr(value, each.name) for each in dataclasses.fields(value)])
    elif isinstance(value, dict):
        yield from numbers_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from numbers_in(part)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        yield from value.astype(float).ravel().tolist()
    elif isinstance(value, bool | int | float | np.number):
        yield float(value)


def test_every_result_is_a_long_frame():
    """Every finite number of a result is in its table, which has the same columns whatever the result."""
    seen = set()
    for each in CASES:
        for result in results_in(each.usual):
            if type(result) in seen:
                continue
            seen.add(type(result))
            frame = result.to_frame()
            assert tuple(frame.columns) == COLUMNS, each.name
            assert frame[["value", "low", "high"]].dtypes.eq("float64").all()
            held = {number for number in numbers_in(result) if math.isfinite(number)}
            shown = set(frame[["value", "low", "high"]].to_numpy().ravel().tolist())
            names = {
                float(key)
                for key in frame[["key", "within"]].to_numpy().ravel()
                if isinstance(key, int | float)
            }
            assert held <= shown | names, each.name
            assert not frame.duplicated(["figure", "key", "within"]).any(), each.name
    assert len(seen) > 35


def test_lines_of_an_estimate_and_of_what_is_made_of_them():
    found = BY_NAME["confusion"].usual.to_frame()
    line = found[found["figure"] == "true_positive_rate"].iloc[0]
    rate = BY_NAME["confusion"].usual.true_positive_rate
    assert (line["value"], line["low"], line["high"], line["n"]) == (rate.value, rate.low, rate.high, rate.n)
    assert line["method"] == rate.method
    undefined = Estimate(math.nan, math.nan, math.nan, 0, reason="no item counts").to_frame()
    assert undefined["value"].isna().all()
    assert undefined["text"].tolist() == ["no item counts"]
    by_group = to_frame(BY_NAME["leave_one_out_by"].usual)
    assert set(by_group["key"]) == set("abcde")
    wins = BY_NAME["win_matrix"].usual
    table = wins.to_frame().query("figure == 'wins'").pivot(index="key", columns="within", values="value")
    assert np.array_equal(table.loc[list(wins.names), list(wins.names)].to_numpy(), wins.wins)
    curve = BY_NAME["risk_coverage"].usual
    risks = curve.to_frame().query("figure == 'risk'")
    assert np.array_equal(
        risks[["value", "low", "high"]].to_numpy().T, [curve.risk, curve.low, curve.high], True
    )
    assert risks["key"].tolist() == curve.thresholds.tolist()


def test_what_is_no_result_is_refused():
    for wrong in (3.0, np.ones(3), {"a": 1.0}, [Estimate(0.5, 0, 1, 3), "b"]):
        with pytest.raises(InvalidInputError, match="results"):
            to_frame(wrong)


@pytest.fixture(scope="module")
def choice():
    one = JudgedDataset(
        "Pairs",
        "people",
        {"good": VERDICTS, "poor": VERDICTS[::-1]},
        judged={},
        labels=LABELS,
        clusters=np.arange(N),
        categories=np.full(N, ""),
    )
    return choose([one], [Candidate("good", "Good"), Candidate("poor", "Poor")], n_resamples=20, n_repeats=1)


def test_a_choice_and_a_comparison_are_tables(choice):
    frame = choice.to_frame()
    by_dataset = frame[frame["figure"] == "standings.scores"]
    assert by_dataset[["key", "within"]].to_numpy().tolist() == [["good", "Pairs"], ["poor", "Pairs"]]
    assert frame.loc[frame["figure"] == "verdict", "text"].item() == choice.verdict
    assert (frame["figure"] == "replaces.annotators.p_value").sum() == LABELS.shape[1]
    found = compare({"a": RIGHT[:, 0], "b": RIGHT[:, 1]}, resamples=Resamples(N, 20)).to_frame()
    assert (found["figure"] == "differences").sum() == 1


@pytest.mark.service
def test_the_library_imports_none_of_them_and_says_what_to_install():
    code = """
import sys
from metaeval import selection, stats
names = {"pandas", "polars", "matplotlib"}
print(names & set(sys.modules))
sys.modules |= dict.fromkeys(names)
for call in (stats.accuracy([1, 2], [1, 1]).to_frame, stats.accuracy([1, 2], [1, 1]).plot):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [
        "set()",
        "to_frame needs pandas: pip install pandas",
        'plots need matplotlib: pip install "touchstone-judge[plots]"',
    ]


@pytest.fixture(params=["default", "dark_background"])
def pyplot(request):
    """matplotlib in a light and in a dark style, without a screen."""
    mpl.use("agg")
    from matplotlib import pyplot

    with pyplot.style.context(request.param):
        yield pyplot
    pyplot.close("all")


def drawings(choice):
    calibration = BY_NAME["calibration_error"].usual
    curve = BY_NAME["risk_coverage"].usual
    return {
        "estimate": BY_NAME["accuracy"].usual.plot,
        "confusion": BY_NAME["confusion"].usual.plot,
        "subsets": BY_NAME["subset_accuracy"].usual.plot,
        "choice": choice.plot,
        "by group": lambda: plots.forest(BY_NAME["leave_one_out_by"].usual),
        "reliability": calibration.plot,
        "two reliabilities": lambda: plots.reliability_diagram({"A": calibration, "B": calibration}),
        "risk": lambda: curve.plot(target=0.1),
        "capacity": BY_NAME["capacity_curve"].usual.plot,
        "wins": BY_NAME["win_matrix"].usual.plot,
        "evaluators": BY_NAME["evaluator_correlations"].usual.plot,
    }


def contrast(one, other):
    low, high = sorted((plots.relative_luminance(one), plots.relative_luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.service
def test_every_drawing_is_seen_on_its_background(pyplot, choice):
    """Text and lines at 4.5 and 3 to 1, as WCAG 2.2 asks, in light and dark, and nothing outside of the figure."""
    for name, draw in drawings(choice).items():
        axes = draw()
        axes.figure.canvas.draw()
        face = axes.get_facecolor()
        for text in (axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()):
            assert contrast(text.get_color(), axes.figure.get_facecolor()) >= 4.5, name
        for line in axes.lines:
            assert contrast(line.get_color(), face) >= 3, name
        assert axes.lines or axes.images, name


@over([plots.ON_LIGHT, plots.ON_DARK])
def test_colors_are_told_apart_without_red_or_green(colors):
    """As people with protanopia and deuteranopia see them (Machado et al. 2009, severity 1)."""
    from matplotlib.colors import to_rgb

    seen_as = {
        "protanopia": (
            0.152286,
            1.052583,
            -0.204868,
            0.114503,
            0.786281,
            0.099216,
            -0.003882,
            -0.048116,
            1.051998,
        ),
        "deuteranopia": (
            0.367322,
            0.860646,
            -0.227968,
            0.280085,
            0.672501,
            0.047413,
            -0.01182,
            0.04294,
            0.968881,
        ),
    }
    linear = np.array(
        [[((p + 0.055) / 1.055) ** 2.4 if p > 0.04045 else p / 12.92 for p in to_rgb(c)] for c in colors]
    )
    for matrix in seen_as.values():
        seen = np.clip(linear @ np.reshape(matrix, (3, 3)).T, 0, 1)
        lab = _lab(seen)
        apart = np.linalg.norm(lab[:, np.newaxis] - lab, axis=2)[np.triu_indices(len(colors[:4]), 1)]
        assert apart.min() > 12


def _lab(linear):
    xyz = linear @ np.array([[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]])
    f = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 1e-9))
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.service
def test_what_cannot_be_drawn_is_refused():
    mpl.use("agg")
    with pytest.raises(InvalidInputError, match="MajorityVote has no estimate with an interval"):
        BY_NAME["majority_vote"].usual.plot()
    with pytest.raises(InvalidInputError, match="Estimate has no matrix"):
        plots.heat_map(BY_NAME["accuracy"].usual)
    with pytest.raises(InvalidInputError, match="A: has nothing to draw"):
        plots.risk_coverage_curve({"A": BY_NAME["accuracy"].usual})

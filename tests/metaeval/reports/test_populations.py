"""Both populations in every file of a report: these annotators, and annotators like these, on new items."""

import csv
import io

import numpy as np
import pytest

from metaeval.inputs import Options
from tests.metaeval.reports.arrays import content_build, inputs_make, judge_make
from tests.metaeval.reports.latex_checker import check
from tests.metaeval.reports.shown import csv_text, main_table, methods, render

N = 60
TOO_FEW = "too few annotators to speak of others: 4, and 5 are needed"


def report(n_people, *, uneven=False):
    """People with tastes of their own, and a judge that is like the first of them."""
    rng = np.random.default_rng(2)
    taste = np.linspace(0.5, 1.0, n_people)
    said = np.where(rng.random((N, n_people)) < taste, 1.0, 2.0)
    labels = [
        (item, person, said[item, person])
        for item in range(N)
        for person in range(n_people)
        if not (uneven and item % 2 and person >= 3)
    ]
    verdicts = np.stack([said[:, -1]] * 2, axis=1)
    judges = (judge_make("a", verdicts), judge_make("b", 3 - verdicts))
    return content_build(
        inputs_make(lengths=[(9, 3)] * N, labels=labels, category=["x", "y"] * (N // 2), judges=judges),
        Options(n_resamples=200),
    )


@pytest.fixture(scope="module")
def six():
    return report(6)


def ends(estimate):
    return f"[{100 * estimate['low']:.1f}, {100 * estimate['high']:.1f}]"


def test_every_file_has_both(six):
    own = six["people"]["measures"]["leave_one_out"]["overall"]
    assert own["alike"]["low"] < own["low"] < own["high"] < own["alike"]["high"]
    for suffix in (".html", ".md", ".tex"):
        written = render(six, suffix).replace("{[}", "[").replace("{]}", "]")
        for words in ("These annotators, new items", "Annotators like these, new items"):
            # Heads of LaTeX are broken into lines.
            assert suffix == ".tex" or words.casefold() in written.casefold(), (suffix, words)
        assert ends(own) in written
        assert ends(own["alike"]) in written
        assert ends(six["judges"][0]["measures"]["agreement"]["overall"]["alike"]) in written
        assert suffix == ".tex" or "Judge minus human annotators" in written
        assert suffix == ".tex" or "Upper bound minus judge" in written
    assert "Where there are two, the second is of annotators like these." in render(six, ".tex")
    check(render(six, ".tex"))
    rows = list(csv.DictReader(io.StringIO(csv_text(six))))
    (row,) = (
        one
        for one in rows
        if one["measure"] == "minus_people" and one["who"] == "a" and one["group_kind"] == "overall"
    )
    gap = six["judges"][0]["measures"]["minus_people"]["overall"]
    assert float(row["alike_low"]) == pytest.approx(gap["alike"]["low"])
    assert float(row["low"]) == pytest.approx(gap["low"])
    assert "Intervals are of these annotators on new items" in " ".join(methods(six))
    assert "modes, means and ranks recomputed" in " ".join(methods(six))


def test_a_gap_stands_in_every_category(six):
    gap = six["judges"][0]["measures"]["minus_people"]
    assert set(gap["category"]) == {"x", "y"}
    assert all(one["alike"]["low"] <= one["low"] for one in gap["category"].values())


def test_from_four_people_nothing_is_said_of_others():
    found = report(4)
    own = found["people"]["measures"]["leave_one_out"]["overall"]
    assert own["low"] is not None
    assert own["alike"] == {"value": own["value"], "low": None, "high": None, "n": N, "reason": TOO_FEW}
    page = render(found, ".html")
    assert "Annotators like these, new items" not in page
    assert f"none is of annotators like these: {TOO_FEW}." in page
    assert f"None is of annotators like these on new items: {TOO_FEW}." in methods(found)


def test_where_overlap_varies_it_says_so_and_compares_at_equal_overlap(six):
    found = report(6, uneven=True)
    assert any("items have 3 to 6 labels" in one for one in found["remarks"])
    people = found["people"]["measures"]
    # y has three labels an item, x six, of the same people: at equal overlap x loses what its labels gave it.
    assert people["leave_one_out_equal_overlap"]["category"]["y"]["value"] == pytest.approx(
        people["leave_one_out"]["category"]["y"]["value"]
    )
    assert "agreement_equal_overlap" in found["judges"][0]["measures"]
    assert "3 labels an item here" in render(found, ".md")
    assert not six["remarks"]
    assert "leave_one_out_equal_overlap" not in six["people"]["measures"]


def test_a_judge_beside_people_stands_in_the_table(six):
    heads = main_table(six).heads
    assert {"Judge minus human annotators", "Upper bound minus judge"} <= set(heads)

"""Reports as LaTeX: text of others is text, tables are whole, and they say what the content says."""

import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.inputs import Options
from metaeval.reports import latex_text
from metaeval.reports.latex_text import LatexTable, document, escape
from tests.metaeval.kinds import content as kind_content
from tests.metaeval.reports.arrays import content_build, inputs_make, judge_make, llmbar_inputs
from tests.metaeval.reports.kind_values import MEASURES
from tests.metaeval.reports.latex_checker import check
from tests.metaeval.reports.shown import render
from tests.metaeval.reports.test_every_kind import some

HOSTILE = r"\input{/etc/passwd} [2pt]* $x_1^2$ & 50 % #1 ~ {a} <b>|\"`--"


def test_examples():
    assert doctest.testmod(latex_text).failed == 0


def table(**fields):
    given = {"key": "k", "caption": "c", "first": "f", "heads": ("h",), "rows": (("name", "1"),)}
    return LatexTable(**(given | fields))


@pytest.mark.slow
@given(st.text())
def test_any_text_is_text(text):
    words = escape(text)
    written = document("d", text, "Touchstone", "0" * 64, [table(caption=words, rows=((words, words),))])
    check(written)
    assert not re.search(r"\\(?:input|write|def|csname)", written)


def test_the_checker_is_strict():
    good = document("d", "D", "T", "0", [table()])
    assert check(good) == ["tab:d-k"]
    for before, after in (
        ("name & 1", "name & 1 & 2"),
        ("name", "na_me"),
        ("name", "na}me"),
        ("name", r"\input{name}"),
        ("name", "[name]"),
        (r"\end{tabular}", ""),
        (r"\bottomrule", "50 %"),
    ):
        assert before in good
        with pytest.raises((AssertionError, IndexError)):
            check(good.replace(before, after, 1))


def test_wide_and_long_tables_are_cut():
    wide = table(heads=tuple("abcdefgh"), rows=(("name", *"12345678"),))
    written = document("d", "D", "T", "0", [wide])
    assert check(written) == ["tab:d-k-1", "tab:d-k-2"]
    assert r"name & 1 & 2 & 3 & 4 \\" in written
    assert r"name & 5 & 6 & 7 & 8 \\" in written
    long = table(rows=tuple((f"row {k}", "1") for k in range(120)))
    assert check(document("d", "D", "T", "0", [long])) == ["tab:d-k-1", "tab:d-k-2", "tab:d-k-3"]
    huge = table(rows=tuple((f"row {k}", "1") for k in range(5_000)))
    written = document("d", "D", "T", "0", [huge])
    assert check(written) == []
    assert "Left out" in written


def hostile(content):
    """The same content with text of others that wants to be more than text."""
    content["dataset"]["title"] = HOSTILE
    for judge in content["judges"]:
        judge["name"] = HOSTILE
    return content


def test_pairs():
    found = inputs_make(
        lengths=[(9, 3)] * 12,
        category=["Rewrite & more", "Open_QA"] * 6,
        labels=[(k, p, 1 + (k + p == 5)) for k in range(12) for p in range(3)],
        judges=(judge_make("x", [[1, 1]] * 12), judge_make("y", [[2, 1]] * 12)),
    )
    content = hostile(content_build(found, Options(n_resamples=200)))
    written = render(content, ".tex")
    labels = check(written)
    assert {"tab:pairs-people", "tab:pairs-people-category", "tab:pairs-judges-agreement-category"} <= set(
        labels
    )
    assert any(label.startswith("tab:pairs-judges-1") for label in labels)
    assert "Rewrite \\& more & 6" in written
    assert content["inputs_hash"] in written
    loo = content["people"]["measures"]["leave_one_out"]["overall"]
    assert f"Leave-one-out agreement (\\%) & {100 * loo['value']:.1f} & " in written
    assert f"{{[}}{100 * loo['low']:.1f}, {100 * loo['high']:.1f}{{]}} & {loo['n']:,}" in written


@pytest.mark.parametrize("kind", MEASURES)
def test_kinds(kind):
    found = hostile(kind_content(some(kind)))
    written = render(found, ".tex")
    labels = check(written)
    prefix = f"tab:d-{kind.replace('_', '-')}"
    assert {f"{prefix}-people", f"{prefix}-annotators"} <= set(labels)
    assert any(label.startswith(f"{prefix}-judges") for label in labels)
    assert found["inputs_hash"] in written
    assert "28 labels of 2 annotators on 14 items, 2 an item." in written
    assert "200 bootstrap resamples" in written


def test_positional_agreement_by_subset_is_a_table():
    items = [("Natural", 1), ("Natural", 2), ("Adversarial/Near", 1), ("Adversarial/Near", 2)] * 5
    said = [[1, 1] if place % 3 else [1, 2] for place in range(len(items))]
    inputs = inputs_make(
        lengths=[(5, 3)] * len(items),
        gold=[gold for _, gold in items],
        subset=[subset for subset, _ in items],
        judges=(judge_make("j", said), judge_make("always first", [[1, 2]] * len(items), baseline=True)),
    )
    written = render(content_build(inputs, Options(n_resamples=20)), ".tex")
    assert "tab:pairs-judges-positional-agreement-subset" in check(written)
    assert f"Judges: {'Positional agreement'} by subset" in written


@pytest.mark.slow
def test_llmbar_has_positional_agreement_by_subset(shared_data):
    content = content_build(llmbar_inputs(shared_data), Options(n_resamples=20))
    written = render(content, ".tex")
    labels = check(written)
    assert [label for label in labels if "judges-positional-agreement-subset" in label]
    assert [label for label in labels if "judges-accuracy-subset" in label]


def test_judges_without_a_target_have_their_table():
    inputs = inputs_make(lengths=[(5, 3)] * 6, judges=(judge_make("j", [[1, 1]] * 6),))
    written = render(content_build(inputs, Options(n_resamples=20)), ".tex")
    assert [label for label in check(written) if label.startswith("tab:pairs-judges")]
    assert "100.0" in written

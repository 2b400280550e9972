"""How far people agree among themselves, in reports on kinds: by hand, degenerate labels, the same bytes again."""

import json
from dataclasses import replace

import numpy as np
import pytest

from metaeval.inputs import Options
from metaeval.reports.render import BINARY, FORMATS
from metaeval.reports.report import canonical_json
from metaeval.stats import InvalidInputError
from tests.metaeval.kinds import KindItem, content, inputs, labelled, plain_items
from tests.metaeval.reports import shown as tables
from tests.metaeval.reports.kind_values import (
    CRITERIA,
    MEASURES,
    TREE,
    answered,
    aspects,
    figure,
    ranked,
    rated,
)
from tests.metaeval.reports.latex_checker import check
from tests.metaeval.reports.shown import render
from tests.metaeval.reports.test_every_kind import some

TEXTS = [suffix for suffix in FORMATS if suffix not in BINARY]


def with_others(found):
    return [
        (row["n_labels"], row["agreement"]["value"], row["agreement"]["n"])
        for row in found["people"]["annotators"]
    ]


def test_rubric_by_hand():
    labels = [
        *((0, 0, rated(1, 5)), (0, 1, rated(2, 5))),
        *((1, 0, rated(3, 3)), (1, 1, rated(5, 3)), (1, 2, rated(4, 1))),
        (2, 0, rated(2, 2)),
    ]
    found = content(inputs("rubric", plain_items(4), labels, (), CRITERIA))
    people = found["people"]
    assert (people["n_labels"], people["n_annotators"], people["n_items_labelled"]) == (6, 3, 3)
    assert (people["n_items_with_two_labels"], people["labels_per_item"]) == (2, {"min": 1, "max": 3})
    # "clear": no two are the same; 1 and 2 are near, and of 3, 5, 4 two pairs of three.
    assert figure(found, "people", "pair_exact", "criterion", "clear") == 0
    assert figure(found, "people", "pair_near", "criterion", "clear") == pytest.approx((1 + 2 / 3) / 2)
    # "kind": 5 and 5 are the same, and of 3, 3, 1 one pair of three, which is the only near one too.
    assert figure(found, "people", "pair_exact", "criterion", "kind") == pytest.approx((1 + 1 / 3) / 2)
    assert figure(found, "people", "pair_exact") == pytest.approx((0 + 0 + 1 + 1 / 3) / 4)
    assert figure(found, "people", "pair_near") == pytest.approx((1 + 2 / 3 + 1 + 1 / 3) / 4)
    # Means of the others on item 1: 4.5, 3.5, 4 of "clear"; 2, 2, 3 of "kind".
    assert figure(found, "people", "within_one") == pytest.approx((1 + 1 / 3 + 1 + 2 / 3) / 4)
    assert with_others(found) == [(3, 0.75, 2), (2, 0.75, 2), (1, 0.5, 1)]


def test_checklist_by_hand():
    items = [KindItem(f"x{k}", f"i{k}", "c", aspects=TREE) for k in range(2)]
    labels = [
        *((0, 0, answered(True, True, False)), (0, 1, answered(True, False, None))),
        (1, 0, answered(True, True, True)),
    ]
    found = content(inputs("checklist", items, labels))
    assert figure(found, "people", "pair_exact") == pytest.approx(1 / 3)
    assert figure(found, "people", "agreement") == pytest.approx(1 / 3)
    assert figure(found, "people", "cannot_tell_rate") == pytest.approx(1 / 9)
    assert [row[:1] + row[2:] for row in with_others(found)] == [(2, 1), (1, 1)]
    assert [row[1] for row in with_others(found)] == pytest.approx([1 / 3, 1 / 3])
    # Yes, yes; yes, no; no, cannot tell: of 6 answers 3 are yes, 2 no, 1 neither.
    alpha = found["people"]["measures"]["alpha"]
    expected = 1 - (4 / 6) / (1 - (3 * 2 + 2 * 1) / (6 * 5))
    assert alpha["overall"]["value"] == pytest.approx(expected)
    assert alpha["category"]["c"]["value"] == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["importance", "answer_ranking"])
def test_rankings_by_hand(kind):
    parts = {"aspects": aspects(3)} if kind == "importance" else {"n_responses": 3}
    labels = [
        *((0, 0, ranked(1, 2, 3)), (0, 1, ranked(1, 3, 2)), (0, 2, ranked(1, 2, 4))),
        *((1, 0, ranked(1, 1, 1)), (1, 1, ranked(1, 2, 3))),
    ]
    found = content(inputs(kind, plain_items(2, **parts), labels))
    assert figure(found, "people", "spearman") == pytest.approx((0.5 + 1 + 0.5) / 3)
    # 1, 2, 4 is the same order as 1, 2, 3; who puts all parts level puts other ones first.
    assert figure(found, "people", "pair_exact") == pytest.approx((1 / 3 + 0) / 2)
    assert figure(found, "people", "same_first") == pytest.approx((1 + 0) / 2)
    assert figure(found, "people", "undefined_rate") == 0.5
    assert [row[1] for row in with_others(found)] == pytest.approx([0.75, 0.5, 0.75])
    assert [row[::2] for row in with_others(found)] == [(2, 1), (2, 1), (1, 1)]


@pytest.mark.parametrize("kind", MEASURES)
def test_people_alone(kind):
    found = content(replace(some(kind), judges=()))
    words = tables.verdict_of(found)
    assert words.kind == "people"
    assert "28 labels of 2 annotators on 14 items, 2 an item." in words.sentences
    for suffix in TEXTS:
        written = render(found, suffix)
        assert "Judges are ranked" not in written
        if suffix == ".tex":
            assert not any("judges" in label for label in check(written))


@pytest.mark.parametrize("suffix", TEXTS)
@pytest.mark.parametrize("kind", MEASURES)
def test_few_labels_or_none(kind, suffix):
    whole = replace(some(kind), judges=())
    none = labelled(whole, slice(0))
    one_person = labelled(whole, whole.labels.annotator == 0)
    one_item = labelled(whole, whole.labels.item == 0)
    one_instruction = replace(whole, items=replace(whole.items, cluster=("i",) * len(whole.items)))
    for few, kind_of_words in (
        (none, "none"),
        (one_person, "none"),
        (one_item, "people"),
        (one_instruction, "people"),
    ):
        found = content(few)
        assert tables.verdict_of(found).kind == kind_of_words
        written = render(found, suffix)
        assert "nan" not in written.lower().replace("answers", "").split()
        if suffix == ".tex":
            check(written)
    alone = content(one_person)
    assert [row["agreement"]["value"] for row in alone["people"]["annotators"]] == [None]
    assert alone["people"]["annotators"][0]["agreement"]["reason"] == "no item shared with others"
    assert content(none)["people"]["labels_per_item"] == {"min": 0, "max": 0}
    assert "No item has labels of two annotators" in tables.verdict_of(alone).headline


@pytest.mark.parametrize("kind", MEASURES)
def test_the_same_bytes_again(kind):
    found, again = content(some(kind)), content(some(kind))
    assert canonical_json(found) == canonical_json(again)
    kept = json.loads(canonical_json(found))
    for suffix in TEXTS:
        # What was stored as JSON, with its members in another order, is written alike.
        assert render(kept, suffix) == render(found, suffix)


def test_remarks_of_what_was_left_out_or_drawn():
    weights = np.array([4.0] * 3 + [1.0] * 11)
    whole = replace(some("rubric"), weights=weights)
    whole = replace(whole, labels=replace(whole.labels, n_repeated=2))
    found = content(whole)
    assert found["people"]["n_repeated_left_out"] == 2
    assert found["people"]["n_drawn_by_chance"] == 3
    assert any("weighted by its inverse" in line for line in tables.methods(found))
    assert whole.hash(Options()) != some("rubric").hash(Options())


@pytest.mark.parametrize(
    "options",
    [{"n_resamples": -1}, {"n_resamples": 10**9}, {"seed": -1}, {"confidence": 1}, {"against": "me"}],
)
def test_bad_options(options):
    with pytest.raises(InvalidInputError, match="expected"):
        Options(**options)

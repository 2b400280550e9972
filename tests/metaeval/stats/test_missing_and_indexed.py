"""What is missing stays missing, and rows with labels are matched by them, in every public function.

A missing id was a group of its own called "nan", a mask was lost with what it hid, and pandas' index was not read: the
same judge in another row order agreed with people less.
"""

import math
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

from metaeval import stats
from metaeval.stats import InvalidInputError, Resamples, StatisticsWarning
from metaeval.stats.ids import as_ids
from tests.cases import over
from tests.metaeval.stats.every_call import BY_NAME, CASES, LABELS, VERDICTS, WITH_NUMBERS, N
from tests.metaeval.stats.test_every_function import n_rows, quietly, same, tree

NAN = math.nan
MISSING = {
    "NaN": NAN,
    "None": None,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "numpy NaT": np.datetime64("NaT"),
    "masked": np.ma.masked,
}
# Arguments that are ids, of whatever is grouped; options of every function are tried as well.
IDS = {
    "adversarial_gap": ["subsets"],
    "bias_table": ["categories"],
    "bradley_terry": ["first", "second"],
    "correlation_by": ["groups"],
    "crossed_mean_estimate": ["item", "annotator"],
    "drfr": ["items"],
    "elo_ratings": ["first", "second"],
    "evaluator_correlations": ["scenarios"],
    "evaluator_correlations_by": ["criteria", "scenarios"],
    "family_monotonicity": ["families"],
    "follow_rate_by_level": ["items"],
    "generalizability_study": ["item", "annotator"],
    "leave_one_out_by": ["groups"],
    "likelihood_correlation": ["topics"],
    "macro_mean": ["groups"],
    "one_way_anova": ["blocks"],
    "subset_accuracy": ["subsets"],
    "system_correlation": ["systems"],
    "tower_drfr_differences": ["items"],
    "tower_score": ["items"],
    "win_matrix": ["first", "second"],
}
# Arguments that are a list of one array an item; their rows are those of the list.
LISTS = {
    "importance_agreement",
    "importance_agreement_by_annotator",
    "likelihood_correlation",
    "rank_agreement",
    "rank_pairs",
}
# Labels one by one, as (item, annotator, value).
LONG = [
    each
    for each in CASES
    if "labels" in each.items and "tuple of three" in (each.function.__doc__ or "") and not each.long
]


def alike(one, other):
    """The same result, or the same error."""
    return str(one) == str(other) if isinstance(one, InvalidInputError) else same(one, other)


def call(each, **changed):
    """The call with some arguments changed, of the items or options."""
    items = {name: changed.pop(name, value) for name, value in each.items.items()}
    return each.call(items, **changed)


def id_arguments():
    for each in CASES:
        names = list(IDS.get(each.name, []))
        if each.takes("clusters"):
            names.append("clusters")
        for name in names:
            yield each, name


def ids_of(each, name):
    given = {**each.given, **each.items}.get(name)
    n = N if each.long or not each.items else n_rows(each)
    return ["abcdefgh"[k % 8] for k in range(n)] if given is None else np.asarray(given).tolist()


def with_missing(ids, value, form):
    ids = [*ids[:3], value, *ids[4:]]
    if form == "list":
        return ids
    if form == "objects":
        return np.fromiter(ids, dtype=object, count=len(ids))
    return pd.Series(ids, dtype=object)


@over(id_arguments())
def test_a_missing_id_is_no_group(each, name):
    ids = ids_of(each, name)
    for value in MISSING.values():
        for form in ("list", "objects", "series"):
            with pytest.raises(InvalidInputError, match=name):
                call(each, **{name: with_missing(ids, value, form)})
    hidden = np.zeros(len(ids), dtype=bool)
    hidden[3] = True
    with pytest.raises(InvalidInputError, match=name):
        call(each, **{name: np.ma.array(ids, mask=hidden)})


@over(id_arguments())
def test_ids_that_look_the_same_and_are_not_are_refused(each, name):
    ids = ids_of(each, name)
    other = 7 if isinstance(ids[3], str) else str(ids[3])
    for form in ("list", "objects"):
        with pytest.raises(InvalidInputError, match=name):
            call(each, **{name: with_missing(ids, other, form)})


@pytest.mark.slow
@over(id_arguments())
def test_ids_are_the_same_in_any_container(each, name):
    ids = ids_of(each, name)
    if name == "item":  # row numbers
        return
    usual = quietly(call, each, **{name: ids})
    objects = with_missing(ids, ids[3], "objects")
    for change in (objects, pd.Series(ids), pd.Series(ids).astype("category"), np.ma.array(ids), tuple(ids)):
        assert alike(usual, quietly(call, each, **{name: change}))


@over(LONG)
def test_labels_one_by_one_have_an_item_and_an_annotator(each):
    items, people = (side.ravel() for side in np.indices((N, 4)))
    names = [f"i{item:02}" for item in items]
    values = np.asarray(each.items["labels"], dtype=float)[:, [0, 1, 2, -1]].ravel()

    def called(*labels):
        return each.call({**each.items, "labels": labels})

    usual = quietly(called, names, people, values)
    for value in MISSING.values():
        for place, what in ((0, "items"), (1, "annotators")):
            columns = [names, [f"p{person}" for person in people], values]
            columns[place] = with_missing(columns[place], value, "list")
            with pytest.raises(InvalidInputError, match=what):
                called(*columns)
    with pytest.raises(InvalidInputError, match="items"):
        called([5, *names[1:]], people, values)
    # The rows of a table, shuffled or each column sorted by itself with its index.
    order = np.random.default_rng(3).permutation(len(values))
    table = pd.DataFrame({"item": names, "person": people, "value": values})
    shuffled = table.iloc[order]
    columns = (table["item"], shuffled["person"], table["value"].sort_values())
    if not each.ordered:
        assert same(usual, quietly(called, *columns))


def hidden(value, holes):
    """A masked array: what it hides is a number that would be read as a label."""
    return np.ma.array(np.where(holes, 1.0, value), mask=holes)


@over([each for each in WITH_NUMBERS if each.name not in ("one_way_anova",)])
def test_masked_numbers_are_missing(each):
    rng = np.random.default_rng(5)
    for name in each.numbers:
        value = each.items[name]
        if isinstance(value, list) or each.name in LISTS:  # an array an item
            continue
        holes = []

        def change(array, holes=holes):
            holes.append(rng.random(np.shape(array)) < 0.1)
            return hidden(np.asarray(array, dtype=float), holes[-1])

        masked = tree(value, change)
        order = iter(holes)
        plain = tree(value, lambda array, order=order: np.where(next(order), NAN, np.asarray(array, float)))
        results = [quietly(each.call, {**each.items, name: given}) for given in (plain, masked)]
        assert alike(*results), name


@over(WITH_NUMBERS)
def test_missing_numbers_of_any_kind_are_nan(each):
    for name in each.numbers:
        value = each.items[name]
        if isinstance(value, list) or np.asarray(value).dtype.kind not in "fiu":
            continue
        array = np.array(value, dtype=float)
        marks = {3: None, array.size // 2: pd.NA, array.size - 2: pd.NaT}
        objects = array.astype(object)
        for place, mark in marks.items():
            array.flat[place], objects.flat[place] = NAN, mark
        usual = quietly(each.call, {**each.items, name: array})
        assert alike(usual, quietly(each.call, {**each.items, name: objects}))
        if array.ndim == 1:
            whole = (
                pd.Series(array).astype("Int64")
                if (array % 1 == 0).sum() == np.isfinite(array).sum()
                else None
            )
            if whole is not None:
                result = quietly(each.call, {**each.items, name: whole})
                assert alike(usual, result)


@over([each for each in CASES if each.takes("where")])
def test_a_selection_of_which_some_is_not_known_is_refused(each):
    n = N if each.long else n_rows(each)
    known = np.arange(n) % 4 > 0
    usual = quietly(each.call, where=known)
    for same_selection in (
        known.tolist(),
        known.astype(object),
        pd.Series(known),
        pd.Series(known).astype("boolean"),
    ):
        assert alike(usual, quietly(call, each, where=same_selection))
    for mark in (None, NAN, pd.NA):
        with pytest.raises(InvalidInputError, match="where"):
            each.call(where=with_missing(known.tolist(), mark, "objects"))
    with pytest.raises(InvalidInputError, match="where"):
        each.call(where=np.ma.array(known, mask=np.arange(n) == 3))


# Labels of the rows that pandas gives by itself, and labels that mean something.
INDEXES = {"default": np.arange, "texts": lambda n: np.array([f"r{k:03}" for k in range(n)])}
INDEXED = [each for each in CASES if each.items and each.name not in LISTS and not each.itemwise]


def frames(value, index, order):
    """The same numbers as Series or frames, the rows in another order."""
    if isinstance(value, dict):
        return {key: frames(inner, index, order) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(frames(inner, index, order) for inner in value)
    if isinstance(value, list) and len(value) <= 3:
        return [frames(inner, index, order) for inner in value]
    array = np.asarray(value)
    make = pd.Series if array.ndim == 1 else pd.DataFrame
    return make(array, index=index).iloc[order]


@pytest.mark.slow
@over(product(INDEXED, INDEXES))
def test_rows_are_matched_by_their_labels(each, labels):
    n, rng = n_rows(each), np.random.default_rng(9)
    index = INDEXES[labels](n)
    first = next(iter(each.items))
    items = {
        name: frames(value, index, np.arange(n) if name == first else rng.permutation(n))
        for name, value in each.items.items()
    }
    if isinstance(each.items[first], dict):  # each column of it in an order of its own
        items[first] = {
            key: frames(value, index, np.arange(n) if place == 0 else rng.permutation(n))
            for place, (key, value) in enumerate(each.items[first].items())
        }
    usual, given = None, {}
    if each.takes("clusters") and not each.long and each.name not in ("correlation_by", "mcnemar_test"):
        clusters = np.arange(n) // 2
        usual = quietly(each.call, clusters=clusters)
        given["clusters"] = frames(clusters, index, rng.permutation(n))
    assert alike(usual if given else each.usual, quietly(each.call, items, **given))


@over([each for each in INDEXED if len(each.items) > 1])
def test_rows_that_cannot_be_matched_are_refused(each):
    n = n_rows(each)
    *others, last = each.items
    index = INDEXES["texts"](n)
    items = {name: frames(each.items[name], index, np.arange(n)) for name in others}
    for other in (np.roll(index, 1).astype(object) + "x", np.repeat(index[:1], n), np.arange(n)):
        wrong = {**items, last: frames(each.items[last], other, np.arange(n))}
        with pytest.raises(InvalidInputError, match="cannot be aligned"):
            each.call(wrong)


def test_one_order_and_no_index_is_an_order():
    """A selection or a sorted table has an index that is no count; its columns as arrays are in its order."""
    table = pd.DataFrame({"verdict": VERDICTS[:, 0], "gold": VERDICTS[:, 1]}).sort_values("gold")
    expected = stats.accuracy(table["verdict"].to_numpy(), table["gold"].to_numpy())
    assert stats.accuracy(table["verdict"], table["gold"].to_numpy()) == expected
    assert stats.accuracy(table["verdict"], table["gold"]) == expected


def test_an_array_beside_two_orders_is_refused():
    verdicts, gold = pd.Series(VERDICTS[:, 0]), pd.Series(VERDICTS[:, 1]).iloc[::-1]
    with pytest.raises(InvalidInputError, match="clusters: has no index"):
        stats.accuracy(verdicts, gold, clusters=np.arange(N) // 2)
    with pytest.raises(InvalidInputError, match="resamples: has no index"):
        stats.accuracy(verdicts, gold, resamples=Resamples(np.arange(N) // 2, 50))


def test_shared_resamples_keep_the_labels_of_their_clusters():
    clusters = pd.Series(np.arange(N) // 2, index=INDEXES["texts"](N))
    resamples = Resamples(clusters, 100)
    order = np.random.default_rng(1).permutation(N)
    contributions = pd.Series(VERDICTS[:, 0] == 1, index=clusters.index, dtype=float)
    expected = stats.mean_estimate(contributions, resamples=resamples)
    assert stats.mean_estimate(contributions.iloc[order], resamples=resamples) == expected


def test_a_judge_beside_labels_one_by_one_is_matched_by_the_items():
    items = [f"i{k:02}" for k in range(N)]
    labels = np.repeat(items, 4), np.tile(np.arange(4), N), LABELS.ravel()
    expected = stats.leave_one_out_agreement(LABELS, VERDICTS)
    judge = pd.DataFrame(VERDICTS, index=items)
    order = np.random.default_rng(2).permutation(N)
    assert stats.leave_one_out_agreement(labels, judge.iloc[order]) == expected
    assert stats.leave_one_out_agreement(labels, judge.reset_index(drop=True)) == expected
    with pytest.raises(InvalidInputError, match="verdicts"):
        stats.leave_one_out_agreement(labels, judge.rename(index={"i00": "other"}))
    clusters = pd.Series(np.arange(N) // 2, index=items)
    by_cluster = stats.leave_one_out_agreement(LABELS, VERDICTS, clusters=np.arange(N) // 2)
    shuffled = stats.leave_one_out_agreement(labels, judge, clusters=clusters.iloc[order])
    assert shuffled == by_cluster


def test_aspects_are_matched_by_their_names():
    first = [pd.Series([1, 2, 3], index=["form", "tone", "length"])]
    second = [pd.Series([3, 1, 2], index=["length", "form", "tone"])]
    assert stats.importance_agreement(first, second, n_resamples=0).value == 1
    people = {"A": first, "B": second}
    assert stats.importance_agreement_by_annotator(people, n_resamples=0).people.value == 1
    answers = [pd.Series([-3.0, -1.0, -2.0], index=list("xyz"))], [pd.Series([9, 1, 4], index=list("yxz"))]
    assert stats.likelihood_correlation(*answers, method="spearman", n_resamples=0).value == 1


def test_groups_of_an_analysis_of_variance_are_samples_unless_they_share_blocks():
    one, two = pd.Series([1.0, 2, 3, 5]), pd.Series([2.0, 4, 1], index=list("abc"))
    assert stats.one_way_anova([one, two]).n == 7
    blocks = pd.Series(["x", "y", "z", "w"])
    rng = np.random.default_rng(0)
    three = pd.Series([4.0, 1, 2, 7])
    expected = stats.one_way_anova([one, three], blocks=blocks, n_permutations=99)
    found = stats.one_way_anova(
        [one, three.iloc[rng.permutation(4)]], blocks=blocks.iloc[::-1], n_permutations=99
    )
    assert found == expected


def test_systems_of_an_outside_table_may_be_a_column():
    ours = pd.Series({"a": 1.0, "b": 2.0, "c": 3.0, "d": NAN})
    found = stats.outside_correlation(ours, {"A": 10, "B": 30, "C": 20, "d": 4}, n_resamples=0)
    assert (found.n, found.unmatched_outside) == (3, ("d",))
    assert (
        stats.outside_correlation(
            {"a": 1, "b": 2, "c": 3, "d": None}, {"A": 10, "B": 30, "C": 20}, n_resamples=0
        ).n
        == 3
    )


def test_frames_are_columns_by_name():
    table = pd.DataFrame(dict(zip("abc", BY_NAME["compare_all"].items["scores"].values(), strict=True)))
    usual = BY_NAME["compare_all"].call()
    assert same(usual, BY_NAME["compare_all"].call({"scores": table}))


class TestColumns:
    """Models of two frames are matched by their names, as rows are by their labels."""

    LENGTHS = np.random.default_rng(0).integers(200, 900, (60, 3))
    LENGTHS[:, 2] += 500
    PREFERENCES = np.random.default_rng(1).integers(1, 3, (60, 3)).astype(float)

    def rates(self, preferences, lengths, baseline=None, **options):
        found = stats.length_controlled_win_rates(
            preferences,
            np.full(60, 500) if baseline is None else baseline,
            lengths,
            n_resamples=0,
            penalty=1.0,
            **options,
        )
        return {name: result.value for name, result in zip(found.names, found.results, strict=True)}

    def test_in_another_order_they_are_the_same_models(self):
        preferences = pd.DataFrame(self.PREFERENCES, columns=list("xyz"))
        lengths = pd.DataFrame(self.LENGTHS, columns=list("xyz"))
        by_place = self.rates(self.PREFERENCES, self.LENGTHS, names=list("xyz"))
        assert self.rates(preferences, lengths) == by_place
        assert self.rates(preferences, lengths[list("zxy")]) == by_place
        assert self.rates(preferences, lengths[list("zxy")], lengths[list("yzx")] * 0 + 500) == by_place
        assert self.rates(preferences, self.LENGTHS) == by_place  # nothing to match by

    def test_other_names_are_refused(self):
        preferences = pd.DataFrame(self.PREFERENCES, columns=list("xyz"))
        with pytest.raises(InvalidInputError, match=r"length_models: its columns .*preferences"):
            self.rates(preferences, pd.DataFrame(self.LENGTHS, columns=list("xyw")))
        with pytest.raises(InvalidInputError, match=r"length_baseline: its columns"):
            self.rates(
                preferences,
                pd.DataFrame(self.LENGTHS, columns=list("xyz")),
                pd.DataFrame(self.LENGTHS, columns=list("xyw")),
            )
        with pytest.raises(InvalidInputError, match=r"length_models: its columns"):
            self.rates(preferences, pd.DataFrame(self.LENGTHS, columns=list("xyy")))

    def test_of_style(self):
        counts = pd.DataFrame(self.LENGTHS, columns=["length", "bold", "lists"])
        other = pd.DataFrame(self.LENGTHS[::-1], columns=["length", "bold", "lists"])
        expected = stats.style_covariates(counts, other)
        assert np.array_equal(stats.style_covariates(counts, other[["lists", "length", "bold"]]), expected)
        with pytest.raises(InvalidInputError, match="second: its columns"):
            stats.style_covariates(counts, other.rename(columns={"bold": "italics"}))


def test_ids_of_a_million_cost_little_and_large_ones_are_exact():
    """Two ids that only differ in their last digit are two, also where some are too large for a machine number."""
    assert as_ids([2**53, 2**53 + 1, -1], "ids")[1].tolist() == [1, 2, 0]
    assert as_ids([2**63, 2**63 + 1, -1], "ids")[1].tolist() == [1, 2, 0]
    assert as_ids([2**70, 2**70 + 1], "ids")[1].tolist() == [0, 1]
    assert as_ids([3, 1.5, 3.0], "ids")[1].tolist() == [1, 0, 1]
    distinct, codes = as_ids(np.array([10, 9, 10], dtype=object), "ids")
    assert (distinct.tolist(), codes.tolist()) == ([9, 10], [1, 0, 1])


def test_names_of_groups_are_those_of_their_figures():
    """Of whole numbers in an array of objects names were sorted as numbers and figures as texts."""
    groups = np.repeat(np.array([2, 10], dtype=object), 4)
    found = stats.correlation_by([1, 2, 3, 4] * 2, [1, 2, 3, 4, 4, 3, 2, 1], groups, n_resamples=0)
    assert dict(zip(found.names, found.values.tolist(), strict=True)) == {
        2: pytest.approx(1),
        10: pytest.approx(-1),
    }


def test_the_warning_is_at_the_line_of_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stats.accuracy([NAN], [1], unparsed="omit")
        stats.krippendorff_alpha([[1, 1]])
        stats.accuracy(pd.Series([NAN]), pd.Series([1]), unparsed="omit")
    assert {warning.filename for warning in caught} == {__file__}
    assert {warning.category for warning in caught} == {StatisticsWarning}

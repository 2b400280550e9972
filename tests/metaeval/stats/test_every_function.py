"""What every public function of the statistics promises, checked over one table of small valid calls."""

import dataclasses
import inspect
import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from metaeval import stats
from metaeval.stats import Estimate, InvalidInputError, Resamples, StatisticsWarning

N = 40
RESAMPLES = 60
_RNG = np.random.default_rng(20_250_301)


def _choices(*shape, right=0.75, ties=0.1):
    """Verdicts 1, 2 and 0 that follow one truth an item."""
    truth = np.resize([1.0, 2.0, 2.0, 1.0, 1.0], shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    said = np.where(_RNG.random(shape) < right, truth, 3 - truth)
    return np.where(_RNG.random(shape) < ties, 0.0, said)


def _ratings(*shape):
    level = np.resize([1, 2, 3, 4, 5], shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    return np.clip(level + _RNG.integers(-1, 2, shape), 1, 5).astype(float)


def _rankings(n_people=None):
    """Orders of two to five parts, one matrix (or one list) an item."""
    sizes = np.resize([3, 4, 2, 5], N)
    if n_people is None:
        return [1.0 + _RNG.permutation(size) for size in sizes]
    return [np.stack([1.0 + _RNG.permutation(size) for _ in range(n_people)]) for size in sizes]


LABELS = _choices(N, 4)
VERDICTS = _choices(N, 2)
ONE_ORDER = _choices(N)
GOLD = np.resize([1.0, 2.0, 2.0, 1.0, 1.0], N)
RATINGS = _ratings(N, 3)
RIGHT = (_RNG.random((N, 3)) < [0.8, 0.6, 0.7]).astype(float)
LENGTHS = _RNG.integers(100, 400, (N, 4))
CLUSTERS = np.arange(N) // 2
SUBSETS = np.resize(["Natural", "Adversarial/A", "Adversarial/B"], N)
FAMILIES = np.resize(["gpt", "llama", "gpt", ""], N), np.resize(["llama", "gpt", "qwen"], N)
TEXTS = np.resize(["- one\n- two", "plain", "1. a\n2. b"], N), np.resize(["plain", "words"], N)
SYSTEMS = np.resize(["a", "b", "c", "d", "e"], N)
PARTLY = np.where(np.arange(N) % 2, RIGHT[:, 0], np.nan)
PAIRS = np.array([(a, b) for a in "abcd" for b in "abcd" if a < b])[np.arange(N) % 6]
LONG = np.repeat(np.arange(N), 2), np.tile([0, 1], N), _ratings(N, 2).ravel()


@dataclass
class Case:
    """One valid call. ``items`` are aligned with the items (or with the rows that are permuted); ``numbers`` are
    those of them that hold numbers with a meaning, NaN being missing; ``given`` are the other arguments."""

    name: str
    items: dict[str, Any]
    numbers: tuple[str, ...] = ()
    given: dict[str, Any] = field(default_factory=dict)
    # The value may depend on the order of the rows (Elo by definition; draws and splits by a fixed seed).
    ordered: bool = False
    # The function gives one answer an item, which follows the items.
    itemwise: bool = False
    # `clusters`, `where` and such are not of the rows (long tables).
    long: bool = False

    @property
    def function(self):
        return getattr(stats, self.name)

    @property
    def parameters(self):
        return inspect.signature(self.function).parameters

    def takes(self, option):
        options = self.parameters.get("options")
        return option in self.parameters or (options is not None and option != "weights")

    def call(self, items=None, **changed):
        given = dict(self.given)
        for option in ("n_resamples", "n_permutations", "n_draws"):
            if self.takes(option) and option in (*self.parameters, "n_resamples"):
                given.setdefault(option, RESAMPLES)
        return self.function(**{**given, **(self.items if items is None else items), **changed})


def case(name, items, numbers=None, given=None, **rest):
    return Case(name, items, tuple(items) if numbers is None else tuple(numbers), given or {}, **rest)


CASES = [
    case("accuracy", {"verdicts": VERDICTS, "gold": GOLD}),
    case("accuracy_contributions", {"verdicts": VERDICTS, "gold": GOLD}, itemwise=True),
    case("active_probabilities", {"uncertainty": _RNG.random(N)}, given={"budget": 10}, itemwise=True),
    case("adjust_p_values", {"p_values": _RNG.random(N)}, itemwise=True),
    case("adversarial_gap", {"verdicts": VERDICTS, "gold": GOLD, "subsets": SUBSETS}, ["verdicts", "gold"]),
    case("aggregate_labels", {"labels": RATINGS}, given={"how": "mean"}, itemwise=True),
    case("agreement_weights", {}, given={"values": [1.0, 2.0, 4.0], "weights": "quadratic"}),
    case("alternative_annotator_test", {"labels": LABELS, "verdicts": VERDICTS}),
    case("aspect_levels", {}, given={"parents": {"root": None, "leaf": "root"}}),
    case("best_reachable_agreement", {"labels": LABELS}),
    case("bias_and_variance", {"labels": LABELS, "samples": _choices(N, 3)}),
    case(
        "bias_table",
        {"verdicts": VERDICTS, "features": {"length": (LENGTHS[:, 0], LENGTHS[:, 1])}, "labels": LABELS},
        ["verdicts", "labels"],
    ),
    case("bradley_terry", {"first": PAIRS[:, 0], "second": PAIRS[:, 1], "outcome": ONE_ORDER}, ["outcome"]),
    case("capacity_curve", {"scores": dict(zip("abc", RIGHT.T, strict=True))}, ordered=True),
    case("cohen_kappa", {"first": RATINGS[:, 0], "second": RATINGS[:, 1]}),
    case("compare_all", {"scores": dict(zip("abc", RIGHT.T, strict=True))}),
    case("correlation", {"first": RATINGS[:, 0], "second": RATINGS[:, 1]}),
    case(
        "correlation_by",
        {"first": RATINGS[:, 0], "second": RATINGS[:, 1], "groups": np.arange(N) // 8},
        ["first", "second"],
    ),
    case(
        "correlation_difference", {"first": RATINGS[:, 0], "second": RATINGS[:, 1], "target": RATINGS[:, 2]}
    ),
    case(
        "critical_values",
        {"columns": list(RIGHT.T)},
        [],
        {"n_candidates": 3, "resamples": Resamples(N, 0)},
        long=True,
    ),
    case(
        "crossed_mean_estimate",
        {"scores": (LONG[2] > 2).astype(float), "item": LONG[0], "annotator": LONG[1]},
        ["scores"],
        long=True,
    ),
    case("dawid_skene", {"labels": LABELS}),
    case("draw_items", {"probabilities": np.full(N, 0.25)}, [], ordered=True),
    case("drfr", {"answers": RIGHT[:, 0], "items": CLUSTERS}, ["answers"], long=True),
    case(
        "elo_ratings",
        {"first": PAIRS[:, 0], "second": PAIRS[:, 1], "outcome": ONE_ORDER},
        ["outcome"],
        {"n_permutations": 5},
        ordered=True,
    ),
    case("evaluator_correlations", {"ratings": dict(zip("abc", RATINGS.T, strict=True))}),
    case(
        "evaluator_correlations_by",
        {"ratings": dict(zip("abc", RATINGS.T, strict=True)), "criteria": np.arange(N) // 20},
        ["ratings"],
    ),
    case("expected_win_rate", {"verdicts": VERDICTS}),
    case(
        "family_features",
        {"families_1": FAMILIES[0], "families_2": FAMILIES[1]},
        [],
        {"judge_family": "gpt"},
    ),
    case(
        "family_monotonicity",
        {
            "sizes": np.arange(1.0, 9),
            "scores": np.array([1.0, 3, 2, 4, 1, 2, 4, 5]),
            "families": list("aaaabbbb"),
        },
        ["sizes", "scores"],
    ),
    case(
        "feature_contributions",
        {"verdicts": VERDICTS, "feature_1": LENGTHS[:, 0], "feature_2": LENGTHS[:, 1]},
        itemwise=True,
    ),
    case(
        "feature_preference", {"verdicts": VERDICTS, "feature_1": LENGTHS[:, 0], "feature_2": LENGTHS[:, 1]}
    ),
    case("first_shown_contributions", {"verdicts": VERDICTS}, itemwise=True),
    case("first_shown_preference", {"verdicts": VERDICTS}),
    case("fleiss_kappa", {"labels": LABELS}),
    case(
        "follow_rate_by_level",
        {"answers": RIGHT[:, 0], "items": CLUSTERS, "levels": np.arange(N) % 2 + 1},
        ["answers"],
        long=True,
    ),
    case("gwet_ac", {"labels": RATINGS}, given={"weights": "linear"}),
    case("has_list", {}, given={"text": "- a\n- b"}),
    case("hedging_contributions", {"verdicts": VERDICTS}, itemwise=True),
    case("hedging_rate", {"verdicts": VERDICTS}),
    case("importance_agreement", {"first": _rankings(), "second": _rankings()}),
    case(
        "importance_agreement_by_annotator",
        {"people": {"A": _rankings(), "B": _rankings()}, "methods": {"tree": _rankings()}},
    ),
    case(
        "items_to_label_next",
        {"judgments": RIGHT[:, 1], "uncertainty": _RNG.random(N), "labels": PARTLY},
        ["judgments", "labels"],
        {"budget": 5},
        ordered=True,
    ),
    case("judge_uncertainty", {"answers": VERDICTS}, itemwise=True),
    case("krippendorff_alpha", {"labels": RATINGS}, given={"level": "ordinal"}),
    case("labels_needed", {}, given={"difference": 0.1, "discordance": 0.2}),
    case("labels_needed_from", {"first": RIGHT[:, 0], "second": RIGHT[:, 1]}),
    case("leave_one_out_agreement", {"labels": LABELS, "verdicts": VERDICTS}),
    case(
        "leave_one_out_by",
        {"labels": LABELS, "groups": SYSTEMS, "verdicts": VERDICTS},
        ["labels", "verdicts"],
    ),
    case("leave_one_out_by_annotator", {"labels": LABELS, "verdicts": VERDICTS}),
    case("leave_one_out_contributions", {"labels": LABELS, "verdicts": VERDICTS}, itemwise=True),
    case("length_bias_rate", {"verdicts": VERDICTS, "length_1": LENGTHS[:, 0], "length_2": LENGTHS[:, 1]}),
    case(
        "length_controlled_win_rate",
        {"preferences": ONE_ORDER, "length_baseline": LENGTHS[:, 0], "length_model": LENGTHS[:, 1]},
        given={"penalty": 1.0},
    ),
    case(
        "length_controlled_win_rates",
        {"preferences": _choices(N, 3), "length_baseline": LENGTHS[:, 0], "length_models": LENGTHS[:, 1:]},
        given={"penalty": 1.0},
    ),
    case("likelihood_correlation", {"scores": _rankings(), "votes": _rankings()}),
    case("list_preference", {"verdicts": VERDICTS, "texts_1": TEXTS[0], "texts_2": TEXTS[1]}, ["verdicts"]),
    case(
        "longer_preference_share",
        {"verdicts": VERDICTS, "length_1": LENGTHS[:, 0], "length_2": LENGTHS[:, 1]},
    ),
    case("macro_mean", {"contributions": RIGHT[:, 0], "groups": SYSTEMS}, ["contributions"]),
    case("majority_vote", {"labels": LABELS}),
    case("mcnemar_test", {"first_right": RIGHT[:, 0], "second_right": RIGHT[:, 1]}),
    case("mean_estimate", {"contributions": RIGHT[:, 0]}),
    case("noninferiority_test", {"differences": RIGHT[:, 0] - RIGHT[:, 1]}, given={"margin": 0.2}),
    case(
        "one_way_anova",
        {"groups": list(RIGHT.T), "blocks": np.arange(N)},
        ["groups"],
        ordered=True,
        long=True,
    ),
    case(
        "outside_correlation",
        {},
        given={
            "ours": dict(zip("abcdef", [1, 3, 2, 5, 4, 6], strict=True)),
            "outside": dict(zip("abcdef", [2, 3, 1, 4, 5, 6], strict=True)),
        },
    ),
    case("paired_difference", {"first": RIGHT[:, 0], "second": RIGHT[:, 1]}),
    case("paired_permutation_test", {"first": RIGHT[:, 0], "second": RIGHT[:, 1]}),
    case("paired_t_test", {"first": RIGHT[:, 0], "second": RIGHT[:, 1]}),
    case("pairwise_agreement", {"labels": RATINGS}, given={"tolerance": 1}),
    case("pairwise_agreement_contributions", {"labels": RATINGS}, itemwise=True),
    case("percent_agreement", {"labels": LABELS}),
    case("person_correlation", {"labels": LONG}, [], {"n_items": N}, long=True),
    case("positional_agreement", {"verdicts": VERDICTS}),
    case("positional_agreement_contributions", {"verdicts": VERDICTS}, itemwise=True),
    case("positional_bias", {"verdicts": VERDICTS}),
    case("power_of_difference", {}, given={"difference": 0.1, "n": 200, "discordance": 0.2}),
    case("ppi_mean", {"labels": PARTLY, "judgments": RIGHT[:, 1]}),
    case("ppi_win_rate", {"labels": np.where(np.arange(N) % 2, GOLD, np.nan), "verdicts": VERDICTS}),
    case("preference_share", {"verdicts": VERDICTS}),
    case("preset", {}, given={"name": "llmbar"}),
    case("rank_agreement", {"rankings": _rankings(3)}),
    case("rank_agreement_contributions", {"rankings": _rankings(3)}, itemwise=True),
    case("rank_pairs", {"rankings": _rankings(3)}, ordered=True),
    case("rating_verdicts", {"score_1": RATINGS[:, 0], "score_2": RATINGS[:, 1]}, itemwise=True),
    case("ratio_estimate", {"numerator": RIGHT[:, 0], "denominator": np.ones(N)}, []),
    case("self_consistency", {"samples": RATINGS}),
    case("self_consistency_contributions", {"samples": RATINGS}, itemwise=True),
    case(
        "self_preference",
        {"verdicts": VERDICTS, "families_1": FAMILIES[0], "families_2": FAMILIES[1], "labels": LABELS},
        ["verdicts", "labels"],
        {"judge_family": "gpt"},
    ),
    case("soft_labels", {"labels": LABELS}, itemwise=True),
    case("style_counts", {"texts": TEXTS[0]}, [], itemwise=True),
    case("style_covariates", {"first": LENGTHS[:, :2], "second": LENGTHS[:, 2:]}, [], itemwise=True),
    case("subset_accuracy", {"verdicts": VERDICTS, "gold": GOLD, "subsets": SUBSETS}, ["verdicts", "gold"]),
    case(
        "system_correlation",
        {"first": RATINGS[:, 0], "second": RATINGS[:, 1], "systems": SYSTEMS},
        ["first", "second"],
    ),
    case("tie_rate", {"verdicts": VERDICTS}),
    case("tolerant_accuracy", {"verdicts": RATINGS[:, :2], "gold": RATINGS[:, 2]}),
    case(
        "tolerant_accuracy_contributions", {"verdicts": RATINGS[:, :2], "gold": RATINGS[:, 2]}, itemwise=True
    ),
    case(
        "tower_drfr_differences",
        {"answers": RIGHT[:, 0], "items": CLUSTERS, "levels": np.arange(N) % 2 + 1},
        ["answers"],
        long=True,
    ),
    case(
        "tower_score",
        {"answers": RIGHT[:, 0], "items": CLUSTERS, "levels": np.arange(N) % 2 + 1},
        ["answers"],
        long=True,
    ),
    case("unparsed_rate", {"verdicts": VERDICTS}),
    case("wilson_interval", {}, given={"share": 0.5, "n": 20}),
    case("win_matrix", {"first": PAIRS[:, 0], "second": PAIRS[:, 1], "outcome": ONE_ORDER}, ["outcome"]),
]
BY_NAME = {each.name: each for each in CASES}
# What speaks of a subset of the rows, has an interval by resampling, and so on.
WITH_ITEMS = [each for each in CASES if each.items]
WITH_NUMBERS = [each for each in CASES if each.numbers]


def named(cases):
    return pytest.mark.parametrize("each", cases, ids=lambda each: each.name)


def tree(value, change):
    """The same containers with every array changed; lists of arrays of several shapes are lists of items."""
    if isinstance(value, dict):
        return {key: tree(inner, change) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(tree(inner, change) for inner in value)
    return change(value)


def rows(value, order):
    """Some rows of what is aligned with the items."""
    if isinstance(value, list) and len(value) <= 3:  # a column each
        return [rows(inner, order) for inner in value]
    return (
        [value[place] for place in order]
        if isinstance(value, list)
        else np.asarray(value)[np.asarray(order, dtype=int)]
    )


def numbers(value, change):
    """Every number changed, whether the items are rows of one array or arrays of their own."""
    if isinstance(value, list):
        return [change(np.asarray(inner, dtype=float)) for inner in value]
    return change(np.asarray(value, dtype=float))


def n_rows(each):
    sizes = []
    tree(
        each.items,
        lambda value: sizes.append(
            len(value[0]) if isinstance(value, list) and len(value) <= 3 else len(value)
        ),
    )
    return sizes[0]


def parts(result, path="result"):
    """Everything inside a result, containers and dataclasses first."""
    yield path, result
    if dataclasses.is_dataclass(result):
        inner = [(f".{each.name}", getattr(result, each.name)) for each in dataclasses.fields(result)]
    elif isinstance(result, dict):
        inner = [(f"[{key!r}]", value) for key, value in result.items()]
    elif isinstance(result, list | tuple):
        inner = [(f"[{place}]", value) for place, value in enumerate(result)]
    else:
        inner = []
    for name, value in inner:
        yield from parts(value, path + name)


def estimates(result):
    return [(path, part) for path, part in parts(result) if isinstance(part, Estimate)]


def figures(result):
    """The point values of a result: of estimates the value, else every number."""
    found = []

    def walk(part, path):
        if isinstance(part, Estimate):
            found.append((path, part.value))
            names = [each.name for each in dataclasses.fields(part)]
            done = {"value", "low", "high", "n_clusters", "method", "reason", "n"}
            for name in names:
                if name not in done and isinstance(getattr(part, name), Estimate):
                    walk(getattr(part, name), f"{path}.{name}")
        elif dataclasses.is_dataclass(part):
            for each in dataclasses.fields(part):
                if each.name not in DRAWN:
                    walk(getattr(part, each.name), f"{path}.{each.name}")
        elif isinstance(part, dict):
            for key, value in part.items():
                walk(value, f"{path}[{key!r}]")
        elif isinstance(part, list | tuple):
            for place, value in enumerate(part):
                walk(value, f"{path}[{place}]")
        elif isinstance(part, float | int | np.number | np.ndarray):
            found.append((path, part))

    walk(result, "result")
    return dict(found)


def same(one, other, tolerance=0.0):
    """Equal to the last bit (or to a tolerance), NaN being equal to NaN."""
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, each.name), getattr(other, each.name), tolerance)
            for each in dataclasses.fields(one)
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key], tolerance) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, float | np.number) or (isinstance(one, np.ndarray) and one.dtype.kind in "fiub"):
        return np.shape(one) == np.shape(other) and np.allclose(
            one, other, rtol=tolerance, atol=tolerance, equal_nan=True
        )
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and bool((one == other).all())
    return one == other or type(one).__module__.startswith("metaeval.stats.resampling")


def quietly(function, *args, **options):
    """The result, or the error of invalid input. Warnings other than the statistics' own are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        try:
            return function(*args, **options)
        except InvalidInputError as error:
            return error


# An unparsed answer is a wrong one, "cannot tell" is not followed, by default and as papers have it: these count it.
COUNTED_WHEN_MISSING = {
    "bias_and_variance",
    "drfr",
    "follow_rate_by_level",
    "hedging_rate",
    "positional_agreement",
    "positional_bias",
    "self_consistency",
    "subset_accuracy",
    "tower_score",
    "unparsed_rate",
}
# No interval, and no reason either: none was asked for.
WITHOUT_INTERVAL = {"family_monotonicity"}
# What is drawn by row, beside the values.
DRAWN = ("low", "high", "uncertain")


def n_clustered(each):
    return N if each.long else n_rows(each)


def test_every_public_function_has_a_case():
    functions = {name for name in stats.__all__ if inspect.isfunction(getattr(stats, name))}
    assert functions == set(BY_NAME)


@named(CASES)
def test_the_same_call_gives_the_same(each):
    assert same(each.call(), each.call())


@named(CASES)
def test_values_lie_in_their_intervals(each):
    for path, estimate in estimates(each.call()):
        assert estimate.n >= 0, path
        if not math.isnan(estimate.low):
            assert estimate.low <= estimate.value <= estimate.high, (path, estimate)
        if math.isnan(estimate.value):
            assert estimate.reason, path
        elif math.isnan(estimate.low):
            assert estimate.reason or each.name in WITHOUT_INTERVAL, (path, estimate)


@named([each for each in CASES if each.takes("n_resamples")])
def test_without_resamples_the_value_is_the_same(each):
    usual, without = figures(each.call()), dict(estimates(each.call(n_resamples=0)))
    for path, estimate in without.items():
        assert same(estimate.value, usual[path], 1e-12), path
        assert math.isnan(estimate.low) == math.isnan(estimate.high), path
        if not math.isnan(estimate.low):
            assert estimate.low <= estimate.value <= estimate.high, path


@named(WITH_NUMBERS)
def test_lists_tuples_integers_and_floats_are_the_same(each):
    usual = each.call()

    def items(change):
        return {
            name: tree(value, lambda array: numbers(array, change)) if name in each.numbers else value
            for name, value in each.items.items()
        }

    def plainly(value):
        """Tuples in place of arrays; a list is a list an item."""
        return value.tolist()

    def integers(value):
        whole = not np.isnan(value).any() and (value == np.round(value)).all()
        return value.astype(np.int64) if whole else value

    for change in (
        plainly,
        lambda value: tuple(value.tolist()),
        integers,
        lambda value: value.astype(np.float32),
    ):
        exact = each.name not in {"active_probabilities", "adjust_p_values"} or change(np.ones(1)) is not None
        result = each.call(items(change))
        single = getattr(change(np.ones(2)), "dtype", None) == np.float32
        assert same(usual, result, 1e-5 if single else 0.0) or not exact


@named(WITH_NUMBERS)
def test_all_missing_is_undefined_and_never_zero(each):
    missing = {
        name: tree(value, lambda array: numbers(array, lambda inner: np.full(inner.shape, np.nan)))
        if name in each.numbers
        else value
        for name, value in each.items.items()
    }
    result = quietly(each.call, missing)
    for path, estimate in estimates(result):
        assert math.isnan(estimate.value) or each.name in COUNTED_WHEN_MISSING, (path, estimate)
        assert not math.isnan(estimate.value) or estimate.reason, path


@named(WITH_NUMBERS)
@pytest.mark.parametrize("where", ["nothing", "first", "one cluster", "constant"])
def test_degenerate_input_is_told_or_right(each, where):
    items, given = dict(each.items), {}
    if where in ("nothing", "first"):
        if each.long and where == "first":
            return
        order = [0] if where == "first" else []
        items = {name: tree(value, lambda array: rows(array, order)) for name, value in items.items()}
    elif where == "one cluster":
        if not each.takes("clusters"):
            return
        given = {"clusters": np.zeros(n_clustered(each), dtype=int)}
    else:
        items = {
            name: tree(value, lambda array: numbers(array, np.ones_like)) if name in each.numbers else value
            for name, value in items.items()
        }
    result = quietly(each.call, items, **given)
    for path, estimate in estimates(result):
        if math.isnan(estimate.value) or math.isnan(estimate.low):
            assert estimate.reason, (path, estimate)
        else:
            assert estimate.low <= estimate.value <= estimate.high, (path, estimate)
            itself = any(f"('{name}', '{name}')" in path for name in "abc")
            assert estimate.low < estimate.high or itself, (path, estimate)


@named(WITH_NUMBERS)
def test_infinite_values_are_refused(each):
    def infinite(value):
        value = value.copy()
        value.flat[0] = np.inf
        return value

    for name in each.numbers:
        items = {**each.items, name: tree(each.items[name], lambda array: numbers(array, infinite))}
        with pytest.raises(InvalidInputError):
            each.call(items)


@named([each for each in WITH_NUMBERS if sum(not isinstance(v, dict) for v in each.items.values()) > 1])
def test_unequal_lengths_are_refused(each):
    for name in each.items:
        shorter = tree(each.items[name], lambda array: rows(array, range(n_rows(each) - 1)))
        with pytest.raises(InvalidInputError):
            each.call({**each.items, name: shorter})


@named([each for each in CASES if each.takes("where") and not each.long])
def test_nothing_selected_is_undefined(each):
    result = quietly(each.call, where=np.zeros(n_rows(each), dtype=bool))
    for path, estimate in estimates(result):
        assert math.isnan(estimate.value), (path, estimate)
        assert estimate.n == 0, (path, estimate)
        assert estimate.reason, (path, estimate)


@named([each for each in WITH_ITEMS if not each.ordered and not each.itemwise])
def test_the_order_of_the_items_does_not_matter(each):
    order = np.random.default_rng(7).permutation(n_rows(each))
    given = {}
    shuffled = {name: tree(value, lambda array: rows(array, order)) for name, value in each.items.items()}
    usual, result = figures(each.call(**given)), figures(each.call(shuffled, **given))
    assert usual.keys() == result.keys()
    for path, value in usual.items():
        if np.ndim(value) and len(np.atleast_1d(value)) == n_rows(each):
            continue  # an answer an item
        assert same(np.asarray(value, dtype=float), np.asarray(result[path], dtype=float), 1e-9), path


@named([each for each in WITH_ITEMS if each.itemwise])
def test_answers_follow_the_items(each):
    order = np.random.default_rng(7).permutation(n_rows(each))
    shuffled = {name: tree(value, lambda array: rows(array, order)) for name, value in each.items.items()}
    assert same(np.asarray(each.call())[order], np.asarray(each.call(shuffled)), 1e-12)


@named(CASES)
def test_an_unknown_keyword_is_refused(each):
    with pytest.raises(TypeError):
        each.call(no_such_option=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: stats.mean_estimate(RATINGS[:, 0]),
        lambda: stats.ratio_estimate(RATINGS[:, 0], np.ones(N)),
        lambda: stats.macro_mean(RATINGS[:, 0], SYSTEMS),
        lambda: stats.crossed_mean_estimate(LONG[2], LONG[0], LONG[1]),
        lambda: stats.mean_estimate(RIGHT[:, 0], bounds=(1.0, 0.0)),
        lambda: stats.wilson_interval(1.2, 10),
        lambda: stats.wilson_interval(math.nan, 10),
        lambda: stats.wilson_interval(0.5, 0),
        lambda: stats.wilson_interval(0.5, 10, confidence=95),
    ],
)
def test_what_lies_outside_of_its_range_has_no_interval_inside(call):
    """Ratings from 1 to 5 had a mean of 3 and an interval from 0.94 to 1."""
    with pytest.raises(InvalidInputError):
        call()

"""Every figure of a report of each kind is that of the public function of `metaeval.stats` on the same arrays.

Items are drawn with different chances and instructions have uneven numbers of items, so that weights and clusters that
a report leaves out are seen.
"""

from dataclasses import replace
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from metaeval import stats
from metaeval.figures import FIGURES, JudgeSample
from metaeval.figures.measures import judge_measures, people_measures
from metaeval.inputs import Options
from metaeval.stats import Resamples
from tests.metaeval.kinds import content, inputs, judge
from tests.metaeval.kinds import plain_items as items_of
from tests.metaeval.reports.arrays import content_build, inputs_make, judge_make
from tests.metaeval.reports.kind_values import CRITERIA, TREE, answered, aspects, ranked, rated

N, PEOPLE, DRAWS = 40, 3, 200
# Enough of them to speak of others.
MANY = 6
NAN = np.nan
# As names: the order of clusters decides which a resample draws.
CLUSTERS = np.repeat(np.arange(12), [1, 1, 1, 1, 1, 2, 2, 3, 4, 4, 6, 14]).astype(np.str_)
WEIGHTS = np.where(np.arange(N) % 3 == 0, 1.0, np.where(np.arange(N) % 3 == 1, 2.0, 5.0))
LEVELS = (1, 2, 3)


def sampled(rows=None, **options):
    """What figures of all items share; `rows` are the items of finer rows, questions say."""
    rows = np.arange(N) if rows is None else rows
    return {"resamples": Resamples(CLUSTERS[rows], DRAWS, 0), **options}


def drawn(rows=None):
    rows = np.arange(N) if rows is None else rows
    return sampled(rows, weights=WEIGHTS[rows])


def figure_estimate(kind, subject, name):
    """One figure of all items, of people (a sample) or of a judge; None where these inputs have no such figure."""
    measures = judge_measures if isinstance(subject, JudgeSample) else people_measures
    found = measures(kind.only(name), subject)
    return found[name]["overall"] if name in found else None


def same(breakdowns, expected, names, subject):
    """The report has these figures and no others, and each is what the function says, with its interval; so is what
    the registered function of the figure gives for the subject: people, or a judge.
    """
    assert set(breakdowns) <= names
    assert set(expected) == set(breakdowns)
    kind = FIGURES[(subject.sample if isinstance(subject, JudgeSample) else subject).inputs.kind]
    for name in names - set(expected):
        assert figure_estimate(kind, subject, name) is None
    for name, estimate in expected.items():
        shown = breakdowns[name]["overall"]
        assert figure_estimate(kind, subject, name) == shown
        assert shown["value"] == pytest.approx(estimate.value, rel=1e-9), name
        for end in ("low", "high"):
            value = getattr(estimate, end)
            assert shown[end] == (None if np.isnan(value) else pytest.approx(value, rel=1e-6)), (name, end)


def same_alike(breakdowns, expected):
    """Where a figure has a second interval it is of annotators like these, as the function says."""
    assert {name for name, one in breakdowns.items() if "alike" in one["overall"]} == set(expected)
    for name, estimate in expected.items():
        shown = breakdowns[name]["overall"]["alike"]
        assert shown["value"] == breakdowns[name]["overall"]["value"]
        assert (shown["low"], shown["high"]) == pytest.approx((estimate.low, estimate.high), rel=1e-6), name


def mirrored(estimate):
    """Of one minus the figure."""
    return replace(estimate, low=1 - estimate.high, high=1 - estimate.low)


def rates_alike(slots, lengths, options):
    """Rates of labels of annotators like these."""
    item, person = np.nonzero(~np.isnan(slots))
    said = slots[item, person]
    longer = np.where(lengths[:, 0] > lengths[:, 1], 1, 2)[item]
    differs = (lengths[:, 0] != lengths[:, 1])[item]
    scores = {
        "tie_rate": said == 0,
        "prefers_first": np.where(said == 0, 0.5, said == 1),
        "prefers_longer": np.where(differs, said == longer, NAN),
    }
    found = {
        name: stats.crossed_mean_estimate(each, item, person, n_items=len(slots), **options)
        for name, each in scores.items()
    }
    # From -1 to 1, and a mean over items: half of it and one half is in [0, 1].
    prefers = np.where(differs, np.select([said == 0, said == longer], [0.5, 1.0], 0.0), NAN)
    shares = 1 / np.bincount(item)[item]
    half = stats.crossed_mean_estimate(prefers, item, person, n_items=len(slots), shares=shares, **options)
    return found | {"length_bias": replace(half, low=2 * half.low - 1, high=2 * half.high - 1)}


def names_of(kind):
    registered = FIGURES[kind]
    return {one.name for one in registered.people}, {one.name for one in registered.judges}


def sample_of(found, against="people"):
    """Its people, and the first of its judges."""
    options = Options(against=against, n_resamples=DRAWS)
    sample = FIGURES[found.kind].sample(found, options)
    return sample, sample.judges[0]


def clustered(items):
    return [replace(item, cluster=code) for item, code in zip(items, CLUSTERS.tolist(), strict=True)]


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def test_pairs(rng):
    slots = rng.choice([0.0, 1.0, 2.0], size=(N, MANY), p=[0.1, 0.6, 0.3])
    slots[:5, MANY - 1] = NAN
    verdicts = rng.choice([0.0, 1.0, 2.0, NAN], size=(N, 2), p=[0.1, 0.5, 0.3, 0.1])
    gold = rng.integers(1, 3, N).astype(float)
    lengths = rng.integers(1, 90, (N, 2))
    labels = [(k, p, slots[k, p]) for k in range(N) for p in range(MANY) if not np.isnan(slots[k, p])]
    cost, seconds = rng.random((2, N, 2))
    one = replace(judge_make("j", verdicts), cost=cost, seconds=seconds)
    found = inputs_make(lengths=lengths, gold=gold, labels=labels, cluster=CLUSTERS.tolist(), judges=(one,))
    found = replace(found, weights=WEIGHTS)
    made = content_build(found, Options(n_resamples=DRAWS))
    of_people, judging = sample_of(found)
    people, judges = names_of("pairwise")
    options, every = drawn(), sampled()
    gwet = {"resamples": options["resamples"], "sampling_weights": WEIGHTS}
    same(
        made["people"]["measures"],
        {
            "leave_one_out": stats.leave_one_out_agreement(slots, **options),
            "best_reachable": stats.best_reachable_agreement(slots, **options),
            "leave_one_out_equal_overlap": stats.leave_one_out_agreement(slots, n_labels=5, **options),
            "percent_agreement": stats.percent_agreement(slots, **options),
            "squared_distance": stats.mean_estimate(
                1 - stats.pairwise_agreement_contributions(slots), **options
            ),
            "krippendorff_alpha": stats.krippendorff_alpha(slots, **options),
            "fleiss_kappa": stats.fleiss_kappa(slots, **options),
            "gwet_ac1": stats.gwet_ac(slots, values=(0, 1, 2), **gwet),
            "tie_rate": stats.tie_rate(slots, **options),
            "prefers_first": stats.preference_share(slots, **options),
            "prefers_longer": stats.longer_preference_share(slots, *lengths.T, **options),
            "length_bias": stats.length_bias_rate(slots, *lengths.T, unparsed="omit", **options),
            "first_label_prefers_longer": stats.longer_preference_share(
                slots[:, 0], *lengths.T, min_difference=30, **options
            ),
        },
        people,
        of_people,
    )
    others = options | {"people": "sampled"}
    same_alike(
        made["people"]["measures"],
        {
            "leave_one_out": stats.leave_one_out_agreement(slots, **others),
            "best_reachable": stats.best_reachable_agreement(slots, **others),
            "leave_one_out_equal_overlap": stats.leave_one_out_agreement(slots, n_labels=5, **others),
            "percent_agreement": stats.percent_agreement(slots, **others),
            "squared_distance": mirrored(stats.pairwise_agreement(slots, **others)),
            "krippendorff_alpha": stats.krippendorff_alpha(slots, **others),
            "fleiss_kappa": stats.fleiss_kappa(slots, **others),
            "gwet_ac1": stats.gwet_ac(slots, values=(0, 1, 2), people="sampled", **gwet),
            **rates_alike(slots, lengths, options),
        },
    )
    (of_judge,) = (row["measures"] for row in made["judges"])
    same_alike(
        of_judge,
        {
            "agreement": stats.leave_one_out_agreement(slots, verdicts, **others),
            "minus_people": stats.leave_one_out_difference(slots, verdicts, **others),
            "below_best": stats.leave_one_out_difference(slots, "best_reachable", verdicts, **others),
            "agreement_equal_overlap": stats.leave_one_out_agreement(slots, verdicts, n_labels=5, **others),
        },
    )
    counted = np.full(N, 2.0)
    same(
        of_judge,
        {
            "agreement": stats.leave_one_out_agreement(slots, verdicts, **options),
            "minus_people": stats.leave_one_out_difference(slots, verdicts, **options),
            "below_best": stats.leave_one_out_difference(slots, "best_reachable", verdicts, **options),
            "agreement_equal_overlap": stats.leave_one_out_agreement(slots, verdicts, n_labels=5, **options),
            "accuracy": stats.accuracy(verdicts, gold, **every),
            "positional_agreement": stats.positional_agreement(verdicts, **every),
            "positional_agreement_llmbar": stats.positional_agreement(verdicts, unparsed_agree=True, **every),
            **{
                figure: stats.distribution_distance(
                    slots, verdicts, measure=measure, values=(0, 1, 2), **options
                )
                for figure, measure in (
                    ("squared_distance", "squared"),
                    ("total_variation", "total_variation"),
                    ("js_divergence", "jensen_shannon"),
                    ("cross_entropy", "cross_entropy"),
                )
            },
            "unparsed_rate": stats.unparsed_rate(verdicts, **every),
            "tie_rate": stats.tie_rate(verdicts, **every),
            "length_bias": stats.length_bias_rate(verdicts, *lengths.T, **every),
            "prefers_longer": stats.longer_preference_share(verdicts, *lengths.T, **every),
            "first_shown_rate": first_shown(verdicts, every),
            "expected_win_rate": stats.expected_win_rate(verdicts, **every),
            "cost_per_1000": stats.ratio_estimate(1000 * cost.sum(axis=1), counted, bounds=None, **every),
            "seconds_each": stats.ratio_estimate(seconds.sum(axis=1), counted, bounds=None, **every),
            **errors_of_pairs(verdicts, np.nanmean(credit(slots), axis=1), "", options, WEIGHTS),
            **errors_of_pairs(verdicts, credit(gold), "_gold", every, None),
        },
        judges,
        judging,
    )


def test_graded_pairs(rng):
    given = rng.integers(-3, 4, (N, MANY)).astype(float)
    given[:5, MANY - 1] = NAN
    grades = np.clip(np.nanmean(given, axis=1)[:, None] + rng.normal(0, 1.5, (N, 2)), -3, 3)
    grades[3] = NAN
    item, person = np.nonzero(~np.isnan(given))
    grade = given[item, person]
    side = np.select([grade > 0, grade < 0], [1.0, 2.0], 0.0)
    verdicts = np.select([grades > 0, grades < 0], [1.0, 2.0], NAN)
    one = replace(judge_make("j", verdicts), grades=grades)
    found = inputs_make(
        lengths=rng.integers(1, 90, (N, 2)),
        labels=np.column_stack([item, person, side]),
        cluster=CLUSTERS.tolist(),
        judges=(one,),
    )
    found = replace(found, weights=WEIGHTS, labels=replace(found.labels, grades=grade))
    made = content_build(found, Options(n_resamples=DRAWS))
    of_people, judging = sample_of(found)
    options, others = drawn(), drawn() | {"people": "sampled"}
    words = {"slightly": 1, "better": 2, "much": 3}

    # Among people: each grade beside the mean of the others, each side beside the sides of the others.
    total, n = np.nansum(given, axis=1), (~np.isnan(given)).sum(axis=1)
    of_others = (total[item] - grade) / (n[item] - 1)
    distance = np.bincount(item, np.abs(grade - of_others), N) / np.bincount(item, minlength=N)
    same_side = np.array(
        [np.mean(side[(item == i) & (person != p)] == s) for i, p, s in zip(item, person, side, strict=True)]
    )

    def of_strength(scores, size):
        counted = np.abs(grade) == size
        return np.bincount(item[counted], scores[counted], N), np.bincount(item[counted], minlength=N)

    rows = item, person, grade
    expected = {
        "graded_alpha": stats.krippendorff_alpha(given, level="ordinal", **options),
        "grade_spearman": stats.person_correlation(rows, n_items=N, method="spearman", **options),
        "grade_pearson": stats.person_correlation(rows, n_items=N, **options),
        "grade_distance": stats.mean_estimate(distance, bounds=(0, 6), **options),
        **{
            f"agreement_{word}": stats.ratio_estimate(*of_strength(same_side, size), **options)
            for word, size in words.items()
        },
    }
    shown = {name: made["people"]["measures"][name] for name in expected}
    same(shown, expected, set(expected), of_people)
    alpha = stats.krippendorff_alpha(given, level="ordinal", **others)
    assert shown["graded_alpha"]["overall"]["alike"]["low"] == pytest.approx(alpha.low, rel=1e-6)
    assert alike_names(shown) == {"graded_alpha", "grade_distance"}

    # Beside the judge: its mean over orders, and each label's side in each order.
    mean, said = np.nanmean(given, axis=1), np.full(N, NAN)
    known = ~np.isnan(grades).any(axis=1)
    said[known] = grades[known].mean(axis=1)
    match = (verdicts[item] == side[:, None]).mean(axis=1)
    expected = {
        "grade_spearman": stats.correlation(said, mean, method="spearman", **options),
        "grade_pearson": stats.correlation(said, mean, **options),
        "grade_distance": stats.mean_estimate(np.abs(said - mean), bounds=(0, 6), **options),
        **{
            f"agreement_{word}": stats.ratio_estimate(*of_strength(match, size), **options)
            for word, size in words.items()
        },
        "graded_win_rate": stats.mean_estimate((said + 3) / 6, **sampled()),
    }
    (row,) = made["judges"]
    shown = {name: row["measures"][name] for name in expected}
    same(shown, expected, set(expected), judging)
    assert alike_names(shown) == {*expected} - {"graded_win_rate"}
    counted = np.where(np.abs(grade) == 3, match, NAN)
    alike = stats.crossed_mean_estimate(counted, item, person, n_items=N, **options)
    assert shown["agreement_much"]["overall"]["alike"]["low"] == pytest.approx(alike.low, rel=1e-6)


def credit(choices):
    return np.where(np.isnan(choices), NAN, np.where(choices == 0, 0.5, choices == 1))


def errors_of_pairs(verdicts, share, suffix, options, weights):
    """The figures of errors and of confidence; how sure a judge is are its two orders here."""
    truth = np.where(share > 0.5, 1.0, np.where(share < 0.5, 2.0, NAN))
    cells = stats.confusion(verdicts, truth, positive=1, negative=2, **options)
    votes = credit(verdicts)
    chance = np.array([np.mean(row[~np.isnan(row)]) if (~np.isnan(row)).any() else NAN for row in votes])
    sure = np.maximum(chance, 1 - chance)
    right = np.where(chance == 0.5, 0.5, (chance > 0.5) == (truth == 1))
    right = np.where(np.isnan(chance) | np.isnan(truth), NAN, right)
    how = {"clusters": CLUSTERS, "weights": weights}
    return {
        f"true_positive_rate{suffix}": cells.true_positive_rate,
        f"true_negative_rate{suffix}": cells.true_negative_rate,
        f"precision{suffix}": cells.precision,
        f"f1{suffix}": cells.f1,
        f"brier_score{suffix}": stats.brier_score(sure, right, **how),
        f"calibration_error{suffix}": stats.calibration_error(sure, right, **how),
    }


def first_shown(verdicts, options):
    decided = (verdicts > 0) & ~np.isnan(verdicts).any(axis=1, keepdims=True)
    first = decided & (verdicts == np.array([1.0, 2.0]))
    return stats.ratio_estimate(first.sum(axis=1), decided.sum(axis=1), **options)


def alike_names(breakdowns):
    """The figures that have an interval, or a reason against one, for annotators like these."""
    found = {name: one["overall"] for name, one in breakdowns.items() if "alike" in one["overall"]}
    for name, one in found.items():
        assert one["alike"]["value"] == pytest.approx(one["value"], abs=1e-9), name
    return set(found)


@pytest.mark.parametrize("against", ["people", "gold"])
def test_rubrics(rng, against):
    given = rng.integers(1, 6, (N, PEOPLE, 2)).astype(float)
    gold = rng.integers(1, 6, (N, 2)).astype(float)
    said = np.clip(given[:, 0] + rng.integers(-1, 2, (N, 2)), 1, 5)
    items = [replace(item, gold=rated(*row)) for item, row in zip(items_of(N), gold.tolist(), strict=True)]
    labels = [(k, p, rated(*given[k, p].tolist())) for k in range(N) for p in range(PEOPLE)]
    values = {k: rated(*said[k].tolist()) for k in range(N) if k != 7}
    said[7] = NAN
    one = judge("j", values, unparsed=[7])
    found = replace(inputs("rubric", clustered(items), labels, [one], CRITERIA), weights=WEIGHTS)
    made = content(found, against, n_resamples=DRAWS)
    of_people, judging = sample_of(found, against)
    people, judges = names_of("rubric")
    options, both = drawn(), np.tile(np.arange(N), 2)
    slots = np.concatenate([given[:, :, 0], given[:, :, 1]])
    means = given.mean(axis=2)
    other = (given.sum(axis=1, keepdims=True) - given) / (PEOPLE - 1)
    distance = np.abs(given - other)
    item, person = (part.ravel() for part in np.indices((N, PEOPLE)))
    person_options = {"n_items": N, **options}

    def mean(values, bounds=(0.0, 1.0), **how):
        known = ~np.isnan(values)
        return stats.ratio_estimate(
            np.where(known, values, 0).sum(axis=1), known.sum(axis=1), bounds=bounds, **how
        )

    def pairs(tolerance):
        share = [stats.pairwise_agreement_contributions(given[:, :, k], tolerance=tolerance) for k in (0, 1)]
        return mean(np.stack(share, axis=1), **options)

    same(
        made["people"]["measures"],
        {
            "alpha": stats.krippendorff_alpha(slots, level="ordinal", **drawn(both)),
            "pair_exact": pairs(0),
            "pair_near": pairs(1),
            "within_one": mean((distance <= 1).mean(axis=1), **options),
            "spearman": stats.person_correlation(
                (item, person, means.ravel()), method="spearman", **person_options
            ),
            "pearson": stats.person_correlation((item, person, means.ravel()), **person_options),
            "mean_absolute_error": mean(distance.mean(axis=1), (0.0, 4.0), **options),
            "mean_rating": mean(given.mean(axis=1), (1.0, 5.0), **options),
        },
        people,
        of_people,
    )
    target = gold if against == "gold" else given.mean(axis=1)
    how = sampled() if against == "gold" else options
    whole, of_target = said.mean(axis=1), target.mean(axis=1)
    near = np.where(np.isnan(said), 0.0, np.abs(said - target) <= 1 + 1e-9)
    # To each annotator, beside each annotator to another.
    close = np.where(np.isnan(said), 0.0, (1 - np.abs(said[:, None] - given) / 4).mean(axis=1)).mean(axis=1)
    pair = [1 - np.abs(given[:, a] - given[:, b]).mean(axis=1) / 4 for a, b in combinations(range(PEOPLE), 2)]
    best = [best_by_trying(rows, list(product(range(1, 6), repeat=2)), nearness) for rows in given]
    beside = {
        "minus_people": stats.paired_difference(close, np.mean(pair, axis=0), **options),
        "below_best": stats.paired_difference(np.array(best), close, **options),
    }
    beside = beside if against == "people" else {}
    same(
        made["judges"][0]["measures"],
        {
            "closeness": mean(np.where(np.isnan(said), 0.0, 1 - np.abs(said - target) / 4), **how),
            **beside,
            "spearman": stats.correlation(whole, of_target, method="spearman", **how),
            "pearson": stats.correlation(whole, of_target, **how),
            "mean_absolute_error": mean(np.abs(said - target), (0.0, 4.0), **how),
            "within_one": mean(near, **how),
            "mean_rating": mean(said, (1.0, 5.0), **sampled()),
            "unparsed_rate": stats.unparsed_rate(whole, **sampled()),
        },
        judges,
        judging,
    )
    compared = {"closeness", "within_one", "minus_people", "spearman", "pearson", "mean_absolute_error"}
    compared.add("below_best")
    assert alike_names(made["judges"][0]["measures"]) == (compared if against == "people" else set())
    assert alike_names(made["people"]["measures"]) == {
        "alpha", "pair_exact", "pair_near", "within_one", "mean_absolute_error", "mean_rating",
    }  # fmt: skip


def test_checklists(rng):
    given = rng.integers(0, 3, (N, MANY, 3))  # cannot tell, yes, no
    said = rng.integers(0, 3, (N, 3))
    words = {0: None, 1: True, 2: False}
    labels = [(k, p, answered(*(words[a] for a in given[k, p]))) for k in range(N) for p in range(MANY)]
    one = judge("j", {k: answered(*(words[a] for a in said[k])) for k in range(N)})
    found = inputs("checklist", clustered(items_of(N, aspects=TREE)), labels, [one])
    found = replace(found, weights=WEIGHTS)
    made = content(found, n_resamples=DRAWS)
    of_people, judging = sample_of(found)
    people, judges = names_of("checklist")
    questions = np.repeat(np.arange(N), 3)
    slots = given.transpose(0, 2, 1).reshape(-1, MANY).astype(float)
    options, every = drawn(questions), sampled(questions)
    levels = np.tile(LEVELS, N)

    def followed(answers, average, weigh, **how):
        flat = np.where(answers == 0, NAN, (answers == 1).astype(float))
        if weigh:
            return stats.tower_score(flat, questions, levels, average=average, **how)
        return stats.drfr(flat, questions, average=average, **how)

    shares = {"drfr": ("macro", False), "drfr_micro": ("micro", False)}
    shares |= {"tower": ("macro", True), "tower_micro": ("micro", True)}
    mean_share = {
        name: weighted_share(given, levels[:3] if weigh else np.ones(3), average, drawn())
        for name, (average, weigh) in shares.items()
    }
    same(
        made["people"]["measures"],
        {
            "alpha": stats.krippendorff_alpha(slots, **options),
            "pair_exact": stats.pairwise_agreement(slots, **options),
            "agreement": stats.leave_one_out_agreement(slots, **options),
            "cannot_tell_rate": stats.mean_estimate((slots == 0).mean(axis=1), **options),
            **mean_share,
        },
        people,
        of_people,
    )
    others = options | {"people": "sampled"}
    of_people_alike = made["people"]["measures"]["agreement"]["overall"]["alike"]
    alone = stats.leave_one_out_agreement(slots, **others)
    assert (of_people_alike["low"], of_people_alike["high"]) == pytest.approx((alone.low, alone.high))
    assert alike_names(made["people"]["measures"]) == {"alpha", "agreement", "pair_exact"}
    assert alike_names(made["judges"][0]["measures"]) == {
        "agreement", "minus_people", "below_best", "drfr_difference",
    }  # fmt: skip
    yes, no = (slots == 1).sum(axis=1), (slots == 2).sum(axis=1)
    target = np.where(yes > no, 1.0, np.where(no > yes, 2.0, NAN))
    right = np.where(np.isnan(target), NAN, said.ravel() == target)
    own = (said == 1).mean(axis=1)
    same(
        made["judges"][0]["measures"],
        {
            "agreement": stats.mean_estimate(right, **options),
            "minus_people": stats.leave_one_out_difference(slots, said.ravel(), **options),
            "below_best": stats.leave_one_out_difference(slots, "best_reachable", said.ravel(), **options),
            "cannot_tell_rate": stats.mean_estimate((said.ravel() == 0).astype(float), **every),
            **{
                name: followed(said.ravel(), average, weigh, resamples=sampled()["resamples"])
                for name, (average, weigh) in shares.items()
            },
            "drfr_difference": stats.mean_estimate(
                own - (given == 1).mean(axis=(1, 2)), bounds=(-1.0, 1.0), **drawn()
            ),
            "unparsed_rate": stats.unparsed_rate(np.ones(N), **sampled()),
            **errors_of_answers(said.ravel(), target, options),
        },
        judges,
        judging,
    )


def errors_of_answers(said, target, options):
    cells = stats.confusion(said, target, positive=1, negative=2, **options)
    names = ("true_positive_rate", "true_negative_rate", "precision", "f1")
    return {name: getattr(cells, name) for name in names}


def weighted_share(given, levels, average, options):
    """DRFR or TOWER of several people: the mean of an item's people, then as of one judge."""
    weights = 1 / np.asarray(levels, dtype=float)
    top, bottom = ((given == 1) * weights).sum(axis=2).mean(axis=1), np.full(N, weights.sum())
    if average == "macro":
        return stats.mean_estimate(top / bottom, **options)
    return stats.ratio_estimate(top, bottom, **options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["importance", "answer_ranking"])
def test_rankings(rng, kind):
    parts = {"aspects": aspects(4)} if kind == "importance" else {"n_responses": 4}
    given = np.array([[rng.permutation(4) + 1 for _ in range(PEOPLE)] for _ in range(N)])
    given[0, 0] = 1  # puts all parts level
    said = np.array([rng.permutation(4) + 1 for _ in range(N)])
    labels = [(k, p, ranked(*given[k, p].tolist())) for k in range(N) for p in range(PEOPLE)]
    one = judge("j", {k: ranked(*said[k].tolist()) for k in range(N)})
    found = replace(inputs(kind, clustered(items_of(N, **parts)), labels, [one]), weights=WEIGHTS)
    made = content(found, n_resamples=DRAWS)
    of_people, judging = sample_of(found)
    people, judges = names_of(kind)
    options = drawn()
    # Equal orders are equal numbers.
    orders = (given * 10 ** np.arange(4)).sum(axis=2)
    first = np.where((given == 1).sum(axis=2) == 1, given.argmin(axis=2), -1).astype(float)
    same(
        made["people"]["measures"],
        {
            "spearman": stats.rank_agreement(list(given), **options),
            "pair_exact": stats.percent_agreement(orders, **options),
            "same_first": stats.percent_agreement(first, **options),
            "undefined_rate": stats.mean_estimate(np.zeros(N), **options),
        },
        people,
        of_people,
    )
    rho = np.array(
        [
            np.nanmean([NAN if np.ptp(row) == 0 else np.corrcoef(row, mine)[0, 1] for row in rows])
            for rows, mine in zip(given, said, strict=True)
        ]
    )
    people_rho = np.array([mean_rho(rows) for rows in given])
    orders_with_ties = [each for each in product(range(4), repeat=4) if len(set(each)) > 1]
    best = np.array([best_by_trying(rows, orders_with_ties, rho_with) for rows in given])
    expected = {
        "spearman": stats.mean_estimate(rho, bounds=(-1.0, 1.0), **options),
        "minus_people": stats.paired_difference(rho, people_rho, bounds=(-1.0, 1.0), **options),
        "below_best": stats.paired_difference(best, rho, bounds=(-1.0, 1.0), **options),
        "undefined_rate": stats.mean_estimate(np.zeros(N), **options),
        "unparsed_rate": stats.unparsed_rate(np.ones(N), **sampled()),
    }
    if kind == "answer_ranking":
        expected["pearson"] = expected["spearman"]
    same(made["judges"][0]["measures"], expected, judges, judging)
    assert alike_names(made["people"]["measures"]) == {"spearman", "pair_exact", "same_first"}
    assert alike_names(made["judges"][0]["measures"]) == set(expected) - {"undefined_rate", "unparsed_rate"}


def best_by_trying(rows, answers, score):
    """The best mean score that any answer has with the labels of an item."""
    return max(np.nanmean([score(np.array(answer), row) for row in rows]) for answer in answers)


def nearness(answer, row):
    return (1 - np.abs(answer - row) / 4).mean()


def rho_with(order, row):
    return rho_of(tuple(order.tolist()), tuple(row.tolist()))


@cache  # every order is held against every label, and few of these differ
def rho_of(order, row):
    if np.ptp(row) == 0:
        return NAN
    one, two = (np.unique(ranks, return_inverse=True)[1] for ranks in (order, row))
    sides = [[(np.sum(side < own) + np.sum(side <= own)) / 2 for own in side] for side in (one, two)]
    return np.corrcoef(*sides)[0, 1]


def mean_rho(rows):
    """Of every two rankings of an item, those of one rank left out."""
    rows = [row for row in rows if np.ptp(row)]
    return np.mean([np.corrcoef(one, two)[0, 1] for one, two in combinations(rows, 2)])


# What people say of the responses, which is agreement with no one.
SAID_OF_RESPONSES = {
    "checklist": {"drfr", "drfr_micro", "tower", "tower_micro", "cannot_tell_rate"},
}


def test_a_figure_of_people_has_both_populations_or_says_why():
    for kind, figures in FIGURES.items():
        for figure in figures.people:
            both = figure.alike is not None or figure.name == "leave_one_out_equal_overlap"
            said = figure.name in SAID_OF_RESPONSES.get(kind, ())
            assert both + bool(figure.only_these) + said == 1, (kind, figure.name)


def test_a_figure_that_compares_with_people_has_both_populations_or_says_why():
    for kind, figures in FIGURES.items():
        for figure in figures.judges:
            if not figure.compares:
                continue
            # What is of both populations already says so itself (`Crossed`, `CrossedRatio` with another subtracted).
            both = figure.alike is not None or figure.name in (
                "minus_people", "below_best", "agreement_equal_overlap",
            )  # fmt: skip
            assert both != bool(figure.only_these), (kind, figure.name)

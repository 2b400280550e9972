"""Nested cross-validation as one would write it down: nested loops over lists, nothing shared with the library.

An item is a dict: dataset (place), category, cluster, weight, scores (one a judge; None where the item decides
nothing) and same (one a judge: whether both orders agree).
"""

import math

from scipy import stats


def mean(pairs):
    """Weighted mean of (value, weight) pairs; None where there are none."""
    whole = math.fsum(weight for _, weight in pairs)
    return math.fsum(value * weight for value, weight in pairs) / whole if whole > 0 else None


def objective(items, score, shares):
    """Weighted mean of the datasets' means of ``score(item)`` over items for which it is not None."""
    parts = []
    for place, share in enumerate(shares):
        pairs = [
            (score(item), item["weight"])
            for item in items
            if item["dataset"] == place and item["scores"] is not None and score(item) is not None
        ]
        found = mean(pairs) if share else None
        if found is not None:
            parts.append((found, share))
    return mean(parts)


def best(values):
    """The first of the largest; None where all are None."""
    known = [round(value, 10) for value in values if value is not None]
    if not known:
        return None
    return next(
        place for place, value in enumerate(values) if value is not None and round(value, 10) == max(known)
    )


def choose(items, shares, n_judges, least_agreement, min_clusters):
    """(best judge, judge by category) on these items; None where none is admitted."""
    admitted = []
    for judge in range(n_judges):
        # Every judgment counts alike: weights are of labels.
        found = mean([(float(item["same"][judge]), float(item["weight"] > 0)) for item in items])
        admitted.append(least_agreement is None or (found is not None and found >= least_agreement - 1e-9))
    single = best(
        [
            objective(items, lambda item, judge=judge: item["scores"][judge], shares)
            if admitted[judge]
            else None
            for judge in range(n_judges)
        ]
    )
    parts = {}
    if single is None:
        return None, parts
    deciding = [item for item in items if item["scores"] is not None and shares[item["dataset"]]]
    for category in {item["category"] for item in deciding} - {""}:
        members = [item for item in deciding if item["category"] == category]
        if len({item["cluster"] for item in members}) < min_clusters:
            continue
        sizes = {
            place: math.fsum(item["weight"] for item in deciding if item["dataset"] == place)
            for place in range(len(shares))
        }
        values = [
            math.fsum(
                shares[item["dataset"]] * item["weight"] * item["scores"][judge] / sizes[item["dataset"]]
                for item in members
            )
            if admitted[judge]
            else None
            for judge in range(n_judges)
        ]
        first = best(values)
        tied = first is None or round(values[single], 10) == round(values[first], 10)
        parts[category] = single if tied else first
    return single, parts


def lower_end(gaps, homes, shares, confidence):
    """Lower end of Student's interval of the objective of gaps: (item, gap) pairs.

    Two clusters are added to each home dataset, one in favor of each side, and the variance is raised where few
    clusters carry it.
    """
    gaps = [(item, gap) for item, gap in gaps if item["scores"] is not None and shares[item["dataset"]]]
    if not gaps:
        return math.nan
    sizes = {}
    for item, _ in gaps:
        sizes[item["dataset"]] = sizes.get(item["dataset"], 0.0) + item["weight"]
    whole = sum(shares[place] for place in sizes)
    parts = {}  # cluster -> dataset -> [weight in the objective, what it adds to it, and without its sign]
    for item, gap in gaps:
        weighs = shares[item["dataset"]] / whole * item["weight"] / sizes[item["dataset"]]
        cell = parts.setdefault(item["cluster"], {}).setdefault(item["dataset"], [0.0, 0.0, 0.0])
        cell[0] += weighs
        cell[1] += weighs * gap
        cell[2] += weighs * abs(gap)
    strata = {}
    for cluster in parts:
        strata.setdefault(homes[cluster], []).append(cluster)
    shrink = {home: len(members) / (len(members) + 2) for home, members in strata.items()}
    means = {
        place: sum(shrink[homes[one]] * cells[place][1] for one, cells in parts.items() if place in cells)
        / sum(cells[place][0] for cells in parts.values() if place in cells)
        for place in sizes
    }
    centre = sum(shrink[homes[one]] * cell[1] for one, cells in parts.items() for cell in cells.values())
    if len(parts) < 2:
        return math.nan
    variances = []
    for home, members in strata.items():
        n = len(members)
        added = [sum(cell[1] for cell in parts[one].values()) for one in members]
        off = [sum(cell[1] - cell[0] * means[p] for p, cell in parts[one].items()) for one in members]
        average = {place: sum(parts[one].get(place, [0.0])[0] for one in members) / n for place in sizes}
        differing = [one for one in added if abs(one) > 1e-13]
        typical = (
            math.sqrt(sum(one**2 for one in differing) / len(differing))
            if differing
            else sum(average.values())
        )
        expected = sum(average[place] * means[place] for place in sizes)
        squares = sum(one**2 for one in off) + (typical - expected) ** 2 + (typical + expected) ** 2
        squares *= (n + 2) / (n + 1)
        carriers = (
            sum(one**2 for one in differing) ** 2 / sum(one**4 for one in differing) if differing else n
        )
        few = max(1, min(2 / max(1 / max(carriers, 1) - 1 / n, 1 / n) - 1, n - 1))
        tail, degrees = (1 + confidence) / 2, max(1, n - 1)
        doubt = (stats.t.ppf(tail, few) / stats.t.ppf(tail, degrees)) ** 2
        weigh = [sum(cell[0] for cell in parts[one].values()) for one in members]
        unlike = sum(cell[2] for one in members for cell in parts[one].values())
        most = (unlike + 2 * sum(average.values())) * sum(one**2 for one in weigh) / sum(weigh)
        squares = max(squares, min(squares * doubt, most))
        variances.append((shrink[home] ** 2 * squares, degrees))
    variance = sum(one for one, _ in variances)
    freedom = variance**2 / sum(one**2 / degrees for one, degrees in variances)
    value = sum(cell[1] for cells in parts.values() for cell in cells.values())
    low = centre - stats.t.ppf((1 + confidence) / 2, freedom) * math.sqrt(variance)
    return min(max(-1.0, low), value)


def score_of(item, single, parts):
    """What a composite scores on an item; None where nothing was chosen or the item decides nothing."""
    if single is None or item["scores"] is None:
        return None
    return item["scores"][parts.get(item["category"], single)]


def held_out(items, folds, homes, shares, n_judges, n_folds, *, least_agreement, min_clusters, confidence):
    """Scores of each item when its fold was held out: (procedure, single judge, composite), None where none."""
    result = [(None, None, None)] * len(items)
    for fold in range(n_folds):
        training = [item for item in items if folds[item["cluster"]] != fold]
        single, parts = choose(training, shares, n_judges, least_agreement, min_clusters)
        gaps = []
        for inner in range(n_folds):
            if inner == fold:
                continue
            rest = [item for item in training if folds[item["cluster"]] != inner]
            inner_single, inner_parts = choose(rest, shares, n_judges, least_agreement, min_clusters)
            for item in training:
                if (
                    folds[item["cluster"]] == inner
                    and inner_single is not None
                    and item["scores"] is not None
                ):
                    composite = score_of(item, inner_single, inner_parts)
                    gaps.append((item, composite - score_of(item, inner_single, {})))
        used = parts if gaps and lower_end(gaps, homes, shares, confidence) > 0 else {}
        for place, item in enumerate(items):
            if folds[item["cluster"]] == fold and shares[item["dataset"]]:
                result[place] = (
                    score_of(item, single, used),
                    score_of(item, single, {}),
                    score_of(item, single, parts),
                )
    return result

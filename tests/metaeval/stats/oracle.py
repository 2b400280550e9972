"""Slow, plain restatements of the definitions, to check the fast code against: no numpy."""

import csv
import math
from collections import Counter, defaultdict
from fractions import Fraction

SUBSETS = ("Natural", "Neighbor", "GPTInst", "GPTOut", "Manual")


def modes(labels):
    """The values that occur most often."""
    counts = Counter(labels)
    return {value for value, count in counts.items() if count == max(counts.values())}


def leave_one_out_item(labels, verdict=None):
    """Expected agreement of an item's labels, or of a verdict, with the mode of the others; None if alone."""
    labels = [label for label in labels if not math.isnan(label)]
    if len(labels) < 2:
        return None
    total = Fraction(0)
    for left_out, label in enumerate(labels):
        tops = modes(labels[:left_out] + labels[left_out + 1 :])
        answer = label if verdict is None else verdict
        total += Fraction(int(answer in tops), len(tops))
    return total / len(labels)


def leave_one_out(items, verdicts=None, unparsed="wrong"):
    """Mean over items; verdicts are lists with one entry for each presentation order."""
    scores = []
    for index, labels in enumerate(items):
        if verdicts is None:
            scores.append(leave_one_out_item(labels))
            continue
        parts = [
            leave_one_out_item(labels, verdict)
            for verdict in verdicts[index]
            if not (unparsed == "omit" and math.isnan(verdict))
        ]
        scores.append(None if not parts or None in parts else sum(parts) / len(parts))
    scores = [score for score in scores if score is not None]
    return float(sum(scores) / len(scores)) if scores else math.nan


def alpha(items, distance):
    """Krippendorff's alpha from pairs: observed over expected disagreement of all pairable labels."""
    items = [[value for value in labels if not math.isnan(value)] for labels in items]
    items = [labels for labels in items if len(labels) >= 2]
    pool = [value for labels in items for value in labels]
    observed = sum(
        distance(a, b) / (len(labels) - 1)
        for labels in items
        for i, a in enumerate(labels)
        for j, b in enumerate(labels)
        if i != j
    ) / len(pool)
    expected = sum(distance(a, b) for i, a in enumerate(pool) for j, b in enumerate(pool) if i != j) / (
        len(pool) * (len(pool) - 1)
    )
    return 1 - observed / expected


def llmbar_rows(path):
    """(judge, strategy) -> figure -> subset or mean -> exact percentage, counted from the stored verdicts.

    The figures are accuracy, and agreement or (for ratings) different and hedging.
    """
    stored = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            stored[row["judge"], row["strategy"], row["subset"]].append(row)
    result = {}
    for judge, strategy in {key[:2] for key in stored}:
        count = _rating if strategy.startswith("Rating") else _comparison
        figures = defaultdict(dict)
        for subset in SUBSETS:
            rows = stored[judge, strategy, subset]
            for name, total in count(rows).items():
                figures[name][subset] = 100 * total / len(rows)
        for values in figures.values():
            values["Adversarial"] = sum(values[subset] for subset in SUBSETS[1:]) / 4
            values["Average"] = sum(values[subset] for subset in SUBSETS) / 5
        result[judge, strategy] = dict(figures)
    return result


def _comparison(rows):
    right = sum((row["winner_noswap"] == row["label"]) + (row["winner_swap"] == row["label"]) for row in rows)
    return {
        "accuracy": Fraction(right, 2),
        "agreement": Fraction(sum(row["winner_noswap"] == row["winner_swap"] for row in rows)),
    }


def _rating(rows):
    figures = Counter()
    for row in rows:
        if "" in (row["score_1"], row["score_2"]):
            figures["accuracy"] += Fraction(1, 2)
            continue
        one, two = float(row["score_1"]), float(row["score_2"])
        if one == two:
            figures["hedging"] += 1
            figures["accuracy"] += Fraction(1, 2)
        else:
            figures["different"] += 1
            figures["accuracy"] += int(("1" if one > two else "2") == row["label"])
    return {name: Fraction(figures[name]) for name in ("accuracy", "different", "hedging")}

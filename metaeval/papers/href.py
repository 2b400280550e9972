"""HREF: agreement of methods with people by category, and systems ranked against a baseline by the chosen judge."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.groups import Group
from metaeval.figures.measures import judge_measures, people_measures
from metaeval.figures.pairwise import PairSample
from metaeval.inputs import JudgeAnswers
from metaeval.papers.data import PaperData
from metaeval.papers.drawing import Point, bar_picture
from metaeval.papers.href_lengths import LENGTH_TITLE, composition_parts, length_difference_picture
from metaeval.papers.href_ranking import (
    against_humans,
    baselines_in,
    named_pairs,
    ranking_parts,
    two_baselines,
)
from metaeval.papers.href_rows import (
    BEST,
    BRING_LABELS,
    NO_LABELS,
    AgreementMethod,
    agreement_methods,
    agreement_values,
    best_per_category,
    category_groups,
    labelled,
    short_category,
)
from metaeval.papers.paper import PaperPart
from metaeval.papers.tables import (
    MissingPart,
    PaperCell,
    PaperTable,
    number_cell,
    with_best_marked,
    word_cell,
)

_PEOPLE = FIGURES["pairwise"].only("leave_one_out", "length_bias")
_JUDGES = FIGURES["pairwise"].only("length_bias", "cost_per_1000")


def href_parts(data: PaperData) -> Iterator[PaperPart]:
    """The tables and figures of the paper that the data carries, in its order."""
    sample = PairSample(data.inputs["pairwise"], data.options)
    groups = category_groups(sample)
    methods = agreement_methods(sample, data.specifications)
    yield from _agreement(sample, methods, groups)
    yield from _composition(sample, groups)
    yield from ranking_parts(data, sample, methods)
    yield _length_differences(data, sample)
    yield _references(methods)
    yield against_humans(data, sample, methods)
    yield _length_bias(sample, methods)
    yield two_baselines(data, sample)
    yield _costs(methods)


# --- agreement ------------------------------------------------------------------------------------------------------


def _agreement(
    sample: PairSample, methods: Sequence[AgreementMethod], groups: Sequence[Group]
) -> Iterator[PaperPart]:
    """Table 2, and the choice of the best method for each category."""
    title = "Table 2: leave-one-out agreement"
    human = people_measures(_PEOPLE, sample).get("leave_one_out", {})
    if (human.get("overall") or {}).get("value") is None:
        yield MissingPart("t2", title, NO_LABELS, BRING_LABELS)
        return
    values = [agreement_values(one.judge, groups) for one in methods]
    shown = [(one, row) for one, row in zip(methods, values, strict=True) if row[-1] is not None]
    rows = [(word_cell(labelled(one)), *map(number_cell, row)) for one, row in shown]
    combined, chosen = best_per_category(sample, [one for one, _ in shown], groups, [row for _, row in shown])
    n_methods = len(rows)
    notes = ["Agreement is averaged over presentation orders. An unparsed verdict agrees with no label."]
    if sample.options.tie_break == "expected":
        notes.append(
            "Ties between modes count by their exact expectation; the paper draws one of them at random "
            "(--convention random)."
        )
    if groups and groups[0].kind == "subset":
        notes.append("The dataset has no categories: the columns are its subsets.")
    if combined is not None:
        rows.append((word_cell(BEST), *map(number_cell, agreement_values(combined, groups))))
        notes.append(
            f"{BEST} is chosen and scored on the same pairs, as the paper's composite is, so it's optimistic: "
            "the decision page estimates the same choice on held-out pairs. It takes "
            + "; ".join(
                f"{name} for {', '.join(short_category(group.name) for group in own)}"
                for name, own in _by_method(groups, chosen).items()
            )
            + "."
        )
    estimates = [human.get(group.kind, {}).get(group.name) for group in groups] + [human["overall"]]
    rows.append(
        (word_cell("Human annotators"), *(number_cell((one or {}).get("value")) for one in estimates))
    )
    for one, _ in shown:
        asked = int(one.judge.judge.asked.sum())
        if asked < sample.n_items:
            notes.append(f"{one.label} judged {asked:,} of {sample.n_items:,} pairs.")
    yield PaperTable(
        "t2-agreement",
        title,
        "Leave-one-out agreement with human annotators by category, in percent; the last column is the mean over "
        "pairs. Bold: the best method of each column.",
        ("Method", *(short_category(group.name) for group in groups), "Average"),
        with_best_marked(rows, range(n_methods)),
        notes=tuple(notes),
    )


def _by_method(groups: Sequence[Group], chosen: Sequence[str]) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for group, name in zip(groups, chosen, strict=True):
        found.setdefault(name, []).append(group)
    return found


def _composition(sample: PairSample, groups: Sequence[Group]) -> Iterator[PaperPart]:
    """Table 4 and figure 5."""
    if not groups:
        for name, title in (("t4", "Table 4: composition"), ("f5", "Figure 5: composition")):
            yield MissingPart(
                name,
                title,
                "The dataset has neither categories nor subsets.",
                "Give the items a category and import the file again.",
            )
        return
    cluster = np.array(sample.items.cluster, dtype=np.str_)
    yield from composition_parts(
        [(group.name, len(np.unique(cluster[group.members])), int(group.members.sum())) for group in groups],
        total=(len(np.unique(cluster)), sample.n_items),
    )


# --- references, lengths, costs -------------------------------------------------------------------------------------


def _references(methods: Sequence[AgreementMethod]) -> PaperPart:
    """Figure 3."""
    title = "Figure 3: human-written and model-written references"
    reading = [one for one in methods if one.reference]
    if not any(one.reference != "human-written" for one in reading):
        return MissingPart(
            "f3",
            title,
            "No judge reads a system's response as the reference.",
            "Run the judges with a reference a second time, with reference_system beside use_reference.",
        )
    points: list[Point] = [
        (group, one.reference, agreement_values(one.judge, ())[-1])
        for group, one in _grouped(reading, lambda judge: f"{judge.model} {judge.strategy}".strip())
    ]
    if all(value is None for *_, value in points):
        return MissingPart("f3", title, NO_LABELS, BRING_LABELS)
    return bar_picture(
        "f3-references",
        title,
        "Leave-one-out agreement of each method, by whose response it reads as the reference.",
        points,
        heads=("Method", "Reference", "Agreement"),
        percent=True,
    )


def _length_differences(data: PaperData, sample: PairSample) -> PaperPart:
    """Figure 2."""
    first, second = (sample.items.lengths[:, place].astype(np.float64) for place in (0, 1))
    difference, what = first - second, "the first response minus the second"
    baselines = baselines_in(data, named_pairs(data, sample))
    if baselines:
        pairs = [data.systems.get(name, ("", "")) for name in sample.items.external_id]
        sign = np.array(
            [-1.0 if pair[0] == baselines[0] else 1.0 if baselines[0] in pair else 0.0 for pair in pairs]
        )
        difference, what = (sign * difference)[sign != 0], f"the response minus that of {baselines[0]}"
    if not len(difference):
        return MissingPart("f2", LENGTH_TITLE, "There are no pairs.", "Import pairs.")
    return length_difference_picture(difference, what)


def _grouped(
    methods: Sequence[AgreementMethod], group_of: Callable[[JudgeAnswers], str]
) -> list[tuple[str, AgreementMethod]]:
    """Each method with the group of its bar: its own label where two of a group read the same reference."""
    bars = [(group_of(one.judge.judge), one.reference) for one in methods]
    return [
        (group if bars.count((group, reference)) == 1 else one.label, one)
        for (group, reference), one in zip(bars, methods, strict=True)
    ]


def _reference_words(reference: str) -> str:
    """What a bar says of the reference that a judge reads."""
    if not reference:
        return "Without reference"
    return "With reference" if reference == "human-written" else f"With reference by {reference}"


def _length_bias(sample: PairSample, methods: Sequence[AgreementMethod]) -> PaperPart:
    """Figure 7."""
    title = "Figure 7: length bias"
    points: list[Point] = []
    human: Any = people_measures(_PEOPLE, sample).get("length_bias", {}).get("overall")
    if human is not None and human["value"] is not None:
        points.append(("Human annotators", _reference_words(""), human["value"]))
    judged = [one for one in methods if not one.judge.judge.baseline]
    for group, one in _grouped(judged, lambda judge: judge.model or judge.name):
        estimate = judge_measures(_JUDGES, one.judge)["length_bias"]["overall"]
        if estimate["value"] is not None:
            points.append((group, _reference_words(one.reference), estimate["value"]))
    if not points:
        return MissingPart(
            "f7",
            title,
            "Nobody has judged a pair whose responses differ in length.",
            "Collect labels, or run judges.",
        )
    return bar_picture(
        "f7-length-bias",
        title,
        "Share that prefers the longer response minus share that prefers the shorter. Where lengths are balanced, 0 is "
        "expected of a judge that ignores them.",
        points,
        heads=("Judge", "Reference", "Length bias"),
        percent=True,
        mark=0.0,
    )


def _costs(methods: Sequence[AgreementMethod]) -> PaperPart:
    title = "Cost of judges"
    costs: list[tuple[AgreementMethod, float]] = []
    for one in methods:
        estimate = judge_measures(_JUDGES, one.judge)["cost_per_1000"]["overall"]
        if estimate["value"] and not one.judge.judge.baseline:
            costs.append((one, estimate["value"]))
    if not costs:
        return MissingPart(
            "cost",
            title,
            "No judgment has a cost.",
            "Run the judges in a sweep, with models that have prices; imported verdicts have no cost.",
        )
    costs.sort(key=lambda entry: entry[1])
    cheapest = costs[0][1]
    rows: list[tuple[PaperCell, ...]] = [
        (
            word_cell(labelled(one)),
            number_cell(cost, 4, percent=False),
            number_cell(cost / cheapest, 1, percent=False),
        )
        for one, cost in costs
    ]
    return PaperTable(
        "cost",
        title,
        "US dollars of 1,000 judgments, and how many times the cheapest judge's cost that is.",
        ("Judge", "US dollars of 1,000", "Times the cheapest"),
        tuple(rows),
    )

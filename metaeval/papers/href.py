"""HREF: agreement of methods with people by category, and systems ranked against a baseline by the chosen judge."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.groups import Group
from metaeval.figures.measures import judge_measures, people_measures
from metaeval.figures.pairwise import PairSample
from metaeval.papers.data import PaperData, inputs_where
from metaeval.papers.drawing import Point, bar_picture, histogram_picture
from metaeval.papers.href_lengths import length_control_table
from metaeval.papers.href_rows import (
    BEST,
    AgreementMethod,
    agreement_methods,
    agreement_values,
    best_per_category,
    category_groups,
    short_category,
)
from metaeval.papers.href_systems import (
    SystemPreferences,
    baselines_of,
    p_value_picture,
    preferences_of,
    win_rate_table,
)
from metaeval.papers.paper import PaperPart
from metaeval.papers.tables import (
    MissingPart,
    PaperCell,
    PaperTable,
    count_cell,
    number_cell,
    with_best_marked,
    word_cell,
)
from metaeval.stats import correlation
from metaeval.stats.errors import quiet

_PEOPLE = FIGURES["pairwise"].only("leave_one_out", "length_bias")
_JUDGES = FIGURES["pairwise"].only("length_bias", "cost_per_1000")
_HUMAN = ("human", "humans", "human-written", "reference", "human reference", "human_reference")
_FEWEST_SYSTEMS = 3
_NO_LABELS = "No pair has labels from two annotators, so there is no agreement to compute."
_NO_SYSTEMS = "No pair names the systems that its responses are of."
_NO_BASELINE = "The pairs have no baseline: no one or two systems stand in every pair."


def href_parts(data: PaperData) -> Iterator[PaperPart]:
    """The tables and figures of the paper that the data carries, in its order."""
    sample = PairSample(data.inputs["pairwise"], data.options)
    groups = category_groups(sample)
    methods = agreement_methods(sample, data.specifications)
    yield from _agreement(sample, methods, groups)
    yield from _composition(sample, groups)
    yield from _systems(data, sample, methods)
    yield _length_differences(data, sample)
    yield _references(methods)
    yield _against_humans(data, sample, methods)
    yield _length_bias(sample, methods)
    yield _two_baselines(data, sample)
    yield _costs(methods)


# --- agreement ------------------------------------------------------------------------------------------------------


def _agreement(
    sample: PairSample, methods: Sequence[AgreementMethod], groups: Sequence[Group]
) -> Iterator[PaperPart]:
    """Table 2, and the choice of the best method for each category."""
    title = "Table 2: leave-one-out agreement"
    human = people_measures(_PEOPLE, sample).get("leave_one_out", {})
    if (human.get("overall") or {}).get("value") is None:
        yield MissingPart("t2", title, _NO_LABELS)
        return
    values = [agreement_values(one.judge, groups) for one in methods]
    shown = [(one, row) for one, row in zip(methods, values, strict=True) if row[-1] is not None]
    rows = [(word_cell(_labelled(one)), *map(number_cell, row)) for one, row in shown]
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
                f"{short_category(group.name)}: {name}" for group, name in zip(groups, chosen, strict=True)
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


def _labelled(one: AgreementMethod) -> str:
    return (
        one.label if not one.reference or "reference" in one.label.lower() else f"{one.label}, with reference"
    )


def _composition(sample: PairSample, groups: Sequence[Group]) -> Iterator[PaperPart]:
    """Table 4 and figure 5."""
    if not groups:
        for name, title in (("t4", "Table 4: composition"), ("f5", "Figure 5: composition")):
            yield MissingPart(name, title, "The dataset has neither categories nor subsets.")
        return
    cluster = np.array(sample.items.cluster, dtype=np.str_)
    sizes = [
        (group.name, len(np.unique(cluster[group.members])), int(group.members.sum())) for group in groups
    ]
    rows = [(word_cell(name), count_cell(n), count_cell(m)) for name, n, m in sizes]
    rows.append((word_cell("Total"), count_cell(len(np.unique(cluster))), count_cell(sample.n_items)))
    note = "The paper has three sets (evaluation, development, agreement); this is one of them: run it on each dataset."
    yield PaperTable(
        "t4-composition",
        "Table 4: composition",
        "Instructions and pairs by category.",
        ("Category", "Instructions", "Pairs"),
        tuple(rows),
        notes=(note,),
    )
    yield bar_picture(
        "f5-composition",
        "Figure 5: composition",
        "Instructions of each category.",
        [(short_category(name), "Instructions", float(n)) for name, n, _ in sizes],
        heads=("Category", "What", "Instructions"),
    )


# --- systems --------------------------------------------------------------------------------------------------------


def _systems(data: PaperData, sample: PairSample, methods: Sequence[AgreementMethod]) -> Iterator[PaperPart]:
    """Tables 5 to 7 and figure 6."""
    titles = (
        ("t5", "Tables 5 and 7: expected win rates"),
        ("t6", "Table 6: prompts"),
        ("f6", "Figure 6: p-values against the number of instructions"),
    )
    named = _named_pairs(data, sample)
    baselines = baselines_of(named)
    judged = [one for one in methods if not one.judge.judge.baseline and one.judge.judge.asked.any()]
    why = _NO_SYSTEMS if not named else _NO_BASELINE if not baselines else ""
    if not why and not judged:
        why = "No judge has judged these pairs."
    if why:
        yield from (MissingPart(name, title, why) for name, title in titles)
        return
    found = [(one, preferences_of(one.judge, sample.items, named, baselines[0])) for one in judged]
    chosen, preferences = max(found, key=lambda entry: _answered(*entry))
    categories = list(dict.fromkeys(preferences.categories))
    members = np.array(preferences.categories, dtype=object)
    groups = [
        (short_category(group.name), members == group.name)
        for group in category_groups(sample)
        if group.kind == "category" and group.name in categories
    ]
    yield win_rate_table(preferences, groups, judge=chosen.label, baseline=baselines[0])
    yield length_control_table(preferences, judge=chosen.label, baseline=baselines[0])
    yield _prompts(data, chosen, found)
    if len(preferences.systems) < 2 or len(preferences.categories) < 2:
        yield MissingPart(*titles[2], "It takes two systems and two instructions.")
    else:
        yield p_value_picture(preferences, seed=data.options.seed)


def _named_pairs(data: PaperData, sample: PairSample) -> dict[str, tuple[str, ...]]:
    """The systems of the sample's pairs, where both are known and differ."""
    found = ((name, data.systems.get(name, ())) for name in sample.items.external_id)
    return {name: pair for name, pair in found if len(pair) == 2 and pair[0] != pair[1]}


def _answered(one: AgreementMethod, preferences: SystemPreferences) -> tuple[int, float]:
    """By what the judge is chosen that ranks systems: verdicts on them, then agreement with people."""
    agreement = agreement_values(one.judge, ())[-1]
    return int((~np.isnan(preferences.preferences)).sum()), -1.0 if agreement is None else agreement


def _prompts(
    data: PaperData, chosen: AgreementMethod, found: Sequence[tuple[AgreementMethod, SystemPreferences]]
) -> PaperPart:
    title = "Table 6: prompts"
    totals = {id(one): preferences.totals for one, preferences in found}
    n_systems = len(totals[id(chosen)])
    if n_systems < _FEWEST_SYSTEMS:
        return MissingPart(
            "t6", title, f"A correlation takes {_FEWEST_SYSTEMS} systems or more; there are {n_systems}."
        )
    rows = []
    for one, _ in [entry for entry in found if entry[0] is chosen] + [
        entry for entry in found if entry[0] is not chosen
    ]:
        specification = data.specification(one.judge.judge)
        with quiet():
            same = correlation(totals[id(one)], totals[id(chosen)], method="pearson", n_resamples=0).value
        rows.append(
            (
                word_cell(one.label),
                word_cell("yes" if specification.get("guidelines") else "no"),
                word_cell("yes" if specification.get("shots") else "no"),
                number_cell(agreement_values(one.judge, ())[-1]),
                number_cell(same, 3, percent=False),
            )
        )
    return PaperTable(
        "t6-prompts",
        title,
        f"Each judge's prompt, its agreement with human annotators in percent, and Pearson's correlation of its win "
        f"rates of {n_systems} systems with those by {chosen.label}.",
        ("Judge", "Guideline", "Examples", "Human agreement", f"Pearson with {chosen.label}"),
        tuple(rows),
    )


def _two_baselines(data: PaperData, sample: PairSample) -> PaperPart:
    """Figure 8: agreement by which baseline stands in the pair."""
    title = "Figure 8: agreement under two baselines"
    named = _named_pairs(data, sample)
    baselines = baselines_of(named)
    if len(baselines) < 2:
        return MissingPart("f8", title, _NO_SYSTEMS if not named else "The pairs do not have two baselines.")
    points: list[Point] = []
    for baseline in baselines:
        members = np.array([baseline in named.get(name, ()) for name in sample.items.external_id])
        part = PairSample(inputs_where(sample.inputs, members), data.options)
        of_part = agreement_methods(part, data.specifications)
        points += [(_labelled(one), baseline, agreement_values(one.judge, ())[-1]) for one in of_part]
    if all(value is None for *_, value in points):
        return MissingPart("f8", title, _NO_LABELS)
    return bar_picture(
        "f8-two-baselines",
        title,
        "Leave-one-out agreement of each method, by the baseline that the responses are compared with.",
        points,
        heads=("Method", "Baseline", "Agreement"),
        percent=True,
    )


# --- references, lengths, costs -------------------------------------------------------------------------------------


def _references(methods: Sequence[AgreementMethod]) -> PaperPart:
    """Figure 3."""
    title = "Figure 3: human-written and model-written references"
    reading = [one for one in methods if one.reference]
    if not any(one.reference != "human-written" for one in reading):
        return MissingPart("f3", title, "No judge reads a system's response as the reference.")
    points: list[Point] = []
    for one in reading:
        answers = one.judge.judge
        method = f"{answers.model} {answers.strategy}".strip()
        points.append((method, one.reference, agreement_values(one.judge, ())[-1]))
    if all(value is None for *_, value in points):
        return MissingPart("f3", title, _NO_LABELS)
    return bar_picture(
        "f3-references",
        title,
        "Leave-one-out agreement of each method, by whose response it reads as the reference.",
        points,
        heads=("Method", "Reference", "Agreement"),
        percent=True,
    )


def _against_humans(data: PaperData, sample: PairSample, methods: Sequence[AgreementMethod]) -> PaperPart:
    """Figure 4."""
    title = "Figure 4: model against human response"
    named = _named_pairs(data, sample)
    human = next((name for pair in named.values() for name in pair if name.lower() in _HUMAN), "")
    judged = [one for one in methods if not one.judge.judge.baseline]
    if not human or not judged:
        why = "No pair stands between a model and a person." if named else _NO_SYSTEMS
        return MissingPart("f4", title, f"{why} Name the person's responses “human”.")
    points: list[Point] = []
    for one in judged:
        preferences = preferences_of(one.judge, sample.items, named, human)
        known = preferences.preferences[~np.isnan(preferences.preferences)]
        points.append((_labelled(one), "Model", float(known.mean()) if len(known) else None))
    return bar_picture(
        "f4-model-against-human",
        title,
        f"How often each judge prefers a model's response to that of {human}, a tie counting one half.",
        points,
        heads=("Judge", "Preferred", "Share"),
        percent=True,
    )


def _length_differences(data: PaperData, sample: PairSample) -> PaperPart:
    """Figure 2."""
    title = "Figure 2: difference in length"
    first, second = (sample.items.lengths[:, place].astype(np.float64) for place in (0, 1))
    difference, what = first - second, "the first response minus the second"
    baselines = baselines_of(_named_pairs(data, sample))
    if baselines:
        pairs = [data.systems.get(name, ("", "")) for name in sample.items.external_id]
        sign = np.array(
            [-1.0 if pair[0] == baselines[0] else 1.0 if baselines[0] in pair else 0.0 for pair in pairs]
        )
        difference, what = (sign * difference)[sign != 0], f"the response minus that of {baselines[0]}"
    if not len(difference):
        return MissingPart("f2", title, "There are no pairs.")
    share = float((difference > 0).mean())
    return histogram_picture(
        "f2-length-differences",
        title,
        f"Characters: {what}, of {len(difference):,} pairs. {share:.1%} are positive; balanced pairs are symmetric "
        "around 0. The paper does not say its unit.",
        difference,
        heads=("From", "To", "Pairs"),
        axis="Difference in characters",
    )


def _length_bias(sample: PairSample, methods: Sequence[AgreementMethod]) -> PaperPart:
    """Figure 7."""
    title = "Figure 7: length bias"
    points: list[Point] = []
    human: Any = people_measures(_PEOPLE, sample).get("length_bias", {}).get("overall")
    if human is not None and human["value"] is not None:
        points.append(("Human annotators", "Length bias", human["value"]))
    for one in methods:
        estimate = judge_measures(_JUDGES, one.judge)["length_bias"]["overall"]
        if estimate["value"] is not None and not one.judge.judge.baseline:
            points.append((_labelled(one), "Length bias", estimate["value"]))
    if not points:
        return MissingPart("f7", title, "Nobody has judged a pair whose responses differ in length.")
    return bar_picture(
        "f7-length-bias",
        title,
        "Share that prefers the longer response minus share that prefers the shorter. Where lengths are balanced, 0 is "
        "expected of a judge that ignores them.",
        points,
        heads=("Judge", "What", "Length bias"),
        percent=True,
        zero_line=True,
    )


def _costs(methods: Sequence[AgreementMethod]) -> PaperPart:
    title = "Cost of judges"
    costs: list[tuple[AgreementMethod, float]] = []
    for one in methods:
        estimate = judge_measures(_JUDGES, one.judge)["cost_per_1000"]["overall"]
        if estimate["value"] and not one.judge.judge.baseline:
            costs.append((one, estimate["value"]))
    if not costs:
        return MissingPart("cost", title, "No judgment has a cost: imported verdicts have none.")
    costs.sort(key=lambda entry: entry[1])
    cheapest = costs[0][1]
    rows: list[tuple[PaperCell, ...]] = [
        (
            word_cell(_labelled(one)),
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

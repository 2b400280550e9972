"""HREF's systems beside a baseline: tables 5 to 7, figures 4, 6 and 8."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from metaeval.figures.pairwise import PairSample
from metaeval.papers.data import PaperData, inputs_where
from metaeval.papers.drawing import Point, bar_picture
from metaeval.papers.href_lengths import length_control_table
from metaeval.papers.href_rows import (
    BRING_LABELS,
    NO_LABELS,
    AgreementMethod,
    agreement_methods,
    agreement_values,
    category_groups,
    labelled,
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
from metaeval.papers.tables import MissingPart, PaperTable, number_cell, word_cell
from metaeval.stats import correlation
from metaeval.stats.errors import quiet

_HUMAN = ("human", "humans", "human-written", "reference", "human reference", "human_reference")
_FEWEST_SYSTEMS = 3
_NO_SYSTEMS = "No pair names the systems that its responses are of."
_NAME_THEM = "Give each response a system and import the file again."
_NO_BASELINE = "No one or two systems stand in every pair."
_NAME_ONE = "Name one of them as the baseline: --baseline SYSTEM, or the choice on the paper's page."


def ranking_parts(
    data: PaperData, sample: PairSample, methods: Sequence[AgreementMethod]
) -> Iterator[PaperPart]:
    """Tables 5 to 7 and figure 6."""
    titles = (
        ("t5", "Tables 5 and 7: expected win rates"),
        ("t6", "Table 6: prompts"),
        ("f6", "Figure 6: p-values against the number of instructions"),
    )
    named = named_pairs(data, sample)
    baselines = baselines_in(data, named)
    judged = [one for one in methods if not one.judge.judge.baseline and one.judge.judge.asked.any()]
    lacking = (
        (_NO_SYSTEMS, _NAME_THEM)
        if not named
        else (_NO_BASELINE, _NAME_ONE)
        if not baselines
        else ("No judge has judged these pairs.", "Run one in a sweep, or import its verdicts.")
        if not judged
        else None
    )
    if lacking is not None:
        yield from (MissingPart(name, title, *lacking) for name, title in titles)
        return
    found = [(one, preferences_of(one.judge, sample.items, named, baselines[0])) for one in judged]
    agreement = _agreement_of(data, judged)
    # Who has most verdicts on the systems ranks them, then who agrees best with people.
    chosen, preferences = max(
        found,
        key=lambda entry: (
            int((~np.isnan(entry[1].preferences)).sum()),
            -1.0 if (value := agreement[id(entry[0])]) is None else value,
        ),
    )
    categories = list(dict.fromkeys(preferences.categories))
    members = np.array(preferences.categories, dtype=object)
    groups = [
        (short_category(group.name), members == group.name)
        for group in category_groups(sample)
        if group.kind == "category" and group.name in categories
    ]
    yield win_rate_table(preferences, groups, judge=chosen.label, baseline=baselines[0])
    yield length_control_table(preferences, judge=chosen.label, baseline=baselines[0])
    yield _prompts(data, chosen, found, agreement)
    yield p_value_picture(preferences, seed=data.options.seed)


def named_pairs(data: PaperData, sample: PairSample) -> dict[str, tuple[str, ...]]:
    """The systems of the sample's pairs, where both are known and differ."""
    found = ((name, data.systems.get(name, ())) for name in sample.items.external_id)
    return {name: pair for name, pair in found if len(pair) == 2 and pair[0] != pair[1]}


def baselines_in(data: PaperData, named: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The baselines that were named, else those that stand in every pair."""
    return list(data.baselines) or baselines_of(named)


def _agreement_of(data: PaperData, judged: Sequence[AgreementMethod]) -> dict[int, float | None]:
    """By the method's identity its agreement with people: on the agreement set, where the data has one."""
    if data.agreement is None:
        return {id(one): agreement_values(one.judge, ())[-1] for one in judged}
    elsewhere = agreement_methods(PairSample(data.agreement.inputs, data.options), data.specifications)
    known = {one.judge.judge.fingerprint: agreement_values(one.judge, ())[-1] for one in elsewhere}
    return {id(one): known.get(one.judge.judge.fingerprint) for one in judged}


def _prompts(
    data: PaperData,
    chosen: AgreementMethod,
    found: Sequence[tuple[AgreementMethod, SystemPreferences]],
    agreement: Mapping[int, float | None],
) -> PaperPart:
    """Table 6: the prompt that ranks systems first, as the paper's own is."""
    title = "Table 6: prompts"
    totals = {id(one): preferences.totals for one, preferences in found}
    n_systems = len(totals[id(chosen)])
    if n_systems < _FEWEST_SYSTEMS:
        return MissingPart(
            "t6",
            title,
            f"A correlation takes {_FEWEST_SYSTEMS} systems or more beside the baseline; there "
            f"{'is' if n_systems == 1 else 'are'} {n_systems}.",
            "Add pairs of other systems with the baseline.",
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
                number_cell(agreement[id(one)]),
                number_cell(same, 3, percent=False),
            )
        )
    where = "" if data.agreement is None else f" on {data.agreement.title}"
    lacking = all(value is None for value in agreement.values())
    note = "No agreement: name a dataset that these judges judged and people labeled (--agreement)."
    return PaperTable(
        "t6-prompts",
        title,
        f"Each judge's prompt, its agreement with human annotators{where} in percent, and Pearson's correlation of its "
        f"win rates of {n_systems} systems with those by {chosen.label}.",
        ("Judge", "Guideline", "Examples", "Human agreement", f"Pearson with {chosen.label}"),
        tuple(rows),
        notes=(note,) if lacking else (),
    )


def two_baselines(data: PaperData, sample: PairSample) -> PaperPart:
    """Figure 8: agreement by which baseline stands in the pair."""
    title = "Figure 8: agreement under two baselines"
    named = named_pairs(data, sample)
    baselines = baselines_in(data, named)
    if len(baselines) < 2:
        why, bring = (
            (_NO_SYSTEMS, _NAME_THEM)
            if not named
            else (
                "The pairs don't have two baselines.",
                "Name two systems: --baseline twice, or the choices on the paper's page.",
            )
        )
        return MissingPart("f8", title, why, bring)
    points: list[Point] = []
    for baseline in baselines:
        members = np.array([baseline in named.get(name, ()) for name in sample.items.external_id])
        part = PairSample(inputs_where(sample.inputs, members), data.options)
        of_part = agreement_methods(part, data.specifications)
        points += [(labelled(one), baseline, agreement_values(one.judge, ())[-1]) for one in of_part]
    if all(value is None for *_, value in points):
        return MissingPart("f8", title, NO_LABELS, BRING_LABELS)
    return bar_picture(
        "f8-two-baselines",
        title,
        "Leave-one-out agreement of each method, by the baseline that the responses are compared with.",
        points,
        heads=("Method", "Baseline", "Agreement"),
        percent=True,
    )


def against_humans(data: PaperData, sample: PairSample, methods: Sequence[AgreementMethod]) -> PaperPart:
    """Figure 4."""
    title = "Figure 4: model against human response"
    named = named_pairs(data, sample)
    human = next((name for pair in named.values() for name in pair if name.lower() in _HUMAN), "")
    judged = [one for one in methods if not one.judge.judge.baseline]
    if not human or not judged:
        if human:
            return MissingPart(
                "f4", title, "No judge has judged these pairs.", "Run one in a sweep, or import its verdicts."
            )
        return MissingPart(
            "f4",
            title,
            "No pair has a model's response beside a person's." if named else _NO_SYSTEMS,
            "Add pairs of a model's response and a person's, whose system is “human”.",
        )
    points: list[Point] = []
    for one in judged:
        preferences = preferences_of(one.judge, sample.items, named, human)
        known = preferences.preferences[~np.isnan(preferences.preferences)]
        points.append((labelled(one), "Model", float(known.mean()) if len(known) else None))
    return bar_picture(
        "f4-model-against-human",
        title,
        f"How often each judge prefers a model's response to that of {human}, a tie counting one half.",
        points,
        heads=("Judge", "Preferred", "Share"),
        percent=True,
    )

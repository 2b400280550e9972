"""LLMBar: accuracy and positional agreement of judges on pairs with an objectively better output."""

import re
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.measures import people_measures
from metaeval.figures.pairwise import PairSample
from metaeval.papers.data import PaperData, inputs_where
from metaeval.papers.drawing import Point, bar_picture
from metaeval.papers.llmbar_columns import (
    CASES,
    OTHER_SETS,
    SubsetColumn,
    accuracy_cells,
    accuracy_values,
    hedging_cells,
    is_case,
    is_other_set,
    rating_cells,
    short_subset,
    spans_of,
    subset_columns_of,
)
from metaeval.papers.llmbar_evaluators import METHODS, Evaluator, evaluator_of
from metaeval.papers.paper import PaperPart
from metaeval.papers.tables import MissingPart, PaperTable, count_cell, number_cell, slug, word_cell

# The models of the paper's tables, by what their names look like.
_PRINTED = (
    ("2", "GPT-4", r"gpt-?4(-0613)?"),
    ("5", "ChatGPT", r"chatgpt(-0613)?|gpt-3\.5-turbo(-0613)?"),
    ("6", "ChatGPT-0301", r"chatgpt-0301|gpt-3\.5-turbo-0301"),
    ("7", "LLaMA2", r"(.*/)?llama-?2.*"),
    ("8", "PaLM2", r"palm-?2|(.*/)?text-bison.*"),
    ("9", "Falcon", r"(.*/)?falcon.*"),
)
# As error messages name a model to run.
_LIKE = {
    "2": "gpt-4-0613",
    "5": "gpt-3.5-turbo-0613",
    "6": "gpt-3.5-turbo-0301",
    "7": "llama-2-70b-chat",
    "8": "text-bison-001",
    "9": "falcon-180b-chat",
}
_FROM_REPOSITORY = "The authors' repository has them: import its folder Dataset, and their verdicts with it."
_STARRED = ("Vanilla", "Vanilla*", *(f"{name}*" for name in METHODS[1:]))
_ACCURACY_CAPTION = (
    "Accuracy (Acc.), averaged over both presentation orders, and positional agreement (Agr.), in percent. Averages "
    "are unweighted means of subsets. An unparsed verdict is wrong; two unparsed verdicts agree, as in the paper."
)
_PEOPLE = FIGURES["pairwise"].only("percent_agreement")
_BOTH = ("Vanilla", "Metrics+Reference*")
# Tables of the models that figure 4 leaves out: ChatGPT-0301 (with it there are more than eight evaluators), Falcon.
_NOT_AVERAGED = ("6", "9")


def llmbar_parts(data: PaperData) -> Iterator[PaperPart]:
    """The tables and figures of the paper that the data carries, in its order."""
    inputs = data.inputs["pairwise"]
    own = np.array(
        [not (is_case(path) or is_other_set(path)) for path in inputs.items.subset], dtype=np.bool_
    )
    sample = PairSample(inputs_where(inputs, own) if own.any() else inputs, data.options)
    columns = subset_columns_of(sample)
    evaluators = _evaluators(data, sample)
    yield _composition(sample, columns)
    yield _experts(sample)
    yield from _accuracy_tables(evaluators, columns)
    yield _reward_models(evaluators, columns)
    yield from _hedging(evaluators, columns)
    yield from _rating_tables(evaluators, columns)
    yield _shots(evaluators, columns)
    yield _cases(data)
    yield from _figures(data, evaluators, columns)


def _evaluators(data: PaperData, sample: PairSample) -> list[Evaluator]:
    """The judges of the data as rows, model by model in the paper's order."""
    found = [
        evaluator_of(judge, data.specification(judge.judge))
        for judge in sample.judges
        if not judge.judge.baseline
    ]
    return sorted(found, key=lambda one: (_number(one.model) or "99", one.model, one.rank))


def _number(model: str) -> str:
    """The table that the paper prints of a model; empty for a model that it does not have."""
    return next((number for number, _, like in _PRINTED if re.fullmatch(like, model.lower())), "")


def _by_model(evaluators: Iterable[Evaluator]) -> dict[str, list[Evaluator]]:
    found: dict[str, list[Evaluator]] = {}
    for one in evaluators:
        found.setdefault(one.model, []).append(one)
    return found


# --- composition, experts -------------------------------------------------------------------------------------------


def _composition(sample: PairSample, columns: Sequence[SubsetColumn]) -> PaperTable:
    sizes = {(group.kind, group.name): int(group.members.sum()) for group in sample.layout.groups}
    subsets = [column for column in columns if column.kind == "subset"]
    hard = [column for column in subsets if column.above]
    rows = []
    for column in subsets:
        if hard and column is hard[0]:
            total = sum(sizes[one.kind, one.name] for one in hard)
            rows.append((word_cell("Adversarial"), count_cell(total)))
        rows.append((word_cell(column.head), count_cell(sizes[column.kind, column.name])))
    rows.append((word_cell("Total"), count_cell(sample.n_items)))
    return PaperTable(
        "t1-composition", "Table 1: composition", "Pairs in each subset.", ("Subset", "Pairs"), tuple(rows)
    )


def _experts(sample: PairSample) -> PaperPart:
    title = "Expert agreement"
    measures = people_measures(_PEOPLE, sample).get("percent_agreement", {})
    found = {"All": measures.get("overall"), **measures.get("subset", {})}
    rows = [
        (word_cell(short_subset(name)), number_cell(estimate["value"]), count_cell(estimate["n"]))
        for name, estimate in found.items()
        if estimate is not None and estimate["value"] is not None
    ]
    if not rows:
        return MissingPart(
            "experts",
            title,
            "No pair has labels from two annotators.",
            "Open a study of the dataset with an overlap of 2 and no ties.",
        )
    return PaperTable(
        "experts",
        title,
        "Pairwise agreement of annotators, in percent, averaged over the pairs with two labels or more.",
        ("Subset", "Agreement", "Pairs"),
        tuple(rows),
    )


# --- verdicts -------------------------------------------------------------------------------------------------------


def _accuracy_tables(evaluators: Sequence[Evaluator], columns: Sequence[SubsetColumn]) -> Iterator[PaperPart]:
    """Tables 2 and 5 to 9: one a model, a row a way to ask."""
    models = _by_model(one for one in evaluators if one.design in ("verdict", "other"))
    made = {_number(model) for model in models}
    for model, rows in models.items():
        number = _number(model)
        lines = [(word_cell(one.method), *accuracy_cells(one.judge, columns)) for one in rows]
        if number in ("6", "7", "8", "9"):
            halves = [number_cell(0.5), number_cell(None)] * len(columns)
            lines.insert(0, (word_cell("Random Guess"), *halves))
        yield PaperTable(
            f"t{number or '2-like'}-{slug(model)}",
            f"Table {number}: {model}" if number else f"As table 2: {model}",
            _ACCURACY_CAPTION,
            ("Strategy", *(word for _ in columns for word in ("Acc.", "Agr."))),
            tuple(lines),
            notes=(*_unjudged(rows), *_not_there(rows)),
            **spans_of(columns),
        )
    for number, model, _ in _PRINTED:
        if number not in made:
            yield MissingPart(
                f"t{number}",
                f"Table {number}: {model}",
                f"No judge of the data uses {model}.",
                f"Run the strategies with {_LIKE[number]} in both orders, or import the authors' verdicts.",
            )


def _unjudged(rows: Iterable[Evaluator]) -> Iterator[str]:
    for one in rows:
        asked, n_items = int(one.judge.judge.asked.sum()), len(one.judge.judge.judged)
        if asked < n_items:
            yield f"{one.method} judged {asked:,} of {n_items:,} pairs."
        if not one.judge.judge.judged.all(axis=1).any():
            yield f"{one.method} judged in one presentation order only, so it has no positional agreement."


def _not_there(rows: Iterable[Evaluator]) -> Iterator[str]:
    there = {one.method for one in rows}
    lacking = [method for method in _STARRED if method not in there]
    if lacking:
        yield f"Not in this data: {', '.join(lacking)}."


def _reward_models(evaluators: Sequence[Evaluator], columns: Sequence[SubsetColumn]) -> PaperPart:
    title = "Table 3: reward models"
    rows = sorted((one for one in evaluators if one.design == "preference"), key=lambda one: one.rank)
    if not rows:
        return MissingPart(
            "t3",
            title,
            "No judge of the data is a reward model or a preference classifier.",
            "Run judges of the strategies reward and preference_classifier.",
        )
    return PaperTable(
        "t3-reward-models",
        title,
        f"{_ACCURACY_CAPTION} A reward model scores each output alone, so positional agreement says nothing of it.",
        ("Model", *(word for _ in columns for word in ("Acc.", "Agr."))),
        tuple(
            (
                word_cell(one.method),
                *accuracy_cells(one.judge, columns, agreement=one.judge.judge.strategy != "reward"),
            )
            for one in rows
        ),
        notes=tuple(_unjudged(one for one in rows if one.judge.judge.strategy != "reward")),
        **spans_of(columns),
    )


def _shots(evaluators: Sequence[Evaluator], columns: Sequence[SubsetColumn]) -> PaperPart:
    title = "Table 13: worked examples"
    with_shots = {one.model for one in evaluators if one.design == "shots"}
    if not with_shots:
        return MissingPart(
            "t13",
            title,
            "No judge of the data shows worked examples.",
            "Run judges of the strategy fewshot with 1 and 2 examples beside one of the strategy rules.",
        )
    rows = [
        one
        for one in evaluators
        if one.model in with_shots
        and (one.design == "shots" or (one.design == "verdict" and one.method == "Vanilla*"))
    ]
    return PaperTable(
        "t13-shots",
        title,
        _ACCURACY_CAPTION,
        ("Strategy", *(word for _ in columns for word in ("Acc.", "Agr."))),
        tuple(
            (
                word_cell(f"{one.model}: {one.method}{', 0 shots' if one.design == 'verdict' else ''}"),
                *accuracy_cells(one.judge, columns),
            )
            for one in rows
        ),
        **spans_of(columns),
    )


def _cases(data: PaperData) -> PaperPart:
    title = "Table 14: case study"
    inputs = data.inputs["pairwise"]
    members = np.array([is_case(path) for path in inputs.items.subset], dtype=np.bool_)
    if not members.any():
        return MissingPart(
            "t14", title, f"The dataset has none of the subsets {', '.join(CASES)}.", _FROM_REPOSITORY
        )
    sample = PairSample(inputs_where(inputs, members), data.options)
    columns = [one for one in subset_columns_of(sample) if one.kind == "subset"]
    columns.sort(key=lambda one: CASES.index(one.head))
    rows = [
        one for one in _evaluators(data, sample) if one.judge.judge.asked.any() and one.design == "verdict"
    ]
    if not rows:
        return MissingPart(
            "t14",
            title,
            f"No judge that gives verdicts has judged the subset{'s' * (len(columns) > 1)} "
            f"{', '.join(one.head for one in columns)}.",
            "Run the strategies of table 2 on it.",
        )
    return PaperTable(
        "t14-case-study",
        title,
        _ACCURACY_CAPTION,
        ("Strategy", *(word for _ in columns for word in ("Acc.", "Agr."))),
        tuple((word_cell(f"{one.model}: {one.method}"), *accuracy_cells(one.judge, columns)) for one in rows),
        spans=tuple((column.head, 2) for column in columns),
    )


# --- ratings --------------------------------------------------------------------------------------------------------


def _hedging(evaluators: Sequence[Evaluator], columns: Sequence[SubsetColumn]) -> Iterator[PaperPart]:
    """Table 10, of ChatGPT, and the same of other models."""
    models = _by_model(one for one in evaluators if one.design == "rating")
    subsets = [column for column in columns if column.kind != "macro"]
    printed = [model for model in models if _number(model) == "5"]
    for model in [*printed, *(model for model in models if model not in printed)]:
        yield PaperTable(
            "t10-hedging" if model in printed else f"t10-like-hedging-{slug(model)}",
            f"{'Table' if model in printed else 'As table'} 10: hedging rate of ratings by {model}",
            "Share of the pairs whose two outputs get the same rating, in percent.",
            ("Strategy", *(column.head for column in subsets)),
            tuple((word_cell(one.method), *hedging_cells(one.judge, subsets)) for one in models[model]),
        )
    if not printed:
        yield MissingPart(
            "t10",
            "Table 10: hedging rate of ratings by ChatGPT",
            "No judge of the data rates each output alone with ChatGPT.",
            f"Run the strategy rating with {_LIKE['5']}, without and with the setting rules.",
        )


def _rating_tables(evaluators: Sequence[Evaluator], columns: Sequence[SubsetColumn]) -> Iterator[PaperPart]:
    models = _by_model(one for one in evaluators if one.design == "rating")
    numbers = {model: _rating_number(model) for model in models}
    for model, rows in models.items():
        number = numbers[model]
        yield PaperTable(
            f"t{number or '11-like'}-ratings-{slug(model)}",
            f"Table {number}: ratings by {model}" if number else f"As table 11: ratings by {model}",
            "Accuracy (Acc.) of the verdicts that two ratings amount to, and the share of pairs with different ratings "
            "(Dif.), in percent. Equal and missing ratings count one half. Averages are unweighted means of subsets.",
            ("Strategy", *(word for _ in columns for word in ("Acc.", "Dif."))),
            tuple((word_cell(one.method), *rating_cells(one.judge, columns)) for one in rows),
            **spans_of(columns),
        )
    for number, model in (("11", "GPT-4"), ("12", "Prometheus")):
        if number not in numbers.values():
            title = f"Table {number}: ratings by {model}"
            yield MissingPart(
                f"t{number}",
                title,
                f"No judge of the data rates outputs with {model}.",
                "Run the strategy rating with it"
                + (", without and with a reference (use_reference)." if number == "12" else "."),
            )


def _rating_number(model: str) -> str:
    if "prometheus" in model.lower():
        return "12"
    return "11" if _number(model) == "2" else ""


# --- figures --------------------------------------------------------------------------------------------------------


def _figures(
    data: PaperData, evaluators: Sequence[Evaluator], columns: Sequence[SubsetColumn]
) -> Iterator[PaperPart]:
    """Figures 4 and 5: Vanilla and Metrics+Reference* on each set of pairs, averaged and one by one.

    Where the data has none of the other sets, Natural stands in their place.
    """
    titles = ("Figure 4: mean accuracy of evaluators", "Figure 5: Vanilla and Metrics+Reference*")
    inputs = data.inputs["pairwise"]
    members = np.array([is_other_set(path) for path in inputs.items.subset], dtype=np.bool_)
    hard = [column for column in columns if column.above]
    shown = [column for column in hard if column.kind == "macro"] or hard
    entries: list[tuple[str, Evaluator, float]] = []
    if members.any():
        sample = PairSample(inputs_where(inputs, members), data.options)
        others = [one for one in subset_columns_of(sample) if one.kind == "subset"]
        others.sort(key=lambda one: OTHER_SETS.index(one.head))
        entries += _accuracies(_evaluators(data, sample), others)
    else:
        shown = [column for column in columns if not column.above and column.kind != "macro"] + shown
    entries += _accuracies(evaluators, shown)
    if not entries:
        why, bring = _no_entries(evaluators)
        yield from (MissingPart(f"f{n}", title, why, bring) for n, title in zip((4, 5), titles, strict=True))
        return
    note = "" if members.any() else f" The data has none of {', '.join(OTHER_SETS)}."
    yield _mean_accuracy(titles[0], entries, note)
    names = _bar_names(one for _, one, _ in entries)
    yield bar_picture(
        "f5-two-strategies",
        titles[1],
        f"Accuracy of the two strategies by set of pairs.{note} Chance is 50% (dashed line).",
        [(where, names[one.judge.judge.fingerprint], value) for where, one, value in entries],
        heads=("Set", "Judge", "Accuracy"),
        percent=True,
        mark=0.5,
    )


def _no_entries(evaluators: Sequence[Evaluator]) -> tuple[str, str]:
    """Why figures 4 and 5 have no bar, and what to bring."""
    ways = " and ".join(_BOTH)
    run = f"Run {ways} on Natural and on each adversarial subset, in both orders."
    there = [f"{one.model}, {one.method}" for one in evaluators if _is_averaged(one)]
    if not there:
        return f"No judge of the data uses {ways.replace('and', 'or')}.", run
    return f"Neither Natural nor all adversarial subsets were judged by {'; '.join(there)}.", run


def _is_averaged(one: Evaluator) -> bool:
    return one.design == "verdict" and one.method in _BOTH


def _mean_accuracy(title: str, entries: Sequence[tuple[str, Evaluator, float]], note: str) -> PaperPart:
    """Figure 4."""
    used = [entry for entry in entries if _number(entry[1].model) not in _NOT_AVERAGED]
    if not used:
        return MissingPart(
            "f4",
            title,
            "Of the judges with these strategies all are Falcon or ChatGPT-0301, which the average leaves out.",
            "Run the two strategies with another model.",
        )
    names = _bar_names(one for _, one, _ in used)
    by_set: dict[str, list[float]] = {}
    for where, _, value in used:
        by_set.setdefault(where, []).append(value)
    points: list[Point] = [
        (where, f"Mean of {len(names)}", fmean(values)) for where, values in by_set.items()
    ]
    return bar_picture(
        "f4-mean-accuracy",
        title,
        f"Accuracy by set of pairs, averaged over {len(names)} evaluators: {'; '.join(names.values())}.{note} Chance "
        "is 50%. The paper averages eight without naming them and leaves Falcon out: the two strategies of four models "
        "are eight.",
        points,
        heads=("Set", "Evaluators", "Mean accuracy"),
        percent=True,
        mark=0.5,
    )


def _accuracies(
    evaluators: Iterable[Evaluator], columns: Sequence[SubsetColumn]
) -> Iterator[tuple[str, Evaluator, float]]:
    """The accuracy of each evaluator with one of the two strategies in each column, where it has one."""
    for one in evaluators:
        if _is_averaged(one):
            for column, value in zip(columns, accuracy_values(one.judge, columns), strict=True):
                if value is not None:
                    yield column.span, one, value


def _bar_names(evaluators: Iterable[Evaluator]) -> dict[str, str]:
    """By fingerprint what a judge's bar is called: a model may be there twice with one strategy, cold and warm, say."""
    judges = {one.judge.judge.fingerprint: one for one in evaluators}
    names = [f"{one.model}, {one.method}" for one in judges.values()]
    return {
        key: name if names.count(name) == 1 else f"{name} ({judges[key].judge.judge.name})"
        for key, name in zip(judges, names, strict=True)
    }

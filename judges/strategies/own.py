"""Judges in a format of one's own, without code: prompt text, and how its answer is read (`judges.strategies.reading`).

One function a kind of item. A prompt shows what it likes of `SHOWN`, and is put once for the whole item ("together") or
once for each of its parts ("each"): the responses of a pair or ranking, the criteria, the aspects. ``params["draws"]``
asks for each score so often, at temperature 1, and takes the mean (G-Eval: Liu et al., EMNLP 2023, with 20).
"""

import math
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from annotation.domain.scales import NOT_APPLICABLE
from annotation.kinds.grades import POINTS, STRENGTH_WORDS
from judges.strategies.checklist import LABELS, LABELS_AND_DOUBT, MEANING, checklist_scores
from judges.strategies.classification import category_verdict, chosen_schema, shown_values
from judges.strategies.errors import SpecError
from judges.strategies.info import StrategyInfo
from judges.strategies.item_prompt import (
    drawn_order,
    fenced,
    item_aspects,
    json_form,
    numbered,
    only_response,
    render_item,
)
from judges.strategies.orders import order_schema, ranked, ranks_of, read_order
from judges.strategies.pairwise import labels as pair_labels
from judges.strategies.pairwise import pair
from judges.strategies.parsing import parsed, read_choice, read_verdict_line, unparsed
from judges.strategies.parsing_categories import (
    CATEGORIES,
    CATEGORY,
    category_names,
    chosen_categories,
    chosen_of_json,
)
from judges.strategies.prompt_language import prompt_check, prompt_parts
from judges.strategies.prompts import Message
from judges.strategies.ranking import ranking_places, several_responses
from judges.strategies.reading import (
    JSON,
    SCORE,
    WORDS,
    AnswerReading,
    base_label,
    found_in,
    number_within,
    read_number_of,
    read_verdict,
    reading_of,
    usual_names,
)
from judges.strategies.rubric import (
    criteria_listed,
    item_criteria,
    option_labels,
    options_worded,
    rating_of,
    rating_schema,
)
from judges.strategies.structured import (
    Labels,
    Said,
    by_name,
    closed,
    numbers_of,
    read_label,
    said_of,
    schema_text,
    verdict_of_parts,
)
from judges.strategies.types import (
    Answer,
    Chat,
    ItemView,
    Sent,
    Steps,
    StrategyConfig,
    Verdict,
    Yielded,
    several,
    single,
)

_ALWAYS = frozenset({"instruction", "context", "reference", "guidelines", "low", "high"})
FLAGS = frozenset({"context", "reference", "guidelines", "tie", "cannot_tell", "response", "several"})
GRADED = "preference_points"
"""The setting that asks for a preference on 5 or 7 points."""
_POINT_SAID = re.compile(r"\b([ab])\s+(?:is\s+)?(slightly|much|)\s*better\b")
_POINTS = re.compile(r"\s*[\[(]\s*([+-]?\d{1,6}(?:\.\d{1,6})?)\s*(?:points?|pts?)?\s*[\])]", re.IGNORECASE)
_RATING = re.compile(rf"-?[0-9]{{1,4}}|{NOT_APPLICABLE}")
_REASONS = {"reasons": {"type": "string"}}
PAIR_WORDS: Labels = {
    "A": ("Output A", "Response A", "Assistant A", "Answer A"),
    "B": ("Output B", "Response B", "Assistant B", "Answer B"),
    "tie": ("C", "draw", "equal"),
}


@dataclass(frozen=True, slots=True)
class OwnForm:
    """What one of the functions below asks for.

    Attributes
    ----------
    shown : mapping of str to frozenset
        What a prompt may show, by whether it is put once or for each part.
    verdicts : frozenset of str or None
        The labels that words may stand for; None: whole numbers; empty: any, since each item has its own.
    in_parts : bool
        One answer about the whole item says something of each part.
    is_scored : bool
        What is asked of a part is a score.
    """

    shown: Mapping[str, frozenset[str]]
    verdicts: frozenset[str] | None = None
    in_parts: bool = False
    is_scored: bool = False


FORMS: Mapping[str, OwnForm] = {
    "own_pairwise": OwnForm(
        {"together": _ALWAYS | {"output_a", "output_b", "verdicts"}, "each": _ALWAYS | {"output"}},
        verdicts=frozenset(PAIR_WORDS),
        is_scored=True,
    ),
    "own_rubric": OwnForm(
        {
            "each": _ALWAYS | {"response", "question", "options"},
            "together": _ALWAYS | {"response", "criteria", "names"},
        },
        in_parts=True,
        is_scored=True,
    ),
    "own_checklist": OwnForm(
        {
            "each": _ALWAYS | {"response", "requirement"},
            "together": _ALWAYS | {"response", "requirements", "names"},
        },
        verdicts=frozenset(LABELS_AND_DOUBT),
        in_parts=True,
    ),
    "own_importance": OwnForm({"together": _ALWAYS | {"requirements", "names", "count"}}),
    "own_ranking": OwnForm(
        {"together": _ALWAYS | {"answers", "names", "count"}, "each": _ALWAYS | {"response"}}, is_scored=True
    ),
    "own_classification": OwnForm(
        {"together": _ALWAYS - {"reference"} | {"response", "categories", "question"}}, verdicts=frozenset()
    ),
}
"""By the name of the function."""


def own_check(info: StrategyInfo, source: str, params: Mapping[str, Any]) -> None:
    """Check a judge's prompt and how it is read, before anything is asked.

    Raises
    ------
    SpecError
        Names the field and what is wrong with it.
    """
    form, reading = FORMS[info.target.rpartition(":")[2]], reading_of(params)
    ask = str(params.get("ask", "together"))
    _check_prompt(info.kind, source, form.shown[ask])
    if ask == "together":
        if form.in_parts and reading.read != JSON:
            raise SpecError("params.read", "several parts in one answer are read from JSON alone.")
        if reading.read == SCORE:
            raise SpecError("params.read", "a score is asked of each part by itself.")
        if params.get("answer") == "scores" and reading.read != JSON:
            raise SpecError("params.read", "several scores in one answer are read from JSON alone.")
    if int(params.get(GRADED, 3)) > 3 and ask != "together":
        raise SpecError(
            f"params.{GRADED}", "a preference has points; a response that is scored alone has none."
        )
    if "verdicts" in prompt_parts(source).variables and int(params.get(GRADED, 3)) == 3:
        raise SpecError("prompt", f"{{{{verdicts}}}} lists the points of {GRADED} 5 or 7, and goes with it.")
    if int(params.get("draws", 1)) > 1 and not (form.is_scored and ask == "each"):
        raise SpecError("params.draws", "only scores are drawn several times: ask for each part by itself.")
    for label in reading.words:
        if form.verdicts is None and not _RATING.fullmatch(label):
            raise SpecError("params.words", f"'{label}' is no rating, which is a whole number.")
        if form.verdicts and base_label(label) not in form.verdicts:
            known = ", ".join(sorted(form.verdicts))
            raise SpecError("params.words", f"'{label}' is no verdict here; there is {known}.")


def _check_prompt(kind: str, source: str, shown: frozenset[str]) -> None:
    parts = prompt_parts(source)
    for problem in prompt_check(kind, source, base=source).errors:
        raise SpecError("prompt", problem)
    if unknown := sorted(parts.variables - shown):
        known = ", ".join(sorted(shown))
        raise SpecError("prompt", f"there is no {{{{{unknown[0]}}}}} here; there is {known}.")
    if unknown := sorted(parts.flags - FLAGS):
        known = ", ".join(sorted(FLAGS))
        raise SpecError("prompt", f"there is no flag '{unknown[0]}' here; there is {known}.")
    if not parts.variables - {"low", "high", "instruction", "context"}:
        raise SpecError("prompt", "it shows nothing of what is judged.")


def own_pairwise(item: ItemView, config: StrategyConfig) -> Steps:
    """Ask which of two responses is better, or score each alone: the higher score wins, equal ones are a hedge."""
    a, b = pair(item)
    reading = reading_of(config.params)
    if config.params["ask"] == "each":
        scores, raw, problem = yield from _scored(
            item, config, reading, [{"output": text} for text in (a, b)]
        )
        if problem:
            return unparsed(raw, problem)
        first, second = scores
        choice = 0 if first == second else 1 if first > second else 2
        return Verdict(
            choice, "parsed", raw_text=raw, scores=(first, second), value=None if choice else {"hedge": True}
        )
    if int(config.params.get(GRADED, 3)) > 3:
        return (yield from _graded(item, config, reading, {"output_a": a, "output_b": b}))
    labels = pair_labels(config)
    flags = ("tie",) if config.allow_tie else ()
    schema = _one("verdict", {"type": "string", "enum": [*labels]}, reading)
    messages = _messages(item, config, reading, {"output_a": a, "output_b": b}, *flags)
    answer = single((yield _chat(messages, config, reading, schema)))
    if reading.read == WORDS and not reading.words:
        if reading.reasons:
            return read_verdict_line(
                answer.text, allow_tie=config.allow_tie, finish_reason=answer.finish_reason
            )
        return read_choice(answer.text, allow_tie=config.allow_tie, cut_off=answer.cut_off)
    said, problem = read_verdict(answer, reading, PAIR_WORDS, usual_names("verdict"))
    return _pair_verdict(answer, said, problem, labels)


def _graded(
    item: ItemView, config: StrategyConfig, reading: AnswerReading, outputs: Mapping[str, str]
) -> Steps:
    """Ask which of two responses is better on a scale of 5 or 7 points; the answer is held to these points.

    An answer with a side alone is that verdict, without a strength.
    """
    points = point_labels(int(config.params[GRADED]), tie=config.allow_tie)
    flags = ("tie",) if config.allow_tie else ()
    words = [each[0] for each in points.values()]
    messages = _messages(item, config, reading, {**outputs, "verdicts": _alternatives(words)}, *flags)
    chat = _chat(messages, config, reading, _one("verdict", {"type": "string", "enum": words}, reading))
    if reading.read == WORDS and not reading.reasons and not reading.words:
        chat = replace(chat, choices=tuple(words))
    answer = single((yield chat))
    sides = {label: words for label, words in PAIR_WORDS.items() if label != "tie"}
    offered = PAIR_WORDS if reading.words else {**points, **sides}
    said, problem = read_verdict(answer, reading, offered, usual_names("verdict"))
    if (
        reading.read == WORDS
        and not reading.reasons
        and len(set(_POINT_SAID.findall(answer.text.lower()))) > 1
    ):
        said, problem = None, "several points that differ"
    return _pair_verdict(answer, said, problem, pair_labels(config))


def _alternatives(words: Sequence[str]) -> str:
    quoted = [f'"{each}"' for each in words]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def point_labels(points: int, *, tie: bool) -> Labels:
    """Return the verdicts of a scale of preference from A to B, each with its words, the asked ones first.

    >>> list(point_labels(5, tie=True))
    ['A much', 'A slightly', 'tie', 'B slightly', 'B much']
    """

    def words(letter: str, strength: str) -> tuple[str, ...]:
        said = STRENGTH_WORDS[strength]
        return (
            f"{letter} {said}",
            f"{letter} is {said}",
            f"Output {letter} is {said}",
            f"Output {letter} {said}",
        )

    strengths = POINTS[points]
    found = {f"A {each}": words("A", each) for each in reversed(strengths)}
    found |= {"tie": ("tie", *PAIR_WORDS["tie"])} if tie else {}
    return found | {f"B {each}": words("B", each) for each in strengths}


def _pair_verdict(answer: Answer, said: str | None, problem: str, labels: Sequence[str]) -> Verdict:
    if said is None:
        return unparsed(answer.text, problem)
    label = base_label(said)
    if label not in labels:
        return unparsed(answer.text, "a tie, which was not allowed")
    strength = said.removeprefix(label).strip()
    return Verdict(
        {"A": 1, "B": 2, "tie": 0}[label],
        "parsed",
        raw_text=answer.text,
        value={"strength": strength} if strength else None,
    )


def own_rubric(item: ItemView, config: StrategyConfig) -> Steps:
    """Rate a response on each criterion, one question a criterion or all in one JSON object."""
    response, criteria, reading = only_response(item), item_criteria(item), reading_of(config.params)
    keys = [each.key for each in criteria]
    if config.params["ask"] == "together":
        values = {"response": response, "criteria": criteria_listed(criteria), "names": json_form(keys)}
        schema = closed({each.key: rating_schema(each) for each in criteria})
        found, raw, problem = yield from _together(item, config, reading, values, "ratings", schema)
        if problem:
            return unparsed(raw, problem)
        named = by_name(found, keys, "ratings")
        said = {
            each.key: _part(named, each.key, _in_words(option_labels(each), reading)) for each in criteria
        }
        return verdict_of_parts(said, raw, rating_of, lambda ratings: {"ratings": ratings})
    shown = [
        {"response": response, "question": each.question, "options": options_worded(each)}
        for each in criteria
    ]
    schemas = [_one("rating", rating_schema(each), reading) for each in criteria]
    draws = int(config.params["draws"])
    answers = yield from _asked(item, config, reading, shown, schemas, draws)
    raw = _joined(keys, answers)
    means: dict[str, float] = {}
    said = {}
    for each, drawn in zip(criteria, answers, strict=True):
        labels = option_labels(each)
        read = [read_verdict(answer, reading, labels, usual_names("rating")) for answer in drawn]
        known = [label for label, _ in read if label is not None]
        if 2 * len(known) < len(read) or not known:
            said[each.key] = (None, next(why for label, why in read if label is None))
            continue
        ratings = [int(label) for label in known if label != NOT_APPLICABLE]
        if 2 * len(ratings) < len(known):  # most draws say that it does not apply
            said[each.key] = (NOT_APPLICABLE, "")
            continue
        means[each.key] = fmean(ratings)
        nearest = min(each.scale.points, key=lambda value: abs(value - means[each.key]))
        said[each.key] = (str(nearest), "")
    more = {"expected": means} if draws > 1 and means else {}
    return verdict_of_parts(said, raw, rating_of, lambda ratings: {"ratings": ratings, **more})


def own_checklist(item: ItemView, config: StrategyConfig) -> Steps:
    """Say for each aspect whether it is met, one question an aspect or all in one JSON object.

    ``params["points"]`` reads what an aspect weighs off its text ("[5] Names the dose.", "[-8] Names a wrong one."), as
    HealthBench's rubrics have it: `value["score"]` is the sum of the points met over that of all above zero.
    """
    response, aspects, reading = only_response(item), item_aspects(item), reading_of(config.params)
    labels = LABELS_AND_DOUBT if config.params["cannot_tell"] else LABELS
    flags = ("cannot_tell",) if config.params["cannot_tell"] else ()
    if config.params["ask"] == "together":
        numbers = [str(place) for place in range(1, len(aspects) + 1)]
        listed = numbered(each.text for each in aspects)
        values = {"response": response, "requirements": listed, "names": json_form(numbers)}
        schema = closed({number: _enum(list(labels)) for number in numbers})
        found, raw, problem = yield from _together(item, config, reading, values, "answers", schema, *flags)
        if problem:
            return unparsed(raw, problem)
        named = by_name(found, numbers, "answers", numbers=numbers_of(each.text for each in aspects))
        words = _in_words(labels, reading)
        said = {each.key: _part(named, number, words) for each, number in zip(aspects, numbers, strict=True)}
    else:
        shown = [{"response": response, "requirement": each.text} for each in aspects]
        schemas = [_one("answer", _enum(list(labels)), reading)] * len(aspects)
        answers = yield from _asked(item, config, reading, shown, schemas, 1, *flags)
        raw = _joined([each.key for each in aspects], answers)
        said = {
            each.key: read_verdict(drawn[0], reading, labels, usual_names("answer"))
            for each, drawn in zip(aspects, answers, strict=True)
        }
    points = {each.key: _points(each.text) for each in aspects} if config.params["points"] else {}

    def value(answers: dict[str, Any]) -> dict[str, Any]:
        found = {"answers": answers, **checklist_scores(item, answers)}
        return found | (_weighed(answers, points) if points else {})

    return verdict_of_parts(said, raw, MEANING.__getitem__, value)


def own_importance(item: ItemView, config: StrategyConfig) -> Steps:
    """Order the aspects of an instruction, or score each of them, in one answer."""
    aspects, reading = item_aspects(item), reading_of(config.params)
    numbers = [str(place) for place in range(1, len(aspects) + 1)]
    values = {"requirements": numbered(each.text for each in aspects), "count": str(len(aspects))}
    verdict = yield from _ordered(
        item,
        config,
        reading,
        values,
        numbers,
        [each.key for each in aspects],
        [each.text for each in aspects],
    )
    return verdict


def own_ranking(item: ItemView, config: StrategyConfig) -> Steps:
    """Order several answers in one answer, or score each alone; equal scores are ties."""
    responses, reading = several_responses(item), reading_of(config.params)
    if config.params["ask"] == "each":
        shown = [{"response": text} for text in responses]
        scores, raw, problem = yield from _scored(item, config, reading, shown)
        if problem:
            return unparsed(raw, problem)
        by_place = ranking_places(item, dict(enumerate(scores)))
        return parsed(
            raw, {"ranks": ranked({key: -score for key, score in by_place.items()}), "scores": by_place}
        )
    order = drawn_order(len(responses), item, int(config.params["seed"]))
    beside = (item.instruction, item.context, item.reference or "", config.guidelines)
    values = {
        "answers": fenced("answer", [responses[place] for place in order], beside),
        "count": str(len(order)),
    }
    numbers = [str(place) for place in range(1, len(order) + 1)]
    verdict = yield from _ordered(item, config, reading, values, numbers, numbers, ())
    if verdict.value is None:
        return verdict
    # By the position in the dataset, in place of the number under which an answer was shown.
    placed = {
        name: ranking_places(item, {order[int(number) - 1]: value for number, value in found.items()})
        for name, found in verdict.value.items()
    }
    return replace(verdict, value=placed)


def own_classification(item: ItemView, config: StrategyConfig) -> Steps:
    """Choose one or several of the item's categories."""
    reading = reading_of(config.params)
    names = [each.key for each in item_aspects(item)]
    values, flags = shown_values(item, config)
    if item.several:
        schema = chosen_schema(names, reasons=reading.reasons)
    else:
        schema = _one(CATEGORY, _enum(names), reading)
    answer = single((yield _chat(_messages(item, config, reading, values, *flags), config, reading, schema)))
    found, problem = found_in(answer, reading, (CATEGORIES, *usual_names(CATEGORY)))
    if problem:
        return unparsed(answer.text, problem)
    offered = category_names(item.aspects)
    if reading.words:
        offered = replace(offered, labels=_in_words(offered.labels, reading))
    if reading.read == JSON:
        chosen = chosen_of_json(found, offered, several=item.several)
    else:
        last = reading.reasons and reading.read == WORDS
        chosen = chosen_categories(found, offered, several=item.several, last=last)
    return category_verdict(item, chosen, answer.text)


def _ordered(
    item: ItemView,
    config: StrategyConfig,
    reading: AnswerReading,
    values: Mapping[str, str],
    numbers: list[str],
    keys: Sequence[str],
    texts: Sequence[str],
) -> Steps:
    """Ask for an order, or for scores, of what is numbered; the verdict's ranks (and scores) are by key."""
    scores = config.params["answer"] == "scores"
    inner = (
        closed({number: _range(reading) for number in numbers})
        if scores
        else order_schema(len(numbers), ties=config.allow_tie)["properties"]["ranking"]
    )
    flags = ("tie",) if config.allow_tie else ()
    name = "scores" if scores else "ranking"
    shown = {**values, "names": json_form(numbers)}
    found, raw, problem = yield from _together(item, config, reading, shown, name, inner, *flags)
    if problem:
        return unparsed(raw, problem)
    named_by = numbers_of(texts)
    if scores:
        named = by_name(found, numbers, name, numbers=named_by)
        said = {number: number_within(named.get(number), reading) for number in numbers}
        if lost := [
            f"{key}: {said[n][1]}" for n, key in zip(numbers, keys, strict=True) if said[n][0] is None
        ]:
            return unparsed(raw, "; ".join(lost))
        kept = {key: float(said[number][0] or 0.0) for number, key in zip(numbers, keys, strict=True)}
        return parsed(raw, {"ranks": ranked({key: -score for key, score in kept.items()}), "scores": kept})
    text = found if isinstance(found, str) else schema_text({"ranking": found})
    places, problem = read_order(text, list(keys), ties=config.allow_tie, numbers=named_by)
    if places is None:
        return unparsed(raw, problem)
    ranks = {keys[number - 1]: rank for number, rank in ranks_of(places).items()}
    return parsed(raw, {"ranks": {key: ranks[key] for key in keys}})


def _together(
    item: ItemView,
    config: StrategyConfig,
    reading: AnswerReading,
    values: Mapping[str, str],
    name: str,
    schema: Mapping[str, Any],
    *flags: str,
) -> Generator[Yielded, Sent, tuple[Any, str, str]]:
    """Ask about all parts at once; returns what stands at the place of the reading, the text, and why nothing does."""
    whole = _one(name, schema, reading)
    answer = single((yield _chat(_messages(item, config, reading, values, *flags), config, reading, whole)))
    found, problem = found_in(answer, reading, (name,))
    return found, answer.text, problem


def _scored(
    item: ItemView, config: StrategyConfig, reading: AnswerReading, shown: Sequence[Mapping[str, str]]
) -> Generator[Yielded, Sent, tuple[list[float], str, str]]:
    """Ask for a score of each part; returns the scores (means of the draws), the texts, and why one is missing."""
    schema = _one("score", _range(reading), reading)
    answers = yield from _asked(
        item, config, reading, shown, [schema] * len(shown), int(config.params["draws"])
    )
    raw = _joined([f"response {number}" for number in range(1, len(shown) + 1)], answers)
    scores = []
    for number, drawn in enumerate(answers, start=1):
        read = [read_number_of(answer, reading, usual_names("score")) for answer in drawn]
        found = [score for score, _ in read if score is not None]
        # What half of the draws do not say is no mean.
        if 2 * len(found) < len(read) or not found:
            return [], raw, f"response {number}: {next(why for score, why in read if score is None)}"
        scores.append(fmean(found))
    return scores, raw, ""


def _asked(
    item: ItemView,
    config: StrategyConfig,
    reading: AnswerReading,
    shown: Sequence[Mapping[str, str]],
    schemas: Sequence[Mapping[str, Any]],
    draws: int,
    *flags: str,
) -> Generator[Yielded, Sent, list[tuple[Answer, ...]]]:
    """Ask about each part, so often as is drawn, all at once; returns the answers of each part."""
    chats = []
    for values, schema in zip(shown, schemas, strict=True):
        chat = _chat(_messages(item, config, reading, values, *flags), config, reading, schema)
        hot = replace(chat, temperature=1.0, top_p=1.0)
        chats += (
            [chat] if draws == 1 else [replace(hot, sample=item.sample * draws + k) for k in range(draws)]
        )
    answers = several((yield tuple(chats)))
    return [answers[place : place + draws] for place in range(0, len(answers), draws)]


def _messages(
    item: ItemView, config: StrategyConfig, reading: AnswerReading, values: Mapping[str, str], *flags: str
) -> tuple[Message, ...]:
    # A prompt may show outside of a block what this item has not.
    empty = dict.fromkeys(("context", "reference", "guidelines"), "")
    bounds = {"low": str(reading.low), "high": str(reading.high)}
    return render_item(item, config, {**empty, **bounds, **values}, *flags)


def _chat(
    messages: tuple[Message, ...], config: StrategyConfig, reading: AnswerReading, schema: Mapping[str, Any]
) -> Chat:
    given = str(config.params["schema"]).strip()
    if reading.read != JSON or given == "none":
        return Chat(messages)
    return Chat(messages, json_schema=given or schema_text(schema))


def _one(name: str, schema: Mapping[str, Any], reading: AnswerReading) -> dict[str, Any]:
    """Return the schema of an answer with one verdict, its reasons before it where they are asked for."""
    return closed({**(_REASONS if reading.reasons else {}), name: schema})


def _enum(allowed: Sequence[object]) -> dict[str, Any]:
    whole = all(isinstance(value, int) for value in allowed)
    return {"type": "integer" if whole else "string", "enum": list(allowed)}


def _range(reading: AnswerReading) -> dict[str, Any]:
    """Return the schema of a score; servers that know no bounds of a number know a list of few."""
    if reading.high - reading.low <= 100:
        return _enum(list(range(reading.low, reading.high + 1)))
    return {"type": "integer", "minimum": reading.low, "maximum": reading.high}


def _in_words(labels: Labels, reading: AnswerReading) -> Labels:
    return {label: reading.words.get(label, words) for label, words in labels.items()}


def _part(named: Mapping[str, Any], name: str, labels: Labels) -> Said:
    value, problem = said_of(named, name)
    if problem:
        return None, problem
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = "null" if value is None else str(value)
    return (
        read_label(text, labels)
        if isinstance(value, str | int | None)
        else (None, f"not one of {', '.join(labels)}")
    )


def _points(text: str) -> float:
    match = _POINTS.match(text)
    return float(match[1]) if match else 1.0


def _weighed(answers: Mapping[str, bool | None], points: Mapping[str, float]) -> dict[str, Any]:
    possible = math.fsum(value for value in points.values() if value > 0)
    met = math.fsum(points[key] for key, followed in answers.items() if followed)
    return {"points": dict(points)} | ({"score": met / possible} if possible else {})


def _joined(names: Sequence[str], answers: Sequence[Sequence[Answer]]) -> str:
    return "\n\n".join(
        f"[{name}]\n{answer.text}" for name, drawn in zip(names, answers, strict=True) for answer in drawn
    )

"""How published evaluators read their answers: the parsers of LLMBar, AlpacaEval, MT-bench and Arena-Hard.

Each takes the answer and its settings and returns a `Reading`, or raises `Unreadable` with the reason. They read what
the published parsers read. An answer in which AlpacaEval's parser finds not exactly one verdict is unparsed, as there;
where published code counts an unreadable answer for one side, here it stays unparsed.
"""

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judges.strategies.errors import SpecError
from judges.strategies.thoughts import END_TOKEN
from judges.strategies.types import Answer, TokenLogprob

_FENCED = re.compile(r"```(?:json|python)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says: 1, 2 or 0 for a tie, the probability of 1 where it is known, and "much" or "slightly"."""

    choice: int
    probability: float | None = None
    strength: str = ""


class Unreadable(Exception):  # noqa: N818 (reads as what happened)
    """The answer says nothing that the parser knows."""


def read_published(
    parser: str, options: Mapping[str, Any], answer: Answer, *, count: int = 1, place: int = 0
) -> Reading:
    """Read the verdict of an answer.

    Parameters
    ----------
    count : int
        How many verdicts it has to give.
    place : int
        Which of them is meant, from 0.

    Raises
    ------
    Unreadable
        The answer cannot be read; the message says why.
    """
    if parser == "logprob_parser":
        return _logprobs(answer, **options)
    found = PARSERS[parser](answer.text, **options)
    if len(found) != count:
        raise Unreadable(
            f"{len(found)} verdicts where {'one was' if count == 1 else f'{count} were'} expected"
        )
    return found[place] if isinstance(found[place], Reading) else _reading(found[place])


def parser_check(parser: str, options: Mapping[str, Any]) -> None:
    """Check a parser's name and settings by reading an empty answer.

    Raises
    ------
    SpecError
        No such parser, a setting is unknown, or a regular expression is not one.
    """
    if parser != "logprob_parser" and parser not in PARSERS:
        known = ", ".join(sorted([*PARSERS, "logprob_parser"]))
        raise SpecError("parser", f"there is no parser '{parser}'; known are {known}.")
    try:
        read_published(parser, options, Answer(text=""))
    except Unreadable:
        pass
    except (TypeError, ValueError, re.error, AttributeError) as error:
        raise SpecError("parser_options", f"not right for {parser}: {error}.") from None


def llmbar_parser(text: str, parsing: Mapping[str, str]) -> list[Any]:
    """Return the first key, in the order of the settings, whose expression is found."""
    return next(([key] for key, expression in parsing.items() if re.search(expression, text.strip())), [])


def regex_parser(text: str, outputs_to_match: Mapping[Any, str]) -> list[Any]:
    """Return the keys in the order in which their expressions are found, each match after the one before."""
    with warnings.catch_warnings():
        # "[[A]]" is a set that holds a bracket, as it is to the published parser; Python may read it otherwise one day.
        warnings.simplefilter("ignore", FutureWarning)
        compiled = {key: re.compile(expression) for key, expression in outputs_to_match.items()}
    found: list[Any] = []
    while True:
        matches = [(match.start(), place, key, match) for place, (key, regex) in enumerate(compiled.items())
                   if (match := regex.search(text))]  # fmt: skip
        if not matches:
            return found
        _, _, key, match = min(matches, key=lambda each: each[:2])
        found.append(key)
        if not match.end():  # an expression that matches nothing would be found for ever
            return found
        text = text[match.end() :]


def lmsys_parser(text: str) -> list[Any]:
    """Return which of the two scores on the first line is higher; 0 if they are equal."""
    scores = text.split("\n")[0].replace(",", " ").split(" ")
    try:
        first, second = (float(score) for score in scores)
    except ValueError:
        return []
    return [1 if first > second else 2 if first < second else 0]


def ranking_parser(text: Any, model_1_name: str = "model_1") -> list[Any]:
    """Return the rank of the first model in a list of ``{"model", "rank"}``."""
    try:
        rows = _literal(text) if isinstance(text, str) else text
        if isinstance(rows, dict):  # {"ordered_models": [...]}
            (rows,) = (value for value in rows.values() if isinstance(value, list))
        rank = next(row["rank"] for row in rows if row["model"] == model_1_name)
    except (ValueError, TypeError, KeyError, StopIteration):
        return []
    return [int(rank)] if rank in (1, 2) else []


def json_parser(text: str, annotation_key: str) -> list[Any]:
    """Return the value under a key of a JSON object, or of each in a list."""
    try:
        document = _literal(text, python=False)
        rows = [document] if isinstance(document, dict) else document
        return [row[annotation_key] for row in rows]
    except (ValueError, TypeError, KeyError):
        return []


def eval_parser(text: str) -> list[Any]:
    """Return a Python literal, a list as its elements."""
    try:
        value = _literal(text)
    except ValueError:
        return []
    return value if isinstance(value, list) else [value]


def _literal(text: str, *, python: bool = True) -> Any:
    """Return a Python literal or JSON, which may be the only thing in a fence of code; raises ValueError.

    Chat models put what they are asked to write as code into a fence, and some words around it.
    """
    fenced = _FENCED.findall(text)
    for each in (text.strip(), *(fenced if len(fenced) == 1 else ())):
        for read in (ast.literal_eval, json.loads) if python else (json.loads,):
            try:
                return read(each)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue
    raise ValueError("no literal")


def replace_parser(text: Any, replacer: Mapping[Any, Any], default_replacer: Any = "auto") -> list[Any]:
    """Return what stands for the answer in the table, or the answer itself."""
    if text == "":
        return []
    try:
        return [replacer.get(text, text if default_replacer == "auto" else default_replacer)]
    except TypeError:  # a list or an object is no key
        return []


def pipeline_meta_parser(
    text: Any,
    parsers_to_kwargs: Mapping[str, Any],
    is_squeeze: bool = True,  # noqa: ARG001 (a setting of the published parser; here there is one answer)
) -> list[Any]:
    """Apply parsers one after the other, each to what the one before found."""
    values = [text]
    for name, options in parsers_to_kwargs.items():
        if name not in PARSERS:
            raise ValueError(f"there is no parser '{name}'")
        values = [found for value in values for found in PARSERS[name](value, **(options or {}))]
    return values


def fastchat_parser(text: str) -> list[Any]:
    """Return the verdict that MT-bench's code finds: A if ``[[A]]`` stands anywhere, else B, else a tie."""
    return next(([choice] for mark, choice in _FASTCHAT_MARKS.items() if mark in text), [])


def fastchat_scores_parser(text: str) -> list[Any]:
    """Return which of two scores ``[[8,7]]`` is higher; closer than 0.1 is a tie, as there."""
    match = _TWO_SCORES.search(text)
    if match is None:
        return []
    first, second = float(match[1]), float(match[2])
    return [0 if abs(first - second) <= 0.1 else 1 if first > second else 2]


def arena_hard_parser(text: str, regex_patterns: Sequence[str]) -> list[Any]:
    """Return the label that the first expression finds; two that differ are none, as there."""
    for expression in regex_patterns:
        labels = {label.strip("\n") for label in re.findall(expression, text) if label}
        if labels:
            known = [_ARENA_HARD[label] for label in labels if label in _ARENA_HARD]
            return known if len(labels) == 1 else []
    return []


_FASTCHAT_MARKS = {"[[A]]": 1, "[[B]]": 2, "[[C]]": 0}
_TWO_SCORES = re.compile(r"\[\[(\d{1,6}\.?\d{0,6}),\s?(\d{1,6}\.?\d{0,6})\]\]")
_SCORE = (re.compile(r"\[\[(\d{1,6}\.?\d{0,6})\]\]"), re.compile(r"\[(\d{1,6}\.?\d{0,6})\]"))
_ARENA_HARD = {
    "A>>B": Reading(1, strength="much"),
    "A>B": Reading(1, strength="slightly"),
    "A=B": Reading(0),
    "B>A": Reading(2, strength="slightly"),
    "B>>A": Reading(2, strength="much"),
}


PARSERS: dict[str, Callable[..., list[Any]]] = {
    function.__name__: function
    for function in (
        llmbar_parser,
        regex_parser,
        lmsys_parser,
        ranking_parser,
        json_parser,
        eval_parser,
        replace_parser,
        pipeline_meta_parser,
        fastchat_parser,
        fastchat_scores_parser,
        arena_hard_parser,
    )
}
RATING_PARSERS = ("llmbar_parser", "fastchat_rating_parser")


def published_score(parser: str, text: str) -> float:
    """Return the score of one response: a whole number alone, or MT-bench's ``[[7]]`` in any place.

    Raises
    ------
    Unreadable
    """
    if parser == "fastchat_rating_parser":
        match = next((found for pattern in _SCORE if (found := pattern.search(text))), None)
        if match is None:
            raise Unreadable("no score in double brackets")
        return float(match[1])
    try:
        return float(int(text.strip()))
    except ValueError:
        raise Unreadable("not a whole number") from None


def _reading(value: Any) -> Reading:
    if isinstance(value, bool) or value is None:
        raise Unreadable(f"{value!r} is no verdict")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise Unreadable("not a verdict") from None
    if number in (0.0, 1.0, 2.0):
        return Reading(int(number))
    if 1.0 < number < 2.0:  # between 1, the first, and 2, the second
        return _from_probability(2.0 - number)
    raise Unreadable(f"{value!r} is no verdict")


def _of_text(answer: Answer) -> Sequence[TokenLogprob]:
    """Return the tokens without those that end the turn, which some servers count: they are no part of the text."""
    tokens = answer.logprobs or ()
    while tokens and END_TOKEN.fullmatch(tokens[-1].token):
        tokens = tokens[:-1]
    return tokens


def _from_probability(probability: float) -> Reading:
    return Reading(0 if probability == 0.5 else 1 if probability > 0.5 else 2, probability)


def _logprobs(
    answer: Answer,
    numerator_token: str,
    denominator_tokens: Sequence[str],
    is_binarize: bool = True,
    log_prob_index: Any = "batch",
) -> Reading:
    """Read the probability of the first from the likeliest tokens at one place of the answer."""
    tokens = _of_text(answer)
    index = 0 if log_prob_index == "batch" else int(log_prob_index)
    if log_prob_index == "batch" and len(tokens) != 1:
        raise Unreadable(f"log-probabilities of {len(tokens)} tokens where those of one were expected")
    if not -len(tokens) <= index < len(tokens):
        raise Unreadable("the server gave no log-probabilities")
    top = dict(tokens[index].top)
    wanted = [*denominator_tokens, numerator_token]
    if not any(token in top for token in wanted):
        raise Unreadable(f"none of {', '.join(sorted(set(wanted)))} is among the likeliest tokens")
    own = math.exp(top.get(numerator_token, -math.inf))
    if is_binarize:
        others = [
            math.exp(top.get(token, -math.inf)) for token in denominator_tokens if token != numerator_token
        ]
        return Reading(1 if all(own > other for other in others) else 2)
    total = sum(math.exp(top.get(token, -math.inf)) for token in denominator_tokens)
    if not total:
        raise Unreadable("the verdict's tokens have no probability")
    return _from_probability(min(own / total, 1.0))

"""Template filters for verdicts, people's labels and probabilities, in words."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import template

from annotation.kinds import kind_of
from annotation.kinds.base import NOTHING
from annotation.selectors.judging_labels import PeopleSaid, PersonSaid, parts_of
from judges.models import Judgment, ParseStatus
from judges.selectors.disagreement import against_gold, against_people
from judges.selectors.judgment_page import ItemPart
from judges.strategies.types import Answer, TokenLogprob

register = template.Library()

LETTERS = ("tie", "A", "B")
MOST_TOKENS = 120
"""Tokens of an answer whose probabilities are shown."""
FEW_TOKENS = 3
"""With so few tokens each gets a table of its rivals; with more, a row."""
RIVALS_IN_TABLE, RIVALS_IN_ROW = 8, 3
INVISIBLE = str.maketrans({" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"})


@register.filter
def verdict_words(judgment: Judgment) -> str:
    """What a judgment says, in canonical order: "first response", "mean 3.7 of 5", "unparsed"."""
    if judgment.status != ParseStatus.PARSED:
        return str(judgment.get_status_display()).lower()
    return words_of(judgment.item.kind, judgment.choice, judgment.value)


@register.filter
def verdict_short(judgment: Judgment) -> str:
    """The same as `verdict_words`, in one word for a pair: "first"."""
    return verdict_words(judgment).removesuffix(" response")


@register.filter
def verdict_chip(judgment: Judgment) -> str:
    """The class of the chip that holds a verdict."""
    if judgment.status == ParseStatus.FAILED:
        return "chip-bad"
    if judgment.status == ParseStatus.UNPARSED:
        return "chip-warn"
    return {0: "", 2: "chip-second"}.get(-1 if judgment.choice is None else judgment.choice, "chip-accent")


@register.filter
def shown_letter(judgment: Judgment) -> str:
    """Under which letter the chosen response was shown; empty where none was chosen."""
    choice = judgment.choice
    if not choice:
        return ""
    return LETTERS[3 - choice if judgment.order else choice]


@register.filter
def label_words(label: PersonSaid) -> str:
    """What a person said, with how strongly."""
    said = words_of(label.kind, label.choice, label.value)
    remark = kind_of(label.kind).remark(label.value)
    return f"{said}, {remark}" if remark else said


@register.filter
def gold_words(gold: Mapping[str, Any] | None, kind: str) -> str:
    """The known right answer in words; empty where there is none."""
    return "" if gold is None else words_of(kind, gold.get("choice"), gold)


@register.filter
def people_words(people: PeopleSaid | None) -> str:
    """What people said, taken together: "first response, 3 of 4", "divided, 2 labels"."""
    if people is None:
        return ""
    of_kind = kind_of(people.kind)
    if of_kind.scale == "preference":
        majority = people.majority
        if majority is None:
            return f"divided, {people.n} labels"
        return f"{of_kind.summary({'': majority})}, {people.choices[majority]} of {people.n}"
    label = "1 label" if people.n == 1 else f"{people.n} labels"
    return f"{of_kind.summary(people.parts)}, {label}"


@register.filter
def soft_shares(people: PeopleSaid) -> list[tuple[str, int, float]]:
    """The soft label of a pair: of each choice its words, how many made it, and their share."""
    kind = kind_of(people.kind)
    return [
        (kind.summary({"": float(choice)}), people.choices[choice], people.choices[choice] / people.n)
        for choice in (1, 0, 2)
    ]


@register.filter
def people_against(people: PeopleSaid | None, judgment: Judgment) -> bool | None:
    """Whether a judgment contradicts what most people said; None where there is nothing to compare."""
    if judgment.status != ParseStatus.PARSED:
        return None
    return against_people(judgment.item.kind, judgment.choice, judgment.value, people)


@register.filter
def gold_against(gold: Mapping[str, Any] | None, judgment: Judgment) -> bool | None:
    """Whether a judgment says something else than the gold; None where there is nothing to compare."""
    if judgment.status != ParseStatus.PARSED:
        return None
    return against_gold(judgment.item.kind, judgment.choice, judgment.value, gold)


@register.filter
def verdict_parts(judgment: Judgment, parts: Sequence[ItemPart]) -> list[tuple[str, str]]:
    """What a judgment says of each part that it speaks of, in words."""
    said = parts_of(judgment.item.kind, judgment.value or {})
    kind = kind_of(judgment.item.kind)
    return [(part.name, kind.part_words(said[part.key])) for part in parts if part.key in said]


def words_of(kind: str, choice: int | None, value: Mapping[str, Any] | None) -> str:
    """Say a canonical value in a few words."""
    numbers = parts_of(kind, kind_of(kind).stored(choice, value))
    return kind_of(kind).summary(numbers) if numbers else NOTHING


@dataclass(frozen=True, slots=True)
class Chance:
    """A token and its probability in [0, 1]."""

    token: str
    probability: float


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A generated token, and the likeliest ones at its place."""

    token: str
    probability: float
    rivals: tuple[Chance, ...]


@register.filter
def token_rows(answer: Answer) -> list[TokenRow]:
    """The tokens of an answer with their probabilities; empty where the server gave none."""
    tokens = (answer.logprobs or ())[:MOST_TOKENS]
    most = RIVALS_IN_TABLE if len(tokens) <= FEW_TOKENS else RIVALS_IN_ROW
    return [_token_row(each, most) for each in tokens]


@register.filter
def has_few(rows: Sequence[object]) -> bool:
    """Whether each token can have a table of its own."""
    return len(rows) <= FEW_TOKENS


def _token_row(each: TokenLogprob, most: int) -> TokenRow:
    rivals = sorted(each.top, key=lambda rival: -rival[1])[:most]
    return TokenRow(
        visible(each.token),
        probability(each.logprob),
        tuple(Chance(visible(token), probability(logprob)) for token, logprob in rivals),
    )


@register.filter
def visible(token: str) -> str:
    """A token with its blanks made visible."""
    return token.translate(INVISIBLE) if token else "∅"


@register.filter
def probability(logprob: float) -> float:
    """The probability of a natural logarithm, in [0, 1]."""
    return math.exp(min(logprob, 0.0))


@register.filter
def per_token(answer: Answer) -> float | None:
    """Mean log-likelihood of a scored text's tokens; None where there is none."""
    if answer.logprob is None or not answer.completion_tokens:
        return None
    return answer.logprob / answer.completion_tokens


@register.filter
def perplexity(answer: Answer) -> float | None:
    """exp of minus the mean log-likelihood."""
    mean = per_token(answer)
    return None if mean is None or mean < -700 else math.exp(-mean)


@register.filter
def pretty_json(value: object) -> str:
    """A JSON value over several lines, with everything readable."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@register.filter
def seconds_of(milliseconds: float | None) -> float | None:
    """Milliseconds as seconds, for `duration`."""
    return None if milliseconds is None else milliseconds / 1000

"""Reading probabilities off the log-probabilities of the token in which an answer says what it says."""

import math
from collections.abc import Mapping, Sequence

from judges.strategies.types import Answer, TokenLogprob

# White space and dress around a label; the two marks of word beginnings that raw vocabularies show.
_DRESS = " \t\r\n▁ĠĊ*_`#>\"'“”‘’()[]{}|$.,:;!"


def label_chances(
    answer: Answer, labels: Sequence[str], said: str, *, last: bool = False
) -> dict[str, float] | None:
    """Return the probability of each label at the token in which the answer names the label `said`.

    Tokens that are a label in some dress (``" A"``, ``"(A"``) are summed; so is the beginning of a longer label that
    no other label shares (``"t"`` of ``"tie"``). What is no label is left out and the rest renormalised. Forbidden
    tokens, reported with -9999, count as 0, and so do labels below the nearest rivals that the server lists.

    Parameters
    ----------
    labels : sequence of str
        The allowed labels. Letters count in their own case only: "a" may be an article.
    said : str
        The label that was read from the text.
    last : bool
        Take the last place where the answer names it (behind reasons) and not the first.

    Returns
    -------
    dict of str to float or None
        Sums to 1. None: the answer has no log-probabilities, or names the label in no token of its own.
    """
    place = _place(answer.logprobs or (), labels, said, last=last)
    if place is None:
        return None
    chances = dict.fromkeys(labels, 0.0)
    # The generated token may or may not be among the listed ones; it counts once.
    for token, logprob in {**dict(place.top), place.token: place.logprob}.items():
        label = _label(token, labels)
        if label is not None:
            chances[label] += math.exp(min(logprob, 0.0))
    total = sum(chances.values())
    return {label: chance / total for label, chance in chances.items()} if total > 0 else None


def expected_score(
    answer: Answer, values: Mapping[str, int], said: str, *, last: bool = False
) -> float | None:
    """Return the mean of the values under the model's probabilities at the token that says the rating.

    Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023, section 2. Labels that
    are not among the nearest rivals count as 0; the rest is normalised to 1.

    Parameters
    ----------
    values : mapping of str to int
        Each label and what it is worth.
    said : str
        The label that was read.
    last : bool
        The rating stands at the end of the text: the last token that says it, instead of the first.

    Returns
    -------
    float or None
        Between the lowest and the highest value; None without log-probabilities, or where no single token says it.
    """
    chances = label_chances(answer, list(values), said, last=last)
    return None if chances is None else math.fsum(values[label] * chance for label, chance in chances.items())


def _place(
    tokens: Sequence[TokenLogprob], labels: Sequence[str], said: str, *, last: bool
) -> TokenLogprob | None:
    text = "".join(each.token for each in tokens)
    found, offset = None, 0
    for each in tokens:
        start, offset = offset, offset + len(each.token)
        if _label(each.token, labels) != said or not _stands_alone(text, each, start, said):
            continue
        if not last:
            return each
        found = each
    return found


def _label(token: str, labels: Sequence[str]) -> str | None:
    core = token.strip(_DRESS)
    if core in labels:
        return core
    begun = [each for each in labels if len(each) > 1 and core and each.startswith(core.casefold())]
    return begun[0] if len(begun) == 1 else None


def _stands_alone(text: str, token: TokenLogprob, start: int, said: str) -> bool:
    """Whether the label is a word of its own there: "A" is not the "A" of "Answer"."""
    begin = start + len(token.token) - len(token.token.lstrip(_DRESS))
    end = begin + len(said)
    before, after = text[begin - 1 : begin] if begin else "", text[end : end + 1]
    whole = text[begin:end].casefold() == said.casefold()
    return whole and not _is_word(before) and not _is_word(after)


def _is_word(character: str) -> bool:
    return character.isalnum() and character not in "ĠĊ"

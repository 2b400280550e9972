"""From the verdicts of several judges to one.

Members whose verdict could not be read have no vote. Fewer votes than the quorum, and there is no verdict.

- pairwise, by majority: the choice with the most votes; the probability is the share of votes for A and half of
  those for a tie. By mean probability: the mean of the members' probabilities that A is better (1, 1/2 or 0 where a
  member gives only its choice), A above one half. By weights: their sum over the members for A minus those for B,
  which is the log-odds of A where they were fitted (`metaeval.selection.juries`); within the tie margin it is a tie.
- rubric: the rating on each criterion's scale that is closest to the mean, halves going to the even one, and the mean
  of what was expected; "not applicable" where more than half of the members say that, and no part of a mean.
- checklist: the most frequent answer to each aspect, and DRFR and TOWER of these.
- classification: the most frequent answer as a whole, which is a category or a set of them. Where several sets are as
  frequent, each category that more than half of the members chose. A draw is unparsed: there is no tie to fall back on.
- importance and answer ranking: the order of the mean ranks, where equal ranks count as the mean of their places.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeVar

from annotation.domain.scales import NOT_APPLICABLE, STANDARD, Scale, Scales
from annotation.kinds import KINDS, ItemKind
from annotation.kinds.parts import PartsKind
from judges.strategies.checklist import checklist_scores
from judges.strategies.errors import StrategyError
from judges.strategies.orders import average_ranks, ranked
from judges.strategies.pairwise import choice_presented
from judges.strategies.parsing import parsed, unparsed
from judges.strategies.types import ItemView, Verdict

Params = Mapping[str, Any]
Values = Mapping[str, Mapping[str, Any]]
T = TypeVar("T")

_CERTAIN = {1: 1.0, 0: 0.5, 2: 0.0}
_SIGNS = {1: 1, 0: 0, 2: -1}
_SCORE_DECIMALS = 9
NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})
_DRAW = "the members' votes are drawn"


def combine(
    item: ItemView, verdicts: Mapping[str, Verdict], params: Params, weights: Mapping[str, float] = NO_WEIGHTS
) -> Verdict:
    """Return one verdict for the verdicts of the members.

    Parameters
    ----------
    params : mapping
        "combine": "majority", "mean_probability" or "weights" (both of pairs alone), the last with "tie_margin".
        "quorum": fewest members with a verdict, >= 1.
        "on_draw": "tie" (for an aspect of a checklist: cannot tell) or "unparsed".
    weights : mapping of str to float
        By member, where votes are weighted.

    Raises
    ------
    StrategyError
        Items of this kind have no verdicts to combine.
    """
    kind = KINDS.get(item.kind)
    if kind is None or not (kind.scale == "preference" or isinstance(kind, PartsKind)):
        raise StrategyError(
            f"Item {item.item_id} is of the kind '{item.kind}', whose verdicts no jury combines."
        )
    text = "\n".join(f"{key}: {_said(item, verdict)}" for key, verdict in verdicts.items())
    voting = {key: verdict for key, verdict in verdicts.items() if verdict.status == "parsed"}
    quorum = params.get("quorum", 1)
    votes = _votes(item, kind, verdicts)
    if len(voting) < max(quorum, 1):
        missing = f"{len(voting)} of {len(verdicts)} members gave a verdict, and the quorum is {quorum}"
        return replace(unparsed(text, missing), value={"votes": votes})
    if not isinstance(kind, PartsKind):
        if weights:
            return _weighted_pair(voting, text, params, votes, weights)
        return _pair(voting, text, params, votes)
    values = {key: verdict.value or {} for key, verdict in voting.items()}
    if kind.is_whole:
        combined = _whole(item, kind, values)
    else:
        scales = {each.key: each.scale for each in item.criteria}
        combined = _parts(kind, values, scales, tie=params.get("on_draw", "tie") == "tie")
    if combined is None:
        return replace(unparsed(text, _DRAW), value={"votes": votes})
    if kind.scale == "nominal" and not kind.is_whole and combined[kind.field]:
        combined |= checklist_scores(item, combined[kind.field])
    combined["votes"] = votes
    return parsed(text, combined)


def _said(item: ItemView, verdict: Verdict) -> str:
    if verdict.status != "parsed":
        return f"unparsed ({verdict.reason})" if verdict.reason else "unparsed"
    if isinstance(kind := KINDS[item.kind], PartsKind):
        return json.dumps((verdict.value or {}).get(kind.field), ensure_ascii=False, sort_keys=True)
    said = {1: "A", 2: "B", 0: "tie"}.get(verdict.choice or 0, "")
    return said if verdict.probability is None else f"{said} (probability of A {verdict.probability:.4f})"


def _votes(item: ItemView, kind: ItemKind, verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """Return what each member said, in canonical order; None of those that could not be read."""
    found: dict[str, Any] = {}
    for key, verdict in verdicts.items():
        if verdict.status != "parsed":
            found[key] = None
        elif isinstance(kind, PartsKind):
            found[key] = dict(verdict.value or {}).get(kind.field)
        else:
            found[key] = choice_presented(verdict.choice or 0, item.order)
    return found


def _pair(
    voting: Mapping[str, Verdict], text: str, params: Params, votes: Mapping[str, int | None]
) -> Verdict:
    chances = {key: _chance(verdict, params) for key, verdict in voting.items()}
    mean = math.fsum(chances.values()) / len(chances)
    if params.get("combine") == "mean_probability":
        choice = None if mean == 0.5 else 1 if mean > 0.5 else 2
    else:
        choice = _most_frequent([verdict.choice for verdict in voting.values()])
    if choice is None:
        if params.get("on_draw", "tie") != "tie":
            return replace(unparsed(text, _DRAW), value={"votes": votes})
        choice = 0
    return Verdict(choice=choice, status="parsed", raw_text=text, probability=mean, value={"votes": votes})


def _weighted_pair(
    voting: Mapping[str, Verdict],
    text: str,
    params: Params,
    votes: Mapping[str, int | None],
    weights: Mapping[str, float],
) -> Verdict:
    signs = {key: _SIGNS[verdict.choice or 0] for key, verdict in voting.items()}
    # Noise of floats must not decide whether equal votes are a tie: 0.3 - 0.2 - 0.1 is 0.
    score = round(math.fsum(weights[key] * sign for key, sign in signs.items()), _SCORE_DECIMALS)
    margin = float(params.get("tie_margin", 0.0))
    if score == 0.0 and not margin and any(signs.values()) and params.get("on_draw", "tie") != "tie":
        return replace(unparsed(text, _DRAW), value={"votes": votes})
    choice = 0 if abs(score) <= margin else 1 if score > 0 else 2
    # The smaller power of the two: the other one may be too large for a float.
    small = math.exp(-abs(score))
    chance = 1 / (1 + small) if score >= 0 else small / (1 + small)
    return Verdict(choice=choice, status="parsed", raw_text=text, probability=chance, value={"votes": votes})


def _chance(verdict: Verdict, params: Params) -> float:
    """Return what a member adds to the probability of A."""
    if params.get("combine") == "mean_probability" and verdict.probability is not None:
        return verdict.probability
    return _CERTAIN[verdict.choice or 0]


def _most_frequent(votes: list[T]) -> T | None:
    """Return what has more votes than anything else; None if there is no such thing."""
    (first, n), *others = Counter(votes).most_common()
    return None if others and others[0][1] == n else first


def _parts(kind: PartsKind, values: Values, scales: Scales, *, tie: bool) -> dict[str, Any] | None:
    """Return the combined value; None if it is drawn and may not be."""
    if kind.scale == "nominal":
        given = _by_part(values, kind.field)
        drawn = any(_is_drawn(answers) for answers in given.values())
        if drawn and not tie:
            return None
        return {kind.field: {name: _most_frequent(answers) for name, answers in given.items()}}
    if kind.scale == "ordinal":
        ratings = _by_part(values, kind.field)
        expected = _by_part(values, "ratings", _with_expected)
        means = {name: [one for one in given if one != NOT_APPLICABLE] for name, given in expected.items()}
        return {
            kind.field: {name: _rating(given, scales.get(name, STANDARD)) for name, given in ratings.items()},
            "expected": {name: math.fsum(given) / len(given) for name, given in means.items() if given},
        }
    ranks = _by_part(values, "ranks", lambda value: average_ranks(value.get("ranks") or {}))
    return {"ranks": ranked({name: sum(given, Fraction(0)) / len(given) for name, given in ranks.items()})}


def _rating(given: Sequence[int | str], scale: Scale) -> int | str:
    """Return the rating closest to the members' mean; "not applicable" where more than half say that."""
    numbers = [rating for rating in given if not isinstance(rating, str)]
    if 2 * len(numbers) < len(given):
        return NOT_APPLICABLE
    return scale.nearest(Fraction(sum(numbers), len(numbers)))


def _whole(item: ItemView, kind: PartsKind, values: Values) -> dict[str, Any] | None:
    """Return the most frequent value; None if there is none, nor, of sets, anything that more than half chose."""
    said = [value.get(kind.field) or {} for value in values.values()]
    names = list(dict.fromkeys(name for given in said for name in given))
    chosen = _most_frequent([frozenset(name for name in names if given.get(name)) for given in said])
    if chosen is None and item.several:
        votes = Counter(name for given in said for name, is_chosen in given.items() if is_chosen)
        chosen = frozenset(name for name in names if 2 * votes[name] > len(said))
    return {kind.field: {name: name in chosen for name in names}} if chosen else None


def _is_drawn(answers: list[Any]) -> bool:
    counts = Counter(answers).most_common()
    return len(counts) > 1 and counts[0][1] == counts[1][1]


def _with_expected(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a member's ratings, and in their place what it expected where it says so."""
    expected = value.get("expected") or {}
    return {name: expected.get(name, rating) for name, rating in (value.get("ratings") or {}).items()}


def _by_part(
    values: Values, field: str, read: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
) -> dict[str, list[Any]]:
    """Return what the members say of each part, in the order in which the parts are first named."""
    found: dict[str, list[Any]] = {}
    for value in values.values():
        given = read(value) if read is not None else value.get(field) or {}
        for name, said in given.items():
            found.setdefault(name, []).append(said)
    return found

"""What importance and answer rankings share: a rank for each part, ``{"ranks": {part: rank}}``.

Ranks are levels without gaps from 1, the best; equal ranks are ties: 1, 3, 3 is stored as 1, 2, 2.
"""

import random
from collections import Counter
from collections.abc import Mapping
from itertools import combinations, pairwise

from annotation.domain.errors import LabelValueError
from annotation.domain.scales import Scales
from annotation.domain.simulation import SimulatedAnnotator
from annotation.domain.wording import gettext
from annotation.kinds.base import NO_ANSWER, AnswerError, Text
from annotation.kinds.parts import PartsKind
from annotation.kinds.shown import AnswerPart, ShownItem
from annotation.kinds.values import (
    NO_SCALES,
    Stored,
    Value,
    ValueRules,
    dense,
    is_integer,
    named,
    quoted_short,
)

NAMED = 4  # parts that a summary names


class RankingKind(PartsKind):
    said = "rank"
    scale = "ranks"
    tolerant = True
    study_rules = frozenset(["tie_policy", "qualification_rule"])
    bar = "ranking"
    styles = ("css/ranking.css",)
    scripts = ("js/ranking-order.js", "js/ranking-drag.js", "js/ranking.js")
    field = "ranks"
    input = "rank"

    def words_missing(self, missing: int, total: int) -> str:
        """What to say where this many of all parts have no rank."""
        raise NotImplementedError

    def called(self, key: str) -> str:
        """How a part is called in a sentence; the page marks the card, with its words."""
        raise NotImplementedError

    def named_shortly(self, key: str) -> str:
        """A part in a summary."""
        return key

    def checked(self, given: object, rules: ValueRules) -> dict[str, int]:
        names = self.names(rules)
        ranks = named(given, self.field, names)
        for name in names:
            if not is_integer(ranks[name]) or not 1 <= ranks[name] <= len(names):
                problem = f"expected a rank of 1 to {len(names)}, found {quoted_short(ranks[name])}."
                raise LabelValueError(f"ranks.{name}", problem)
        if not rules.ties:
            for index, name in enumerate(names):
                if ranks[name] in [ranks[other] for other in names[:index]]:
                    problem = f"rank {ranks[name]} is given twice, and ties are off."
                    raise LabelValueError(f"ranks.{name}", problem)
        return dense({name: ranks[name] for name in names})

    def agrees(self, value: Stored, gold: Stored) -> bool:
        return dense(value["ranks"]) == dense(gold["ranks"])

    def distances(self, value: Stored, gold: Stored, scales: Scales = NO_SCALES) -> list[float]:  # noqa: ARG002
        """In ranks, on the parts that both have, without gaps: 1, 3, 3 is 1, 2, 2."""
        shared = [key for key in gold["ranks"] if key in value["ranks"]]
        given, right = (dense({key: each["ranks"][key] for key in shared}) for each in (value, gold))
        return [float(abs(given[key] - right[key])) for key in right]

    def score(
        self,
        value: Stored,
        gold: Stored,
        *,
        tolerance: float = 0.0,  # noqa: ARG002
        scales: Scales = NO_SCALES,  # noqa: ARG002
    ) -> float | None:
        """Kendall's tau-a with ties as a relation of their own, and 0 where it is below.

        Of all pairs of parts, those that stand to each other as in the gold (before, after, tied) minus those that are
        the other way round. It is 1 for the same order and about 0 for a random one.
        """
        given, right = value["ranks"], gold["ranks"]
        shared = [part for part in right if part in given]
        pairs = [
            (_relation(given, one, other), _relation(right, one, other))
            for one, other in combinations(shared, 2)
        ]
        if not pairs:
            return None
        points = sum((mine == known) - (mine == -known != 0) for mine, known in pairs)
        return max(0.0, points / len(pairs))

    def read(self, text: Text, rules: ValueRules) -> Value:
        """Gaps are closed; equal ranks are ties, where the study has them. Parts have no rank until the person gives
        them one, so an untouched order is never an answer.
        """
        inputs = {key: f"{self.input}-{key}" for key in self.names(rules)}
        known = {str(rank): rank for rank in range(1, len(inputs) + 1)}
        ranks = {key: known.get(text(name).strip()) for key, name in inputs.items()}
        if missing := [key for key, rank in ranks.items() if rank is None]:
            first = inputs[missing[0]]
            raise AnswerError(self.words_missing(len(missing), len(inputs)), field=first, anchor=first)
        given = {key: rank for key, rank in ranks.items() if rank is not None}
        if not rules.ties:
            self._check_once(given)
        return {"ranks": dense(given)}

    def _check_once(self, ranks: Mapping[str, int]) -> None:
        twice = [rank for rank, times in Counter(ranks.values()).items() if times > 1]
        if not twice:
            return
        rank = min(twice)
        first, second = [key for key, given in ranks.items() if given == rank][:2]
        both = {"first": self.called(first), "second": self.called(second), "rank": rank}
        words = gettext("Give each a different rank: %(first)s and %(second)s both have %(rank)s.") % both
        name = f"{self.input}-{second}"
        raise AnswerError(words, field=name, anchor=name)

    def words(self, item: ShownItem, fields: Mapping[str, str]) -> tuple[AnswerPart, ...]:
        """The parts from the best down, each with its rank."""
        ranks = {part.text: fields.get(f"{self.input}-{part.key}", "") for part in self.shown_parts(item)}
        given = list(ranks.values())
        best_first = sorted(
            ranks.items(), key=lambda pair: int(pair[1]) if pair[1].isdecimal() else len(ranks) + 1
        )
        return tuple(AnswerPart(name, _rank_words(rank, given.count(rank))) for name, rank in best_first)

    def number_words(self, number: float | None) -> str:
        return NO_ANSWER if number is None else f"Rank {number:g}"

    def summary(self, numbers: Mapping[str, float]) -> str:
        ordered = sorted(numbers.items(), key=lambda part: part[1])
        words = self.named_shortly(ordered[0][0])
        for (_, before), (key, rank) in pairwise(ordered[:NAMED]):
            words += f" {'=' if rank == before else '>'} {self.named_shortly(key)}"
        return words + (" …" if len(ordered) > NAMED else "")

    def missed(
        self,
        person: SimulatedAnnotator,
        truth: Stored,
        chance: random.Random,
        scales: Scales = NO_SCALES,  # noqa: ARG002
    ) -> Value:
        noise = 2 * (1 - person.accuracy)
        return {
            "ranks": dense(
                {key: round(rank + chance.gauss(0.0, noise)) for key, rank in truth["ranks"].items()}
            )
        }


def _relation(ranks: Mapping[str, int], one: str, other: str) -> int:
    """-1, 0 or 1: the one comes before the other, is tied with it, or comes after it."""
    return (ranks[one] > ranks[other]) - (ranks[one] < ranks[other])


def _rank_words(rank: str, times: int) -> str:
    if not rank.isdecimal():
        return gettext(NO_ANSWER)
    return gettext("%(rank)s (tie)") % {"rank": rank} if times > 1 else rank

"""What a choice is called for each kind of items: their noun, the score that judges are ranked by, and its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metaeval.figures import ANSWER_RANKING, CHECKLIST, IMPORTANCE, RUBRIC
from metaeval.reports.selection_inputs import PAIRWISE


@dataclass(frozen=True, slots=True)
class KindWords:
    """The words of one kind.

    Attributes
    ----------
    items : str
        What is judged, as many.
    people, gold : str
        The score on a dataset of each role, as it stands in a sentence.
    short : str
        The score in a column's head, whatever the role; empty where it depends on the role.
    meaning : str
        What the score is, and what is had by chance.
    """

    items: str
    people: str
    gold: str
    short: str = ""
    meaning: str = ""

    def role(self, role: str) -> str:
        """The score on a dataset of a role."""
        return self.people if role == "people" else self.gold


WORDS: dict[str, KindWords] = {
    PAIRWISE: KindWords("pairs", "agreement with people", "accuracy against gold answers"),
    RUBRIC: KindWords(
        "rated responses",
        "closeness to people's ratings",
        "closeness to the gold ratings",
        "closeness",
        "Closeness is 1 minus the mean distance of a judge's ratings from people's mean rating (or from the gold "
        "one), as a share of the 4 points between 1 and 5: 100 % is the same rating on every criterion, 75 % is one "
        "point off. No figure of it is chance for all data: what can be had without reading is the line of the rule "
        "that always gives the median.",
    ),
    CHECKLIST: KindWords(
        "checklists",
        "agreement with people per question",
        "agreement with gold answers per question",
        "agreement per question",
        "Agreement per question is the share of questions that a judge answers as most people do (or as the gold "
        "answers do), pooled over all questions. Questions on which people are divided take no part; “cannot tell” "
        "is wrong. A coin reaches 50 %, and always yes what its line shows.",
    ),
    IMPORTANCE: KindWords(
        "importance rankings",
        "rank agreement with people, (1 + rho) / 2",
        "rank agreement with the gold ranks, (1 + rho) / 2",
        "rank agreement",
        "Rank agreement is (1 + rho) / 2 with Spearman's rho between a judge and each person, averaged over people (or "
        "the gold ranks): 100 % is the same order, 50 % is chance, 0 % is the reverse order.",
    ),
    ANSWER_RANKING: KindWords(
        "sets of answers",
        "correlation with people, (1 + r) / 2",
        "correlation with votes or gold ranks, (1 + r) / 2",
        "correlation, (1 + r) / 2",
        "The score is (1 + r) / 2 with Pearson's r between what a judge says of the answers and people's votes or "
        "ranks: 100 % is in line with them, 50 % is chance, 0 % is the reverse.",
    ),
}


def kind_of(content: Mapping[str, Any]) -> str:
    """The kind of a choice; one that was stored before there were others is of pairs."""
    return str(content.get("kind", PAIRWISE))


def words_of(content: Mapping[str, Any]) -> KindWords:
    """The words for the kind of a choice."""
    return WORDS[kind_of(content)]

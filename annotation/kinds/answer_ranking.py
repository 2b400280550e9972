"""Answer rankings: several responses to one question, from best to worst.

A value is ``{"ranks": {"0": rank, "1": rank, ...}}`` by the position of the response.
"""

from collections.abc import Sequence

from annotation.kinds.base import letter_of
from annotation.kinds.ranking import RankingKind
from annotation.kinds.values import Stored, Value


class AnswerRanking(RankingKind):
    name = "answer_ranking"
    label = "Answer ranking"
    noun = ("ranking of answers", "rankings of answers")
    hint = "Several answers, best to worst."
    question = "Order the answers from best to worst."
    work = "Rank answers"
    invitation = "judge answers"
    task = "and several answers to it, and put the answers in order, from the best to the worst"
    part = "Response"
    part_shown = "Answer"
    parts_heading = "Ranks"
    thing = "answer"
    seconds = 150
    responses = (2, None)
    parts = "responses"
    ordered = "responses"

    def to_canonical(self, value: Stored, shown_order: Sequence[int]) -> Value:
        ranks = {str(shown_order[int(shown)]): rank for shown, rank in value["ranks"].items()}
        return {**value, "ranks": dict(sorted(ranks.items(), key=lambda pair: int(pair[0])))}

    def of_scores(self, scores: Sequence[float]) -> Value:
        """The higher the score, the better the rank; equal ones share it."""
        places = sorted(set(scores), reverse=True)
        return {"ranks": {str(place): places.index(score) + 1 for place, score in enumerate(scores)}}

    def called(self, key: str) -> str:
        return f"answer {letter_of(int(key))}"

    def named_shortly(self, key: str) -> str:
        return str(int(key) + 1) if key.isdecimal() else key

"""Answer rankings: several responses to one question, from best to worst.

A value is ``{"ranks": {"0": rank, "1": rank, ...}}`` by the position of the response.
"""

from collections.abc import Sequence

from annotation.domain.wording import gettext, gettext_noop, ngettext
from annotation.kinds.base import letter_of
from annotation.kinds.evidence import BAD, GOOD
from annotation.kinds.evidence import RULE as EVIDENCE
from annotation.kinds.ranking import RankingKind
from annotation.kinds.values import Stored, Value


class AnswerRanking(RankingKind):
    name = "answer_ranking"
    label = "Answer ranking"
    noun = ("ranking of answers", "rankings of answers")
    hint = "Several answers, best to worst."
    question = gettext_noop("Order the answers from best to worst.")
    work = gettext_noop("Rank answers")
    invitation = gettext_noop("You're invited to judge answers.")
    task = gettext_noop(
        "You will read an instruction and several answers to it, and put the answers in order, from the best to the "
        "worst."
    )
    part = "Response"
    part_shown = gettext_noop("Answer")
    parts_heading = "Ranks"
    seconds = 150
    responses = (2, None)
    parts = "responses"
    ordered = "responses"
    study_rules = RankingKind.study_rules | {EVIDENCE}
    evidence = (GOOD, BAD)

    def to_canonical(self, value: Stored, shown_order: Sequence[int]) -> Value:
        ranks = {str(shown_order[int(shown)]): rank for shown, rank in value["ranks"].items()}
        return {**value, "ranks": dict(sorted(ranks.items(), key=lambda pair: int(pair[0])))}

    def of_scores(self, scores: Sequence[float]) -> Value:
        """The higher the score, the better the rank; equal ones share it."""
        places = sorted(set(scores), reverse=True)
        return {"ranks": {str(place): places.index(score) + 1 for place, score in enumerate(scores)}}

    def words_missing(self, missing: int, total: int) -> str:
        if missing == total:
            return gettext("Give every answer a rank first.")
        words = ngettext(
            "Give every answer a rank: %(missing)s of %(total)s has none yet.",
            "Give every answer a rank: %(missing)s of %(total)s have none yet.",
            missing,
        )
        return words % {"missing": missing, "total": total}

    def called(self, key: str) -> str:
        return gettext("answer %(letter)s") % {"letter": letter_of(int(key))}

    def named_shortly(self, key: str) -> str:
        return str(int(key) + 1) if key.isdecimal() else key

"""Importance: the aspects of an instruction, put in order. A value is ``{"ranks": {aspect: rank}}``."""

import json
from collections.abc import Sequence

from annotation.domain.wording import gettext, gettext_noop, ngettext
from annotation.kinds.ranking import RankingKind
from annotation.kinds.values import Stored


class Importance(RankingKind):
    name = "importance"
    label = "Importance ranking"
    noun = ("set of aspects to rank", "sets of aspects to rank")
    hint = "Aspects of an instruction, in order."
    question = gettext_noop("What matters most in this instruction?")
    work = gettext_noop("Rank requirements")
    invitation = gettext_noop("You're invited to say what matters most in an instruction.")
    task = gettext_noop(
        "You will read an instruction and what it asks for, and put these requirements in the order of their "
        "importance."
    )
    part = "Aspect"
    part_shown = gettext_noop("Requirement")
    parts_heading = "Aspects"
    seconds = 60
    responses = (0, 0)
    parts = "aspects"
    ordered = "aspects"

    def words_missing(self, missing: int, total: int) -> str:
        if missing == total:
            return gettext("Give every requirement a rank first.")
        words = ngettext(
            "Give every requirement a rank: %(missing)s of %(total)s has none yet.",
            "Give every requirement a rank: %(missing)s of %(total)s have none yet.",
            missing,
        )
        return words % {"missing": missing, "total": total}

    def called(self, key: str) -> str:
        return f"“{key.replace('_', ' ').replace('-', ' ')}”"

    def as_shown(self, value: Stored, order: Sequence[int], aspects: Sequence[str]) -> str:
        ranks = value["ranks"]
        return json.dumps([ranks.get(aspects[position]) for position in order if position < len(aspects)])

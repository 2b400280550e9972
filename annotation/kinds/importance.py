"""Importance: the aspects of an instruction, put in order. A value is ``{"ranks": {aspect: rank}}``."""

import json
from collections.abc import Sequence

from annotation.kinds.ranking import RankingKind
from annotation.kinds.values import Stored


class Importance(RankingKind):
    name = "importance"
    label = "Importance ranking"
    noun = ("set of aspects to rank", "sets of aspects to rank")
    hint = "Aspects of an instruction, in order."
    question = "What matters most in this instruction?"
    work = "Rank requirements"
    invitation = "say what matters most in an instruction"
    task = "and what it asks for, and put these requirements in the order of their importance"
    part = "Aspect"
    part_shown = "Requirement"
    parts_heading = "Aspects"
    thing = "requirement"
    seconds = 60
    responses = (0, 0)
    parts = "aspects"
    ordered = "aspects"

    def called(self, key: str) -> str:
        return f"“{key.replace('_', ' ').replace('-', ' ')}”"

    def as_shown(self, value: Stored, order: Sequence[int], aspects: Sequence[str]) -> str:
        ranks = value["ranks"]
        return json.dumps([ranks.get(aspects[position]) for position in order if position < len(aspects)])

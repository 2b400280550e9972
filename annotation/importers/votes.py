"""Votes between two conversations, as MT-bench and Chatbot Arena write them: winner codes, orientation, turns."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from annotation.domain.conversation import flatten
from annotation.importers.build import BundleBuilder
from annotation.importers.chat import chat_turns
from annotation.importers.errors import quoted
from annotation.importers.records import Turns, Value
from annotation.importers.rows import MAX_SYSTEM, Row, one_of

INCONSISTENT = "tie (inconsistent)"
"""A judge that was asked in both presentation orders and preferred another model in each."""
WINNERS: Mapping[str, Value] = {
    "model_a": {"choice": 1},
    "model_b": {"choice": 2},
    "tie": {"choice": 0},
    "tie (bothbad)": {"choice": 0, "both_bad": True},
    INCONSISTENT: {"choice": 0},
}
FIELDS = ("question_id", "model_a", "model_b", "winner", "judge", "conversation_a", "conversation_b", "turn")
MAX_TURNS = 50


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote: the two models with what each said, and which was preferred, all in one order.

    Attributes
    ----------
    question : str
        The id of the question.
    models : tuple of str
    asked : str
        The first message of the user.
    context : str
        The system message, empty where there is none.
    answers : tuple of tuple of mappings
        For each model its messages after the first one of the user, the user's in between included.
    turn : int
        How many turns were seen, from 1.
    winner : str
        As the file has it.
    value : mapping
        The winner as a value of a pair.
    """

    question: str
    models: tuple[str, str]
    asked: str
    context: str
    answers: tuple[Turns, Turns]
    turn: int
    winner: str
    value: Value

    def swapped(self) -> "Vote":
        """The same vote with the second model first."""
        choice = self.value["choice"]
        return replace(
            self,
            models=self.models[::-1],
            answers=self.answers[::-1],
            value=dict(self.value) | {"choice": 3 - choice if choice else 0},
        )


def read_vote(row: Row) -> Vote:
    """Read a row with two models, their conversations and a winner.

    Raises
    ------
    ImportFileError
        For another winner, a conversation without the turns that were seen, and two that begin differently.
    """
    winner = row.require("winner")
    if not isinstance(winner, str) or winner not in WINNERS:
        row.fail("winner", f"expected {one_of(WINNERS)}, found {quoted(winner)}.")
    turn = row.number_in("turn", range(1, MAX_TURNS + 1))
    (asked, context, first), (other, _, second) = (
        _conversation(row, name, turn) for name in ("conversation_a", "conversation_b")
    )
    if asked != other:
        row.fail(
            "conversation_b",
            f"expected the question of conversation_a, {quoted(asked)}, found {quoted(other)}.",
        )
    models = (row.identifier("model_a", limit=MAX_SYSTEM), row.identifier("model_b", limit=MAX_SYSTEM))
    return Vote(
        row.identifier("question_id"),
        models,
        asked,
        context,
        (first, second),
        turn,
        winner,
        dict(WINNERS[winner]),
    )


def _conversation(row: Row, field: str, turn: int) -> tuple[str, str, Turns]:
    """The first message of the user, the system message, and what follows up to the last turn that was seen."""
    messages = [one.as_json() for one in chat_turns(row, field, row.items(field))]
    context = ""
    if messages and messages[0]["role"] == "system":
        context = messages.pop(0)["text"]
    seen = messages[: 2 * turn]
    roles = [message["role"] for message in seen]
    if roles != ["user", "assistant"] * turn:
        row.fail(
            field, f"expected {turn} turns of a user and an assistant, found {', '.join(roles) or 'none'}."
        )
    if not seen[0]["text"].strip():
        row.fail(field, "expected a question in the first message, found none.")
    return seen[0]["text"], context, tuple(seen[1:])


def add_pair(
    builder: BundleBuilder, row: Row, vote: Vote, *, item: str, instruction: str, **more: Any
) -> None:
    """Add the pair that a vote is about, with the texts of one turn or the messages of several; `more` as of `item`."""
    texts = [turns[0]["text"] if vote.turn == 1 else flatten(turns) for turns in vote.answers]
    builder.pair(
        row,
        external_id=item,
        instruction=instruction,
        systems=vote.models,
        texts=texts,
        messages=((), ()) if vote.turn == 1 else vote.answers,
        field="question_id",
        **more,
    )


class Voters:
    """Names of people: a person's second vote on a pair is kept as that of ``NAME#2``, because it is counted."""

    def __init__(self) -> None:
        self._votes: Counter[tuple[str, str]] = Counter()

    def name(self, item: str, person: str) -> str:
        """Return the name under which the next vote of a person on an item is kept."""
        self._votes[item, person] += 1
        times = self._votes[item, person]
        return person if times == 1 else f"{person}#{times}"

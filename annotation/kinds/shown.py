"""An item as it is shown to one person, and an answer to it in words.

Nothing here knows who wrote what, or what is right.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from annotation.domain.conversation import SPEAKERS
from annotation.domain.scales import STANDARD, Scale

CHARS_OF_FRAME = 500  # what an item takes beside its texts


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One turn of a conversation."""

    role: str
    text: str

    @property
    def speaker(self) -> str:
        return SPEAKERS.get(self.role, self.role)


def turns_of(messages: Iterable[Mapping[str, str]]) -> tuple[ShownTurn, ...]:
    """Turns as they are stored."""
    return tuple(ShownTurn(message["role"], message["text"]) for message in messages)


@dataclass(frozen=True, slots=True)
class ShownResponse:
    """A response; of more than one turn, its `turns`."""

    text: str
    turns: tuple[ShownTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownCriterion:
    """A question, and the scale that it is answered on, with its words."""

    key: str
    question: str
    scale: Scale = STANDARD


@dataclass(frozen=True, slots=True)
class ShownAspect:
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownItem:
    """Everything that a page may show of an item, in the order in which one person sees it.

    With `is_plain` no response is rendered as Markdown: one of them is too long for it, or all texts together are, and
    layout must favour none. With `several` more than one category may be chosen.
    """

    kind: str
    instruction: str
    context: str = ""
    conversation: tuple[ShownTurn, ...] = ()
    responses: tuple[ShownResponse, ...] = ()
    criteria: tuple[ShownCriterion, ...] = ()
    aspects: tuple[ShownAspect, ...] = ()
    several: bool = False
    is_plain: bool = False

    @property
    def n_parts(self) -> int:
        """What there is to answer, where a value says something of each part."""
        return len(self.criteria) or len(self.aspects) or 1

    @property
    def n_chars(self) -> int:
        turns = [turn.text for response in self.responses for turn in response.turns]
        texts = [self.instruction, self.context, *(turn.text for turn in self.conversation), *turns]
        texts += [response.text for response in self.responses] + [aspect.text for aspect in self.aspects]
        return sum(map(len, texts)) + CHARS_OF_FRAME


@dataclass(frozen=True, slots=True)
class ShownPart:
    """One of the parts of an item that an answer says something of: its key in the value, and its text."""

    key: str
    text: str
    response: ShownResponse | None = None


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """What was said of one part of an item, in words; of an answer that has no parts the name is empty."""

    name: str
    words: str
    is_wrong: bool = False

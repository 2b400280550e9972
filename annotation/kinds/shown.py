"""An item as it is shown to one person, and an answer to it in words.

Nothing here knows who wrote what, or what is right.
"""

from dataclasses import dataclass

from annotation.domain.conversation import Turn, are_steps, step_questions, steps_count
from annotation.kinds.shown_trace import ShownStep, steps_shown

CHARS_OF_FRAME = 500  # what an item takes beside its texts


@dataclass(frozen=True, slots=True)
class ShownResponse:
    """A response; of more than one turn, its `turns`."""

    text: str
    turns: tuple[Turn, ...] = ()

    @property
    def is_trace(self) -> bool:
        """Whether its turns are numbered steps."""
        return any(turn.step for turn in self.turns)

    @property
    def steps(self) -> tuple[ShownStep, ...]:
        """Its turns as steps, whole."""
        return steps_shown(self.turns)


@dataclass(frozen=True, slots=True)
class ShownCriterion:
    key: str
    question: str
    options: tuple[tuple[str, str], ...]
    """Points and their words, from "1" to "5"."""


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
    conversation: tuple[Turn, ...] = ()
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
    def asks_for_step(self) -> bool:
        """Whether its categories are the steps of its trace, so that the first wrong one is chosen in the trace."""
        return self.n_steps > 0 and are_steps([(aspect.key, aspect.text) for aspect in self.aspects])

    @property
    def asks_of_steps(self) -> bool:
        """Whether its questions are about the steps of its trace, one each."""
        pairs = tuple((aspect.key, aspect.text) for aspect in self.aspects)
        return bool(pairs) and pairs == step_questions(self.n_steps)

    @property
    def n_steps(self) -> int:
        """Steps of its one response; 0 of several responses, and of a response that is no trace."""
        return steps_count(self.responses[0].turns) if len(self.responses) == 1 else 0

    @property
    def n_chars(self) -> int:
        turns = [turn.said for response in self.responses for turn in response.turns]
        texts = [self.instruction, self.context, *(turn.said for turn in self.conversation), *turns]
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

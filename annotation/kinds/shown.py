"""An item as it is shown to one person, and an answer to it in words.

Nothing here knows who wrote what, or what is right.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.domain.conversation import Turn, are_steps, step_questions, steps_count
from annotation.domain.scales import NOT_APPLICABLE, STANDARD, Scale
from annotation.kinds.dimensions import Dimension
from annotation.kinds.evidence import Markable, markable_of
from annotation.kinds.reasons import Reason
from annotation.kinds.shown_trace import ShownStep, steps_shown

NOT_APPLICABLE_KEY = "n"
CHARS_OF_FRAME = 500  # what an item takes beside its texts


@dataclass(frozen=True, slots=True)
class ShownResponse:
    """A response; of more than one turn, its `turns`."""

    text: str
    turns: tuple[Turn, ...] = ()

    @property
    def markable(self) -> Markable:
        """What can be marked of it: its text, or of a conversation the text of each message."""
        return markable_of(self.text, self.turns)

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
    """A question, and the scale that it is answered on, with its words."""

    key: str
    question: str
    scale: Scale = STANDARD

    @property
    def layout(self) -> str:
        """How it is answered: a "number", or options as a "list", one a line with its words, or in a "row" with the few
        words below. A line without words is an empty box, so most points have to have some.
        """
        if self.scale.is_number:
            return "number"
        return "list" if 3 * len(self.scale.words) > 2 * self.scale.n_points else "row"

    @property
    def points(self) -> tuple["ShownOption", ...]:
        """The ratings that can be chosen, the lowest first; none where a number is typed."""
        scale = self.scale
        points = () if scale.is_number else scale.points
        return tuple(
            ShownOption(str(point), scale.shown(point), scale.word(point), key)
            for point, key in zip(points, option_keys(points), strict=True)
        )

    @property
    def none(self) -> "ShownOption | None":
        """What says that the criterion does not apply, where that is an answer."""
        if not self.scale.not_applicable:
            return None
        return ShownOption(NOT_APPLICABLE, "", self.scale.word(NOT_APPLICABLE), NOT_APPLICABLE_KEY)

    @property
    def half(self) -> int:
        """Points in each of two rows, where one is too long for the screen."""
        return (self.scale.n_points + 1) // 2

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        """The points that have words where these stand apart from the options: as they are shown, and their words."""
        if self.layout == "list":
            return ()
        return tuple((self.scale.shown(point), words) for point, words in self.scale.words)


@dataclass(frozen=True, slots=True)
class ShownOption:
    """A rating to choose: its value in the form, its number as it is shown, its words, and the key that chooses it."""

    value: str
    shown: str
    words: str
    key: str

    @property
    def has_own_key(self) -> bool:
        """Whether the key is another sign than the number."""
        return self.key != self.shown


def option_keys(points: Sequence[int]) -> tuple[str, ...]:
    """The key of each rating: its digit, or of larger and negative numbers the digits in the order of the keyboard.

    >>> option_keys((1, 2, 3)), option_keys((-1, 0, 1)), option_keys(range(0, 101, 10))[-2:]
    (('1', '2', '3'), ('1', '2', '3'), ('9', '-'))
    """
    if all(0 <= point <= 9 for point in points):  # of none, too
        return tuple(map(str, points))
    row = "0123456789-" if points[0] == 0 else "1234567890-"
    return tuple(row[: len(points)])


@dataclass(frozen=True, slots=True)
class ShownAspect:
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownItem:
    """Everything that a page may show of an item, in the order in which one person sees it.

    With `is_plain` no response is rendered as Markdown: one of them is too long for it, or all texts together are, and
    layout must favour none. With `several` more than one category may be chosen. `dimensions` and `reasons` are
    those of the study.
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
    dimensions: tuple[Dimension, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def n_parts(self) -> int:
        """What there is to answer, where a value says something of each part."""
        return len(self.criteria) or len(self.aspects) or len(self.dimensions) or 1

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
        return sum(map(len, texts_of_item(self))) + CHARS_OF_FRAME


def texts_of_item(shown: ShownItem) -> list[str]:
    """All texts of an item that a page may show."""
    turns = [turn.said for response in shown.responses for turn in response.turns]
    texts = [shown.instruction, shown.context, *(turn.said for turn in shown.conversation), *turns]
    return texts + [one.text for one in shown.responses] + [aspect.text for aspect in shown.aspects]


@dataclass(frozen=True, slots=True)
class ShownPart:
    """One of the parts of an item that an answer says something of: its key in the value, and its text."""

    key: str
    text: str
    response: ShownResponse | None = None


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """What was said of one part of an item, in words; of an answer that has no parts the name is empty. `also` are the
    other answers that are reasonable.
    """

    name: str
    words: str
    is_wrong: bool = False
    also: str = ""

    @property
    def said(self) -> str:
        """All of it on one line."""
        return f"{self.words} ({self.also})" if self.also else self.words

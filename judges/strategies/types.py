"""The vocabulary between strategies, the engine and the backends.

A strategy is a generator: it yields a request (or a tuple of requests that do not depend on one another)
and is sent the answer (or a tuple of answers in the same order). What it yields is a deterministic function
of the item, its configuration and the answers so far, so that it can be replayed from stored answers.

Everything here but `StrategyWalk` is an immutable value, and nothing touches the world.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias

from annotation.domain.scales import NOT_APPLICABLE, STANDARD, Scale
from judges.strategies.prompts import Message, Prompt
from judges.strategies.records import record

Status: TypeAlias = Literal["parsed", "unparsed"]

JUDGE = "judge"
"""The role of the one model that most judges ask."""

TOP_LOGPROBS = 20
"""How many rivals of a token are asked for, unless a judge says otherwise: the protocol's maximum."""

NO_PARAMS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CriterionView:
    """One rubric question, and the scale that it is answered on, with its words."""

    key: str
    question: str
    scale: Scale = STANDARD

    @property
    def options(self) -> tuple[tuple[int, str], ...]:
        """All ratings, from the lowest to the highest, with their words; empty where one has none."""
        words = dict(self.scale.words)
        return tuple((point, words.get(point, "")) for point in self.scale.points)

    @property
    def answers(self) -> tuple[str, ...]:
        """All that may be answered, as text: the ratings, and "not_applicable" last."""
        ratings = tuple(map(str, self.scale.points))
        return (*ratings, NOT_APPLICABLE) if self.scale.not_applicable else ratings


@dataclass(frozen=True, slots=True)
class AspectView:
    """One requirement of an instruction; `parent` is the key of the aspect it depends on, empty for a root."""

    key: str
    text: str
    parent: str = ""


@record(frozen=True, slots=True)
class ItemView:
    """What a strategy may see of an item.

    Attributes
    ----------
    item_id : int
        Primary key; used in error messages and never in a prompt.
    kind : str
        a kind of item; "generation" for an instruction that
        a contestant is to answer.
    responses : tuple of str
        In PRESENTED order: for a pair, ``responses[0]`` is shown as A. Empty for importance and generation.
    context : str
        The instruction's input, the conversation so far before it; empty when there is none.
    reference : str or None
        The human-written reference answer.
    order : {0, 1}
        0: presented as stored; 1: swapped, so A is the canonical second response.
    external_id : str
        The item's name in its dataset; seeds what must be the same on every machine.
    systems : tuple of str
        Who wrote the responses, in presented order. Names the model whose likelihood is asked (a role), and is
        never shown to a judge.
    criteria : tuple of CriterionView
        Of a rubric.
    aspects : tuple of AspectView
        Of an importance or checklist item, in the order of their source; the categories of an item to classify.
    several : bool
        Whether more than one of these categories may be chosen.
    conversation : tuple of Message
        The turns before the instruction. For generation `context` holds the instruction's input alone; for what is
        judged it begins with these turns as one text.
    sample : int
        Which of several independent judgments or generations this is.
    references : tuple of (str, str)
        Responses of other systems to the instruction, by system, where a judge takes one for its reference.
    category, subset : str
        Paths such as ``"Coding/Python"``, by which a composite picks its member; never in a prompt.
    """

    item_id: int
    kind: str
    instruction: str
    responses: tuple[str, ...]
    context: str = ""
    reference: str | None = None
    category: str = ""
    order: int = 0
    external_id: str = ""
    systems: tuple[str, ...] = ()
    criteria: tuple[CriterionView, ...] = ()
    aspects: tuple[AspectView, ...] = ()
    conversation: tuple[Message, ...] = ()
    sample: int = 0
    references: tuple[tuple[str, str], ...] = ()
    subset: str = ""
    several: bool = False


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a model samples. None leaves a setting to the server's default.

    `top_logprobs` is how many rivals of a token are asked for where a strategy reads log-probabilities. None: the
    server gives no log-probabilities, so none are asked for. `max_completion_tokens` is `max_tokens` under the name
    that newer servers have for it, where thoughts count too; at most one of the two is set. `reasoning_effort` and
    `thinking_budget` (in tokens) say how much a model is to think (`judges.strategies.thinking`).
    """

    temperature: float | None = 0.0
    max_tokens: int | None = 1024
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    top_logprobs: int | None = TOP_LOGPROBS
    reasoning_effort: str | None = None
    thinking_budget: int | None = None
    max_completion_tokens: int | None = None

    @property
    def limit(self) -> int | None:
        """The most tokens of an answer, thoughts included; None for the server's own limit."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    def __post_init__(self) -> None:
        # 0 and 0.0 are equal and hash alike, but not as JSON: a request's identity must not tell them apart.
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, float):
                object.__setattr__(self, name, float(value))


@record(frozen=True, slots=True)
class Chat:
    """Ask a model to answer a conversation.

    Attributes
    ----------
    choices : tuple of str
        The answer is to be one of these, where the backend can constrain it; strategies parse anyway.
    max_tokens, temperature, top_p
        Override the judge's decoding for this request.
    logprobs : bool
        Ask for log-probabilities of the generated tokens and their nearest rivals.
    json_schema : str or None
        JSON text of a schema that the answer is to follow, where the backend can hold it to that.
    regex : str or None
        A regular expression that the whole answer is to match, where the backend can hold it to that.
    sample : int
        Index of an independent sample of the same request; part of the request's identity.
    role : str
        Which of the judge's models is asked: "judge", or a key of `JudgeSpec.roles`.
    biases : tuple of (str, float)
        Texts whose tokens are made likelier or less likely, and by how much (logits). Above zero it counts for every
        token of the text; below zero only for a text that is one token, so that no other word suffers.
    function : str or None
        JSON text of a function, as the OpenAI protocol describes it, that the model is made to call: its arguments are
        the answer. Where a backend knows no functions, `json_schema` holds the answer to the same form.
    """

    kind: ClassVar[str] = "chat"

    messages: tuple[Message, ...]
    choices: tuple[str, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    logprobs: bool = False
    sample: int = 0
    role: str = JUDGE
    json_schema: str | None = None
    regex: str | None = None
    top_p: float | None = None
    biases: tuple[tuple[str, float], ...] = ()
    function: str | None = None


@record(frozen=True, slots=True)
class Score:
    """Ask for the log-likelihood of a given continuation.

    Attributes
    ----------
    messages : tuple of Message
        The conversation that the continuation answers, put into the model's chat template. Empty: `prefix` is the
        context, as raw text.
    prefix : str
        Raw text before the continuation; only without `messages`.
    """

    kind: ClassVar[str] = "score"

    messages: tuple[Message, ...]
    continuation: str
    role: str = JUDGE
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Embed:
    """Ask for the vector of one text."""

    kind: ClassVar[str] = "embed"

    text: str
    role: str = JUDGE


@dataclass(frozen=True, slots=True)
class Classify:
    """Ask a reward or preference model (sequence classification) for its scores.

    Attributes
    ----------
    messages : tuple of Message
        A conversation, put into the model's chat template. Empty: `text` (and `text_pair`) are classified as raw text.
    """

    kind: ClassVar[str] = "classify"

    messages: tuple[Message, ...]
    role: str = JUDGE
    text: str = ""
    text_pair: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """Ask an encoder how well the tokens of two texts match each other (BERTScore).

    Attributes
    ----------
    text, reference : str
        The answer has the precision, the recall and their F1 as its `scores`.
    layer : int
        Which layer's vectors are compared, from 1; 0: the one that was found best for the model, else the last.
    """

    kind: ClassVar[str] = "match"

    text: str
    reference: str
    layer: int = 0
    role: str = JUDGE


Request: TypeAlias = Chat | Score | Embed | Classify | Match


@record(frozen=True, slots=True)
class TokenLogprob:
    """A generated token, its natural log-probability, and the likeliest tokens at its place."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@record(frozen=True, slots=True)
class Answer:
    """What a backend returned to one request.

    Attributes
    ----------
    text : str
        The generated text (``Chat``); empty for the other kinds. As a strategy receives it, it is free of thoughts.
    finish_reason : str
        "stop", "length" or what else the server said.
    latency_ms : float
        Milliseconds from sending to the complete answer, >= 0.
    cost : float
        In the currency of the judge's prices, >= 0.
    logprobs : tuple of TokenLogprob or None
        None when not asked for or not offered.
    constrained : bool
        The server was asked to keep to the request's choices, and the text is one of them.
    logprob : float or None
        Natural log, summed over the continuation's tokens, of which there are `completion_tokens` (``Score``).
    vector : tuple of float or None
        (``Embed``)
    scores : tuple of float or None
        The model's raw outputs (logits), one a class; one alone for a reward model (``Classify``). Precision, recall
        and F1 (``Match``).
    thought : str
        What the model thought before it answered: from the backend what the server sent apart from the text, and in a
        strategy also what stood in the text (`judges.strategies.thoughts`).
    model, system_fingerprint : str
        The model that answered and the system that it ran on, as the server names them; empty where it does not.
    reasoning_tokens : int
        How many of `completion_tokens` were thoughts, where the server says so; 0 where it does not.
    """

    text: str
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: float = 0.0
    cost: float = 0.0
    logprobs: tuple[TokenLogprob, ...] | None = None
    constrained: bool = False
    logprob: float | None = None
    vector: tuple[float, ...] | None = None
    scores: tuple[float, ...] | None = None
    thought: str = ""
    model: str = ""
    system_fingerprint: str = ""
    reasoning_tokens: int = 0

    @property
    def cut_off(self) -> bool:
        """The token limit came before the end; under a constraint a text that is one of the choices is whole."""
        return self.finish_reason == "length" and not self.constrained


@record(frozen=True, slots=True)
class Verdict:
    """What a strategy returns.

    Attributes
    ----------
    choice : int or None
        In PRESENTED order: 1 = A, 2 = B, 0 = tie, None = unparsed. The engine maps it back to canonical.
    status : {"parsed", "unparsed"}
    raw_text : str
        The text the choice was read from, kept whole.
    scores : tuple of two floats or None
        The scores of A and B, for strategies that rate.
    probability : float or None
        Probability in [0, 1] that A is better.
    value : dict or None
        The judgment's value for kinds other than pairwise, in canonical order and in the form of labels of that kind
        (`annotation.kinds`), beside what else the strategy found out; for a pair, what is worth keeping
        beside the choice.
    reason : str
        Why it is unparsed; empty when parsed.
    thought : str
        What the models thought on the way; nothing is read from it. `judges.strategies.thoughts` fills it in.
    """

    choice: int | None
    status: Status
    raw_text: str = ""
    scores: tuple[float, float] | None = None
    probability: float | None = None
    value: dict[str, Any] | None = None
    reason: str = ""
    thought: str = ""


@dataclass(frozen=True, slots=True)
class StrategyConfig:
    """What a strategy is told beside the item.

    Attributes
    ----------
    name : str
        The registered name, for messages.
    prompt : Prompt or None
        The strategy's main prompt; None for strategies that ask no model or need no words for it.
    prompts : mapping of str to Prompt
        The prompts of its other steps, by the step's name.
    guidelines : str
        The annotators' guidelines (Markdown), for prompts with the flag ``guidelines``; empty when not used.
    shots : tuple of mapping
        Worked examples for few-shot prompts: ``{"instruction", "context"?, "output_a", "output_b", "verdict"}``
        with a verdict "A", "B" or "tie", and optionally "reason".
    roles : tuple of str
        The roles beside "judge" that have a model, for strategies that ask the models of the systems.
    members : mapping of str to callable
        Of a composite or jury: starts the member on an item; its requests name their roles behind its name.
    use_reference : bool
        Show the human-written reference; an item without one is then an error.
    allow_tie : bool
        A tie is one of the allowed verdicts.
    params : mapping
        Settings of the strategy's own, e.g. ``{"seed": 7}``.
    """

    name: str = ""
    prompt: Prompt | None = None
    use_reference: bool = False
    allow_tie: bool = False
    params: Mapping[str, Any] = field(default_factory=lambda: NO_PARAMS)
    prompts: Mapping[str, Prompt] = field(default_factory=lambda: NO_PARAMS)
    guidelines: str = ""
    shots: tuple[Mapping[str, str], ...] = ()
    roles: tuple[str, ...] = ()
    members: Mapping[str, Callable[[ItemView], Steps]] = field(default_factory=lambda: NO_PARAMS)


Yielded: TypeAlias = Request | tuple[Request, ...]
# One answer for one request, a tuple of answers for a tuple of requests. Typed loosely because a generator
# has one send type for all of its yields; the engine keeps the promise and `single` and `several` check it.
Sent: TypeAlias = Answer | tuple[Answer, ...]

Steps: TypeAlias = Generator[Yielded, Sent, Verdict]
Strategy: TypeAlias = Callable[[ItemView, StrategyConfig], Steps]


def single(sent: Sent) -> Answer:
    """Return the one answer that was sent for one request; anything else is a mistake of the engine."""
    if not isinstance(sent, Answer):
        raise TypeError("one request was yielded, so one Answer must be sent")
    return sent


def several(sent: Sent) -> tuple[Answer, ...]:
    """Return the answers that were sent for a tuple of requests."""
    if isinstance(sent, Answer):
        raise TypeError("a tuple of requests was yielded, so a tuple of Answers must be sent")
    return sent


@dataclass(slots=True, eq=False)
class StrategyWalk:
    """A strategy on its way over an item: what it asks now, or its verdict."""

    steps: Steps
    asked: tuple[Request, ...] = ()
    verdict: Verdict | None = None
    is_single: bool = True

    def advance(self, answers: Sequence[Answer] | None = None) -> bool:
        """Begin, or send the answers to what it asked; False once it has its verdict. Raises as the strategy does."""
        try:
            if answers is None:  # a generator that has not begun is sent nothing
                yielded = next(self.steps)
            else:
                yielded = self.steps.send(answers[0] if self.is_single else tuple(answers))
        except StopIteration as stop:
            self.asked, self.verdict = (), stop.value
            return False
        self.is_single = not isinstance(yielded, tuple)
        self.asked = yielded if isinstance(yielded, tuple) else (yielded,)
        return True

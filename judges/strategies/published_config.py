"""Published evaluators as one text: their prompts and settings, as they stand in a user's own copy.

A judge with a published prompt keeps the whole of it as the text of its prompt: a JSON document that this module
writes and reads. LLMBar and AlpacaEval keep their prompts as ChatML: each message begins with
``<|im_start|>role`` on a line of its own and ends with ``<|im_end|>``. FastChat (MT-bench) and Arena-Hard keep the
system's message apart, and send both as they stand.

Where the published code and this one differ: the published code fills a prompt in and then splits it into messages, so
that a response which holds ``<|im_end|>`` ends its message and speaks in its own name, and one which holds
``{output_2}`` may be filled in again. Here the prompt is split first and filled in once. For all other texts the
messages are the same, character for character.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from string import Formatter
from types import MappingProxyType
from typing import Any

from judges.strategies.errors import SpecError
from judges.strategies.prompts import Message

START, END = "<|im_start|>", "<|im_end|>"
LLMBAR, ALPACA_EVAL, FASTCHAT = "llmbar", "alpaca_eval", "fastchat"
COMPARE, SWAP, RATE = "compare", "swap", "rate"
_ALPACA_NAME = re.compile(r"\{([^ \s]+?)\}")
_HUMAN = re.compile(r"\A\s*Human:(?P<text>.*?)\n\nAssistant:\s*\Z", re.DOTALL)
_ROLES = frozenset({"system", "user", "assistant"})
_PAIR = frozenset({"instruction", "input", "output_1", "output_2"})
REFERENCES = ("reference", "output_human")
"""The human reference in AlpacaEval's prompts; the second is what HREF calls it."""
_TURNS = frozenset({"question", "question_1", "question_2", "ref_answer_1", "ref_answer_2", "QUESTION"})
_OF_A = ("answer_a", "answer_a_2", "ANSWER_A")
_OF_B = ("answer_b", "answer_b_2", "ANSWER_B")
_SHOWN = {
    "A": frozenset({*_OF_A, "answer_a_1"}),
    "B": frozenset({*_OF_B, "answer_b_1"}),
    "one": frozenset({"answer", "answer_1", "answer_2"}),
}
"""How FastChat and Arena-Hard name the answers; "answer_1" and "answer_2" are Arena-Hard's pair or two turns of one."""
PADDING: Mapping[str, str] = MappingProxyType(
    {"instruction": "1+1=", "input": "", "output_1": "2", "output_2": "3"}
)
"""What AlpacaEval fills a batch up with."""


@dataclass(frozen=True, slots=True)
class PublishedStep:
    """One call of a published evaluator.

    Attributes
    ----------
    template : str
        The prompt, word for word.
    max_tokens, temperature : int, float or None
        As published; None leaves it to the judge.
    logprobs : bool
    json_schema : str or None
        JSON text: the parameters of the function that the evaluator lets the model call.
    parser_options : mapping or None
        How the answer of a step before the last is read, where it is: LLMBar's "Swap" compares with reasons and
        decides without. None: as the last one.
    system : str or None
        The system's message, where it is kept apart from the prompt; it shows nothing of the item.
    top_p : float or None
    biases : tuple of (str, float)
        Texts whose tokens the evaluator favors or avoids, as in `Chat`.
    function : str or None
        JSON text: the function itself, with its name and description, which the model is made to call.
    """

    template: str
    max_tokens: int | None = None
    temperature: float | None = None
    logprobs: bool = False
    json_schema: str | None = None
    parser_options: Mapping[str, Any] | None = None
    system: str | None = None
    top_p: float | None = None
    biases: tuple[tuple[str, float], ...] = ()
    function: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """A published evaluator.

    Attributes
    ----------
    dialect : {"llmbar", "alpaca_eval", "fastchat"}
        How names are written in its prompts.
    mode : {"compare", "swap", "rate"}
        "compare": earlier steps write what the last one reads beside the pair. "swap": the first step compares in both
        orders, and the second decides between contradicting answers. "rate": the last step scores one response.
    steps : tuple of PublishedStep
    parser : str
        One of `published_parsers.PARSERS`.
    parser_options : mapping
    batch_size : int
        How many pairs the prompt shows. This pair stands in the place that AlpacaEval's shuffle gives it among copies
        of its padding example, as it does there when one pair is annotated.
    batch_place : int
        From 0.
    equal_is_tie : bool
        Two outputs that are the same text are a tie, and nothing is asked.
    is_randomized : bool
        The published run draws the order in which each pair is shown.
    """

    dialect: str
    mode: str
    steps: tuple[PublishedStep, ...]
    parser: str
    parser_options: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 1
    batch_place: int = 0
    equal_is_tie: bool = False
    is_randomized: bool = True

    def to_text(self) -> str:
        """Return it as JSON text; `published_read` undoes it."""
        values = asdict(self)
        # What came later is left out at its default: without it the text is that of before.
        for name, usual in _LATER.items():
            if values[name] == usual:
                del values[name]
        for step in values["steps"]:
            for name, usual in _LATER_IN_STEP.items():
                if step[name] == usual:
                    del step[name]
        return json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False)

    def options_of(self, step: PublishedStep) -> Mapping[str, Any]:
        """Return the settings with which the answer of a step is read."""
        return self.parser_options if step.parser_options is None else step.parser_options


_LATER: Mapping[str, object] = MappingProxyType(
    {"batch_size": 1, "batch_place": 0, "equal_is_tie": False, "is_randomized": True}
)
_LATER_IN_STEP: Mapping[str, object] = MappingProxyType(
    {"parser_options": None, "system": None, "top_p": None, "biases": (), "function": None}
)


@lru_cache(maxsize=64)
def published_read(text: str) -> Published:
    """Read a published evaluator from the text of a judge's prompt.

    Raises
    ------
    SpecError
        It is not one.
    """
    try:
        values = json.loads(text)
        steps = tuple(
            PublishedStep(**step | {"biases": tuple((text, bias) for text, bias in step.get("biases", ()))})
            for step in values.pop("steps")
        )
        return Published(**values, steps=steps)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise SpecError(
            "prompt_source", "not a published evaluator; import it from your copy of its files."
        ) from None


def published_check(evaluator: Published) -> None:
    """Check that every prompt can be split and filled in.

    Raises
    ------
    SpecError
        Names the step and what is wrong with it.
    """
    last = len(evaluator.steps) - 1
    for place, step in enumerate(evaluator.steps):
        known = names_known(evaluator, place)
        try:
            names = _names(step.template, evaluator)
            if evaluator.dialect != FASTCHAT:
                _split(step.template)
        except ValueError as error:
            raise SpecError(f"steps.{place}", str(error)) from None
        if unknown := sorted(set(names) - known):
            raise SpecError(
                f"steps.{place}",
                f"the prompt asks for {{{unknown[0]}}}; known are {', '.join(sorted(known))}.",
            )
        if place == last and (missing := _missing(evaluator, set(names))):
            raise SpecError(f"steps.{place}", f"the prompt never shows {{{missing}}}.")


def _missing(evaluator: Published, names: set[str]) -> str:
    """Return an output that the last prompt has to show and does not; empty if there is none."""
    if evaluator.dialect != FASTCHAT:
        wanted = {"output"} if evaluator.mode == RATE else {"output_1", "output_2"}
        return next(iter(sorted(wanted - names)), "")
    if evaluator.mode == RATE:
        return "" if names & _SHOWN["one"] else "answer"
    if {"answer_1", "answer_2"} <= names:
        return ""
    return next((shown[0] for shown in (_OF_A, _OF_B) if not names & set(shown)), "")


def names_known(evaluator: Published, place: int) -> frozenset[str]:
    """Return the names that the prompt of a step may hold."""
    if evaluator.dialect == ALPACA_EVAL:
        return _PAIR | set(REFERENCES)
    if evaluator.dialect == FASTCHAT:
        return _TURNS | _SHOWN["one"] | (frozenset() if evaluator.mode == RATE else _SHOWN["A"] | _SHOWN["B"])
    if evaluator.mode == SWAP:
        return frozenset(
            {"input", "output_1", "output_2"} | ({"explanation_1", "explanation_2"} if place else set())
        )
    if place < len(evaluator.steps) - 1:
        return frozenset({"input"})
    earlier = {f"auxiliary_input_{k}" for k in range(place)}
    outputs = {"output"} if evaluator.mode == RATE else {"output_1", "output_2"}
    return frozenset({"input"} | outputs | earlier)


def messages(
    template: str, dialect: str, *rows: Mapping[str, str], system: str | None = None
) -> tuple[Message, ...]:
    """Return the messages of a prompt, every name replaced by its value in one pass, white space around stripped.

    Parameters
    ----------
    rows : mapping of str to str
        The values; of a prompt that shows several pairs, those of each, in their order.
    system : str or None
        The system's message of a prompt that keeps it apart. Nothing of either is then stripped.

    >>> messages("<|im_start|>user\\nIs {input} so?\\n<|im_end|>", "llmbar", {"input": "1 {input}"})
    (('user', 'Is 1 {input} so?'),)
    """
    if dialect == FASTCHAT:
        told: tuple[Message, ...] = () if system is None else (("system", system),)
        return (*told, ("user", _format(template, rows[0])))
    seen: Counter[str] = Counter()
    fill = partial(_fill_next, rows=rows, seen=seen) if dialect == ALPACA_EVAL else None
    return tuple(
        (role, (_ALPACA_NAME.sub(fill, text) if fill else _format(text, rows[0])).strip())
        for role, text in _split(template)
    )


@lru_cache(maxsize=256)
def _split(template: str) -> tuple[Message, ...]:
    prompt = template.strip()
    if START not in prompt:
        human = _HUMAN.match(prompt if prompt.startswith("Human:") else prompt.lstrip("\n"))
        return (("user", human["text"] if human else template),)
    if not prompt.startswith(START) or not prompt.endswith(END):
        raise ValueError(f"a ChatML prompt begins with {START} and ends with {END}")
    found = []
    for part in prompt.split(START)[1:]:
        role, newline, content = part.partition("\n")
        role = role.strip()
        if not newline or END not in content:
            raise ValueError(f"a message does not end with {END}")
        if role not in _ROLES:
            raise ValueError(f"'{role[:40]}' is no role; roles are system, user and assistant")
        found.append((role, content.split(END, 1)[0]))
    return tuple(found)


def _names(template: str, evaluator: Published) -> list[str]:
    if evaluator.dialect == ALPACA_EVAL:
        names = _ALPACA_NAME.findall(template)
        if other := sorted({name for name in names if names.count(name) != evaluator.batch_size}):
            # The published code counts a name to see how many pairs the prompt shows.
            raise ValueError(
                f"{{{other[0]}}} stands there {names.count(other[0])} times, which is not the batch_size "
                f"({evaluator.batch_size})"
            )
        return names
    return [name for _, name, _, _ in _parsed(template) if name is not None]


def _parsed(template: str) -> Iterable[tuple[str, str | None, str | None, str | None]]:
    for literal, name, form, conversion in Formatter().parse(template):
        if name is not None and (form or conversion or not name.isidentifier()):
            raise ValueError(f"'{{{name}}}' is not a plain name")
        yield literal, name, form, conversion


def _fill_next(match: re.Match[str], *, rows: Sequence[Mapping[str, str]], seen: Counter[str]) -> str:
    """Return what a name stands for: the first time it is the first pair's, and so on."""
    name = match[1]
    seen[name] += 1
    place = seen[name] - 1
    return rows[place].get(name, match[0]) if place < len(rows) else match[0]


def _format(text: str, values: Mapping[str, str]) -> str:
    return "".join(
        literal + (values[name] if name is not None else "") for literal, name, _, _ in _parsed(text)
    )

"""Published evaluators as one text: their prompts and settings, as they stand in a user's own copy.

A judge with a published prompt keeps the whole of it as the text of its prompt: a JSON document that this module
writes and reads. The prompts themselves are ChatML, as LLMBar and AlpacaEval keep theirs: each message begins with
``<|im_start|>role`` on a line of its own and ends with ``<|im_end|>``.

Where the published code and this one differ: the published code fills a prompt in and then splits it into messages, so
that a response which holds ``<|im_end|>`` ends its message and speaks in its own name, and one which holds
``{output_2}`` may be filled in again. Here the prompt is split first and filled in once. For all other texts the
messages are the same, character for character.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from string import Formatter
from typing import Any

from judges.strategies.errors import SpecError
from judges.strategies.prompts import Message

START, END = "<|im_start|>", "<|im_end|>"
LLMBAR, ALPACA_EVAL = "llmbar", "alpaca_eval"
COMPARE, SWAP, RATE = "compare", "swap", "rate"
_ALPACA_NAME = re.compile(r"\{([^ \s]+?)\}")
_HUMAN = re.compile(r"\A\s*Human:(?P<text>.*?)\n\nAssistant:\s*\Z", re.DOTALL)
_ROLES = frozenset({"system", "user", "assistant"})
_PAIR = frozenset({"instruction", "input", "output_1", "output_2"})


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
    """

    template: str
    max_tokens: int | None = None
    temperature: float | None = None
    logprobs: bool = False
    json_schema: str | None = None
    parser_options: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """A published evaluator.

    Attributes
    ----------
    dialect : {"llmbar", "alpaca_eval"}
        How names are written in its prompts.
    mode : {"compare", "swap", "rate"}
        "compare": earlier steps write what the last one reads beside the pair. "swap": the first step compares in both
        orders, and the second decides between contradicting answers. "rate": the last step scores one response.
    steps : tuple of PublishedStep
    parser : str
        One of `published_parsers.PARSERS`.
    parser_options : mapping
    """

    dialect: str
    mode: str
    steps: tuple[PublishedStep, ...]
    parser: str
    parser_options: Mapping[str, Any] = field(default_factory=dict)

    def to_text(self) -> str:
        """Return it as JSON text; `published_read` undoes it."""
        values = asdict(self)
        for step in values["steps"]:
            # It came later; without it the text is that of before.
            if step["parser_options"] is None:
                del step["parser_options"]
        return json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False)

    def options_of(self, step: PublishedStep) -> Mapping[str, Any]:
        """Return the settings with which the answer of a step is read."""
        return self.parser_options if step.parser_options is None else step.parser_options


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
        steps = tuple(PublishedStep(**step) for step in values.pop("steps"))
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
            names = _names(step.template, evaluator.dialect)
            _split(step.template)
        except ValueError as error:
            raise SpecError(f"steps.{place}", str(error)) from None
        if unknown := sorted(set(names) - known):
            raise SpecError(
                f"steps.{place}",
                f"the prompt asks for {{{unknown[0]}}}; known are {', '.join(sorted(known))}.",
            )
        wanted = {"output"} if evaluator.mode == RATE else {"output_1", "output_2"}
        if place == last and (missing := sorted(wanted - set(names))):
            raise SpecError(f"steps.{place}", f"the prompt never shows {{{missing[0]}}}.")


def names_known(evaluator: Published, place: int) -> frozenset[str]:
    """Return the names that the prompt of a step may hold."""
    if evaluator.dialect == ALPACA_EVAL:
        return _PAIR | {"reference"}
    if evaluator.mode == SWAP:
        return frozenset(
            {"input", "output_1", "output_2"} | ({"explanation_1", "explanation_2"} if place else set())
        )
    if place < len(evaluator.steps) - 1:
        return frozenset({"input"})
    earlier = {f"auxiliary_input_{k}" for k in range(place)}
    outputs = {"output"} if evaluator.mode == RATE else {"output_1", "output_2"}
    return frozenset({"input"} | outputs | earlier)


def messages(template: str, dialect: str, values: Mapping[str, str]) -> tuple[Message, ...]:
    """Return the messages of a prompt, every name replaced by its value in one pass, white space around stripped.

    >>> messages("<|im_start|>user\\nIs {input} so?\\n<|im_end|>", "llmbar", {"input": "1 {input}"})
    (('user', 'Is 1 {input} so?'),)
    """
    return tuple((role, _fill(text, dialect, values).strip()) for role, text in _split(template))


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


def _names(template: str, dialect: str) -> list[str]:
    if dialect == ALPACA_EVAL:
        names = _ALPACA_NAME.findall(template)
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            # The published code takes a repeated name for a batch of several pairs.
            raise ValueError(
                f"{{{repeated[0]}}} stands there more than once; prompts for several pairs are not read"
            )
        return names
    return [name for _, name, _, _ in _parsed(template) if name is not None]


def _parsed(template: str) -> Iterable[tuple[str, str | None, str | None, str | None]]:
    for literal, name, form, conversion in Formatter().parse(template):
        if name is not None and (form or conversion or not name.isidentifier()):
            raise ValueError(f"'{{{name}}}' is not a plain name")
        yield literal, name, form, conversion


def _fill(text: str, dialect: str, values: Mapping[str, str]) -> str:
    if dialect == ALPACA_EVAL:
        return _ALPACA_NAME.sub(lambda match: values.get(match[1], match[0]), text)
    return "".join(
        literal + (values[name] if name is not None else "") for literal, name, _, _ in _parsed(text)
    )

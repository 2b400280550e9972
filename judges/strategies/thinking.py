"""Models that think before they answer: what a judge may ask of them, and the fields in which each provider takes it.

`thoughts` reads what comes back. The forms follow the providers' own references (`docs/thinking-judges.md` names them);
a setting that a provider has no field for is refused, never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from judges.strategies.errors import SpecError
from judges.strategies.types import Decoding

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The words for how much a model is to think, from not at all on; each provider takes some of them."""
OPTION = "thinking_form"
"""The option of an endpoint that names the form; empty: that of its kind."""
ROOM = 25_000
"""Tokens for thoughts and answer where nothing is said: what OpenAI advises to reserve."""
ANSWER_ROOM = 1024
"""Tokens for the answer beside a thinking budget, where nothing is said."""
TOKENS_PER_SECOND = 20.0
"""A slow server's speed, by which a request is given time to think."""
MOST_SECONDS = 3600.0

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ThinkingForm:
    """How one provider is told to think.

    Attributes
    ----------
    efforts : tuple of str
        The words that it takes.
    lowest_budget : int or None
        The smallest thinking budget in tokens; None: it takes none.
    samples_freely : bool
        While it thinks, it takes any temperature and top p; else temperature 1 or none, and no top p below 0.95.
    counts_all : bool
        While it thinks, the limit is sent as ``max_completion_tokens``.
    by_effort, by_budget : callable
        The fields of a request's body.
    """

    title: str
    efforts: tuple[str, ...]
    by_effort: Callable[[str], Fields]
    by_budget: Callable[[int], Fields] | None = None
    lowest_budget: int | None = None
    samples_freely: bool = True
    counts_all: bool = False


def _plain_effort(effort: str) -> Fields:
    return {"reasoning_effort": effort}


def _anthropic_effort(effort: str) -> Fields:
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}


def _typed_budget(budget: int) -> Fields:
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _gemini_budget(budget: int) -> Fields:
    # The field of that name is part of the body, not of a client.
    return {
        "extra_body": {"google": {"thinking_config": {"thinking_budget": budget, "include_thoughts": True}}}
    }


def template_variables(*, thinks: bool) -> Fields:
    """Return the variables by which chat templates switch thoughts on and off: Qwen's name, and Granite's and
    DeepSeek's; a template leaves the other one alone."""
    return {"enable_thinking": thinks, "thinking": thinks}


def _vllm_effort(effort: str) -> Fields:
    thinks = effort != "none"
    fields: Fields = {"chat_template_kwargs": template_variables(thinks=thinks)}
    return fields | ({"reasoning_effort": effort} if thinks else {})


def _vllm_budget(budget: int) -> Fields:
    return {"chat_template_kwargs": template_variables(thinks=True), "thinking_token_budget": budget}


def _qwen_effort(effort: str) -> Fields:
    return {"enable_thinking": effort != "none"}


def _qwen_budget(budget: int) -> Fields:
    return {"enable_thinking": True, "thinking_budget": budget}


def _deepseek_effort(effort: str) -> Fields:
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled"}, "reasoning_effort": effort}


def _openrouter_effort(effort: str) -> Fields:
    return {"reasoning": {"effort": effort}}


def _openrouter_budget(budget: int) -> Fields:
    return {"reasoning": {"max_tokens": budget}}


def _template_effort(effort: str) -> Fields:
    variables = template_variables(thinks=effort != "none")
    return variables | ({"reasoning_effort": effort} if effort != "none" else {})


FORMS: Mapping[str, ThinkingForm] = MappingProxyType(
    {
        "openai": ThinkingForm("OpenAI", EFFORTS, _plain_effort, samples_freely=False, counts_all=True),
        "anthropic": ThinkingForm(
            "Anthropic",
            ("none", "low", "medium", "high", "xhigh", "max"),
            _anthropic_effort,
            _typed_budget,
            lowest_budget=1024,
            samples_freely=False,
        ),
        "gemini": ThinkingForm("Gemini", EFFORTS[:5], _plain_effort, _gemini_budget, lowest_budget=0),
        "vllm": ThinkingForm(
            "vLLM", ("none", "low", "medium", "high"), _vllm_effort, _vllm_budget, lowest_budget=1
        ),
        "qwen": ThinkingForm("Qwen (Alibaba Cloud)", ("none",), _qwen_effort, _qwen_budget, lowest_budget=1),
        "deepseek": ThinkingForm("DeepSeek", EFFORTS, _deepseek_effort, samples_freely=False),
        "openrouter": ThinkingForm(
            "OpenRouter", EFFORTS[:6], _openrouter_effort, _openrouter_budget, lowest_budget=1
        ),
        "litellm": ThinkingForm("LiteLLM", EFFORTS, _plain_effort, _typed_budget, lowest_budget=1024),
        "other": ThinkingForm("Other servers with reasoning_effort", EFFORTS, _plain_effort),
        "template": ThinkingForm(
            "Chat template of a model in the worker", ("none", "low", "medium", "high"), _template_effort
        ),
    }
)
OFFERED = ("openai", "anthropic", "gemini", "vllm", "qwen", "deepseek", "openrouter", "other")
"""The forms that an endpoint with OpenAI's protocol can have; the first one is what it has where none is named."""
_OF_BACKENDS: Mapping[str, str] = MappingProxyType(
    {
        "anthropic": "anthropic",
        "litellm": "litellm",
        "vllm_server": "vllm",
        "vllm": "template",
        "transformers": "template",
    }
)


def thinks(decoding: Decoding) -> bool:
    """Whether a model is told to think; a model of its own accord may do so in any case."""
    return bool(decoding.thinking_budget) or decoding.reasoning_effort not in (None, "none")


def form_of(backend: str, options: Mapping[str, Any]) -> str:
    """Return the name of the form in which a backend is told to think.

    Raises
    ------
    SpecError
        The option names none that this backend can have.
    """
    name = options.get(OPTION) or ""
    own = _OF_BACKENDS.get(backend)
    if not name:
        return own or OFFERED[0]
    if own is not None:
        raise SpecError(f"backend_options.{OPTION}", f"'{backend}' has a form of its own; leave it empty.")
    if name not in OFFERED:
        raise SpecError(f"backend_options.{OPTION}", f"expected one of {', '.join(OFFERED)}, found {name!r}.")
    return str(name)


def check_thinking(decoding: Decoding, form_name: str) -> None:
    """Raise SpecError unless a provider takes what is asked of it."""
    form, effort, budget = FORMS[form_name], decoding.reasoning_effort, decoding.thinking_budget
    if effort is None and budget is None:
        return
    if effort is not None and budget is not None:
        raise SpecError(
            "decoding.thinking_budget", "expected a reasoning effort or a thinking budget, not both."
        )
    if effort is not None and effort not in form.efforts:
        raise SpecError(
            "decoding.reasoning_effort",
            f"expected one of {', '.join(form.efforts)} for {form.title}, found {effort!r}.",
        )
    if budget is not None:
        _check_budget(budget, decoding.limit, form)
    if thinks(decoding) and not form.samples_freely:
        _check_sampling(decoding, form)


def _check_budget(budget: int, limit: int | None, form: ThinkingForm) -> None:
    if form.lowest_budget is None:
        raise SpecError(
            "decoding.thinking_budget", f"{form.title} takes a reasoning effort, and no budget in tokens."
        )
    if budget < form.lowest_budget:
        raise SpecError(
            "decoding.thinking_budget",
            f"expected at least {form.lowest_budget:,} tokens for {form.title}, found {budget:,}.",
        )
    if limit is not None and budget >= limit:
        raise SpecError(
            "decoding.thinking_budget",
            f"expected fewer tokens than the limit of {limit:,}, which counts thoughts and answer, found {budget:,}.",
        )


def _check_sampling(decoding: Decoding, form: ThinkingForm) -> None:
    if decoding.temperature not in (None, 1.0):
        raise SpecError(
            "decoding.temperature",
            f"expected 1 or none, which is what {form.title} takes of a model that thinks, "
            f"found {decoding.temperature:g}.",
        )
    if decoding.top_p is not None and decoding.top_p < 0.95:
        raise SpecError(
            "decoding.top_p",
            f"expected at least 0.95 or none, which is what {form.title} takes of a model that thinks, "
            f"found {decoding.top_p:g}.",
        )


def thinking_fields(decoding: Decoding, form_name: str) -> Fields:
    """Return the fields of a request's body by which a provider is told how much to think; mostly none.

    >>> thinking_fields(Decoding(reasoning_effort="low"), "openrouter")
    {'reasoning': {'effort': 'low'}}
    """
    if decoding.reasoning_effort is not None:
        return FORMS[form_name].by_effort(decoding.reasoning_effort)
    if decoding.thinking_budget is not None and (by_budget := FORMS[form_name].by_budget) is not None:
        return by_budget(decoding.thinking_budget)
    return {}


def seconds_for(decoding: Decoding, timeout: float) -> float:
    """Return how long a request may take: a model that is told to think gets time for all of its tokens.

    Parameters
    ----------
    timeout : float
        Seconds that any request of the endpoint may take; never less is given.
    """
    if not thinks(decoding):
        return timeout
    return max(timeout, min((decoding.limit or ROOM) / TOKENS_PER_SECOND, MOST_SECONDS))


def with_thinking_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a way of sampling with those filled in that a model which thinks needs otherwise.

    Where it is told to think: room for its thoughts, and the server's own temperature. A limit of
    `max_completion_tokens` takes the place of `max_tokens`.
    """
    values = dict(given)
    budget, effort = values.get("thinking_budget"), values.get("reasoning_effort")
    asked = bool(budget) or effort not in (None, "none")
    if values.get("max_completion_tokens") is not None:
        values.setdefault("max_tokens", None)
    if asked:
        values.setdefault("temperature", None)
        room = budget + ANSWER_ROOM if isinstance(budget, int) else ROOM
        values.setdefault("max_tokens", room)
    return values

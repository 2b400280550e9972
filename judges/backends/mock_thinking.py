"""How the mock's models think, by the fields in which providers are told to: whether, and in how many tokens.

``mock-reasoner`` is as strict as OpenAI's reasoning models: it knows no `max_tokens`, has a temperature of 1 alone,
hides its thought, counts its tokens, and answers nothing where the limit leaves no room behind it.
"""

from dataclasses import dataclass
from typing import Any

from judges.backends.mock_answers import THOUGHT

THINKING = ("thinking", "thinking-aloud", "reasoner")
_TOKENS = {"minimal": 16, "low": 64, "medium": 256, "high": 1024, "xhigh": 4096, "max": 16384}
_OWN_EFFORT = "medium"


@dataclass(frozen=True, slots=True)
class Thinking:
    """What is thought before an answer: its text, and how many tokens of the reply it takes."""

    text: str = ""
    tokens: int = 0


NO_THINKING = Thinking()


def thinking_of(kind: str, body: dict[str, Any]) -> Thinking:
    """Return what a model of this kind thinks about a request; nothing where it is told not to."""
    if kind not in THINKING or is_off(body):
        return NO_THINKING
    if kind == "reasoner":
        return Thinking(tokens=_tokens(body))
    return Thinking(THOUGHT, len(THOUGHT) // 4 + 1)


def is_off(body: dict[str, Any]) -> bool:
    """Whether any provider's field says that there is to be no thought."""
    reasoning, thinking = _object(body, "reasoning"), _object(body, "thinking")
    template = _object(body, "chat_template_kwargs")
    return (
        "none" in (body.get("reasoning_effort"), reasoning.get("effort"))
        or thinking.get("type") == "disabled"
        or False in (body.get("enable_thinking"), template.get("enable_thinking"))
    )


def refusal(kind: str, body: dict[str, Any]) -> str:
    """Return why the model refuses a request's settings, in the words of OpenAI's errors; empty if it takes them."""
    if kind != "reasoner":
        return ""
    if "max_tokens" in body:
        return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
    if body.get("temperature", 1) != 1 and not is_off(body):
        return (
            "Unsupported value: 'temperature' does not support this value. Only the default (1) is supported."
        )
    return ""


def has_no_room(thinking: Thinking, body: dict[str, Any]) -> bool:
    """Whether the limit is reached before the answer begins; of a thought that is written, nobody keeps count."""
    limit = body.get("max_completion_tokens")
    return not thinking.text and isinstance(limit, int) and thinking.tokens >= limit


def _tokens(body: dict[str, Any]) -> int:
    google = _object(_object(_object(body, "extra_body"), "google"), "thinking_config")
    budgets = (
        _object(body, "thinking").get("budget_tokens"),
        _object(body, "reasoning").get("max_tokens"),
        google.get("thinking_budget"),
        body.get("thinking_token_budget"),
        body.get("thinking_budget"),
    )
    effort = body.get("reasoning_effort") or _object(body, "reasoning").get("effort") or _OWN_EFFORT
    return next(
        (each for each in budgets if isinstance(each, int)), _TOKENS.get(effort, _TOKENS[_OWN_EFFORT])
    )


def _object(body: dict[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name)
    return value if isinstance(value, dict) else {}

"""Responses that are conversations: emoji, combining characters, Arabic, code, a tool and a long answer."""

from annotation.domain.conversation import flatten
from annotation.models import Response

LONG = "\n\n".join(
    f"## Part {part}\n\n" + "The paper is folded along the dotted line. " * 38 for part in range(1, 6)
)
"""1,500 words."""
FIRST = (
    "Fold the **paper** 👩‍🔬, as in `fold()`:\r\n\r\n"
    "```python\npaper = fold(paper)\n```\r\n\r\nNoe\u0308l says cafe\u0301."
)
ARABIC = "طوي الورقة ثم **طوي الورقة** مرة أخرى."
MESSAGES = [
    {"role": "user", "text": "How do I fold the paper?"},
    {"role": "assistant", "text": FIRST},
    {"role": "user", "text": "Fold the paper? In Arabic, please."},
    {"role": "assistant", "text": ARABIC, "calls": [{"name": "dictionary", "arguments": {"word": "fold"}}]},
    {"role": "tool", "text": "طوي", "name": "dictionary"},
    {"role": "user", "text": "And at length?"},
    {"role": "assistant", "text": LONG},
]


def responses_become_conversations(**filters: object) -> None:
    """Let these responses, or all, be this conversation."""
    Response.objects.filter(**filters).update(text=flatten(MESSAGES), messages=MESSAGES)

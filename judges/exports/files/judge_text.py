"""What a judge asks of a text and how its answer is read, exported by Touchstone: `judge_data.json` has the judge."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "judge_data.json").read_text(encoding="utf-8"))
QUESTIONS: list[dict[str, Any]] = DATA["questions"]


def messages_of(question: dict[str, Any], texts: dict[str, str]) -> list[dict[str, str]]:
    """The messages with an item's texts in their places; tags are marked where a text holds something like one."""
    shown = question["with_context" if texts.get("context") else "plain"]
    used = [texts[name] for _, pieces in shown for name in pieces[1::2] if name != "mark"]
    tags = "|".join(map(re.escape, question["tags"]))
    mark = ""
    if tags and any(re.search(rf"<\s*/?\s*(?:{tags})", text, re.IGNORECASE) for text in used):
        mark = "_" + hashlib.sha256("\0".join(used).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    filled = {**texts, "mark": mark}
    return [
        {
            "role": role,
            "content": "".join(filled[piece] if at % 2 else piece for at, piece in enumerate(pieces)),
        }
        for role, pieces in shown
    ]


def label_of(question: dict[str, Any], answer: str) -> str | None:
    """What an answer says; None for one in another form than the prompt asks for."""
    found = (label for label, pattern in question["patterns"].items() if re.search(pattern, answer))
    return next(found, None)

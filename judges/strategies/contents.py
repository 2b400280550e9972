"""A hash of what a judge may see of an item: whether a verdict is on these texts, wherever it was made."""

import json
from hashlib import sha256
from typing import Any

from judges.strategies.types import ItemView


def item_content_hash(view: ItemView) -> str:
    """Return a hash of all that a judge may see of an item, whatever its order."""
    shown = view.responses[::-1] if view.order else view.responses
    parts: list[Any] = [
        view.kind,
        view.instruction,
        view.context,
        view.reference,
        shown,
        view.category,
        view.subset,
    ]
    parts += [[(each.key, each.question, each.options) for each in view.criteria]]
    parts += [[(each.key, each.text, each.parent) for each in view.aspects], view.references]
    if view.several:
        parts.append("several")
    if scales := {each.key: scale for each in view.criteria if (scale := each.scale.as_json())}:
        parts.append(scales)
    return sha256(json.dumps(parts, ensure_ascii=True).encode("ascii")).hexdigest()[:16]

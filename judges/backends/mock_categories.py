"""Which categories of a list the mock's models choose for a text: those whose words it has."""

import re

from judges.backends.mock_material import ReadPrompt
from judges.backends.mock_models import MockModel, fraction_of

LIST = "categories"
"""The fence that a list of categories stands in, and what a structured answer calls those that are chosen."""
_LISTED = re.compile(r"^- ([^:\n]+)(?:: (.*))?$", re.MULTILINE)
_WORD = re.compile(r"\w{4,}")


def listed_categories(reading: ReadPrompt) -> tuple[str, ...]:
    """Return the names that a prompt lists; empty for a prompt without such a list."""
    return tuple(match[1] for match in _LISTED.finditer(reading.fields.get(LIST, "")))


def category_chances(
    model: MockModel, reading: ReadPrompt, names: tuple[str, ...], number: float
) -> dict[str, float]:
    """Return the probability with which a model chooses each of these names.

    Its favorite has the model's own probability (`MockModel.p`): the first or second of the list by its name, one that
    is drawn, else the one that shares most words with the text.
    """
    place = {"first": 0, "second": 1}.get(model.kind)
    if place is None:
        shares = _shares(reading, names)
        best = max(shares.values())
        alike = [name for name in names if shares[name] == best]
        if model.kind == "random":
            alike = list(names)
        favorite = alike[int(fraction_of("category", number) * len(alike))]
    else:
        favorite = names[place % len(names)]
    p = model.p if len(names) > 1 else 1.0
    return {name: p if name == favorite else (1 - p) / (len(names) - 1) for name in names}


def categories_chosen(
    model: MockModel, reading: ReadPrompt, names: tuple[str, ...], number: float
) -> list[str]:
    """Return the categories that a model chooses where it may choose several: one, and others that fit as well."""
    first = category_picked(category_chances(model, reading, names, number), number)
    shares = _shares(reading, names)
    likes = model.kind not in {"first", "second", "random"} and shares[first] > 0
    return [name for name in names if name == first or (likes and shares[name] >= shares[first])]


def category_picked(chances: dict[str, float], number: float) -> str:
    """Return the category that a number in [0, 1) falls on, the likeliest first."""
    reached = 0.0
    ordered = sorted(chances, key=lambda name: -chances[name])
    for name in ordered:
        reached += chances[name]
        if number < reached:
            return name
    return ordered[0]


def _shares(reading: ReadPrompt, names: tuple[str, ...]) -> dict[str, int]:
    """How many words of each category, and of what the list says of it, the text has."""
    defined = {match[1]: match[0] for match in _LISTED.finditer(reading.fields.get(LIST, ""))}
    text = " ".join(reading.fields.get(name, "") for name in ("text", "instruction", "response"))
    there = set(_WORD.findall(text.lower()))
    return {name: len(there & set(_WORD.findall(defined.get(name, name).lower()))) for name in names}

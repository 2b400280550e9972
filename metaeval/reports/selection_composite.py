"""The composite of a choice as a judge to promote: its parts, what to expect of it, and what speaks against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metaeval.reports.figures import points_text, range_text
from metaeval.reports.selection_words import (
    composed_by,
    listed,
    name_of,
    standing_of,
    unbroken,
    violation_words,
    with_range,
)

Content = Mapping[str, Any]
IMPORTED = "imported"
"""The backend of judges whose verdicts came from elsewhere: nobody can ask them."""


@dataclass(frozen=True, slots=True)
class CompositeOffer:
    """The composite that a choice found.

    Attributes
    ----------
    by : {"category", "subset"}
        What of an item says which part judges it.
    parts : mapping of str to str
        Category, or path of a subset, to the key of its judge.
    others : str
        Key of the judge of everything that the parts do not name: the leader of the choice.
    held_out, gain : mapping
        Estimates on instructions that were put aside: of composites, and of how far they were ahead of single judges.
    violations : tuple of dict
        What its parts violate, each with its ``judge``.
    although : tuple of str
        What speaks against it, in words; empty where nothing does.
    obstacle : str
        Why it cannot be a judge at all; empty where it can.
    """

    by: str
    parts: Mapping[str, str]
    others: str
    held_out: Mapping[str, Any]
    gain: Mapping[str, Any]
    in_sample: float | None
    worth_it: bool
    violations: tuple[dict[str, Any], ...]
    although: tuple[str, ...]
    obstacle: str
    others_name: str

    @property
    def judges(self) -> list[str]:
        """Keys of the judges that it is made of, each once."""
        return list(dict.fromkeys([*self.parts.values(), self.others]))


def composite_offer(content: Content) -> CompositeOffer | None:
    """The composite of a choice; None where nothing was found to combine."""
    found, leader = content["composite"], content["leader"]
    if found is None or leader is None or len(set(found["parts"].values())) < 2:
        return None
    parts = dict(sorted(found["parts"].items()))
    judges = dict.fromkeys([*parts.values(), leader])
    violations = tuple(
        {**one, "judge": key} for key in judges for one in standing_of(content, key)["violations"]
    )
    against = [f"{name_of(content, one['judge'])}: {violation_words(one)}" for one in violations]
    if not found["worth_it"]:
        against.append(_not_worth_it(found["gain"]))
    return CompositeOffer(
        by=composed_by(content)[0],
        parts=parts,
        others=leader,
        held_out=found["held_out"],
        gain=found["gain"],
        in_sample=found["naive"],
        worth_it=found["worth_it"],
        violations=violations,
        although=unbroken(against),
        obstacle=_obstacle(content, judges),
        others_name=name_of(content, leader),
    )


def _not_worth_it(gain: Mapping[str, Any]) -> str:
    if gain["value"] is None:
        return "whether it is worth it is not known"
    ends = range_text(gain, "points")
    size = f"{points_text(gain['value'])}{f' ({ends})' if ends else ''}"
    if gain["value"] <= 0:
        return f"it is not worth it: on items that were put aside it gains nothing, {size}"
    return f"it is not worth it: its gain on items that were put aside, {size}, may be chance"


def _obstacle(content: Content, judges: Mapping[str, None]) -> str:
    kinds = {row["composed_by"] for row in content["datasets"] if row["weight"] > 0}
    if len(kinds) > 1:
        return (
            "It has a judge for each category of one dataset and for each subset of another, and a judge goes by one "
            "of the two. Leave a dataset out."
        )
    backends = {judge["key"]: judge["backend"] for judge in content["judges"]}
    imported = [name_of(content, key) for key in judges if backends.get(key) == IMPORTED]
    if imported:
        return (
            f"The verdicts of {listed(imported)} were imported, so nobody can ask what it would be made of."
        )
    return ""


def composite_facts(content: Content, offer: CompositeOffer) -> dict[str, Any]:
    """What a decision for the composite keeps as its evidence, as JSON values; ``held_out`` is what to quote."""
    return {
        "held_out": dict(offer.held_out),
        "gain": dict(offer.gain),
        "worth_it": offer.worth_it,
        "in_sample": offer.in_sample,
        "by": offer.by,
        "parts": [
            {offer.by: name, "judge": key, "name": name_of(content, key)} for name, key in offer.parts.items()
        ],
        "others": {"judge": offer.others, "name": offer.others_name},
    }


def composite_line(facts: Mapping[str, Any]) -> str:
    """A promoted composite in a line, of what its decision keeps (`composite_facts`)."""
    gain = facts["gain"]
    ahead = "" if gain["value"] is None else f", {points_text(gain['value'])} more than single judges"
    verdict = "worth it" if facts["worth_it"] else "not worth it on that evidence"
    parts = "; ".join(f"{part[facts['by']]}: {part['name']}" for part in facts["parts"])
    (line,) = unbroken(
        [
            f"The composite by {facts['by']}, {len(facts['parts'])} parts: {with_range(facts['held_out'])} on items "
            f"that were put aside{ahead}, {verdict}. {parts}; all others: {facts['others']['name']}."
        ]
    )
    return line

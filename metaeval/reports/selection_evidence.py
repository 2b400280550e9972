"""What a decision keeps of the choice that it rests on: how the judge stood. Pure functions of the choice's content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.reports.estimates import undefined
from metaeval.reports.selection_composite import CompositeOffer, composite_facts
from metaeval.reports.selection_words import standing_of

Content = Mapping[str, Any]
_NOT_CHOSEN = "it is not what the procedure chose, and nothing else was held out"
PRIMARY = {"people": "agreement", "gold": "accuracy"}


def judge_evidence(content: Content, key: str, dataset: str) -> dict[str, Any]:
    """What the comparison of one dataset shows of a decision for a judge, in the shape that it has there.

    Raises KeyError for a judge that the choice does not know.
    """
    about = _dataset(content, dataset)
    judge = next(row for row in content["judges"] if row["key"] == key)
    standing = standing_of(content, key)
    ranked = _ranked(content)
    primary = PRIMARY[about["role"]]
    measures = {
        primary: standing["scores"][dataset],
        **{name: standing[name] for name in ("positional_agreement", "cost_per_1000", "seconds")},
    }
    return {
        "judge": judge | {"measures": {name: {"overall": value} for name, value in measures.items()}},
        "primary": primary,
        "rank": ranked.index(key) + 1 if key in ranked else None,
        "of": len(ranked),
        "clear": content["verdict"] == "clear" and content["winner"] == key,
        "behind_leader": standing["behind"],
        "objective": standing["objective"],
        "simulated_share": about["simulated_share"],
    }


def promoted_facts(content: Content, key: str) -> dict[str, Any]:
    """What a promotion records of a judge: its own figures, and those of the procedure only where that chose it.

    ``held_out`` is of the procedure: what to expect of the judge that the procedure arrives at, and of no other.
    ``in_sample`` are the figures of this judge on the items of the choice.
    """
    standing, ranked = standing_of(content, key), _ranked(content)
    names = ("objective", "scores", "positional_agreement", "unparsed", "cost_per_1000", "seconds")
    return {
        "held_out": content["held_out"] if content["chosen"] == key else undefined(_NOT_CHOSEN),
        "in_sample": {
            **{name: standing[name] for name in names},
            "rank": ranked.index(key) + 1 if key in ranked else None,
            "of": len(ranked),
            "behind_leader": standing["behind"],
            "in_confidence_set": standing["in_confidence_set"],
        },
    }


def procedure_facts(content: Content) -> dict[str, Any]:
    """What the procedure arrived at, and what that is worth: of whichever judge was promoted, these are facts about the
    choice. ``chosen`` is a fingerprint, or "composite".
    """
    names = ("chosen", "leader", "held_out", "naive", "optimism", "confidence_set")
    return {name: content[name] for name in names}


def composite_evidence(
    content: Content, offer: CompositeOffer, judge: Mapping[str, Any], dataset: str
) -> dict[str, Any]:
    """The same of a decision for the composite, which has judged nothing yet.

    Its figure is that on instructions that were put aside (``is_held_out``). That on the items that its parts were
    picked on flatters, and stands inside ``composite`` alone.
    """
    about = _dataset(content, dataset)
    return {
        "judge": dict(judge) | {"baseline": False, "measures": {}},
        "primary": PRIMARY[about["role"]],
        "rank": None,
        "of": len(_ranked(content)),
        "clear": offer.worth_it,
        "behind_leader": None,
        "objective": dict(offer.held_out),
        "is_held_out": True,
        "composite": composite_facts(content, offer),
        "simulated_share": about["simulated_share"],
    }


def _dataset(content: Content, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(row for row in content["datasets"] if row["name"] == name)
    return found


def _ranked(content: Content) -> list[str]:
    """The judges that may be chosen, best first."""
    judged = {row["key"] for row in content["judges"] if not row["baseline"]}
    return [
        row["judge"]
        for row in content["standings"]
        if row["is_ranked"] and not row["violations"] and row["judge"] in judged
    ]

"""What a decision keeps of the choice that it rests on: how the judge stood. Pure functions of the choice's content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.reports.selection_composite import CompositeOffer, composite_facts
from metaeval.reports.selection_words import standing_of

Content = Mapping[str, Any]
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

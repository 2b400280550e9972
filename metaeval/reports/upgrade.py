"""From what earlier versions stored to the schema of today, so that there is one way to show a report."""

from collections.abc import Mapping
from typing import Any

PAIRS_1 = "touchstone.report/1"
KINDS_1 = "touchstone.kind-comparison/1"

Content = Mapping[str, Any]


def upgraded(content: Content) -> Content:
    """Content of `touchstone.report/1` or `touchstone.kind-comparison/1` as `touchstone.report/2`; others as they are.

    What an earlier version did not keep is None or empty; nothing is computed.
    """
    if content["schema"] == PAIRS_1:
        return _pairs(content)
    return _kind(content) if content["schema"] == KINDS_1 else content


def _pairs(old: Content) -> dict[str, Any]:
    people, items = old["humans"], old["items"]
    llmbar = old["options"].get("unparsed_agree", True)
    names = [judge["name"] for judge in old["judges"]]
    return {
        **_shared(old),
        "kind": "pairwise",
        "options": {name: value for name, value in old["options"].items() if name != "unparsed_agree"},
        "targets": [],
        "criteria": [],
        "items": {name: value for name, value in items.items() if name != "kind"}
        | {"n_with_target": max(people["n_items_with_two_labels"], items["n_gold"])},
        "people": {name: value for name, value in people.items() if name != "n_simulated"}
        | {"n_drawn_by_chance": people.get("n_drawn_by_chance", 0), "annotators": []},
        "gold": {},
        "judges": [
            judge | {"measures": _positional(judge["measures"], llmbar), "replaces": judge.get("replaces")}
            for judge in old["judges"]
        ],
        "selections": {name: _selection(one, names) for name, one in old["selection"].items()},
        "replacement": old.get("replacement"),
        "remarks": [],
    }


def _positional(measures: Content, llmbar: bool) -> dict[str, Any]:
    """The headline figure was LLMBar's, where two unparsed verdicts agree; the strict one stood beside it."""
    found = dict(measures)
    headline = found.pop("positional_agreement")
    found["positional_agreement"] = found.pop("positional_agreement_strict", headline)
    return found | ({"positional_agreement_llmbar": headline} if llmbar else {})


def _kind(old: Content) -> dict[str, Any]:
    judges = [
        {name: value for name, value in judge.items() if name != "n_judged"}
        | {
            "baseline": False,
            "n_judgments": judge["n_judged"],
            "n_items_judged": judge["n_judged"],
            "orders": "original",
            "replaces": None,
        }
        for judge in old["judges"]
    ]
    return {
        **_shared(old),
        "kind": old["kind"],
        "options": dict(old["options"]),
        "targets": old["targets"],
        "criteria": old["criteria"],
        "items": old["items"] | {"n_gold": 0},
        "people": dict(old["people"]),
        "gold": old["gold"]["measures"],
        "judges": judges,
        "selections": {
            old["primary"]: _selection(old["selection"], [judge["name"] for judge in old["judges"]])
        },
        "replacement": None,
        "remarks": old["remarks"],
    }


def _shared(old: Content) -> dict[str, Any]:
    names = ("software", "name", "inputs_hash", "dataset", "study", "sweep", "primary")
    return {"schema": "touchstone.report/2"} | {name: old[name] for name in names}


def _selection(old: Content, names: list[str]) -> dict[str, Any]:
    floor = old.get("best_baseline")
    if floor is not None and "judge" in floor:
        floor = floor | {"name": names[floor["judge"]]}
    return {"n_compared": None, **old, "best_baseline": floor}

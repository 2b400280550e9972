"""Which systems stand against each other in the pairs of a dataset."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.kinds import PAIRWISE
from annotation.models import ItemResponse


@dataclass(frozen=True, slots=True)
class PairOfSystems:
    """A pair whose two responses come from named systems, in canonical order."""

    item_id: int
    external_id: str
    instruction_id: int
    first: str
    second: str


def pairs_of_systems(dataset_id: int) -> list[PairOfSystems]:
    """The pairs of a dataset of which both systems are known and differ, in source order; one query."""
    links = ItemResponse.objects.filter(item__dataset_id=dataset_id, item__kind=PAIRWISE.name)
    rows = links.order_by("item__position", "item_id", "position").values_list(
        "item_id", "item__external_id", "item__instruction_id", "response__system"
    )
    found: dict[int, tuple[str, int, list[str]]] = {}
    for item_id, external_id, instruction_id, system in rows.iterator(chunk_size=10_000):
        found.setdefault(item_id, (external_id, instruction_id, []))[2].append(system)
    return [
        PairOfSystems(item_id, external_id, instruction_id, *systems)
        for item_id, (external_id, instruction_id, systems) in found.items()
        if len(systems) == 2 and all(systems) and systems[0] != systems[1]
    ]

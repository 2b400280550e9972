"""Instructions and the responses to them, which no item has to be made of, and the systems that gave them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.db.models.functions import Left

from annotation.kinds import PAIRWISE, kind_of
from annotation.models import Dataset, Instruction, Item, ItemResponse, Response

EXAMPLE = 200
"""Characters of an instruction that stands for others."""


@dataclass(frozen=True, slots=True)
class InstructionFacts:
    """What making pairs needs of an instruction: no text but the reference."""

    instruction_id: int
    external_id: str
    reference: str


def instruction_facts(dataset_id: int) -> list[InstructionFacts]:
    """The instructions of a dataset in the order of their source; one query."""
    rows = Instruction.objects.filter(dataset_id=dataset_id).order_by("pk")
    return [
        InstructionFacts(pk, external_id, reference or "")
        for pk, external_id, reference in rows.values_list("pk", "external_id", "reference")
    ]


def instruction_names(dataset: Dataset) -> dict[int, str]:
    """By instruction, a name: the hash of what is asked, text, context and conversation.

    Rows that ask the same are one instruction, in one dataset or in two. Where nothing is written, each row is its own.
    """
    names: dict[int, str] = {}
    rows = Instruction.objects.filter(dataset=dataset).order_by("pk")
    asked: list[Any]
    for pk, external_id, *asked in rows.values_list(
        "pk", "external_id", "text", "context", "conversation"
    ).iterator(chunk_size=2_000):
        content = asked if any(asked) else [dataset.name, external_id]
        names[pk] = sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()[:20]
    return names


def instruction_clusters(dataset: Dataset, kind: str) -> dict[int, int]:
    """By instruction the first one that asks the same; empty of kinds whose instructions have no aspects.

    Aspects are part of an instruction: two traces of one task with different numbers of steps have two rows. Their
    items belong together all the same.
    """
    if kind_of(kind).parts != "aspects":
        return {}
    first: dict[str, int] = {}
    return {pk: first.setdefault(name, pk) for pk, name in instruction_names(dataset).items()}


def dataset_systems(dataset_id: int) -> list[str]:
    """The names of the systems that responded in a dataset, in their order; one query."""
    rows = Response.objects.filter(instruction__dataset_id=dataset_id).exclude(system="")
    return list(rows.order_by("system").values_list("system", flat=True).distinct())


def system_responses(dataset_id: int, system: str) -> dict[int, str]:
    """The response of a system to each instruction, the first where it gave several; one query."""
    rows = Response.objects.filter(instruction__dataset_id=dataset_id, system=system).order_by("-pk")
    return dict(rows.values_list("instruction_id", "text"))


def systems_of_items(dataset_id: int, kind: str = "") -> dict[str, tuple[str, ...]]:
    """By item (of a kind), the systems of its responses in canonical order, where all are known; one query."""
    links = ItemResponse.objects.filter(item__dataset_id=dataset_id, item__until_version__isnull=True)
    if kind:
        links = links.filter(item__kind=kind)
    rows = links.order_by("item__position", "item_id", "position").values_list(
        "item__external_id", "response__system"
    )
    found: dict[str, list[str]] = {}
    for name, system in rows.iterator(chunk_size=10_000):
        found.setdefault(name, []).append(system)
    return {name: tuple(systems) for name, systems in found.items() if all(systems)}


def first_instructions(dataset_id: int, kinds: Iterable[str]) -> dict[tuple[str, str], str]:
    """By category and subset, the beginning of the first instruction of items of these kinds; one query."""
    items = Item.objects.current().filter(dataset_id=dataset_id, kind__in=list(kinds))
    rows = items.order_by("position", "pk")
    found: dict[tuple[str, str], str] = {}
    for category, subset, text in rows.values_list(
        "instruction__category", "instruction__subset", Left("instruction__text", EXAMPLE)
    ).iterator(chunk_size=10_000):
        found.setdefault((category, subset), text)
    return found


def systems_of_pairs(dataset_id: int) -> dict[str, tuple[str, str]]:
    """By pair, its two systems in canonical order, where both are known and differ; in source order, one query."""
    return {
        name: (systems[0], systems[1])
        for name, systems in systems_of_items(dataset_id, PAIRWISE.name).items()
        if len(systems) == 2 and systems[0] != systems[1]
    }

"""The first items of a bundle as annotators would see them, before anything of it is stored."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from annotation.importers.records import CriterionRecord, DatasetBundle
from annotation.kinds import kind_of
from annotation.kinds.shown import ShownAspect, ShownCriterion, ShownItem, ShownResponse, ShownTurn, turns_of

LONGEST = 100_000
"""Characters of a text that a preview has; what is longer ends in an ellipsis."""


def items_shown(bundle: DatasetBundle, n: int) -> list[tuple[str, ShownItem]]:
    """The first `n` items, each with its id, in the order of the file and with parts in canonical order."""
    instructions = {record.key: record for record in bundle.instructions}
    responses = {(record.instruction, record.key): record for record in bundle.responses}
    criteria = tuple(map(_criterion, bundle.criteria))
    chosen = bundle.items[:n]
    wanted = {item.instruction for item in chosen}
    aspects: dict[str, list[ShownAspect]] = {key: [] for key in wanted}
    for record in bundle.aspects:
        if record.instruction in wanted:
            aspects[record.instruction].append(ShownAspect(record.key, record.text))
    found = []
    for item in chosen:
        asked, kind = instructions[item.instruction], kind_of(item.kind)
        shown = ShownItem(
            kind=item.kind,
            instruction=_cut(asked.text),
            context=_cut(asked.context),
            conversation=turns_of(asked.conversation),
            responses=tuple(
                ShownResponse(_cut(one.text), turns_of(one.messages))
                for key in item.responses
                for one in [responses[item.instruction, key]]
            ),
            criteria=criteria if kind.parts == "criteria" else (),
            aspects=tuple(aspects[item.instruction]) if kind.parts == "aspects" else (),
            several=bool(kind.parts_field)
            and bundle.categories is not None
            and bundle.categories.scheme.several,
        )
        found.append((item.external_id, shown))
    return found


def shown_document(shown: ShownItem) -> dict[str, Any]:
    """The item as JSON; `shown_of` reads it."""
    return asdict(shown)


def shown_of(document: Mapping[str, Any]) -> ShownItem:
    """The item that `shown_document` wrote."""

    def turns(given: Any) -> tuple[ShownTurn, ...]:
        return tuple(ShownTurn(**turn) for turn in given)

    parts = {
        "conversation": turns(document["conversation"]),
        "responses": tuple(ShownResponse(one["text"], turns(one["turns"])) for one in document["responses"]),
        "criteria": tuple(
            ShownCriterion(**{**one, "options": tuple(map(tuple, one["options"]))})
            for one in document["criteria"]
        ),
        "aspects": tuple(ShownAspect(**one) for one in document["aspects"]),
    }
    return ShownItem(**{**document, **parts})


def _criterion(record: CriterionRecord) -> ShownCriterion:
    return ShownCriterion(record.key, record.question, tuple(sorted(record.options.items())))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

"""The first items of a bundle as annotators would see them, before anything of it is stored."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from annotation.domain.conversation import Stored, Turn, turns_of
from annotation.domain.scales import Scale
from annotation.importers.records import CriterionRecord, DatasetBundle
from annotation.kinds import kind_of
from annotation.kinds.shown import ShownAspect, ShownCriterion, ShownItem, ShownResponse

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
            conversation=_turns(asked.conversation),
            responses=tuple(
                ShownResponse(_cut(one.text), _turns(one.messages))
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
    responses = [
        {"text": one.text, "turns": [turn.as_json() for turn in one.turns]} for one in shown.responses
    ]
    return asdict(shown) | {
        "conversation": [turn.as_json() for turn in shown.conversation],
        "responses": responses,
    }


def shown_of(document: Mapping[str, Any]) -> ShownItem:
    """The item that `shown_document` wrote."""

    parts = {
        "conversation": tuple(turns_of(document["conversation"])),
        "responses": tuple(
            ShownResponse(one["text"], tuple(turns_of(one["turns"]))) for one in document["responses"]
        ),
        "criteria": tuple(
            ShownCriterion(
                one["key"],
                one["question"],
                Scale(**{**one["scale"], "words": tuple(map(tuple, one["scale"]["words"]))}),
            )
            for one in document["criteria"]
        ),
        "aspects": tuple(ShownAspect(**one) for one in document["aspects"]),
    }
    return ShownItem(**{**document, **parts})


def _criterion(record: CriterionRecord) -> ShownCriterion:
    return ShownCriterion(record.key, record.question, record.rated_on)


def _turns(stored: Iterable[Stored]) -> tuple[Turn, ...]:
    """Turns without what is hidden from those who judge."""
    return tuple(turn.withheld() for turn in turns_of(stored))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

"""What the pairwise strategies share: the pair, its rendering and the presentation order."""

from __future__ import annotations

from judges.strategies.errors import MissingReferenceError, StrategyError
from judges.strategies.types import ItemView, Message, StrategyConfig

LABELS = ("A", "B")
LABELS_WITH_TIE = ("A", "B", "tie")


def labels(config: StrategyConfig) -> tuple[str, ...]:
    """Return the verdicts that the configuration allows, in the words the prompts use."""
    return LABELS_WITH_TIE if config.allow_tie else LABELS


def pair(item: ItemView) -> tuple[str, str]:
    """Return the responses shown as A and as B.

    Raises
    ------
    StrategyError
        The item has not exactly two responses.
    """
    if len(item.responses) != 2:
        raise StrategyError(f"Item {item.item_id} has {len(item.responses)} responses; a pair has two.")
    return item.responses[0], item.responses[1]


def presented(canonical: int, order: int) -> int:
    """Map a choice in canonical order (0, 1, 2) to the presented order; it is its own inverse."""
    return 3 - canonical if order == 1 and canonical else canonical


def render(item: ItemView, config: StrategyConfig, *extra_flags: str) -> tuple[Message, ...]:
    """Render the configured prompt for a pair.

    Raises
    ------
    StrategyError
        No prompt is configured, or the item is not a pair.
    MissingReferenceError
        The configuration shows the reference and the item has none.
    """
    if config.prompt is None:
        raise StrategyError(f"The strategy '{config.name}' needs a prompt and its configuration has none.")
    output_a, output_b = pair(item)
    values = {"instruction": item.instruction, "output_a": output_a, "output_b": output_b}
    flags = set(extra_flags)
    if config.allow_tie:
        flags.add("tie")
    if item.context:
        flags.add("context")
        values["context"] = item.context
    if config.use_reference:
        if item.reference is None or not item.reference.strip():
            raise MissingReferenceError(item_id=item.item_id, strategy=config.name)
        flags.add("reference")
        values["reference"] = item.reference
    return config.prompt.render(values, frozenset(flags))

"""In which order the parts of an item are shown: both, the original one, or one that is drawn."""

from dataclasses import replace

from annotation.domain.sampling import seeded_hash
from annotation.kinds import DEFAULT_KIND, KINDS
from judges.strategies.types import ItemView

ORDERS = ("both", "original", "random")
"""In which presentation orders pairs are judged; "random" draws one for each."""


def view_presented(view: ItemView, order: int) -> ItemView:
    """Return the view in a presentation order: 0 as stored, 1 with the responses swapped."""
    if not order:
        return view
    return replace(view, responses=view.responses[::-1], systems=view.systems[::-1], order=order)


def is_presented(kind: str) -> bool:
    """Whether an item of the kind may be presented in two orders."""
    return kind in KINDS and KINDS[kind].presented


def orders_wanted(orders: str, kind: str = DEFAULT_KIND) -> tuple[int, ...]:
    """Return the presentation orders in which items are judged, one of them for each where it is drawn."""
    return (0, 1) if is_presented(kind) and orders != "original" else (0,)


def orders_of(orders: str, kind: str, seed: int, external_id: str) -> tuple[int, ...]:
    """Return the presentation orders of one item; only pairs have more than the original one."""
    if is_presented(kind) and orders == "random":
        return (order_drawn(seed, external_id),)
    return orders_wanted(orders, kind)


def order_drawn(seed: int, external_id: str) -> int:
    """Return the one order in which a sweep with random orders shows an item: 0 or 1, each with equal chance."""
    return seeded_hash(seed, external_id, "order")[0] & 1

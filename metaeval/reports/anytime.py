"""Two judges while labels arrive: their difference on a dataset, valid at every look, and what a page says of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metaeval.reports.figures import points_text
from metaeval.reports.json_values import json_of
from metaeval.reports.verdict import with_ends
from metaeval.selection.anytime import difference_so_far
from metaeval.selection.types import JudgedDataset

NONE = "none"
_DRAWN = (
    "there is no confidence sequence here: items were drawn with unequal chances, so that how much an instruction can "
    "weigh is not known before it is labeled"
)


@dataclass(frozen=True, slots=True)
class AnytimeEntry:
    """The leader minus the runner-up on a dataset that studies ask labels of, with an interval valid at every look.

    ``answer`` and ``chance`` are as of `metaeval.stats.SequenceDecision`, or "none" where there is no such interval;
    the level is shared by ``n_shared`` intervals, of any two of ``n_judges`` on each such dataset.
    """

    dataset: str
    rival: str
    answer: str
    difference: Mapping[str, Any]
    chance: float | None
    n_finished: int
    n_planned: int
    n_judges: int
    n_shared: int


def anytime_row(
    dataset: JudgedDataset,
    arrival: Sequence[int],
    most: Sequence[float],
    pair: tuple[str, str],
    *,
    confidence: float,
    margin: float,
    n_judges: int,
    n_shared: int,
    is_weighted: bool,
) -> dict[str, Any]:
    """One `AnytimeEntry` as JSON; ``most`` is as of `difference_so_far`."""
    row: dict[str, Any] = {
        "dataset": dataset.name,
        "rival": pair[1],
        "n_judges": n_judges,
        "n_shared": n_shared,
    }
    if is_weighted:
        nothing = {"value": None, "low": None, "high": None, "n": 0, "reason": _DRAWN}
        return row | {"answer": NONE, "difference": nothing, "chance": None, "n_finished": 0, "n_planned": 0}
    so_far = difference_so_far(
        dataset, arrival, pair, most=most or None, confidence=confidence, n_shared=n_shared, margin=margin
    )
    row |= {
        "answer": so_far.decision.answer,
        "difference": so_far.decision.estimate,
        "chance": so_far.decision.chance,
        "n_finished": so_far.n_finished,
        "n_planned": so_far.n_planned,
    }
    found: dict[str, Any] = json_of(row)
    return found


def anytime_label(row: AnytimeEntry) -> str:
    """Whether labeling may stop, in a word or two."""
    if row.answer == NONE:
        return "Not known"
    if row.answer in ("above", "below", "within"):
        return "Settled"
    if row.answer != "not at this budget":
        return "Not settled yet"
    return "Not settled" if row.n_finished == row.n_planned else "Unlikely to be settled"


def anytime_words(leader: str, rival: str, row: AnytimeEntry, *, margin: float, where: str = "") -> list[str]:
    """What is settled of the leader and the runner-up, and what that rests on; ``where`` names the dataset."""
    prefix, of = f"{where}: " if where else "", f"{row.n_finished:,} of {row.n_planned:,} instructions"
    if row.difference["value"] is None:
        reason = row.difference.get("reason", "no item counts yet")
        return [f"{prefix}{reason if prefix else reason[:1].upper() + reason[1:]}."]
    equivalent = f"equivalent within the margin of {points_text(margin)}" if margin else ""
    said = {
        "above": f"{leader} is significantly better than {rival}",
        "below": f"{rival} is significantly better than {leader}",
        "within": f"{leader} and {rival} are {equivalent}",
    }
    neither = f"{leader} and {rival} are {'neither' if equivalent else 'not'} significantly different"
    found = said.get(row.answer, neither + (f" nor {equivalent}" if equivalent else ""))
    why = f" ({reason})" if (reason := row.difference.get("reason")) else ""
    sentences = [
        f"{prefix}{found}.",
        f"The difference is {with_ends(row.difference)}{why}, over the {of} that have all of their labels.",
    ]
    if row.answer == "not at this budget" and row.n_finished < row.n_planned:
        sentences.append("The instructions still to be labeled settle it with a probability below 5%.")
    return sentences


def anytime_meaning(rows: Sequence[AnytimeEntry], confidence: float) -> str:
    """What the intervals of `anytime_words` hold for; empty where there is none."""
    rows = [row for row in rows if row.answer != NONE]
    if not rows:
        return ""
    first, level = rows[0], f"{100 * confidence:.0f}%"
    shared = (
        f" The two were chosen on the same labels, so {first.n_shared:,} intervals share the level: those of any two "
        f"of the {first.n_judges} judges{' on each dataset' if len(rows) > 1 else ''}."
        if first.n_shared > 1
        else ""
    )
    return (
        f"{level} confidence sequence: valid however often you look, so you may stop labeling once it is settled. The "
        f"other intervals on this page are valid for one look.{shared} It is of these annotators on new items, and "
        "assumes that instructions are given out in random order."
    )

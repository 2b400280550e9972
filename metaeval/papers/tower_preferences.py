"""TOWER's preference test: where the two metrics prefer different responses, which one people side with."""

from collections.abc import Iterator

import numpy as np

from metaeval.inputs import Booleans, Floats, Inputs
from metaeval.papers.paper import PaperPart
from metaeval.papers.tables import MissingPart, PaperTable, count_cell, number_cell, word_cell
from metaeval.papers.tower_checklists import Answered, ModelChecklists
from metaeval.stats.intervals import wilson_interval

NAME, TITLE = "preference-test", "Preference test"
_NO_PAIRS = (
    "There are no labeled pairs of two models' responses to the instructions of the checklists.",
    "Add them to the dataset, with labels. The comparison page of a sweep over checklists has the items on which the "
    "two metrics differ most as a file.",
)


def preference_test(found: ModelChecklists, pairs: Inputs | None) -> Iterator[PaperPart]:
    """A table an evaluator of checklists, or why there is none."""
    if pairs is None or not len(pairs.labels):
        yield MissingPart(NAME, TITLE, *_NO_PAIRS)
        return
    rows = [row for who in found.answered if (row := _Sides(found, who, pairs)).n_known]
    if not rows:
        yield MissingPart(
            NAME,
            TITLE,
            "No labeled pair has both responses among the checklists: same instruction, same systems.",
            "Give pairs the instruction_id, the aspects and the systems of the checklists.",
        )
        return
    cells = []
    for row in rows:
        decided = row.n_tower + row.n_drfr
        share = row.n_tower / decided if decided else None
        low, high = wilson_interval(share, decided) if share is not None else (np.nan, np.nan)
        cells.append(
            (
                word_cell(row.name),
                count_cell(row.n_known),
                count_cell(row.n_opposed),
                count_cell(row.n_tower),
                count_cell(row.n_drfr),
                number_cell(share),
                number_cell(low),
                number_cell(high),
            )
        )
    yield PaperTable(
        NAME,
        f"{TITLE}: DRFR against TOWER",
        "Pairs in which DRFR and TOWER prefer different responses, by who answered the checklists; how many majorities "
        "of human labels side with either metric, and TOWER's share of these in percent with its 95% Wilson interval.",
        (
            "Checklists by", "Pairs", "Metrics differ", "Side with TOWER", "Side with DRFR", "TOWER", "from", "to",
        ),
        tuple(cells),
        (
            "Metrics differ: one prefers the first response and the other the second. The paper takes the generations "
            "on which they differ most; how many is not stated.",
            "Pairs whose labels are a tie or divided side with neither. Pairs are counted as independent, though pairs "
            "of one instruction are not.",
        ),
    )  # fmt: skip


class _Sides:
    """How often people side with either metric, by the checklists that one evaluator answered."""

    def __init__(self, found: ModelChecklists, who: Answered, pairs: Inputs) -> None:
        self.name = who.name
        gaps = _gaps(found, who, pairs)
        people = _majorities(pairs)
        known = ~np.isnan(gaps).any(axis=1) & ~np.isnan(people)
        drfr, tower = np.sign(np.round(gaps.T, 12))
        opposed: Booleans = known & (drfr * tower < 0)
        self.n_known, self.n_opposed = int(known.sum()), int(opposed.sum())
        self.n_tower = int((opposed & (people == tower)).sum())
        self.n_drfr = int((opposed & (people == drfr)).sum())


def _gaps(found: ModelChecklists, who: Answered, pairs: Inputs) -> Floats:
    """By pair how much more the first response follows than the second, by DRFR and by TOWER."""
    items, systems = found.sample.items, found.data.systems
    place = {
        (cluster, systems[name][0]): row
        for row, (name, cluster) in enumerate(zip(items.external_id, items.cluster, strict=True))
        if systems.get(name)
    }
    shares = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for weights in (found.sample.plain, found.sample.tower):
            part = who.followed(weights)
            shares.append(part.followed / part.total)
    gaps = np.full((len(pairs.items), 2), np.nan)
    for row, (name, cluster) in enumerate(zip(pairs.items.external_id, pairs.items.cluster, strict=True)):
        of_pair = systems.get(name, ())
        both = [place.get((cluster, system)) for system in of_pair]
        if len(both) == 2 and both[0] is not None and both[1] is not None:
            gaps[row] = [share[both[0]] - share[both[1]] for share in shares]
    return gaps


def _majorities(pairs: Inputs) -> Floats:
    """By pair 1 where most labels prefer the first response, -1 the second, 0 neither; NaN without labels."""
    side = np.select([pairs.labels.choice == 1, pairs.labels.choice == 2], [1, -1], 0)
    n = np.bincount(pairs.labels.item, minlength=len(pairs.items))
    counts = [np.bincount(pairs.labels.item[side == one], minlength=len(pairs.items)) for one in (1, -1, 0)]
    first, second, ties = counts
    found = np.where(
        first > np.maximum(second, ties), 1.0, np.where(second > np.maximum(first, ties), -1.0, 0.0)
    )
    return np.where(n > 0, found, np.nan)

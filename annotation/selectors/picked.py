"""Which reasons the annotators of a study picked so far: the share of labels with each, and beside which answers.

Kept in the cache until there are other labels, as agreement so far is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.kinds import kind_of
from annotation.kinds.reasons import Reason, reasons_in
from annotation.models import ItemResponse, Label, Study
from annotation.selectors.agreement import LabelStamp, label_stamp
from annotation.selectors.costly import counted_once, study_key
from annotation.selectors.instructions import instruction_clusters
from metaeval.figures.estimates import plain
from metaeval.stats import Resamples, ratio_estimate
from metaeval.stats.errors import quiet

VERSION = 2
MOST_SYSTEMS = 6
TIE = ""
# Of a bounded share the ends of an interval depend on the data alone; one resample says that they are wanted.
ONE = 1


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """A reason: in how many labels it was picked, the share of them, and for each column how many of how many."""

    words: str
    labels: int
    share: Mapping[str, Any]
    by_column: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ReasonsSoFar:
    """The labels of a study that were asked for reasons. Columns are the systems whose response was preferred, and
    ties, whose name is empty; of items with one response the systems that wrote it.
    """

    labels: int = 0
    with_any: int = 0
    columns: tuple[str, ...] = ()
    more_systems: int = 0
    rows: tuple[ReasonRow, ...] = ()
    preferred: bool = True


def reasons_so_far(study: Study, stamp: LabelStamp | None = None) -> ReasonsSoFar:
    """Two queries where labels are new and a study offers reasons; none where nothing is new."""
    offered = study.reasons_offered
    if not offered:
        return ReasonsSoFar()
    stamp = stamp or label_stamp(study)
    key = f"{study_key(study, 'reasons')}:{VERSION}:{stamp.changed}"
    return counted_once(key, stamp, lambda: _read(study, offered), may_lag=stamp.is_of_many)


def _read(study: Study, offered: Sequence[Reason]) -> ReasonsSoFar:
    same = instruction_clusters(study.dataset, study.kind)
    labels = Label.objects.current().filter(study=study, kind=study.kind).order_by("pk")
    columns = ("item_id", "item__instruction_id", "choice", "probability", "value")
    found = [
        (item, same.get(instruction, instruction), choice, chance, picked)
        for item, instruction, choice, chance, value in labels.values_list(*columns).iterator(
            chunk_size=5_000
        )
        if (picked := reasons_in(value)) is not None
    ]
    if not found:
        return ReasonsSoFar()
    names = _columns_of(study, found)
    counted = Counter(name for name in names if name is not None)
    systems = sorted((name for name in counted if name != TIE), key=lambda name: (-counted[name], name))
    shown = (*systems[:MOST_SYSTEMS], *([TIE] if TIE in counted else []))
    chances = np.array([row[3] for row in found], dtype=np.float64)
    weights = 1.0 / chances if (chances < 1).any() else None
    resamples = Resamples([row[1] for row in found], n_resamples=ONE)
    rows = []
    for reason in offered:
        has_it = np.array([reason.key in row[4] for row in found], dtype=np.float64)
        with quiet():
            share = ratio_estimate(has_it, np.ones(len(found)), resamples=resamples, weights=weights)
        in_column = Counter(name for name, row in zip(names, found, strict=True) if reason.key in row[4])
        by_column = tuple((in_column[column], counted[column]) for column in shown)
        rows.append(ReasonRow(reason.words, int(has_it.sum()), plain(share), by_column))
    return ReasonsSoFar(
        labels=len(found),
        with_any=sum(bool(row[4]) for row in found),
        columns=shown,
        more_systems=max(0, len(systems) - MOST_SYSTEMS),
        rows=tuple(rows),
        preferred=kind_of(study.kind).scale == "preference",
    )


def _columns_of(study: Study, rows: Sequence[tuple[Any, ...]]) -> list[str | None]:
    """Of each label the column that it counts in; None of items with several responses that are no pairs."""
    kind = kind_of(study.kind)
    is_pair = kind.scale == "preference"
    if not is_pair and kind.responses[1] != 1:
        return [None] * len(rows)
    systems: dict[int, list[str]] = {}
    links = ItemResponse.objects.filter(item__in={row[0] for row in rows})
    for item, system in links.order_by("item_id", "position").values_list("item_id", "response__system"):
        systems.setdefault(item, []).append(system)
    found: list[str | None] = []
    for item, _, choice, _, _ in rows:
        written = systems.get(item, [])
        if is_pair:
            found.append(written[choice - 1] if choice and len(written) >= choice else TIE)
        else:
            found.append(written[0] if written and written[0] else None)
    return found

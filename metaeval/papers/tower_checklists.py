"""Checklists by model, as TOWER's tables need them, and everybody who answered them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metaeval.figures.checklist import KIND, ChecklistJudge, ChecklistSample, FollowedShares
from metaeval.figures.figure import Figure
from metaeval.figures.sample import Ratio
from metaeval.inputs import Booleans, Floats
from metaeval.papers.data import PaperData
from metaeval.papers.names import distinct_names
from metaeval.stats import ratio_estimate
from metaeval.stats.errors import quiet

PEOPLE = "Human annotators"


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """Who answered the requirements: human annotators, or a judge."""

    name: str
    subject: ChecklistSample | ChecklistJudge
    figures: Mapping[str, Figure]

    def followed(self, weights: Floats) -> FollowedShares:
        """How much of each item was followed."""
        if isinstance(self.subject, ChecklistJudge):
            return self.subject.followed(weights)
        return self.subject.of_people(weights)


class ModelChecklists:
    """Checklists by model, and everybody who answered them."""

    def __init__(self, data: PaperData) -> None:
        self.data = data
        self.sample = ChecklistSample(data.inputs["checklist"], data.options)

    @cached_property
    def models(self) -> dict[str, Booleans]:
        """By model its checklists; all together under an empty name where fewer than one is named."""
        items = self.sample.items
        system = np.array(
            [next(iter(self.data.systems.get(name, ())), "") for name in items.external_id], dtype=np.str_
        )
        names = [name for name in dict.fromkeys(system.tolist()) if name]
        return {name: system == name for name in names} or {"": np.ones(len(items), dtype=np.bool_)}

    @cached_property
    def answered(self) -> tuple[Answered, ...]:
        """Human annotators first."""
        names = ("drfr", "drfr_micro", "tower", "tower_micro")
        found = []
        if len(self.sample.labels):
            found.append(Answered(PEOPLE, self.sample, {name: KIND.of_people(name) for name in names}))
        figures = {name: KIND.of_judges(name) for name in names}
        judges = [judge for judge in self.sample.judges if not judge.judge.baseline]
        for name, judge in zip(distinct_names(one.judge.name for one in judges), judges, strict=True):
            found.append(Answered(name, judge, figures))
        return tuple(found)

    def value(self, who: Answered, name: str, members: Booleans) -> float:
        """A registered figure over the checklists of a model."""
        part = who.figures[name].function(who.subject)
        return self.ratio(who, part, members) if isinstance(part, Ratio) else float("nan")

    def ratio(self, who: Answered, part: Ratio, members: Booleans) -> float:
        """As reports have it: figures of human annotators weigh by the chance with which items were drawn."""
        weights = self.sample.drawn if isinstance(who.subject, ChecklistSample) else None
        with quiet():
            found = ratio_estimate(
                part.top, part.bottom, where=members, reason=part.reason, n_resamples=0, weights=weights
            )
        return found.value

    @cached_property
    def levels(self) -> Floats:
        """The level of each requirement, (n_items, n_parts): 0 beyond an item's own, NaN where they are no tree."""
        weights = self.sample.tower
        return np.where(weights > 0, 1.0 / np.where(weights > 0, weights, 1.0), weights)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not in the tables."""
        items = self.sample.items
        found = []
        unnamed = len(items) - sum(int(members.sum()) for members in self.models.values())
        if unnamed:
            found.append(f"{unnamed:,} responses name no system and are left out.")
        broken = int(np.isnan(self.sample.tower).any(axis=1).sum())
        if broken:
            found.append(f"The requirements of {broken:,} responses are no tree: DRFR alone counts them.")
        return tuple(found)

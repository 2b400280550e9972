"""What a report on a kind says of people: how many labels, of whom, and how far each agrees with the others."""

from __future__ import annotations

from typing import cast

import numpy as np

from metaeval.figures import FIGURES
from metaeval.reports.estimates import plain
from metaeval.reports.inputs import Floats, Integers
from metaeval.reports.kinds.common import KindResults, Setting, quiet
from metaeval.reports.report import AnnotatorFigures, EstimateJson, PeopleFigures
from metaeval.stats import mean_estimate

_NOT_SHARED = "no item shared with others"


def people_section(setting: Setting, found: KindResults) -> PeopleFigures:
    """The part of the content that is about people; they are numbered by first appearance, never named."""
    labels = setting.inputs.labels
    item = np.array([label.item for label in labels], dtype=np.intp)
    per_item = np.bincount(item, minlength=setting.n_items)
    labelled = per_item[per_item > 0]
    n_simulated = sum(label.simulated for label in labels)
    return PeopleFigures(
        n_labels=len(labels),
        n_annotators=len({label.annotator for label in labels}),
        n_items_labelled=len(labelled),
        n_items_with_two_labels=int((per_item > 1).sum()),
        labels_per_item={"min": int(labelled.min()) if labels else 0, "max": int(per_item.max(initial=0))},
        n_repeated_left_out=setting.inputs.n_repeated,
        n_drawn_by_chance=0 if setting.drawn is None else int(((per_item > 0) & (setting.drawn > 1)).sum()),
        simulated_share=round(n_simulated / len(labels), 12) if labels else None,
        measures=found.people,
        annotators=_annotators(setting, item, found.with_others),
    )


def _annotators(setting: Setting, item: Integers, with_others: Floats) -> tuple[AnnotatorFigures, ...]:
    """A row a person: labels, and the mean agreement of these with the others' of the same items."""
    info = FIGURES[setting.inputs.kind].of_one_person
    assert info is not None
    labels = setting.inputs.labels
    person = np.array([label.annotator for label in labels], dtype=np.intp)
    cluster = np.array([setting.inputs.items[row].cluster for row in item.tolist()], dtype=np.str_)
    rows = []
    for number in range(int(person.max(initial=-1)) + 1):
        own = np.flatnonzero(person == number)
        if not len(own):
            continue
        with quiet():
            # Each person's items by themselves: to resample all items for each would cost people times items.
            estimate = mean_estimate(
                with_others[own],
                bounds=info.bounds,
                reason=_NOT_SHARED,
                clusters=cluster[own],
                n_resamples=setting.options.n_resamples,
                weights=None if setting.drawn is None else setting.drawn[item[own]],
                confidence=setting.options.confidence,
                rng=setting.options.seed,
            )
        rows.append(
            AnnotatorFigures(
                number + 1, len(own), labels[own[0]].simulated, cast("EstimateJson", plain(estimate))
            )
        )
    return tuple(rows)

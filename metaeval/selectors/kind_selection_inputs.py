"""From rows to what a choice between judges of a kind other than pairs is computed from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from annotation.models import Dataset, Kind
from annotation.selectors.datasets import item_facts
from judges.models import BackendKind, Judgment, Order
from metaeval.reports.inputs import Floats
from metaeval.reports.kinds.inputs import KindInputs
from metaeval.reports.kinds.item_scores import rules_of
from metaeval.reports.selection_inputs import KindPartInputs, Part
from metaeval.selectors.kind_inputs import kind_inputs
from metaeval.selectors.sweeps import SweepView


def kind_parts(
    asked: Sequence[tuple[Part, Dataset]],
    instructions: Sequence[Mapping[str, str]],
    *,
    kind: str,
    sweep: SweepView,
) -> tuple[KindPartInputs, ...]:
    """The rows of each dataset's items of a kind; a fixed number of queries for each, whatever the size.

    Parameters
    ----------
    instructions : sequence of mapping
        Of each dataset: by external id of an item, the name of its instruction.

    Raises
    ------
    ReportError
        A dataset has no items of the kind.
    """
    return tuple(
        _part(part, dataset, names, kind_inputs(dataset=dataset, kind=kind, sweep=sweep))
        for (part, dataset), names in zip(asked, instructions, strict=True)
    )


def _part(part: Part, dataset: Dataset, names: Mapping[str, str], inputs: KindInputs) -> KindPartInputs:
    rules = rules_of(inputs, part.role, _lengths(dataset, inputs))
    costs, seconds = _amounts(dataset, inputs)
    # A rule costs nothing and takes no time.
    free = {rule.fingerprint: np.zeros(len(inputs.items)) for rule in rules}
    return KindPartInputs(
        part,
        inputs,
        rules,
        tuple(names[item.external_id] for item in inputs.items),
        costs | free,
        seconds | free,
    )


def _lengths(dataset: Dataset, inputs: KindInputs) -> list[tuple[int, ...]] | None:
    """Characters of the answers of each item, in canonical order; of rankings of answers only."""
    if inputs.kind != Kind.ANSWER_RANKING:
        return None
    lengths = {row.external_id: row.lengths for row in item_facts(dataset.pk)}
    return [lengths[item.external_id] for item in inputs.items]


def _amounts(dataset: Dataset, inputs: KindInputs) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """US dollars and seconds of each judgment, by fingerprint; NaN where nobody measured: an imported verdict."""
    place = {item.external_id: row for row, item in enumerate(inputs.items)}
    # Nobody measured what an imported verdict cost.
    measured = [judge.fingerprint for judge in inputs.judges if judge.backend != BackendKind.IMPORTED]
    found: dict[str, Floats] = defaultdict(lambda: np.full((2, len(place)), np.nan))
    rows = Judgment.objects.filter(
        item__dataset=dataset,
        item__kind=inputs.kind,
        judge__fingerprint__in=measured,
        sample=0,
        order=Order.ORIGINAL,
    ).values_list("judge__fingerprint", "item__external_id", "cost", "latency_ms")
    for key, name, cost, latency in rows.iterator(chunk_size=5_000):
        if name in place:
            found[key][:, place[name]] = cost, latency / 1000
    return {key: both[0] for key, both in found.items()}, {key: both[1] for key, both in found.items()}

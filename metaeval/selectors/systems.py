"""From the inputs of reports to the arrays that systems are ranked from: what was said of pairs of systems."""

from collections.abc import Iterable

import numpy as np

from annotation.models import Dataset, User
from annotation.selectors.instructions import systems_of_pairs
from metaeval.inputs import Floats, Integers
from metaeval.models import OutsideRatings
from metaeval.reports.errors import ReportError
from metaeval.reports.systems import PEOPLE, OutsideTable, Source, SystemInputs
from metaeval.selectors.decisions import decision_in_force
from metaeval.selectors.inputs import inputs_read


def system_inputs(*, dataset: Dataset, reader: User | None = None) -> SystemInputs:
    """Read what a ranking of a dataset's systems depends on; a fixed number of queries.

    Raises
    ------
    ReportError
        No pair stands between two systems that have names, or nobody has said anything of one.
    """
    systems = systems_of_pairs(dataset.pk)
    if not systems:
        raise ReportError(
            f"No pair of dataset {dataset.name!r} compares two named systems: there is nothing to rank."
        )
    inputs = inputs_read(dataset=dataset, reader=reader)
    named = np.array([name in systems for name in inputs.items.external_id])
    place = np.cumsum(named) - 1
    rows, items = np.flatnonzero(named), np.arange(len(named))

    def source(key: str, label: str, item: Integers, choice: Floats) -> Source:
        """The answers that could be read, on pairs of named systems."""
        counted = named[item] & ~np.isnan(choice)
        return Source(key, label, place[item[counted]], choice[counted])

    sources = [source(PEOPLE, "Human annotators", inputs.labels.item, inputs.labels.choice)]
    for judge in inputs.judges:
        if not judge.baseline:
            orders = judge.verdicts.shape[1]
            said = judge.verdicts.ravel()
            sources.append(source(judge.fingerprint, judge.name, np.repeat(items, orders), said))
    sources = [source for source in sources if len(source.pair)]
    if not sources:
        raise ReportError(
            f"There are neither labels nor judgments of the pairs of dataset {dataset.name!r} yet."
        )
    numbers: dict[str, int] = {}
    return SystemInputs(
        facts=inputs.facts["dataset"],
        first=tuple(systems[inputs.items.external_id[row]][0] for row in rows),
        second=tuple(systems[inputs.items.external_id[row]][1] for row in rows),
        cluster=np.array([numbers.setdefault(inputs.items.cluster[row], len(numbers)) for row in rows]),
        sources=tuple(sources),
        outside=tuple(
            OutsideTable(row.name, row.title, row.column, row.source, dict(row.scores))
            for row in OutsideRatings.objects.order_by("name")
        ),
        helper=_helper(dataset, sources),
        weights=None if inputs.weights is None else inputs.weights[rows],
    )


def _helper(dataset: Dataset, sources: Iterable[Source]) -> str:
    """The judge in use for the dataset, or else the one that answered most, the first by name."""
    judges = {source.key: source for source in sources if source.key != PEOPLE}
    current = decision_in_force(dataset)
    if current is not None and current.judge.fingerprint in judges:
        return current.judge.fingerprint
    return max(judges, key=lambda key: len(judges[key].pair), default="")

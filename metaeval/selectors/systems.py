"""From rows to the arrays that systems are ranked from: what people and judges said of pairs of systems."""

from collections.abc import Iterable, Mapping

import numpy as np

from annotation.kinds import DEFAULT_KIND
from annotation.models import Dataset, User
from annotation.selectors.instructions import pairs_of_systems
from annotation.selectors.labels import pairwise_labels
from judges.selectors.judgments import pairwise_verdicts
from metaeval.models import OutsideRatings
from metaeval.reports.errors import ReportError
from metaeval.reports.systems import PEOPLE, OutsideTable, Source, SystemInputs
from metaeval.selectors.decisions import decision_in_force
from metaeval.selectors.inputs import dataset_facts, judges_chosen, sampling_weights


def system_inputs(*, dataset: Dataset, reader: User | None = None) -> SystemInputs:
    """Read what a ranking of a dataset's systems depends on; a fixed number of queries.

    Raises
    ------
    ReportError
        No pair stands between two systems that have names, or nobody has said anything of one.
    """
    pairs = pairs_of_systems(dataset.pk)
    if not pairs:
        raise ReportError(
            f"No pair of dataset {dataset.name!r} stands between two systems that have names: there is nothing to rank."
        )
    place = {pair.item_id: row for row, pair in enumerate(pairs)}
    labels = pairwise_labels(dataset.pk, reader=reader)
    sources = [_source(PEOPLE, "People", labels.item_id, labels.choice.astype(np.float64), place)]
    judges = judges_chosen(dataset, DEFAULT_KIND, None)
    verdicts = pairwise_verdicts(dataset.pk, [judge.pk for judge in judges])
    for judge in judges:
        own = verdicts.judge_id == judge.pk
        sources.append(
            _source(judge.fingerprint, judge.name, verdicts.item_id[own], verdicts.choice[own], place)
        )
    sources = [source for source in sources if len(source.pair)]
    if not sources:
        raise ReportError(
            f"Neither people nor judges have said anything of the pairs of dataset {dataset.name!r} yet."
        )
    numbers: dict[int, int] = {}
    return SystemInputs(
        facts=dataset_facts(dataset),
        first=tuple(pair.first for pair in pairs),
        second=tuple(pair.second for pair in pairs),
        cluster=np.array([numbers.setdefault(pair.instruction_id, len(numbers)) for pair in pairs]),
        sources=tuple(sources),
        outside=tuple(
            OutsideTable(row.name, row.title, row.column, row.source, dict(row.scores))
            for row in OutsideRatings.objects.order_by("name")
        ),
        helper=_helper(dataset, sources),
        weights=sampling_weights(dataset, None, [pair.external_id for pair in pairs], reader),
    )


def _source(
    key: str, label: str, items: Iterable[int], choices: Iterable[float], place: Mapping[int, int]
) -> Source:
    """The answers that could be read, on pairs of named systems."""
    found = [
        (place[item], choice)
        for item, choice in zip(items, choices, strict=True)
        if item in place and choice == choice  # NaN is not itself
    ]
    table = np.array(found, dtype=np.float64).reshape(-1, 2)
    return Source(key, label, table[:, 0].astype(np.intp), table[:, 1])


def _helper(dataset: Dataset, sources: Iterable[Source]) -> str:
    """The judge in use for the dataset, or else the one that answered most, the first by name."""
    judges = {source.key: source for source in sources if source.key != PEOPLE}
    current = decision_in_force(dataset)
    if current is not None and current.judge.fingerprint in judges:
        return current.judge.fingerprint
    return max(judges, key=lambda key: len(judges[key].pair), default="")

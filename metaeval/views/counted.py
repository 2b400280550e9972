"""Where figures of a choice lead that count the items of several judges."""

from collections.abc import Mapping
from dataclasses import dataclass

from judges.selectors.item_addresses import items_url
from judges.selectors.stored import judges_known
from metaeval.reports.behind import resampled
from metaeval.reports.selection.report import DatasetEntry, SelectionReport
from metaeval.selectors.sweeps import SweepView


@dataclass(frozen=True, slots=True)
class ResampledItems:
    """The items of a dataset from which resamples draw, and how many these are."""

    dataset: DatasetEntry
    url: str
    n: int


@dataclass(frozen=True, slots=True)
class CountedItems:
    """Of the deciding datasets those from which resamples draw; by dataset those of the alternative annotator test.

    ``judges`` are the primary keys of the judges who all judged the items on which they are compared.
    """

    judges: tuple[int, ...]
    resampled: tuple[ResampledItems, ...]
    tested: Mapping[str, str]


def items_of_choice(report: SelectionReport, sweep: SweepView) -> CountedItems:
    """Where a choice leads; one query.

    The test's items depend on which judge is tested on which, so there is a list of them only if all ranked judges
    judged all items of the dataset.
    """
    ranked = [one for one in report.standings if one.chosen_share is not None]
    entries = [report.by_key[one.judge] for one in ranked]
    known = judges_known((one.fingerprint for one in entries), among=sweep.judge_ids)
    # Primary keys leave the address short, however many judges there are.
    judges = sorted(known.values_list("pk", flat=True))
    asked = {"kind": report.kind, "judge": judges}
    resamples = [
        ResampledItems(
            row,
            items_url(row.name, **asked, **resampled(report.kind, row.role, report.figure)),
            (ranked[0].scores.get(row.name) or {}).get("n", 0),
        )
        for row in report.deciding
        if ranked
    ]
    tested = {
        row.name: items_url(row.name, **asked, has="tested", sort="disagreement")
        for row in report.datasets
        if row.name in report.replaces and all(one.n_judged.get(row.name) == row.n_items for one in entries)
    }
    return CountedItems(tuple(judges), tuple(resamples), tested)

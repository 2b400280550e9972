"""What the comparison page of a sweep, and the report of a dataset or study, show of kinds other than pairs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from django.core.cache import cache

from annotation.models import Dataset, Kind, Study, User
from metaeval.figures import KIND_LABELS
from metaeval.reports.content import build
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.reports.kinds.inputs import GOLD, PEOPLE, KindInputs, KindOptions
from metaeval.reports.report import Report, report_of, software_version
from metaeval.selectors.kind_inputs import kind_inputs, kinds_of
from metaeval.selectors.sweeps import SweepView
from metaeval.services.comparisons import CONTESTANTS_ONLY
from metaeval.services.reports import CACHE_SECONDS

DEFAULTS = KindOptions()
# Items times judges that are computed while a page waits: about two seconds.
QUICK = 3_000


@dataclass(frozen=True, slots=True)
class KindComparing:
    """One kind of a dataset: its content; None while it would take long, so that the page says so first."""

    kind: str
    label: str
    content: Report | None
    n_items: int
    n_judges: int


def kinds_compared(dataset: Dataset) -> tuple[tuple[str, ...], bool]:
    """The kinds to compare judges on beside pairs, and whether there are pairs. One query."""
    kinds = kinds_of(dataset)
    return tuple(
        kind for kind in KIND_LABELS if kind in kinds and kind != Kind.PAIRWISE
    ), Kind.PAIRWISE.value in kinds


def kind_comparison_get(
    *, sweep: SweepView, dataset: Dataset, kind: str, against: str = "", wait: bool = False
) -> KindComparing:
    """Compare the judges of a sweep on the items of one kind, from the cache where the same was computed lately.

    Parameters
    ----------
    against : {"people", "gold"}
        What judges are compared with; by default what more items have.
    wait : bool
        Compute however long it takes.

    Raises
    ------
    NothingJudgedError
        No judge of the sweep has judged any such item.
    ReportError
        There are no such items, or there is nothing to compare judges with.
    """
    if sweep.n_contestants and not sweep.judge_ids:
        raise NothingJudgedError(CONTESTANTS_ONLY)
    inputs = kind_inputs(dataset=dataset, kind=kind, sweep=sweep)
    if not inputs.judges:
        raise NothingJudgedError("No judge has judged items of this kind yet.")
    targets = inputs.targets()
    if not targets:
        raise ReportError(
            "There are neither labels nor gold answers yet, so there is nothing to compare judges with."
        )
    chosen = next((target for target in targets if target == against), targets[0])
    options = replace(DEFAULTS, against=chosen)
    wait = wait or len(inputs.items) * len(inputs.judges) <= QUICK
    content = _content(inputs, options, wait=wait)
    return KindComparing(kind, KIND_LABELS[kind], content, len(inputs.items), len(inputs.judges))


def kind_report_build(
    *,
    dataset: Dataset,
    kind: str,
    study: Study | None = None,
    judges: Collection[str] | None = None,
    against: str = "",
    options: KindOptions = DEFAULTS,
    reader: User | None = None,
) -> Report:
    """Compute the report on the items of one kind: people among themselves, and judges where any judged them.

    Parameters
    ----------
    study : Study, optional
        Count only its labels.
    judges : collection of str, optional
        Only judges of these names.
    against : {"", "people", "gold"}
        What judges are compared with; by default what more items have.
    reader : User, optional
        Count only the labels that this person may see.

    Raises
    ------
    ReportError
        There are no such items, no such judge, or nothing of what judges shall be compared with.
    """
    inputs = kind_inputs(dataset=dataset, kind=kind, study=study, judge_names=judges, reader=reader)
    targets = inputs.targets()
    if against and against not in targets:
        there = " and ".join({"people": "labels", "gold": "gold answers"}[name] for name in targets)
        raise ReportError(
            f"{inputs.name} has no {'gold answers' if against == GOLD else 'labels'} of the kind "
            f"{KIND_LABELS[kind].lower()}; it has {there or 'neither labels nor gold answers'}."
        )
    chosen = GOLD if (against or next(iter(targets), PEOPLE)) == GOLD else PEOPLE
    content = _content(inputs, replace(options, against=chosen), wait=True)
    assert content is not None
    return content


def _content(inputs: KindInputs, options: KindOptions, *, wait: bool) -> Report | None:
    """The content, from the cache where the same was computed lately; None where it is not and nobody waits."""
    inputs_hash = inputs.hash(options)
    key = f"kind-comparison:{software_version()}:{inputs_hash}"
    content = cache.get(key)
    if content is None and wait:
        content = build(inputs, options, inputs_hash=inputs_hash).as_json()
        cache.set(key, content, CACHE_SECONDS)
    return None if content is None else report_of(content)

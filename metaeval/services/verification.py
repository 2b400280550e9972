"""Whether a stored report can be made again from the rows, and what differs between two reports."""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from annotation.models import Dataset, User
from judges.selectors.stored import sweep_find
from metaeval.inputs import Options
from metaeval.models import Report as StoredReport
from metaeval.reports.changes import TOLERANCE, Verification, changes_of
from metaeval.reports.content import build
from metaeval.reports.errors import MetaevalError, ReportError
from metaeval.reports.report import ReportContent, report_of
from metaeval.selectors.inputs import inputs_read, judges_chosen
from metaeval.selectors.sweeps import SweepView, dataset_view, judges_chosen_of, sweep_view
from metaeval.services.reports import options_against, subject_named

EPSILON_BEFORE = 0.2
"""What reports took that do not say it."""


def report_verify(
    report: ReportContent,
    *,
    reader: User | None = None,
    sweep_id: int | None = None,
    tolerance: float = TOLERANCE,
) -> Verification:
    """Compute a report again from the rows as they are, never from the cache, and compare every field.

    Parameters
    ----------
    reader : User, optional
        Whose right to see labels bounded it; None for all labels.
    sweep_id : int, optional
        The sweep that it is on, where several have its name.
    """
    try:
        now, added = _again(report, reader, sweep_id)
    except MetaevalError as error:
        return Verification(None, why_not=str(error))
    return Verification(changes_of(report, now, tolerance=tolerance), added)


def stored_verify(stored: StoredReport, *, tolerance: float = TOLERANCE) -> Verification:
    """Verify a report of the site, with the labels that who made it may see."""
    content = report_of(stored.content)
    return report_verify(content, reader=stored.created_by, sweep_id=stored.sweep_id, tolerance=tolerance)


def _again(
    report: ReportContent, reader: User | None, sweep_id: int | None
) -> tuple[ReportContent, tuple[str, ...]]:
    """The report as it is now, of the judges that it has, and the names of the judges that came since."""
    slug = None if report.study is None else report.study["slug"]
    dataset, study = subject_named(report.dataset["name"], slug)
    sweep = _source(report, dataset, reader, sweep_id)
    known = {judge.fingerprint for judge in report.judges}
    found = judges_chosen(dataset, report.kind, None if sweep is None else sweep.judge_ids)
    added = [judge for judge in found if judge.fingerprint not in known]
    names = [judge.name for judge in found if judge.fingerprint in known] if added else None
    inputs = inputs_read(
        dataset=dataset,
        kind=report.kind,
        study=study,
        sweep=sweep,
        judges=names,
        reader=reader,
        dimension=(report.dimension or {}).get("key", ""),
    )
    given = (
        {"epsilon": EPSILON_BEFORE} | report.options
        if "epsilon" in report.figures.options
        else report.options
    )
    options = Options(**{one.name: given[one.name] for one in fields(Options) if one.name in given})
    chosen = options_against(inputs, str(given.get("against", "")), options)
    now = build(inputs, replace(chosen, n_resamples=options.n_resamples))
    return now, tuple(judge.name for judge in added)


def _source(
    report: ReportContent, dataset: Dataset, reader: User | None, sweep_id: int | None
) -> SweepView | None:
    """What was compared: a sweep of that name, or all or some judgments of the dataset; None where it was neither."""
    if report.sweep is None:
        return None
    named = dataset_view(dataset, reader)
    fingerprints = {judge.fingerprint for judge in report.judges}
    chosen = [str(judge.pk) for judge in named.offered if judge.fingerprint in fingerprints]
    if sweep_id is None and report.sweep["name"] in _names_of_views(named, len(chosen)):
        return replace(judges_chosen_of(named, chosen), name=report.sweep["name"])
    if sweep_id is None:
        sweep = sweep_find(report.sweep["name"], dataset)
        if sweep is None:
            raise ReportError(f"The dataset no longer has the sweep {report.sweep['name']!r}.")
        sweep_id = sweep.pk
    return replace(sweep_view(sweep_id), reader=named.reader)


def _names_of_views(view: SweepView, n_chosen: int) -> tuple[str, ...]:
    dataset = view.datasets[0].name
    every = range(n_chosen, len(view.offered) + 1)
    return (view.name, *(f"{n_chosen} of {n} judges of {dataset}" for n in every))


def report_named(given: str) -> tuple[ReportContent, User | None, int | None]:
    """A report by its number, or from a JSON file: with who made it and the sweep that it is on, where known.

    Raises
    ------
    ReportError
        There is no such report or file, or the file holds no report.
    """
    path = Path(given)
    if given.isdecimal() and not path.exists():
        stored = StoredReport.objects.select_related("created_by").filter(pk=int(given[:18])).first()
        if stored is None:
            raise ReportError(f"There is no report {given}; the number is in its address, /reports/{given}/.")
        return report_of(stored.content), stored.created_by, stored.sweep_id
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"Cannot read {given}: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise ReportError(f"{given} isn't a JSON file; --verify and --diff read reports as JSON.") from None
    return report_read(content, given), None, None


def report_read(content: Any, name: str) -> ReportContent:
    """A report from what a JSON file holds. Raises ReportError where that is no report."""
    try:
        if not isinstance(content, Mapping) or not str(content["schema"]).startswith("touchstone."):
            raise TypeError
        found = report_of(content)
        _ = found.figures, found.selection, found.as_json()
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ReportError(
            f"{name} has no report: expected JSON of the schema touchstone.report/2 or an earlier one."
        ) from None
    return found

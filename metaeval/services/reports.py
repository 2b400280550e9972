"""Building, storing and finding reports."""

from __future__ import annotations

import re
from collections.abc import Collection

from django.core.cache import cache
from django.db import transaction

from annotation.models import Dataset, Study, User
from annotation.selectors.datasets import datasets_by_name
from annotation.selectors.reporting import study_find, study_slugs
from annotation.services.datasets import dataset_lock
from metaeval.models import Report as StoredReport
from metaeval.reports.content import build
from metaeval.reports.errors import UnknownNameError
from metaeval.reports.inputs import ReportInputs
from metaeval.reports.names import near_names
from metaeval.reports.options import ReportOptions
from metaeval.reports.report import Report, report_of, software_version
from metaeval.selectors.inputs import report_inputs
from metaeval.selectors.reports import reports_visible_to
from metaeval.selectors.sweeps import SweepView

DEFAULTS = ReportOptions()
CACHE_SECONDS = 6 * 60 * 60
# Rows times judges that are computed while a page waits: about two seconds.
QUICK = 15_000


def report_build(
    *,
    dataset: Dataset,
    study: Study | None = None,
    sweep: SweepView | None = None,
    judges: Collection[str] | None = None,
    options: ReportOptions = DEFAULTS,
    reader: User | None = None,
) -> Report:
    """Compute a report, in the schema of docs/report-schema.md.

    Parameters
    ----------
    study : Study, optional
        Count only its labels.
    sweep : SweepView, optional
        Compare only its judges, on the items and in the orders that it asked for.
    judges : collection of str, optional
        Only judges of these names.
    reader : User, optional
        Count only the labels that this person may see.

    Raises
    ------
    ReportError
        There is nothing to report on, or no such judge.
    """
    inputs = inputs_read(dataset=dataset, study=study, sweep=sweep, judges=judges, reader=reader)
    return content_get(inputs, options)


_HASH = re.compile("[0-9a-f]{64}")


def inputs_read(
    *,
    dataset: Dataset,
    study: Study | None = None,
    sweep: SweepView | None = None,
    judges: Collection[str] | None = None,
    reader: User | None = None,
) -> ReportInputs:
    """Read the rows that a report depends on."""
    return report_inputs(dataset=dataset, study=study, sweep=sweep, judge_names=judges, reader=reader)


def content_get(inputs: ReportInputs, options: ReportOptions = DEFAULTS) -> Report:
    """Compute the report, or take it from the cache: it is a function of the hash of the inputs."""
    inputs_hash = inputs.hash(options)
    report = content_cached(inputs_hash)
    if report is None:
        report = build(inputs, options, inputs_hash=inputs_hash)
        cache.set(_key(inputs_hash), report.as_json(), CACHE_SECONDS)
    return report


def content_cached(inputs_hash: str) -> Report | None:
    """The report with this hash, if it was computed lately. The hash may be any text: it comes from an address."""
    if not _HASH.fullmatch(inputs_hash):
        return None
    found = cache.get(_key(inputs_hash))
    return None if found is None else report_of(found)


def is_quick(inputs: ReportInputs) -> bool:
    """Whether a page may compute the report while somebody waits for it."""
    return len(inputs.items) * len(inputs.judges) <= QUICK


def _key(inputs_hash: str) -> str:
    return f"report:{software_version()}:{inputs_hash}"


def report_save(
    *,
    report: Report,
    dataset: Dataset,
    study: Study | None = None,
    sweep_id: int | None = None,
    user: User | None = None,
) -> StoredReport:
    """Store a report; the same report of the same software is stored once, also by two at once.

    Of one that another person made and `user` may not read, there is another copy.
    """
    with transaction.atomic():
        dataset_lock(dataset_id=dataset.pk, no_key=True)
        readable = StoredReport.objects.all() if user is None else reports_visible_to(user)
        same = readable.filter(inputs_hash=report.inputs_hash, dataset=dataset).order_by("pk")
        for stored in same.filter(sweep__isnull=True) if sweep_id is None else same.filter(sweep_id=sweep_id):
            if stored.content["software"] == report.software:
                return stored
        return StoredReport.objects.create(
            name=report.name,
            dataset=dataset,
            study=study,
            sweep_id=sweep_id,
            inputs_hash=report.inputs_hash,
            options=report.options | {"kind": report.kind},
            content=report.as_json(),
            created_by=user,
        )


def report_resolve(name: str, study: str | None = None) -> tuple[Dataset, Study | None]:
    """Find what a report is about: a dataset of that name, else a study of that slug.

    Raises
    ------
    UnknownNameError
        Nothing has that name (near ones are listed), or the study is of another dataset.
    """
    dataset = datasets_by_name().filter(name=name).first()
    if dataset is None:
        found = study_find(name)
        if found is None:
            known = [*datasets_by_name().values_list("name", flat=True), *study_slugs()]
            raise UnknownNameError(f"There is no dataset or study {name!r}{near_names(name, known)}")
        if study not in (None, name):
            raise UnknownNameError(f"{name!r} is a study itself; leave out --study.")
        return found.dataset, found
    if study is None:
        return dataset, None
    chosen = study_find(study)
    if chosen is None or chosen.dataset_id != dataset.pk:
        known = list(dataset.studies.values_list("slug", flat=True))
        raise UnknownNameError(f"Dataset {name!r} has no study {study!r}{near_names(study, known)}")
    return dataset, chosen

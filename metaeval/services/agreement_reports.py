"""The report on a dataset or a study of whatever kind: the one way of the page, the command and the demonstration."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from django.db.models import Count

from annotation.models import Dataset, Kind, Study, User
from annotation.selectors.datasets import datasets_visible_to
from annotation.selectors.overview import labels_visible_to, studies_visible_to
from metaeval.models import Report as StoredReport
from metaeval.reports.errors import ReportError, UnknownNameError
from metaeval.reports.kinds.inputs import KindOptions
from metaeval.reports.options import ReportOptions, TieBreak
from metaeval.reports.report import Report
from metaeval.selection.replacement import EPSILON
from metaeval.selectors.kind_inputs import kinds_of
from metaeval.services.kind_comparisons import kind_report_build
from metaeval.services.reports import report_build, report_save

DEFAULT_CONVENTION: TieBreak = "expected"


def kind_resolve(*, dataset: Dataset, study: Study | None = None, kind: str | None = None) -> str:
    """The kind that a report is about: the one asked for, else a study's own, else pairs where the dataset has any,
    else its kind with most labels.

    Raises
    ------
    ReportError
        There are no items, none of that kind, or the study is of another one.
    """
    kinds = kinds_of(dataset)
    if not kinds:
        raise ReportError(f"Dataset {dataset.name!r} has no items to report on.")
    if study is not None:
        if kind not in (None, study.kind):
            raise ReportError(f"Study {study.slug!r} is of the kind {study.kind}, not {kind}.")
        kind = study.kind
    if kind is not None:
        if kind not in kinds:
            raise ReportError(
                f"Dataset {dataset.name!r} has no items of the kind {kind}; it has {', '.join(kinds)}."
            )
        return kind
    if Kind.PAIRWISE.value in kinds:
        return Kind.PAIRWISE.value
    if len(kinds) == 1:
        return kinds[0]
    rows = (
        labels_visible_to(None).current().filter(item__dataset=dataset).order_by("kind").values_list("kind")
    )
    labels = dict(rows.annotate(n=Count("pk")))
    return max(kinds, key=lambda name: labels.get(name, 0))


def agreement_report_build(
    *,
    dataset: Dataset,
    kind: str,
    study: Study | None = None,
    judges: Collection[str] | None = None,
    against: str = "",
    convention: TieBreak = DEFAULT_CONVENTION,
    n_resamples: int | None = None,
    seed: int = 0,
    epsilon: float = EPSILON,
    reader: User | None = None,
) -> Report:
    """Compute a report on the items of one kind, in its schema of docs/report-schema.md.

    Parameters
    ----------
    kind : str
        What `kind_resolve` gives.
    study : Study, optional
        Count only its labels.
    judges : collection of str, optional
        Only judges of these names.
    against : {"", "people", "gold"}
        Of other kinds than pairs: what judges are compared with; by default what more items have.
    convention : {"expected", "random", "alpaca_eval"}
        Of pairs: how ties between labels are broken.
    n_resamples : int, optional
        By default 10,000 of pairs and 2,000 of other kinds.
    epsilon : float
        Of pairs: how much worse than an annotator a judge may be in the alternative annotator test.
    reader : User, optional
        Count only the labels that this person may see; by default all.

    Raises
    ------
    ReportError
        There is nothing to report on, no such judge, or an option that this kind does not have.
    """
    if kind == Kind.PAIRWISE:
        if against:
            raise ReportError("against: a report on pairs compares judges with people and with gold answers.")
        options = ReportOptions(tie_break=convention, seed=seed, epsilon=epsilon)
        if n_resamples is not None:
            options = replace(options, n_resamples=n_resamples)
        return report_build(dataset=dataset, study=study, judges=judges, options=options, reader=reader)
    if convention != DEFAULT_CONVENTION:
        raise ReportError(f"convention: {convention} is of pairs; this report is of the kind {kind}.")
    of_kind = KindOptions(seed=seed)
    if n_resamples is not None:
        of_kind = replace(of_kind, n_resamples=n_resamples)
    return kind_report_build(
        dataset=dataset,
        kind=kind,
        study=study,
        judges=judges,
        against=against,
        options=of_kind,
        reader=reader,
    )


def agreement_report_create(
    *, user: User, dataset: str = "", kind: str | None = None, study: str = "", epsilon: float = EPSILON
) -> StoredReport:
    """Report on a study, or on a dataset, that this person may see, with the default options, and store it.

    Labels of studies that are not theirs to see are no part of it.

    Raises
    ------
    UnknownNameError
        There is none that they may see.
    ReportError
        There is nothing to report on.
    """
    subject = report_subject(user=user, dataset=dataset, kind=kind, study=study)
    return subject_report(user=user, subject=subject, epsilon=epsilon)


class Subject(NamedTuple):
    """What a report is about."""

    dataset: Dataset
    study: Study | None
    kind: str


def subject_report(*, user: User, subject: Subject, epsilon: float = EPSILON) -> StoredReport:
    """Compute a report and store it. Raises ReportError where there is nothing to report on."""
    report = agreement_report_build(**subject._asdict(), reader=user, epsilon=epsilon)
    return report_save(report=report, dataset=subject.dataset, study=subject.study, user=user)


def report_subject(*, user: User, dataset: str = "", kind: str | None = None, study: str = "") -> Subject:
    """The dataset, or the study and its dataset, that this person may report on.

    Raises
    ------
    UnknownNameError
        There is none that they may see.
    ReportError
        It has no items of this kind, or of none that there are reports about.
    """
    chosen: Study | None = None
    if study:
        chosen = studies_visible_to(user).select_related("dataset").filter(slug=study).first()
        if chosen is None:
            raise UnknownNameError(f"There is no study {study!r}.")
    found = chosen.dataset if chosen else datasets_visible_to(user).filter(name=dataset).first()
    if found is None:
        raise UnknownNameError(f"There is no dataset {dataset!r}.")
    return Subject(found, chosen, kind_resolve(dataset=found, study=chosen, kind=kind))

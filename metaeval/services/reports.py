"""Reports on a dataset or a study, of items of any kind: computed, stored and found.

The one way of the page, the command, the worker and the demonstration.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db import transaction
from django.db.models import Count

from annotation.kinds import DEFAULT_KIND, kind_of
from annotation.models import Dataset, Study, User
from annotation.selectors.datasets import datasets_by_name, datasets_visible_to
from annotation.selectors.overview import labels_visible_to, studies_visible_to, study_find, study_slugs
from annotation.services.datasets import dataset_lock
from metaeval.figures import FIGURES
from metaeval.inputs import GOLD, PEOPLE, Inputs, Options
from metaeval.models import Preregistration
from metaeval.models import Report as StoredReport
from metaeval.reports.content import build
from metaeval.reports.errors import ReportError, UnknownNameError, near_names
from metaeval.reports.planned import done_by_report, planned_section
from metaeval.reports.preregistration import day_text
from metaeval.reports.report import ReportContent, report_of
from metaeval.selectors.inputs import inputs_read, kinds_of
from metaeval.selectors.reports import reports_visible_to
from metaeval.selectors.sweeps import SweepView
from web.version import software_version

DEFAULTS = Options()
CACHE_SECONDS = 6 * 60 * 60
_HASH = re.compile("[0-9a-f]{64}")


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
    if DEFAULT_KIND in kinds or len(kinds) == 1:
        return DEFAULT_KIND if DEFAULT_KIND in kinds else kinds[0]
    current = labels_visible_to(None).current().filter(item__dataset=dataset)
    rows = current.order_by("kind").values_list("kind")
    labels = dict(rows.annotate(n=Count("pk")))
    return max(kinds, key=lambda name: labels.get(name, 0))


def report_build(
    *,
    dataset: Dataset,
    kind: str = DEFAULT_KIND,
    study: Study | None = None,
    sweep: SweepView | None = None,
    judges: Collection[str] | None = None,
    against: str = "",
    options: Options = DEFAULTS,
    n_resamples: int | None = None,
    reader: User | None = None,
    dimension: str = "",
) -> ReportContent:
    """Compute a report on the items of one kind, as docs/report-schema.md explains it.

    Parameters
    ----------
    kind : str
        What `kind_resolve` gives.
    study : Study, optional
        Count only its labels.
    sweep : SweepView, optional
        Compare only its judges, on the items and in the orders that it asked for.
    judges : collection of str, optional
        Only judges of these names.
    against : {"", "people", "gold"}
        What judges are compared with; by default what more items have. Pairs have a figure for each.
    options : Options
        Those that a kind does not have do not count.
    n_resamples : int, optional
        In place of the default of the kind.
    reader : User, optional
        Count only the labels that this person may see; by default all.
    dimension : str, optional
        Of pairs: the key of the dimension that labels are read on; by default the overall one.

    Raises
    ------
    ReportError
        There is nothing to report on, no such judge, or an option that this kind does not have.
    """
    figures = FIGURES[kind]
    if against and "against" not in figures.options:
        raise ReportError(
            "against: a report on pairs compares judges with both human annotators and gold answers."
        )
    if options.tie_break != DEFAULTS.tie_break and "tie_break" not in figures.options:
        raise ReportError(f"convention: {options.tie_break} is of pairs; this report is of the kind {kind}.")
    preset_check(kind, options.preset)
    inputs = inputs_read(
        dataset=dataset,
        kind=kind,
        study=study,
        sweep=sweep,
        judges=judges,
        reader=reader,
        dimension=dimension,
    )
    chosen = options_against(inputs, against, options)
    return content_get(inputs, chosen if n_resamples is None else replace(chosen, n_resamples=n_resamples))


def preset_check(kind: str, preset: str) -> None:
    """Refuse a preset whose paper has no figures of items of this kind.

    Raises
    ------
    ReportError
        With the presets that have some.
    """
    known = FIGURES[kind].published
    if preset and preset not in known:
        label = kind_of(kind).label.lower()
        there = f"those that have some: {', '.join(known)}" if known else "no preset has some"
        raise ReportError(f"preset: {preset} has no figures of the kind {label}; {there}.")


def options_against(inputs: Inputs, against: str = "", options: Options = DEFAULTS) -> Options:
    """The options of the kind that compare judges with people or with gold; by default with what more items have.

    Raises
    ------
    ReportError
        There is nothing of what they shall be compared with.
    """
    figures, targets = FIGURES[inputs.kind], inputs.targets()
    own = {name: getattr(options, name) for name in figures.options if name not in ("against", "n_resamples")}
    if "against" not in figures.options:
        return Options(**own, n_resamples=figures.n_resamples)
    if against and against not in targets:
        there = " and ".join({"people": "labels", "gold": "gold answers"}[name] for name in targets)
        raise ReportError(
            f"{inputs.name} has no {'gold answers' if against == GOLD else 'labels'} of the kind "
            f"{kind_of(inputs.kind).label.lower()}; it has {there or 'neither labels nor gold answers'}."
        )
    chosen = GOLD if (against or next(iter(targets), PEOPLE)) == GOLD else PEOPLE
    return Options(**own, against=chosen, n_resamples=figures.n_resamples)


def content_get(inputs: Inputs, options: Options) -> ReportContent:
    """Compute the report, or take it from the cache: it is a function of the hash of the inputs."""
    inputs_hash = inputs.hash(options)
    report = content_cached(inputs_hash)
    if report is None:
        report = build(inputs, options, inputs_hash=inputs_hash)
        content_keep(report)
    return report


def content_keep(report: ReportContent) -> ReportContent:
    """Have a report in the cache."""
    cache.set(_key(report.inputs_hash), report.as_json(), CACHE_SECONDS)
    return report


def content_read(content: Mapping[str, Any]) -> ReportContent:
    """A report from where it is stored, which is in the cache afterwards; written there once, as it is large."""
    key = _key(content["inputs_hash"])
    if not cache.touch(key, CACHE_SECONDS):
        cache.set(key, content, CACHE_SECONDS)
    return report_of(content)


def content_cached(inputs_hash: str) -> ReportContent | None:
    """The report with this hash, if it was computed lately. The hash may be any text: it comes from an address."""
    if not _HASH.fullmatch(inputs_hash):
        return None
    found = cache.get(_key(inputs_hash))
    return None if found is None else report_of(found)


def _key(inputs_hash: str) -> str:
    return f"report:{software_version()}:{inputs_hash}"


class Subject(NamedTuple):
    """What a report is about."""

    dataset: Dataset
    study: Study | None
    kind: str


def subject_report(
    *,
    user: User,
    subject: Subject,
    options: Options = DEFAULTS,
    preregistration: Preregistration | None = None,
    dimension: str = "",
) -> StoredReport:
    """Compute a report and store it. Raises ReportError where there is nothing to report on."""
    report = report_build(**subject._asdict(), reader=user, options=options, dimension=dimension)
    return report_save(
        report=report,
        dataset=subject.dataset,
        study=subject.study,
        user=user,
        preregistration=preregistration,
    )


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


def with_plan(report: ReportContent, preregistration: Preregistration) -> ReportContent:
    """The same with what was planned, and what was kept of it."""
    document, date = preregistration.content, day_text(preregistration.created_at)
    return replace(report, planned=planned_section(document, date, done_by_report(report, document)))


def report_save(
    *,
    report: ReportContent,
    dataset: Dataset,
    study: Study | None = None,
    sweep_id: int | None = None,
    user: User | None = None,
    preregistration: Preregistration | None = None,
) -> StoredReport:
    """Store a report; the same report of the same software is stored once, also by two at once.

    Of one that another person made and `user` may not read, there is another copy. With a preregistration the report
    says what was planned.
    """
    if preregistration is not None:
        report = with_plan(report, preregistration)
    with transaction.atomic():
        dataset_lock(dataset_id=dataset.pk, no_key=True)
        readable = StoredReport.objects.all() if user is None else reports_visible_to(user)
        same = readable.filter(
            inputs_hash=report.inputs_hash, dataset=dataset, preregistration=preregistration
        ).order_by("pk")
        for stored in same.filter(sweep__isnull=True) if sweep_id is None else same.filter(sweep_id=sweep_id):
            if stored.content["software"] == report.software:
                return stored
        return StoredReport.objects.create(
            name=report.name,
            dataset=dataset,
            study=study,
            sweep_id=sweep_id,
            preregistration=preregistration,
            inputs_hash=report.inputs_hash,
            options=report.options
            | {"kind": report.kind}
            | ({"dimension": report.dimension["key"]} if report.dimension else {}),
            content=report.as_json(),
            created_by=user,
        )


def subject_named(name: str, study: str | None = None) -> tuple[Dataset, Study | None]:
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

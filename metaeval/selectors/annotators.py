"""Whose labels figures count, in the order in which reports number annotators."""

from django.core.cache import cache
from django.db.models import Count, Max

from annotation.domain.pseudonyms import pseudonym
from annotation.models import Dataset, Study, User
from annotation.models.work import LabelQuerySet
from annotation.selectors.datasets import version_condition
from annotation.selectors.overview import labels_visible_to
from metaeval.models import Report
from metaeval.reports.report import ReportContent

CACHE_SECONDS = 24 * 60 * 60


def labels_counted(
    dataset: Dataset, kind: str, study: Study | None = None, reader: User | None = None
) -> LabelQuerySet:
    """The labels that this person may see of items of a kind: of a study, or of all and imported ones.

    By item, then by time: annotators are numbered by the first that they have here.
    """
    labels = labels_visible_to(reader).current().filter(version_condition(study, "item__"))
    labels = labels.filter(item__dataset=dataset, kind=kind)
    if study is not None:
        labels = labels.filter(study=study)
    return labels.order_by("item__position", "item_id", "pk")


def annotators_linked(
    report: Report, content: ReportContent, reader: User | None, *, n_erased: int
) -> dict[int, str]:
    """By their number in a report the pseudonyms of its annotators.

    Empty where the labels that this person sees are no longer those of the report: a number may then be
    another annotator's. So it is where people were erased since (`erasures_since`): nobody may learn who has
    another number now. Also for a report on a part of a dataset, and without labels. A query, and one for what is
    not known yet.
    """
    people = content.people
    if n_erased or not people.annotators or "part" in (content.sweep or {}):
        return {}
    labels = labels_counted(report.dataset, content.kind, report.study, reader)
    now = labels.order_by().aggregate(n=Count("pk"), latest=Max("created_at"))
    if now["n"] != people.n_labels + people.n_repeated_left_out or now["latest"] > report.created_at:
        return {}
    key = f"report-annotators:{report.pk}:{report.inputs_hash}:{reader.pk if reader else 0}:{now['n']}"
    known: dict[int, str] | None = cache.get(key)
    if known is None:
        known = _numbered(report, content, labels)
        cache.set(key, known, CACHE_SECONDS)
    return known


def _numbered(report: Report, content: ReportContent, labels: LabelQuerySet) -> dict[int, str]:
    seen: dict[int, set[int]] = {}
    names: dict[int, str] = {}
    rows = labels.values_list("annotator_id", "annotator__public_id", "item_id")
    for annotator, public_id, item in rows.iterator(chunk_size=5_000):
        if annotator not in seen:
            seen[annotator] = set()
            names[annotator] = str(pseudonym(public_id, study=report.study_id, dataset=report.dataset_id))
        seen[annotator].add(item)
    numbered = dict(enumerate(seen, start=1))
    given = {row.number: row.n_labels for row in content.people.annotators}
    if given != {number: len(seen[annotator]) for number, annotator in numbered.items()}:
        return {}
    return {number: names[annotator] for number, annotator in numbered.items()}

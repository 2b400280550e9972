"""Reading stored reports, each only for who may see its dataset."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.shortcuts import get_object_or_404

from annotation.kinds import DEFAULT_KIND
from annotation.models import Kind, Study, User
from annotation.selectors.datasets import datasets_visible_to, items_of
from annotation.selectors.overview import labels_visible_to, studies_visible_to
from metaeval.models import Report

MOST_BESIDE = 100


def reports_visible_to(user: User) -> QuerySet[Report]:
    """Stored reports that this person may read.

    Those on a study are for who may see the study. Those on a whole dataset count labels of its studies, so they are
    for who made them, and for others only if there was no label of a study that is not theirs to see.
    """
    reports = Report.objects.filter(dataset__in=datasets_visible_to(user))
    if user.is_administrator:
        return reports
    studies = studies_visible_to(user)
    others = (
        labels_visible_to(None)
        .filter(study__dataset=OuterRef("dataset"), created_at__lte=OuterRef("created_at"))
        .exclude(study__in=studies)
    )
    return reports.filter(Q(study__in=studies) | (Q(study=None) & (Q(created_by=user) | ~Q(Exists(others)))))


@dataclass(frozen=True, slots=True)
class Leader:
    """The judge that leads in a stored report; `is_clear`: it is significantly better than the others there."""

    report_pk: int
    name: str
    is_clear: bool


def leaders_of(user: User, dataset_ids: Sequence[int]) -> dict[int, Leader]:
    """By dataset who leads in the newest report that this person may read and that compares judges.

    Read from the reports' JSON in the database, without their figures: a query, one for each figure that judges are
    ranked by, and one for each place that a leader has among the judges of its report.
    """
    reports = (
        reports_visible_to(user)
        .filter(dataset__in=dataset_ids, content__primary__isnull=False)
        .exclude(options__has_key="dimension")  # who leads on style leads there alone
        .order_by()
    )
    newest: dict[int, tuple[int, str]] = {}
    rows = reports.exclude(content__primary="").values_list("pk", "dataset", "content__primary")
    for pk, dataset, primary in rows.order_by("created_at", "pk"):
        newest[dataset] = pk, primary
    stored = Report.objects.order_by()
    places: dict[int, list[int]] = defaultdict(list)
    clear: set[int] = set()
    for primary in {primary for _, primary in newest.values()}:
        chosen = [pk for pk, of in newest.values() if of == primary]
        where = f"content__selections__{primary}"
        for pk, leader, is_clear in stored.filter(pk__in=chosen).values_list(
            "pk", f"{where}__leader", f"{where}__clear"
        ):
            if leader is not None:
                places[int(leader)].append(pk)
                clear |= {pk} if is_clear else set()
    found: dict[int, Leader] = {}
    for place, pks in places.items():
        named = stored.filter(pk__in=pks).values_list("pk", "dataset", f"content__judges__{place}__name")
        found |= {dataset: Leader(pk, name, pk in clear) for pk, dataset, name in named if name}
    return found


def report_list_for(user: User) -> QuerySet[Report]:
    """Stored reports for a list, newest first, without their content."""
    return (
        reports_visible_to(user)
        .select_related("dataset", "study", "sweep", "created_by")
        .defer("content")
        .order_by("-created_at", "-pk")
    )


def report_get_for(user: User, pk: int) -> Report:
    """A stored report that this person may see; else Http404."""
    visible = reports_visible_to(user)
    return get_object_or_404(visible.select_related("dataset", "study", "sweep", "created_by"), pk=pk)


def reports_beside(user: User, report: Report) -> list[Report]:
    """Other stored reports on the same dataset that this person may see, those on the same subject first, then the
    newest; without their content.
    """
    rows = report_list_for(user).filter(dataset=report.dataset_id).exclude(pk=report.pk)[:MOST_BESIDE]
    kind = report.options.get("kind", DEFAULT_KIND)

    def other(one: Report) -> bool:
        of_kind, on = one.options.get("kind", DEFAULT_KIND), one.options.get("dimension", "")
        subject = one.study_id, one.sweep_id, of_kind, on
        return subject != (report.study_id, report.sweep_id, kind, report.options.get("dimension", ""))

    return sorted(rows, key=other)


def report_latest(user: User, study: Study, dimension: str = "") -> Report | None:
    """The newest stored report on a study that this person may read, overall or on one other dimension."""
    found = reports_visible_to(user).filter(study=study, sweep=None).order_by("-created_at", "-pk")
    if dimension:
        return found.filter(options__dimension=dimension).first()
    return found.exclude(options__has_key="dimension").first()


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """What a report can be made on: a dataset's items of one kind, or a study."""

    dataset: str
    kind: str
    study: str = ""
    words: str = ""
    dimension: str = ""

    @property
    def key(self) -> str:
        """As a form names it."""
        if self.dimension:
            return f"study/{self.study}/{self.dimension}"
        return f"study/{self.study}" if self.study else f"dataset/{self.dataset}/{self.kind}"


def report_targets(user: User) -> list[ReportTarget]:
    """What this person may report on: each visible dataset, once for each kind of its items, then their
    studies on it, each also on its other dimensions. Three queries.
    """
    datasets = list(datasets_visible_to(user).order_by("name").only("pk", "name", "title"))
    kinds: dict[int, list[str]] = defaultdict(list)
    items = items_of(datasets)
    for dataset_id, kind in items.values_list("dataset_id", "kind").distinct():
        kinds[dataset_id].append(kind)
    studies: dict[int, list[Study]] = defaultdict(list)
    for study in studies_visible_to(user).filter(dataset__in=datasets).order_by("title", "slug"):
        studies[study.dataset_id].append(study)
    found = []
    for dataset in datasets:
        for kind in [kind for kind in Kind.values if kind in kinds[dataset.pk]]:  # those that have figures
            label = Kind(kind).label.lower()
            words = f"{dataset.title} (dataset {dataset.name}, {label})"
            found.append(ReportTarget(dataset.name, kind, words=words))
        for study in [study for study in studies[dataset.pk] if study.kind in Kind.values]:
            label = Kind(study.kind).label.lower()
            words = f"{study.title} (study {study.slug}, {label})"
            found.append(ReportTarget(dataset.name, study.kind, study.slug, words))
            found += [
                ReportTarget(dataset.name, study.kind, study.slug, f"{words}: {each.name}", each.key)
                for each in study.dimensions_asked
                if not each.overall
            ]
    return found

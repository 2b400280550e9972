"""Reading stored reports and decisions, each only for who may see its dataset."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.shortcuts import get_object_or_404

from annotation.models import Dataset, Kind, Study, User
from annotation.selectors.datasets import datasets_visible_to, items_of
from annotation.selectors.overview import labels_visible_to, studies_visible_to
from metaeval.models import Decision, Report
from metaeval.reports.decision.promotion import exported_facts


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


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """What a report can be made on: a dataset's items of one kind, or a study."""

    dataset: str
    kind: str
    study: str = ""
    words: str = ""

    @property
    def key(self) -> str:
        """As a form names it."""
        return f"study/{self.study}" if self.study else f"dataset/{self.dataset}/{self.kind}"


def report_targets(user: User) -> list[ReportTarget]:
    """What this person may report on: each visible dataset, once for each kind of its items, then their
    studies on it. Three queries.
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
    return found


def decisions_of(dataset: Dataset, kind: str = Kind.PAIRWISE) -> list[Decision]:
    """The decisions on a dataset's items of a kind, newest first."""
    rows = Decision.objects.filter(dataset=dataset, kind=kind).select_related("judge", "sweep", "decided_by")
    rows = rows.defer("selection").annotate(over_several=Q(selection__isnull=False))
    return list(rows.order_by("-created_at", "-pk"))


def decision_in_force(dataset: Dataset, kind: str = Kind.PAIRWISE) -> Decision | None:
    """The decision on a dataset's items of a kind that no later one replaced."""
    rows = Decision.objects.filter(dataset=dataset, kind=kind, replaced_by__isnull=True)
    return rows.select_related("judge", "sweep", "decided_by").defer("selection").first()


def decision_get_for(user: User, pk: int) -> Decision:
    """A decision on a dataset that this person may see; else Http404."""
    visible = Decision.objects.filter(dataset__in=datasets_visible_to(user))
    return get_object_or_404(visible.select_related("judge__endpoint", "dataset", "sweep"), pk=pk)


def judge_export(decision: Decision) -> dict[str, Any]:
    """The promoted judge as a configuration to be run elsewhere: its whole content, and where it comes from.

    There are no secrets in a spec: a key is named by the variable that holds it.
    """
    judge, composite = decision.judge, decision.evidence.get("composite")
    return {
        "schema": "touchstone.judge/1",
        "name": judge.name,
        "fingerprint": judge.fingerprint,
        "backend": judge.backend,
        "model": judge.model,
        "strategy": judge.strategy,
        "spec": judge.spec,
        "decision": {
            "dataset": decision.dataset.name,
            "kind": decision.kind,
            "sweep": None if decision.sweep is None else decision.sweep.name,
            "reason": decision.reason,
            "decided_at": decision.created_at.isoformat(timespec="seconds"),
            "inputs_hash": decision.inputs_hash,
            "in_force": decision.replaced_by_id is None,
            **(exported_facts(decision.selection) if decision.selection else {}),
            # What to expect of a composite is what composites reach on held-out items.
            **({"held_out": composite["held_out"], "composite": composite} if composite else {}),
        },
    }

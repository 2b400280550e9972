"""Decisions: which judge is in use for a dataset's items of a kind, and the judge as a configuration."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404

from annotation.kinds import DEFAULT_KIND
from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_visible_to
from judges.selectors.anchors import InTime, anchor_sets, in_time, judges_moved
from judges.selectors.judges import judge_answerers
from judges.services.judge_imports import judge_document
from judges.strategies.documents import SCHEMA
from judges.strategies.errors import SpecError
from metaeval.models import Decision
from metaeval.reports.promotion import exported_facts


def decisions_of(dataset: Dataset, kind: str = DEFAULT_KIND) -> list[Decision]:
    """The decisions on a dataset's items of a kind, newest first."""
    rows = Decision.objects.filter(dataset=dataset, kind=kind).select_related("judge", "sweep", "decided_by")
    rows = rows.defer("selection").annotate(over_several=Q(selection__isnull=False))
    return list(rows.order_by("-created_at", "-pk"))


def decisions_in_force(datasets: Iterable[Dataset], kind: str = DEFAULT_KIND) -> dict[int, Decision]:
    """The decision on each dataset's items of a kind that no later one replaced, by primary key of the dataset."""
    rows = Decision.objects.filter(dataset__in=datasets, kind=kind, replaced_by__isnull=True)
    rows = rows.select_related("judge", "dataset", "sweep", "decided_by").defer("selection")
    return {row.dataset_id: row for row in rows}


def decisions_standing(datasets: Iterable[int]) -> dict[int, Decision]:
    """The newest decision in force on each of these datasets, on items of any kind. One query."""
    rows = Decision.objects.filter(dataset__in=list(datasets), replaced_by__isnull=True)
    rows = rows.select_related("judge").defer("selection", "judge__spec")
    return {row.dataset_id: row for row in rows.order_by("created_at", "pk")}


@dataclass(frozen=True, slots=True)
class DecidedDataset:
    """A dataset that a promotion would decide for, and the decision in force there."""

    dataset: Dataset
    current: Decision | None


def decided(datasets: Iterable[Dataset], kind: str = DEFAULT_KIND) -> list[DecidedDataset]:
    """Each dataset with the decision in force; one query."""
    datasets = list(datasets)
    in_force = decisions_in_force(datasets, kind)
    return [DecidedDataset(row, in_force.get(row.pk)) for row in datasets]


def decision_in_force(dataset: Dataset, kind: str = DEFAULT_KIND) -> Decision | None:
    """The same of one dataset."""
    return decisions_in_force([dataset], kind).get(dataset.pk)


def decisions_moved(decisions: Iterable[Decision]) -> list[InTime]:
    """The anchors, of the datasets and judges of these decisions, that say that the judge has moved."""
    pairs = {(row.judge_id, row.dataset_id) for row in decisions}
    found = judges_moved({judge for judge, _ in pairs}, {dataset for _, dataset in pairs}) if pairs else []
    return [one for one in found if (one.anchors.judge_id, one.anchors.dataset_id) in pairs]


def decisions_visible_to(user: User) -> QuerySet[Decision]:
    """Decisions on the datasets that this person may see, without the choices that they rest on; in no order."""
    rows = Decision.objects.order_by().filter(dataset__in=datasets_visible_to(user))
    return rows.select_related("judge", "dataset", "decided_by").defer("selection", "judge__spec")


def decision_get_for(user: User, pk: int) -> Decision:
    """A decision on a dataset that this person may see; else Http404."""
    visible = Decision.objects.filter(dataset__in=datasets_visible_to(user))
    return get_object_or_404(visible.select_related("judge__endpoint", "dataset", "sweep"), pk=pk)


def in_time_facts(decision: Decision) -> dict[str, Any]:
    """Which models answered the judge on the decision's dataset, and what the anchors in use there say of it now."""
    uses = judge_answerers([decision.judge_id], [decision.dataset_id]).get(decision.judge_id, [])
    facts: dict[str, Any] = {
        "answered_by": [{**asdict(use.answerer), "judgments": use.n} for use in uses],
        "anchors": None,
    }
    in_use = anchor_sets(decision.judge, [decision.dataset_id]).filter(retired_at=None).first()
    if in_use is not None:
        found = in_time(in_use)
        facts["anchors"] = {
            "frozen_at": in_use.created_at.isoformat(timespec="seconds"),
            "items": found.n_items,
            "checks": 0 if found.state is None else found.state.n_looks,
            "moved": None if found.state is None else found.state.moved,
            "p_value": None if found.state is None else found.state.p_value,
        }
    return facts


def judge_export(decision: Decision) -> dict[str, Any]:
    """The promoted judge as a document to be loaded elsewhere: its whole content, and what the promotion found.

    There are no secrets in a spec: a key is named by the variable that holds it.
    """
    judge, composite = decision.judge, decision.evidence.get("composite")
    evidence = decision.evidence.get("judge") or {}
    facts = {
        "dataset": decision.dataset.name,
        "kind": decision.kind,
        "sweep": None if decision.sweep is None else decision.sweep.name,
        "reason": decision.reason,
        "decided_at": decision.created_at.isoformat(timespec="seconds"),
        "inputs_hash": decision.inputs_hash,
        "in_force": decision.replaced_by_id is None,
        # What it was chosen by, and every figure of it on this dataset with its interval.
        "primary": decision.evidence.get("primary"),
        "figures": evidence.get("measures") or {},
        "calibration": _calibration(evidence.get("measures") or {}),
        # From which certainty on it decides by itself; None where nothing says how sure it is.
        "abstention": evidence.get("abstention"),
        "in_time": in_time_facts(decision),
        **({"planned": planned} if (planned := decision.evidence.get("planned")) else {}),
        **(exported_facts(decision.selection) if decision.selection else {}),
        # What to expect of a composite is what composites reach on held-out items.
        **({"held_out": composite["held_out"], "composite": composite} if composite else {}),
    }
    try:
        return {**judge_document(judge), "decision": facts}
    except SpecError as error:
        # Its verdicts were imported, or its prompts are not those of this installation any more: nobody can ask it.
        about = {
            name: getattr(judge, name)
            for name in ("name", "fingerprint", "strategy", "backend", "model", "spec")
        }
        return {"schema": SCHEMA, **about, "cannot_run": str(error), "decision": facts}


def _calibration(measures: dict[str, Any]) -> dict[str, Any]:
    """How far its certainty is to be believed, of the figures that say so."""
    return {name: found for name, found in measures.items() if name.startswith(("calibration", "brier"))}

"""Promotion: which judge is to be used for a dataset, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db import IntegrityError, transaction

from annotation.models import Dataset, Kind, User
from judges.models import Judge
from metaeval.models import Decision
from metaeval.reports.errors import DecisionConflict, DecisionError
from metaeval.reports.report import Report
from metaeval.reports.words import verdict_of
from metaeval.selectors.reports import decision_in_force
from metaeval.selectors.sweeps import SweepView
from metaeval.services.reports import report_build, report_save

LONGEST_REASON = 4_000


def judge_promote(
    *,
    sweep: SweepView,
    dataset: Dataset,
    fingerprint: str,
    reason: str,
    user: User,
    inputs_hash: str,
    seen: int | None,
) -> Decision:
    """Decide for a judge of a sweep. An earlier decision on the dataset is replaced.

    Sending the same promotion twice makes one decision.

    Parameters
    ----------
    fingerprint : str
        Of the judge.
    inputs_hash : str
        Of the comparison that the person looked at: the decision rests on it.
    seen : int or None
        The decision that was in force when they looked.

    Raises
    ------
    DecisionConflict
        Somebody else decided in the meantime, or the comparison has changed.
    DecisionError
        Not an administrator, no reason, or no such judge in the sweep.
    """
    if not user.is_administrator:
        raise DecisionError("Only administrators promote a judge.")
    reason = reason_checked(reason)
    judge = Judge.objects.filter(fingerprint=fingerprint, pk__in=sweep.judge_ids).first()
    if judge is None:
        raise DecisionError("This sweep has no such judge.")
    wanted = {"sweep_id": sweep.pk, "judge_id": judge.pk, "reason": reason, "decided_by_id": user.pk}
    same = decision_same(dataset, wanted, seen)
    if same is not None:
        return same
    report = report_build(dataset=dataset, sweep=sweep)
    evidence = _evidence(report, fingerprint)
    if report.inputs_hash != inputs_hash:
        raise DecisionConflict(
            "Labels or judgments have come in since this comparison was shown. Look at the new figures first."
        )
    try:
        with transaction.atomic():
            report_save(report=report, dataset=dataset, sweep_id=sweep.pk, user=user)
            return decide(dataset, wanted | {"evidence": evidence, "inputs_hash": inputs_hash}, seen)
    except (IntegrityError, DecisionConflict):
        # Two at once: the database let one through. If that was this very promotion, it is done.
        same = decision_same(dataset, wanted, seen)
        if same is not None:
            return same
        raise DecisionConflict(
            "Somebody else decided for this dataset in the meantime. Look at their reason, then decide again."
        ) from None


def reason_checked(reason: str) -> str:
    """The reason as it is stored. Raises DecisionError where there is none, or too much of it."""
    reason = " ".join(reason.split("\x00")).strip()
    if not reason:
        raise DecisionError("Say why: a decision without a reason cannot be understood later.")
    if len(reason) > LONGEST_REASON:
        raise DecisionError(f"The reason is longer than {LONGEST_REASON:,} characters.")
    return reason


def decide(
    dataset: Dataset, values: Mapping[str, Any], seen: int | None, *, kind: str = Kind.PAIRWISE
) -> Decision:
    """Put a decision in force, in a transaction of the caller. Raises DecisionConflict if `seen` is not in force."""
    of_kind = Decision.objects.filter(dataset=dataset, kind=kind)
    current = of_kind.select_for_update().filter(replaced_by__isnull=True).first()
    if (current.pk if current else None) != seen:
        raise DecisionConflict("Another decision is in force.")
    if current is None:
        return Decision.objects.create(dataset=dataset, kind=kind, **values)
    # One decision in force for each dataset and kind, by a constraint that is checked at once: the old one has to step
    # aside before the new one exists. For a moment it is replaced by the first of all, which replaced none.
    first = of_kind.filter(replaces__isnull=True).values_list("pk", flat=True)[:1]
    Decision.objects.filter(pk=current.pk).update(replaced_by=first.get())
    made = Decision.objects.create(dataset=dataset, kind=kind, **values)
    Decision.objects.filter(pk=current.pk).update(replaced_by=made.pk)
    return made


def decision_same(
    dataset: Dataset, wanted: Mapping[str, Any], seen: int | None, *, kind: str = Kind.PAIRWISE
) -> Decision | None:
    """The decision in force, if it is this one, made from the same page."""
    current = decision_in_force(dataset, kind)
    if current is None or current.pk == seen:
        return None
    replaced = Decision.objects.filter(replaced_by=current).exclude(pk=current.pk).first()
    if (replaced.pk if replaced else None) != seen:
        return None
    return current if all(getattr(current, name) == value for name, value in wanted.items()) else None


def _evidence(report: Report, fingerprint: str) -> dict[str, Any]:
    primary, selection = report.primary, report.selection
    for place, judge in enumerate(report.judges):
        if judge.fingerprint == fingerprint and not judge.baseline:
            against = [row for row in selection.differences if row.get("judge") == place]
            return {
                "judge": asdict(judge),
                "primary": primary,
                "rank": selection.ranking.index(place) + 1 if place in selection.ranking else None,
                "of": len(selection.ranking),
                "clear": verdict_of(report, primary).kind == "clear" and selection.leader == place,
                "behind_leader": against[0] if against else None,
                "simulated_share": report.people.simulated_share,
            }
    raise DecisionError("This judge has judged nothing of the dataset yet.")

"""Promotion of the judge that was chosen over several datasets: on all of them or on none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from annotation.models import Dataset, User
from judges.models import Judge
from metaeval.models import Decision
from metaeval.reports.errors import DecisionConflict, DecisionError
from metaeval.reports.selection_inputs import Choice
from metaeval.reports.selection_words import standing_of, violation_words
from metaeval.selectors.sweeps import SweepView
from metaeval.services.decisions import decide, decision_same, reason_checked
from metaeval.services.selections import selection_get

PRIMARY = {"people": "agreement", "gold": "accuracy"}


def selection_promote(
    *,
    sweep: SweepView,
    choice: Choice,
    fingerprint: str,
    reason: str,
    user: User,
    inputs_hash: str,
    seen: Mapping[int, int | None],
    although: bool = False,
) -> list[Decision]:
    """Decide for a judge on every dataset that has a share in the choice: on all of them or on none.

    Sending the same promotion twice makes one decision a dataset.

    Parameters
    ----------
    fingerprint : str
        Of the judge.
    inputs_hash : str
        Of the choice that the person looked at: the decisions rest on it.
    seen : mapping of int to int or None
        By primary key of a dataset, the decision that was in force when they looked.
    although : bool
        They said that the judge is to be used although it does not satisfy the constraints.

    Raises
    ------
    DecisionConflict
        Somebody else decided in the meantime, or the figures have changed.
    DecisionError
        Not an administrator, no reason, no such judge in the sweep, or one that violates a constraint without the
        word that it may.
    """
    if not user.is_administrator:
        raise DecisionError("Only administrators promote a judge.")
    reason = reason_checked(reason)
    judge = Judge.objects.filter(fingerprint=fingerprint, pk__in=sweep.judge_ids).first()
    if judge is None:
        raise DecisionError("This sweep has no such judge.")
    # In one order, so that two who decide at once do not wait for each other.
    datasets = sorted((row for row in sweep.datasets if row.name in choice.deciding), key=lambda row: row.pk)
    if not datasets:
        raise DecisionError("No dataset has a share in this choice, so there is nothing to decide for.")
    common = {"sweep_id": sweep.pk, "judge_id": judge.pk, "reason": reason, "decided_by_id": user.pk}
    wanted = common | {"inputs_hash": inputs_hash}
    made = _made(datasets, wanted, seen, choice.kind)
    if made:
        return made
    content = selection_get(sweep=sweep, choice=choice, wait=True).content
    assert content is not None
    if content["inputs_hash"] != inputs_hash:
        raise DecisionConflict(
            "Labels, judgments or settings have changed since this choice was shown. Look at the new figures first."
        )
    selection = content | {"promoted": _promoted(content, fingerprint, although)}
    try:
        with transaction.atomic():
            return [
                decide(
                    dataset,
                    wanted
                    | {"evidence": _evidence(content, fingerprint, dataset.name), "selection": selection},
                    seen.get(dataset.pk),
                    kind=choice.kind,
                )
                for dataset in datasets
            ]
    except (IntegrityError, DecisionConflict):
        # Two at once: the database let one through. If that was this very promotion, it is done.
        made = _made(datasets, wanted, seen, choice.kind)
        if made:
            return made
        raise DecisionConflict(
            "Somebody else decided for one of these datasets in the meantime. Look at their reason, then decide again."
        ) from None


def _made(
    datasets: list[Dataset], wanted: Mapping[str, Any], seen: Mapping[int, int | None], kind: str
) -> list[Decision]:
    """The decisions in force on the datasets, if they are this promotion; else none."""
    found = [decision_same(dataset, wanted, seen.get(dataset.pk), kind=kind) for dataset in datasets]
    same = [decision for decision in found if decision is not None]
    return same if len(same) == len(datasets) else []


def _promoted(content: dict[str, Any], fingerprint: str, although: bool) -> dict[str, Any]:
    try:
        standing = standing_of(content, fingerprint)
    except KeyError:
        raise DecisionError("This judge has judged nothing of these datasets yet.") from None
    violations = standing["violations"]
    if violations and not although:
        broken = "; ".join(violation_words(one) for one in violations)
        raise DecisionError(
            f"This judge does not satisfy the constraints: {broken}. To use it nevertheless, tick the box below "
            "its name and say why."
        )
    return {"judge": fingerprint, "violations": violations}


def _evidence(content: dict[str, Any], fingerprint: str, dataset: str) -> dict[str, Any]:
    """What the comparison of one dataset shows of a decision, in the shape that it has there."""
    about = next(row for row in content["datasets"] if row["name"] == dataset)
    judge = next(row for row in content["judges"] if row["key"] == fingerprint)
    standing = standing_of(content, fingerprint)
    judged = {row["key"] for row in content["judges"] if not row["baseline"]}
    ranked = [
        row["judge"]
        for row in content["standings"]
        if row["is_ranked"] and not row["violations"] and row["judge"] in judged
    ]
    primary = PRIMARY[about["role"]]
    measures = {
        primary: standing["scores"][dataset],
        **{name: standing[name] for name in ("positional_agreement", "cost_per_1000", "seconds")},
    }
    return {
        "judge": judge | {"measures": {name: {"overall": value} for name, value in measures.items()}},
        "primary": primary,
        "rank": ranked.index(fingerprint) + 1 if fingerprint in ranked else None,
        "of": len(ranked),
        "clear": content["verdict"] == "clear" and content["winner"] == fingerprint,
        "behind_leader": standing["behind"],
        "objective": standing["objective"],
        "simulated_share": about["simulated_share"],
    }

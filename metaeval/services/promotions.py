"""Promotion of the judge, or the composite, that was chosen over several datasets: on all of them or on none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from annotation.models import Dataset, User
from judges.models import Judge
from judges.services.composites import composite_ensure
from metaeval.models import Decision
from metaeval.reports.errors import DecisionConflict, DecisionError
from metaeval.reports.selection_composite import CompositeOffer, composite_facts, composite_offer
from metaeval.reports.selection_evidence import composite_evidence, judge_evidence, promoted_facts
from metaeval.reports.selection_inputs import Choice
from metaeval.reports.selection_words import standing_of, violation_words
from metaeval.selection.types import COMPOSITE
from metaeval.selectors.sweeps import SweepView
from metaeval.services.decisions import decide, decision_same, reason_checked
from metaeval.services.selections import selection_get

MOST_OF_A_NAME = 140
"""Characters of a sweep's name in the name of a composite."""


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

    Sending the same promotion twice makes one decision a dataset, and one judge where it is the composite.

    Parameters
    ----------
    fingerprint : str
        Of the judge; `COMPOSITE` for the composite of the choice, which becomes a judge with the decisions.
    inputs_hash : str
        Of the choice that the person looked at: the decisions rest on it.
    seen : mapping of int to int or None
        By primary key of a dataset, the decision that was in force when they looked.
    although : bool
        They said that it is to be used although it does not satisfy the constraints, or is not worth it.

    Raises
    ------
    DecisionConflict
        Somebody else decided in the meantime, or the figures have changed.
    DecisionError
        Not an administrator, no reason, no such judge in the sweep, a composite that cannot be a judge, or something
        speaks against it without the word that it is to be used although.
    """
    if not user.is_administrator:
        raise DecisionError("Only administrators promote a judge.")
    wanted: dict[str, Any] = {
        "sweep_id": sweep.pk,
        "reason": reason_checked(reason),
        "decided_by_id": user.pk,
        "inputs_hash": inputs_hash,
    }
    judge: Judge | None = None
    if fingerprint != COMPOSITE:
        judge = Judge.objects.filter(fingerprint=fingerprint, pk__in=sweep.judge_ids).first()
        if judge is None:
            raise DecisionError("This sweep has no such judge.")
        wanted["judge_id"] = judge.pk
    # In one order, so that two who decide at once do not wait for each other.
    datasets = sorted((row for row in sweep.datasets if row.name in choice.deciding), key=lambda row: row.pk)
    if not datasets:
        raise DecisionError("No dataset has a share in this choice, so there is nothing to decide for.")
    if made := _made(datasets, wanted, seen, choice.kind):
        return made
    content = selection_get(sweep=sweep, choice=choice, wait=True).content
    assert content is not None
    if content["inputs_hash"] != inputs_hash:
        raise DecisionConflict(
            "Labels, judgments or settings have changed since this choice was shown. Look at the new figures first."
        )
    try:
        with transaction.atomic():
            values = (
                _composite(content, sweep, user, although)
                if judge is None
                else _judge(content, judge, although)
            )
            return [
                decide(
                    dataset,
                    wanted | values(dataset.name),
                    seen.get(dataset.pk),
                    kind=choice.kind,
                )
                for dataset in datasets
            ]
    except (IntegrityError, DecisionConflict):
        # Two at once: the database let one through. If that was this very promotion, it is done.
        if made := _made(datasets, wanted, seen, choice.kind):
            return made
        raise DecisionConflict(
            "Somebody else decided for one of these datasets in the meantime. Look at their reason, then decide again."
        ) from None


def _made(
    datasets: list[Dataset], wanted: Mapping[str, Any], seen: Mapping[int, int | None], kind: str
) -> list[Decision]:
    """The decisions in force on the datasets, if they are this promotion; else none.

    Without a judge in what is wanted, that of the composite: which one follows from the inputs.
    """
    found = [decision_same(dataset, wanted, seen.get(dataset.pk), kind=kind) for dataset in datasets]
    same = [
        decision
        for decision in found
        if decision is not None and ("judge_id" in wanted or "composite" in decision.evidence)
    ]
    return same if len(same) == len(datasets) else []


def _judge(content: dict[str, Any], judge: Judge, although: bool) -> Callable[[str], dict[str, Any]]:
    """What a decision for a judge holds, by the name of its dataset."""
    key = judge.fingerprint
    try:
        violations = standing_of(content, key)["violations"]
    except KeyError:
        raise DecisionError("This judge has judged nothing of these datasets yet.") from None
    if violations and not although:
        broken = "; ".join(violation_words(one) for one in violations)
        raise DecisionError(
            f"This judge does not satisfy the constraints: {broken}. To use it nevertheless, tick the box below "
            "its name and say why."
        )
    promoted = {"judge": key, "violations": violations, **promoted_facts(content, key)}
    selection = content | {"promoted": promoted}
    return lambda dataset: {"selection": selection, "evidence": judge_evidence(content, key, dataset)}


def _composite(
    content: dict[str, Any], sweep: SweepView, user: User, although: bool
) -> Callable[[str], dict[str, Any]]:
    """Make the composite a judge, and say what a decision for it holds, by the name of its dataset."""
    offer = composite_offer(content)
    if offer is None:
        raise DecisionError("This choice has no composite: there is nothing to combine.")
    if offer.obstacle:
        raise DecisionError(f"The composite cannot be a judge. {offer.obstacle}")
    if offer.although and not although:
        raise DecisionError(
            f"Something speaks against the composite: {'; '.join(offer.although)}. To use it nevertheless, tick the "
            "box below its name and say why."
        )
    judge = _composite_judge(offer, sweep, user)
    promoted = {
        "judge": judge.fingerprint,
        "violations": list(offer.violations),
        "composite": composite_facts(content, offer),
    }
    about = {
        "key": judge.fingerprint,
        **{name: getattr(judge, name) for name in ("name", "fingerprint", "backend", "model", "strategy")},
    }
    return lambda dataset: {
        "judge_id": judge.pk,
        "selection": content | {"promoted": promoted},
        "evidence": composite_evidence(content, offer, about, dataset),
    }


def _composite_judge(offer: CompositeOffer, sweep: SweepView, user: User) -> Judge:
    judges = {
        judge.fingerprint: judge
        for judge in Judge.objects.filter(pk__in=sweep.judge_ids, fingerprint__in=offer.judges)
    }
    try:
        return composite_ensure(
            name=f"Composite of {sweep.name[:MOST_OF_A_NAME].strip()}: {len(offer.parts)} parts",
            by=offer.by,
            parts={name: judges[key] for name, key in offer.parts.items()},
            others=judges[offer.others],
            notes=f"Found by the choice of a judge from the sweep '{sweep.name}'.",
            created_by=user,
        )
    except ValidationError as error:
        raise DecisionError(f"The composite cannot be a judge: {' '.join(error.messages)}") from None

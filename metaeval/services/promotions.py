"""Promotion: which judge is to be used for a dataset, and why; from its comparison, or from a choice over several."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from annotation.kinds import DEFAULT_KIND
from annotation.models import Dataset, User
from judges.models import Judge
from judges.selectors.stored import judges_known
from judges.services.composites import composite_ensure
from metaeval.figures import FIGURES
from metaeval.figures.sample import RISK
from metaeval.inputs import Options
from metaeval.models import Decision, Preregistration
from metaeval.reports.errors import DecisionAgainst, DecisionConflict, DecisionError
from metaeval.reports.json_values import json_of
from metaeval.reports.promotion import (
    CompositeOffer,
    composite_evidence,
    composite_facts,
    composite_offer,
    judge_evidence,
    promoted_facts,
)
from metaeval.reports.report import ReportContent
from metaeval.reports.selection.inputs import Criteria
from metaeval.reports.selection.report import SelectionReport
from metaeval.reports.selection.words import violations_words
from metaeval.reports.words import verdict_of
from metaeval.selection.types import COMPOSITE
from metaeval.selection.verdict import Annotators
from metaeval.selectors.decisions import decision_in_force
from metaeval.selectors.inputs import inputs_read
from metaeval.selectors.sweeps import SweepView
from metaeval.services.reports import options_against, report_build, report_save, with_plan
from metaeval.services.selections import selection_get, selection_with_plan
from metaeval.stats.errors import quiet

LONGEST_REASON = 4_000
MOST_OF_A_NAME = 140
"""Characters of a sweep's name in the name of a composite."""
Seen = Mapping[int, int | None]
"""By primary key of a dataset, the decision that was in force when a person looked."""
Values = Callable[[str], dict[str, Any]]
"""What a decision holds, by the name of its dataset."""


def judge_promote(
    *,
    sweep: SweepView,
    basis: Dataset | Criteria,
    fingerprint: str,
    reason: str,
    user: User,
    inputs_hash: str,
    seen: Seen,
    although: bool = False,
    verdict: tuple[float, Annotators] = (0.0, "alike"),
    preset: str = "",
    risk: float = RISK,
    preregistration: Preregistration | None = None,
) -> list[Decision]:
    """Decide for a judge: on all datasets that the basis decides for or on none. Earlier decisions are replaced.

    Sending the same promotion twice makes one decision a dataset, and one judge where it is the composite.

    Parameters
    ----------
    basis : Dataset or Criteria
        The dataset whose comparison speaks for the judge, or the criteria of a choice: every dataset that has a share
        in it is decided for.
    fingerprint : str
        Of the judge; `COMPOSITE` for the composite of the choice, which becomes a judge with the decisions.
    inputs_hash : str
        Of the figures that the person looked at: the decisions rest on them.
    although : bool
        They said that it is to be used although it does not satisfy the constraints, or is not worth it.
    verdict : (float, {"alike", "these"})
        What the verdict of a comparison was asked for: a practical margin, and over which annotators.
    preset : str
        The paper whose figures stood beside the others of a comparison.
    risk : float
        The share of errors that is accepted where the judge decides by itself: its threshold on each dataset goes with
        the decision. A composite has none, as it has judged nothing.

    preregistration : Preregistration, optional
        What was planned: the decision keeps what the comparison or the choice kept of it.

    Raises
    ------
    DecisionConflict
        Somebody else decided in the meantime, or the figures have changed.
    DecisionAgainst
        Something speaks against the judge, without the word that it is to be used although.
    DecisionError
        Not an administrator, no reason, no such judge in the sweep, or a composite that cannot be a judge.
    """
    wanted = _wanted(sweep, user, reason) | {"inputs_hash": inputs_hash}
    is_composite = fingerprint == COMPOSITE and isinstance(basis, Criteria)
    judge = None if is_composite else _judge_of(sweep, fingerprint)
    if judge is not None:
        wanted["judge_id"] = judge.pk
    # In one order, so that two who decide at once do not wait for each other.
    deciding = {basis.name} if isinstance(basis, Dataset) else basis.deciding
    datasets = sorted((row for row in sweep.datasets if row.name in deciding), key=lambda row: row.pk)
    if not datasets:
        raise DecisionError("No dataset has a weight in this choice, so there is nothing to decide.")
    kind = DEFAULT_KIND if isinstance(basis, Dataset) else basis.kind
    if made := _made(datasets, wanted, seen, kind):
        return made
    report: ReportContent | SelectionReport
    if isinstance(basis, Dataset):
        report = report_build(
            dataset=basis,
            sweep=sweep,
            options=Options(margin=verdict[0], annotators=verdict[1], preset=preset),
        )
    else:
        report = selection_get(sweep=sweep, criteria=basis)
    if report.inputs_hash != inputs_hash:
        raise DecisionConflict(
            "Labels, judgments or settings have changed since these figures were shown. Check the new figures first."
        )

    thresholds = {} if judge is None else _thresholds(datasets, sweep, kind, judge, risk)

    def with_threshold(made: Values) -> Values:
        def of(dataset: str) -> dict[str, Any]:
            held = made(dataset)
            about = held["evidence"]["judge"] | {"abstention": thresholds[dataset]}
            return held | {"evidence": held["evidence"] | {"judge": about}}

        return of

    def values() -> Values:
        if isinstance(report, ReportContent):
            assert judge is not None
            held = {"evidence": _comparison_evidence(report, judge)}
            report_save(
                report=report,
                dataset=datasets[0],
                sweep_id=sweep.pk,
                user=user,
                preregistration=preregistration,
            )
            planned = None if preregistration is None else with_plan(report, preregistration).planned
            return _with_planned(with_threshold(lambda _: held), planned)
        chosen = report if preregistration is None else selection_with_plan(report, preregistration)
        if judge is None:
            return _with_planned(_composite(chosen, sweep, user, although=although), chosen.planned)
        return _with_planned(with_threshold(_judge(chosen, judge, although=although)), chosen.planned)

    return _decide(datasets, wanted, seen, kind, values)


def _with_planned(made: Values, planned: Mapping[str, Any] | None) -> Values:
    """The same with what was kept of a preregistration, where one was named."""
    if planned is None:
        return made

    def of(dataset: str) -> dict[str, Any]:
        held = made(dataset)
        return held | {"evidence": held["evidence"] | {"planned": dict(planned)}}

    return of


# --- in force ------------------------------------------------------------------------------------------------------


def _wanted(sweep: SweepView, user: User, reason: str) -> dict[str, Any]:
    if not user.is_administrator:
        raise DecisionError("Only administrators can promote a judge.")
    reason = " ".join(reason.split("\x00")).strip()
    if not reason:
        raise DecisionError("Enter a reason, so that the decision can be understood later.")
    if len(reason) > LONGEST_REASON:
        raise DecisionError(f"The reason is longer than {LONGEST_REASON:,} characters.")
    return {"sweep_id": sweep.pk, "reason": reason, "decided_by_id": user.pk}


def _judge_of(sweep: SweepView, fingerprint: str) -> Judge:
    judge = judges_known([fingerprint], among=sweep.judge_ids).first()
    if judge is None:
        raise DecisionError("This sweep has no such judge.")
    return judge


def _decide(
    datasets: Sequence[Dataset],
    wanted: Mapping[str, Any],
    seen: Seen,
    kind: str,
    values: Callable[[], Values],
) -> list[Decision]:
    """Put a decision in force on every dataset, or on none. Raises DecisionConflict where `seen` is not in force."""
    try:
        with transaction.atomic():
            held = values()
            return [
                _replace(dataset, {**wanted, **held(dataset.name)}, seen.get(dataset.pk), kind)
                for dataset in datasets
            ]
    except (IntegrityError, DecisionConflict):
        # Two at once: the database let one through. If that was this very promotion, it is done.
        if made := _made(datasets, wanted, seen, kind):
            return made
        where = "this dataset" if len(datasets) == 1 else "one of these datasets"
        raise DecisionConflict(
            f"Someone else decided for {where} in the meantime. Read their reason, then decide again."
        ) from None


def _replace(dataset: Dataset, values: Mapping[str, Any], seen: int | None, kind: str) -> Decision:
    """Put a decision in force, in a transaction of the caller."""
    of_kind = Decision.objects.filter(dataset=dataset, kind=kind)
    current = of_kind.select_for_update().filter(replaced_by__isnull=True).first()
    if (current.pk if current else None) != seen:
        raise DecisionConflict("Another decision is current.")
    if current is None:
        return Decision.objects.create(dataset=dataset, kind=kind, **values)
    # One decision in force for each dataset and kind, by a constraint that is checked at once: the old one has to step
    # aside before the new one exists. For a moment it is replaced by the first of all, which replaced none.
    first = of_kind.filter(replaces__isnull=True).values_list("pk", flat=True)[:1]
    Decision.objects.filter(pk=current.pk).update(replaced_by=first.get())
    made = Decision.objects.create(dataset=dataset, kind=kind, **values)
    Decision.objects.filter(pk=current.pk).update(replaced_by=made.pk)
    return made


def _made(datasets: Sequence[Dataset], wanted: Mapping[str, Any], seen: Seen, kind: str) -> list[Decision]:
    """The decisions in force on the datasets, if they are this promotion, made from the same page; else none.

    Without a judge in what is wanted, that of the composite: which one follows from the inputs.
    """
    found = []
    for dataset in datasets:
        current = decision_in_force(dataset, kind)
        if current is None or current.pk == seen.get(dataset.pk):
            return []
        replaced = Decision.objects.filter(replaced_by=current).exclude(pk=current.pk).first()
        is_same = all(getattr(current, name) == value for name, value in wanted.items())
        of_judge = "judge_id" in wanted or "composite" in current.evidence
        if (replaced.pk if replaced else None) != seen.get(dataset.pk) or not (is_same and of_judge):
            return []
        found.append(current)
    return found


def _thresholds(
    datasets: Sequence[Dataset], sweep: SweepView, kind: str, judge: Judge, risk: float
) -> dict[str, dict[str, Any] | None]:
    """From which certainty on it may decide by itself, by dataset; None where nothing says how sure it is."""
    found: dict[str, dict[str, Any] | None] = {}
    for dataset in datasets:
        inputs = inputs_read(dataset=dataset, kind=kind, sweep=sweep)
        mine = [one for one in inputs.judges if one.fingerprint == judge.fingerprint]
        sample = FIGURES[kind].sample(replace(inputs, judges=tuple(mine)), options_against(inputs))
        with quiet():
            found[dataset.name] = sample.judges[0].threshold(risk) if mine else None
    return found


# --- what it rests on ----------------------------------------------------------------------------------------------


def _comparison_evidence(report: ReportContent, judge: Judge) -> dict[str, Any]:
    primary, selection = report.primary, report.selection
    for place, row in enumerate(report.judges):
        if row.fingerprint == judge.fingerprint and not row.baseline:
            against = [one for one in selection.differences if one.get("judge") == place]
            return {
                "judge": asdict(row),
                "primary": primary,
                "rank": selection.ranking.index(place) + 1 if place in selection.ranking else None,
                "of": len(selection.ranking),
                "clear": verdict_of(report, primary).kind == "clear" and selection.leader == place,
                "behind_leader": against[0] if against else None,
                "simulated_share": report.people.simulated_share,
            }
    raise DecisionError("This judge hasn't judged this dataset yet.")


def _judge(report: SelectionReport, judge: Judge, *, although: bool) -> Values:
    key = judge.fingerprint
    try:
        violations = report.standing(key).violations
    except KeyError:
        raise DecisionError("This judge hasn't judged these datasets yet.") from None
    if violations and not although:
        words = "; ".join(violations_words(violations))
        raise DecisionAgainst(f"This judge does not satisfy the constraints: {words}.")
    promoted = {"judge": key, "violations": json_of(violations), **promoted_facts(report, key)}
    selection = report.as_json() | {"promoted": promoted}
    return lambda dataset: {"selection": selection, "evidence": judge_evidence(report, key, dataset)}


def _composite(report: SelectionReport, sweep: SweepView, user: User, *, although: bool) -> Values:
    """Make the composite a judge, too."""
    offer = composite_offer(report)
    if offer is None:
        raise DecisionError("This choice has no composite: there is nothing to combine.")
    if offer.obstacle:
        raise DecisionError(f"The composite can't be a judge. {offer.obstacle}")
    if offer.although and not although:
        raise DecisionAgainst(f"The composite isn't recommended: {'; '.join(offer.although)}.")
    judge = _composite_judge(offer, sweep, user)
    promoted = {
        "judge": judge.fingerprint,
        "violations": [json_of(one) | {"judge": key} for key, one in offer.violations],
        "composite": composite_facts(report, offer),
    }
    names = ("name", "fingerprint", "backend", "model", "strategy")
    about = {"key": judge.fingerprint, **{name: getattr(judge, name) for name in names}}
    selection = report.as_json() | {"promoted": promoted}
    return lambda dataset: {
        "judge_id": judge.pk,
        "selection": selection,
        "evidence": composite_evidence(report, offer, about, dataset),
    }


def _composite_judge(offer: CompositeOffer, sweep: SweepView, user: User) -> Judge:
    judges = {judge.fingerprint: judge for judge in judges_known(offer.judges, among=sweep.judge_ids)}
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
        raise DecisionError(f"The composite can't be a judge: {' '.join(error.messages)}") from None

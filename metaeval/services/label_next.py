"""Which items to give to people next: drawn with known chances, or those on which weighing changes the score most."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from annotation.domain.errors import StudyRuleError
from annotation.models import Dataset, Study, User
from annotation.selectors.overview import studies_editable_by, study_get_for
from annotation.services.item_choice import Choice, ChosenItem, items_choose
from metaeval.figures.checklist import ChecklistJudge, ChecklistSample
from metaeval.inputs import UNSURE, Floats, Inputs, JudgeAnswers, Options
from metaeval.reports.errors import NothingJudgedError, ReportError
from metaeval.selectors.inputs import inputs_read
from metaeval.selectors.sweeps import SweepView
from metaeval.stats import items_to_label_next, judge_uncertainty, tower_drfr_differences
from metaeval.stats.arrays import slots_of
from web.csv_text import csv_text

JUDGES_DISAGREE = ""
"""In place of a judge: where all judges of the sweep disagree."""
ALL_LABELLED = "Every pair has a label already. To narrow the intervals, add new instructions."
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Draw:
    """Items drawn from those that have no label.

    Attributes
    ----------
    items : tuple of str
        Identifiers, in the order of the dataset.
    chances : tuple of float
        The chance with which each was drawn, in (0, 1]: kept on its labels, whose figures weight by the inverse.
    doubts : tuple of float
        How unsure the judge is of each, or how far judges disagree, in [0, 1].
    n_items, n_unlabelled : int
        Of the dataset's part that the sweep judged.
    mean_doubt : float
        Over all that have no label: what an even draw would have.
    width_now, width_after, width_even : float
        Width of the 95% interval of the share that prefers the first response: now (NaN with fewer than two labels),
        expected after these labels, and after as many that are drawn evenly.
    """

    items: tuple[str, ...]
    chances: tuple[float, ...]
    doubts: tuple[float, ...]
    n_items: int
    n_unlabelled: int
    mean_doubt: float
    width_now: float
    width_after: float
    width_even: float

    @property
    def key(self) -> str:
        """Names the draw: the same items with the same chances."""
        return sha256(repr((self.items, self.chances)).encode()).hexdigest()[:16]

    @property
    def saving(self) -> float:
        """How many per cent shorter the interval is than after an even draw; below 0: longer."""
        return 100 * (1 - self.width_after / self.width_even)


def label_next(*, dataset: Dataset, sweep: SweepView, budget: int, judge: str, seed: int) -> Draw:
    """Draw the items whose labels say most: by one judge's doubt, or by the disagreement of all.

    Parameters
    ----------
    judge : str
        Fingerprint of a judge that judged both orders, or `JUDGES_DISAGREE`.
    seed : int
        The same seed draws the same items, as long as labels and judgments are the same.

    Raises
    ------
    ReportError
        No pairs, no such judge, a judge of one order only, fewer than two judges, or too few items without a label.
    """
    inputs = inputs_read(dataset=dataset, sweep=sweep)
    judges = [one for one in inputs.judges if not one.baseline]
    doubt, judged = _doubt(judges, judge)
    slots = slots_of(inputs.labels.item, inputs.labels.choice, len(inputs.items))
    labels = _mean_credit(slots)
    free = np.isnan(labels)
    n_free = int(free.sum())
    if not 1 <= budget <= n_free:
        raise ReportError(
            f"{n_free:,} of the {len(free):,} pairs have no label: enter a number from 1 to that."
            if n_free
            else ALL_LABELLED
        )
    plan = items_to_label_next(judged, doubt, budget=budget, labels=labels, rng=seed)
    # Of this draw alone: pairs that have a label stand for themselves, what is drawn for the others.
    chances = plan.chances[plan.items]
    return Draw(
        items=tuple(inputs.items.external_id[row] for row in plan.items),
        chances=tuple(min(1.0, max(10.0**-_DIGITS, round(float(chance), _DIGITS))) for chance in chances),
        doubts=tuple(float(doubt[row]) for row in plan.items),
        n_items=len(free),
        n_unlabelled=n_free,
        mean_doubt=float(doubt[free].mean()),
        width_now=plan.width_now,
        width_after=plan.width_after,
        width_even=plan.width_even,
    )


def unlabelled_count(inputs: Inputs) -> int:
    """How many items nobody has labelled."""
    return int(
        np.isnan(_mean_credit(slots_of(inputs.labels.item, inputs.labels.choice, len(inputs.items)))).sum()
    )


def draw_csv(draw: Draw) -> str:
    """The draw as the file that a study takes: item, priority (the most doubtful first), probability."""
    rows = zip(draw.items, draw.doubts, draw.chances, strict=True)
    return csv_text(
        ("item", "priority", "probability"),
        ((item, f"{doubt:.4f}", f"{chance:.{_DIGITS}f}") for item, doubt, chance in rows),
    )


def draw_send(*, draw: Draw, dataset: Dataset, study: str, user: User) -> tuple[Study, Choice]:
    """Let a study of theirs offer what was drawn: a draft exactly these, an open study these first.

    Raises
    ------
    ReportError
        They have no such study on this dataset, or it cannot offer these items; nothing is changed.
    """
    rows = [
        ChosenItem(item, priority=doubt, probability=chance)
        for item, doubt, chance in zip(draw.items, draw.doubts, draw.chances, strict=True)
    ]
    return _send(rows, dataset, study, user)


def abstained_send(*, items: Sequence[tuple[str, float]], dataset: Dataset, study: str, user: User) -> Study:
    """Let a study of theirs offer what a judge leaves to people, (item, certainty): the least certain first.

    Raises
    ------
    ReportError
        As of `draw_send`.
    """
    rows = [ChosenItem(item, priority=round(1 - sure, _DIGITS)) for item, sure in items]
    return _send(rows, dataset, study, user)[0]


def abstained_key(items: Sequence[tuple[str, float]]) -> str:
    """Names what a judge leaves to people: the same items with the same certainties."""
    return sha256(repr([(item, round(sure, _DIGITS)) for item, sure in items]).encode()).hexdigest()[:16]


def _send(rows: Sequence[ChosenItem], dataset: Dataset, study: str, user: User) -> tuple[Study, Choice]:
    try:
        found = study_get_for(user, study, studies_editable_by(user))
    except Study.DoesNotExist:
        raise ReportError("There is no such study.") from None
    if found.dataset_id != dataset.pk:
        raise ReportError("That study is on another dataset.")
    try:
        return found, items_choose(study=found, rows=rows)
    except StudyRuleError as refusal:
        raise ReportError(f"{refusal.message[:1].upper()}{refusal.message[1:]}.") from None


def judges_with_doubt(inputs: Inputs) -> list[tuple[str, str]]:
    """(fingerprint, name) of the judges of which both orders say how sure they are."""
    return [
        (one.fingerprint, one.name)
        for one in inputs.judges
        if not one.baseline and one.judged.all(axis=1).any()
    ]


def _doubt(judges: list[JudgeAnswers], chosen: str) -> tuple[Floats, Floats]:
    """How unsure of each item in [0, 1], and the judgment as a number: the share that prefers the first response."""
    if chosen == JUDGES_DISAGREE:
        if len(judges) < 2:
            raise ReportError(
                "Disagreement needs two judges or more; this sweep has one that judged these pairs."
            )
        answers = np.concatenate([one.verdicts for one in judges], axis=1)
    else:
        found = [one for one in judges if one.fingerprint == chosen]
        if not found:
            raise ReportError("No such judge has judged these pairs in this sweep.")
        if not found[0].judged.all(axis=1).any():
            raise ReportError(
                f"{found[0].name} judged only one order of each pair, so its certainty is unknown."
            )
        answers = found[0].verdicts
    credit = _mean_credit(answers)
    return judge_uncertainty(answers), np.where(np.isnan(credit), 0.5, credit)


def _mean_credit(answers: Floats) -> Floats:
    """What the first response earned: 1, 0, one half for a tie; the mean over answers, NaN where there is none."""
    given = ~np.isnan(answers)
    credit = np.where(answers == 1, 1.0, np.where(answers == 0, 0.5, 0.0)) * given
    n = given.sum(axis=1)
    mean: Floats = np.where(n > 0, credit.sum(axis=1) / np.maximum(n, 1), np.nan)
    return mean


MOST_ITEMS = 200


@dataclass(frozen=True, slots=True)
class TowerItem:
    """An item, with both scores in [0, 1] by one judge and TOWER minus DRFR."""

    item: str
    drfr: float
    tower: float
    difference: float


def tower_items(*, dataset: Dataset, sweep: SweepView, n: int = MOST_ITEMS) -> tuple[str, list[TowerItem]]:
    """The judge that answered most checklists, and the items on which its TOWER and DRFR differ most.

    Raises
    ------
    ReportError
        There are no checklists, nobody judged one, or no aspect depends on another.
    """
    inputs = inputs_read(dataset=dataset, kind="checklist", sweep=sweep)
    if not inputs.judges:
        raise NothingJudgedError("No judge has judged a checklist yet.")
    sample = ChecklistSample(inputs, Options(n_resamples=0))
    judge: ChecklistJudge = max(sample.judges, key=lambda one: int(one.read.sum()))
    # Items whose aspects are no tree are left out.
    weights = sample.tower[sample.is_question]
    used = judge.read[sample.item] & ~np.isnan(weights)
    answers = np.where(judge.answers == UNSURE, np.nan, judge.answers)[used]
    levels = np.round(1 / weights[used])
    if not len(levels) or levels.max() == 1:
        raise ReportError("No aspect of these checklists depends on another: TOWER is DRFR there.")
    found = tower_drfr_differences(answers, sample.item[used], levels, n=n)
    return judge.judge.name, [
        TowerItem(inputs.items.external_id[row], *map(float, figures))
        for row, *figures in zip(found.item, found.drfr, found.tower, found.difference, strict=True)
    ]


def tower_csv(items: list[TowerItem]) -> str:
    """As the file that a study takes: the largest difference first."""
    return csv_text(("item", "priority"), ((one.item, f"{abs(one.difference):.6f}") for one in items))

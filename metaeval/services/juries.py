"""Juries whose weights were fitted to a dataset's labels, as judges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import transaction

from judges.services.judges import DuplicateJudgeError, judge_create
from metaeval.selectors.inputs import judges_chosen

if TYPE_CHECKING:
    from annotation.models import Dataset, User
    from judges.models import Judge
    from metaeval.reports.juries import JuryReport


@transaction.atomic
def jury_ensure(*, name: str, dataset: Dataset, report: JuryReport, created_by: User | None = None) -> Judge:
    """Return the jury of a report as a judge, with the weights of all labels; made if none answers the same.

    Its notes say on what it was fitted and what it's worth held out: its figures on that dataset are in-sample.

    Raises
    ------
    ValidationError
        It cannot be a judge: a member was imported, or the name is taken.
    """
    judges = {judge.name: judge for judge in judges_chosen(dataset, "pairwise", None, report.members)}
    # A member's name holds no "/": roles of its models are told by it.
    keys = {member: member.replace("/", " ") for member in report.members}
    if len(set(keys.values())) < len(keys):
        raise ValidationError("Two members would have one name without its '/'. Rename one of them.")
    weights = {keys[member]: weight for member, weight in report.weights.items()}
    what = "agreement with human annotators" if report.figure == "agreement" else "accuracy on gold answers"
    held_out = report.held_out
    notes = (
        f"Weights fitted to the labels of {dataset.name}: held-out {what} {100 * held_out.value:.1f}% "
        f"[{100 * held_out.low:.1f}, {100 * held_out.high:.1f}], optimism {100 * report.optimism:.1f} points. "
        "Its figures on that dataset are in-sample."
    )
    try:
        return judge_create(
            name=name,
            strategy="jury",
            members={keys[member]: judges[member] for member in report.members},
            params={
                "combine": "weights",
                "weights": json.dumps(weights, sort_keys=True),
                "tie_margin": report.tie_margin,
            },
            notes=notes,
            created_by=created_by,
        )
    except DuplicateJudgeError as error:
        return error.existing

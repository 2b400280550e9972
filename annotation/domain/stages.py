"""The way of a person through a study. It only goes forward; steps that a study does not have are skipped."""

from collections.abc import Collection

CONSENT, ELIGIBILITY, GUIDELINES = "consent", "eligibility", "guidelines"
TRAINING, QUALIFICATION, WORK = "training", "qualification", "work"
STEPS = (CONSENT, ELIGIBILITY, GUIDELINES, TRAINING, QUALIFICATION, WORK)


def stage_after(stage: str | None, present: Collection[str]) -> str:
    """The next step after `stage` (None: the first one) that the study has; work is always there.

    Examples
    --------
    >>> stage_after(None, ["guidelines", "qualification"])
    'guidelines'
    >>> stage_after("guidelines", ["consent", "guidelines"])
    'work'
    """
    start = 0 if stage is None else STEPS.index(stage) + 1
    for step in STEPS[start:]:
        if step in present or step == WORK:
            return step
    raise ValueError(f"there is no step after {stage!r}")

"""The way of a person through a study. It only goes forward; steps that a study does not have are skipped."""

CONSENT, GUIDELINES, QUALIFICATION, WORK = "consent", "guidelines", "qualification", "work"
STEPS = (CONSENT, GUIDELINES, QUALIFICATION, WORK)


def stage_after(
    stage: str | None, *, has_consent: bool, has_guidelines: bool, has_qualification: bool
) -> str:
    """The next step after `stage` (None: the first one) that the study has.

    Examples
    --------
    >>> stage_after(None, has_consent=False, has_guidelines=True, has_qualification=True)
    'guidelines'
    >>> stage_after("guidelines", has_consent=True, has_guidelines=True, has_qualification=False)
    'work'
    """
    present = {
        CONSENT: has_consent,
        GUIDELINES: has_guidelines,
        QUALIFICATION: has_qualification,
        WORK: True,
    }
    start = 0 if stage is None else STEPS.index(stage) + 1
    for step in STEPS[start:]:
        if present[step]:
            return step
    raise ValueError(f"there is no step after {stage!r}")

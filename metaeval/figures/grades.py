"""How strong preferences are, as arrays: of labels, and of what a judge said."""

from collections.abc import Iterable, Sequence

import numpy as np

from annotation.kinds.grades import MOST, grade_of
from metaeval.inputs import GRADES, SCORE_DIFFERENCES, Floats, GradeScale, Stored


def label_grades(choice: Floats, values: Sequence[Stored | None], groups: Sequence[str]) -> Floats | None:
    """Return the grade of each label, NaN where it has none: (n_labels,); None where no label has one.

    Parameters
    ----------
    choice : ndarray of shape (n_labels,)
    values : sequence of mapping or None
        The values of labels that say how strong a preference is; None of the others.
    groups : sequence of str
        Who gave each: a study, or where imported labels come from. A tie is a grade of 0 where others of its group say
        how strong they are: of people who weren't asked for a strength, ties alone would have one.

    Examples
    --------
    >>> values = [{"choice": 1, "strength": "much"}, None, None]
    >>> label_grades(np.array([1.0, 0.0, 0.0]), values, ["a", "a", "b"]).tolist()
    [3.0, 0.0, nan]
    """
    grades = np.full(len(choice), np.nan)
    graded = [place for place, value in enumerate(values) if value is not None]
    if not graded:
        return None
    for place in graded:
        grade = grade_of(values[place] or {})
        grades[place] = np.nan if grade is None else grade
    asked = {groups[place] for place in graded}
    ties = np.array([group in asked for group in groups], dtype=np.bool_) & (choice == 0)
    grades[ties] = 0.0
    return grades


def judge_grades(
    verdicts: Floats, probability: Floats | None, rows: Iterable[tuple[int, int, Stored]]
) -> tuple[Floats | None, GradeScale]:
    """Return how strong a judge's preferences are, (n_items, n_orders), and on what scale.

    Strengths and numbers come first, then probabilities of the first response (1 is 3, one half a tie), then
    differences of scores, the first response's minus the second's. A judge is read in one way, so that its grades are
    comparable.

    Parameters
    ----------
    verdicts : ndarray of shape (n_items, n_orders)
    probability : ndarray of shape (n_items, n_orders) or None
    rows : iterable of (int, int, mapping)
        Row of the item, presentation order, and the stored value of each parsed judgment that may say it.
    """
    own, scored = np.full((2, *verdicts.shape), np.nan)
    has_numbers = False
    for item, order, value in rows:
        if (grade := grade_of(value)) is not None:
            own[item, order] = grade
            has_numbers |= "grade" in value
        scores = value.get("scores")
        if isinstance(scores, Sequence) and len(scores) == 2 and None not in scores:
            scored[item, order] = float(scores[0]) - float(scores[1])
    if (np.abs(own) > 0).any():
        own = np.where(verdicts == 0, 0.0, own)
        if has_numbers:
            # A number at an end of the scale is stored as the choice that it is.
            ends = np.select([verdicts == 1, verdicts == 2], [MOST, -MOST], np.nan)
            own = np.where(np.isnan(own), ends, own)
        return own, GRADES
    if probability is not None and not np.isnan(probability).all():
        return np.where(np.isnan(verdicts), np.nan, 2 * MOST * (probability - 0.5)), GRADES
    if np.isnan(scored).all():
        return None, GRADES
    return scored, SCORE_DIFFERENCES

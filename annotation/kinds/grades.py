"""How strong a preference is: the points of a study's scale, the words that are stored, and the numbers they stand for.

A *grade* is a signed number from -3 to 3: above 0 the first response is better, below 0 the second, 0 is a tie. The
words are those of HelpSteer2-Preference (Wang et al., ICLR 2025): slightly better is 1, better 2, much better 3. A
word has the same grade on every scale, so labels of studies with 5 and 7 points can be pooled.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from annotation.domain.errors import LabelValueError
from annotation.domain.wording import gettext, gettext_noop
from annotation.kinds.values import TIE, Stored, Value, quoted_short

STRENGTHS: Mapping[str, float] = {"slightly": 1.0, "better": 2.0, "much": 3.0}
"""Each word, and its grade without a sign; the weakest first."""
STRENGTH_WORDS: Mapping[str, str] = {
    "slightly": gettext_noop("slightly better"),
    "better": gettext_noop("better"),
    "much": gettext_noop("much better"),
}
STRENGTH_SAID: Mapping[str, tuple[str, str]] = {
    "slightly": (gettext_noop("A is slightly better"), gettext_noop("B is slightly better")),
    "better": (gettext_noop("A is better"), gettext_noop("B is better")),
    "much": (gettext_noop("A is much better"), gettext_noop("B is much better")),
}
"""Of the first and the second response."""
STRENGTH_SHORT: Mapping[str, str] = {
    "slightly": gettext_noop("slightly"),
    "better": gettext_noop("better"),
    "much": gettext_noop("much"),
}
"""Beside the letter of the better response, where there is little room."""
POINTS: Mapping[int, tuple[str, ...]] = {3: (), 5: ("slightly", "much"), 7: tuple(STRENGTHS)}
"""The strengths that a scale offers, by its number of points, ties included."""
MOST = 3.0
"""The grade of a preference that is as strong as can be."""
BOTH_BAD = "bad"
WORDS: Mapping[str, str] = {
    "1": gettext_noop("A is better"),
    "2": gettext_noop("B is better"),
    "0": gettext_noop("Tie"),
    BOTH_BAD: gettext_noop("Both are bad"),
}
# A number that was converted keeps the digits that it came with.
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Between:
    """A way to write a preference as one number between the two responses.

    Attributes
    ----------
    low, high : float
        Both allowed.
    grade : callable
        The number as a grade.
    about : str
        What its ends mean, for errors.
    """

    low: float
    high: float
    grade: Callable[[float], float]
    about: str


BETWEEN: Mapping[str, Between] = {
    "grade": Between(-MOST, MOST, lambda number: number, "3: the first response is much better"),
    "preference": Between(
        1.0, 2.0, lambda number: 2 * MOST * (1.5 - number), "1: the first response; 1.5: a tie"
    ),
    "share": Between(0.0, 1.0, lambda number: 2 * MOST * (number - 0.5), "1: the first response; 0.5: a tie"),
    "preference_strength": Between(
        -MOST, MOST, lambda number: -number, "-3: the first response is much better"
    ),
}
"""By the name under which files have it: our own, AlpacaEval's, a share or probability, HelpSteer2's."""


@dataclass(frozen=True, slots=True)
class PreferencePoint:
    """One answer of a scale of preference, in the order shown: the side, and how much better it is."""

    choice: int
    strength: str = ""
    both_bad: bool = False

    @property
    def value(self) -> str:
        """As the form field has it."""
        return BOTH_BAD if self.both_bad else pressed(self.choice, self.strength)

    @property
    def letter(self) -> str:
        """The response that is better: "A", "B", or nothing."""
        return ("", "A", "B")[self.choice]

    @property
    def words(self) -> str:
        """What it says: "A is much better"."""
        return point_words(self.value)


def pressed(choice: int, strength: str | None) -> str:
    """A choice, and how strong it is, as one form field has it.

    >>> pressed(1, "much"), pressed(0, None)
    ('1-much', '0')
    """
    return f"{choice}-{strength}" if strength else str(choice)


def joined(choice: str, strength: str) -> str:
    """The answer of a form, or of a draft, that had the strength in a field of its own."""
    return f"{choice}-{strength}" if choice in ("1", "2") and strength else choice


def point_words(value: str) -> str:
    """The words of a form field; nothing for what is no answer."""
    side, _, strength = value.partition("-")
    if side in ("1", "2") and strength in STRENGTH_SAID:
        return gettext(STRENGTH_SAID[strength][int(side) - 1])
    return gettext(WORDS[value]) if value in WORDS else ""


def grade_of(value: Stored) -> float | None:
    """The grade of a pair's value, in [-3, 3]; None of a preference that does not say how strong it is.

    Examples
    --------
    >>> grade_of({"choice": 2, "strength": "much"}), grade_of({"choice": 1, "grade": 1.38}), grade_of({"choice": 0})
    (-3.0, 1.38, 0.0)
    >>> grade_of({"choice": 1}) is None
    True
    """
    choice, strength = value.get("choice"), str(value.get("strength"))
    if choice == TIE:
        return 0.0
    if (grade := value.get("grade")) is not None:
        return float(grade)
    if choice not in (1, 2) or strength not in STRENGTHS:
        return None
    return STRENGTHS[strength] if choice == 1 else -STRENGTHS[strength]


def number_checked(field: str, number: object) -> float:
    """A number between two responses in one of the ways of `BETWEEN`; `LabelValueError` names the field."""
    between = BETWEEN[field]
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise LabelValueError(field, f"expected a number, found {quoted_short(number)}.")
    if not between.low <= number <= between.high:
        expected = f"expected {between.low:g} to {between.high:g} ({between.about})"
        raise LabelValueError(field, f"{expected}, found {quoted_short(number)}.")
    return float(number)


def graded_value(field: str, number: object) -> Value:
    """A number between two responses as a pair's value: the choice, and the grade beside a preference.

    HelpSteer2's whole numbers are its words, and become these.

    Examples
    --------
    >>> graded_value("preference", 1.27), graded_value("preference", 1.5)
    ({'choice': 1, 'grade': 1.38}, {'choice': 0})
    >>> graded_value("preference_strength", 2)
    {'choice': 2, 'strength': 'better'}
    """
    grade = round(BETWEEN[field].grade(number_checked(field, number)), _DIGITS)
    if not grade:
        return {"choice": TIE}
    choice = 1 if grade > 0 else 2
    words = {size: word for word, size in STRENGTHS.items()}
    if field == "preference_strength" and abs(grade) in words:
        return {"choice": choice, "strength": words[abs(grade)]}
    return {"choice": choice, "grade": grade}


def probability_given(value: object) -> float | None:
    """The probability that the first response is better, where a value as files have it is one: a share of it, or
    AlpacaEval's preference, which is 1 plus that of the second.

    >>> probability_given({"preference": 1.27}), probability_given({"grade": 1.5}), probability_given(1)
    (0.73, None, None)
    """
    if not isinstance(value, Mapping) or len(value) != 1 or not value.keys() <= {"preference", "share"}:
        return None
    name, number = next(iter(value.items()))
    return round(2.0 - number, _DIGITS) if name == "preference" else float(number)

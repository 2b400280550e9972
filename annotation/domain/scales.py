"""The scale of a criterion: which ratings there are, what they are called, and whether one may say "not applicable".

A rating is a whole number on the scale, or `NOT_APPLICABLE`. That is a word of its own and not null: null already means
"not said" (a criterion left out of an imported label, a column that a Parquet row lacks), and an answer is no gap.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from annotation.domain.wording import gettext

NOT_APPLICABLE = "not_applicable"
MAX_OPTIONS = 11
"""Points that are offered as options; of more a rating is entered as a number."""
MAX_POINTS = 101
FARTHEST = 1_000
"""Largest number of a scale, either way."""
PASS_FAIL = "pass_fail"  # noqa: S105  (the name of a scale)
_NEAR_SHARE = 10
"""Of a scale with more than `MAX_OPTIONS` points the range divided by this is near."""


class ScaleError(ValueError):
    """There is no such scale. `field` names what is wrong, `message` says what was expected."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Scale:
    """Whole numbers from `low` to `high`, `step` apart.

    Attributes
    ----------
    low, high : int
        Both are ratings. Below 0 and above it: a bipolar scale.
    step : int
        At least 1; it divides the range.
    not_applicable : bool
        Whether "not applicable" is an answer.
    words : tuple of (int, str)
        Points that have words, from the lowest.

    Raises
    ------
    ScaleError
        The numbers make no scale of 2 to `MAX_POINTS` points, or a word is not of one of its points.

    Examples
    --------
    >>> Scale().points
    (1, 2, 3, 4, 5)
    >>> str(Scale(-3, 3)), Scale(-3, 3).is_bipolar
    ('-3 to 3', True)
    """

    low: int = 1
    high: int = 5
    step: int = 1
    not_applicable: bool = False
    words: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        for field in ("low", "high", "step"):
            number = getattr(self, field)
            if isinstance(number, bool) or not isinstance(number, int):
                raise ScaleError(field, f"expected a whole number, found {number!r}.")
        for field in ("low", "high"):
            if abs(getattr(self, field)) > FARTHEST:
                raise ScaleError(field, f"expected {-FARTHEST} to {FARTHEST}, found {getattr(self, field)}.")
        if self.high <= self.low:
            raise ScaleError("high", f"expected a number above low ({self.low}), found {self.high}.")
        if self.step < 1 or (self.high - self.low) % self.step:
            raise ScaleError(
                "step", f"expected a divisor of the range ({self.high - self.low}), found {self.step}."
            )
        if self.n_points > MAX_POINTS:
            raise ScaleError(
                "high", f"expected a scale of 2 to {MAX_POINTS} points, found {self.n_points:,}."
            )
        for point, _ in self.words:
            if point not in self:
                raise ScaleError("options", f"expected points from {self}, found {point}.")

    @classmethod
    def of_json(cls, stored: Mapping[str, Any], options: Mapping[str, str] | None = None) -> "Scale":
        """From what `as_json` gave and the words by point; nothing is 1 to 5."""
        words = tuple(sorted((int(point), text) for point, text in (options or {}).items()))
        return cls(
            stored.get("low", 1),
            stored.get("high", 5),
            stored.get("step", 1),
            bool(stored.get("not_applicable", False)),
            words,
        )

    def as_json(self) -> dict[str, Any]:
        """What a criterion stores beside its words by point; empty of 1 to 5, so that what is stored stays as it is."""
        found: dict[str, Any] = {}
        if (self.low, self.high, self.step) != (1, 5, 1):
            found = {"low": self.low, "high": self.high}
        if self.step != 1:
            found["step"] = self.step
        if self.not_applicable:
            found["not_applicable"] = True
        return found

    def __contains__(self, rating: object) -> bool:
        """Whether this is a number on the scale."""
        return (
            isinstance(rating, int)
            and not isinstance(rating, bool)
            and self.low <= rating <= self.high
            and (rating - self.low) % self.step == 0
        )

    def __str__(self) -> str:
        """Such as "1 to 5", or "0 to 100 in steps of 5"."""
        steps = f" in steps of {self.step}" if self.step != 1 else ""
        return f"{self.low} to {self.high}{steps}"

    @property
    def words_of_range(self) -> str:
        """`str` in the reader's language."""
        words = (
            gettext("%(low)s to %(high)s")
            if self.step == 1
            else gettext("%(low)s to %(high)s in steps of %(step)s")
        )
        return words % {"low": self.low, "high": self.high, "step": self.step}

    @property
    def n_points(self) -> int:
        """How many ratings there are."""
        return (self.high - self.low) // self.step + 1

    @property
    def points(self) -> tuple[int, ...]:
        """All ratings, the lowest first."""
        return tuple(range(self.low, self.high + 1, self.step))

    @property
    def width(self) -> int:
        """From the lowest rating to the highest."""
        return self.high - self.low

    @property
    def is_bipolar(self) -> bool:
        """Whether 0 lies between its ends."""
        return self.low < 0 < self.high

    @property
    def is_number(self) -> bool:
        """Whether it has too many points to offer them as options."""
        return self.n_points > MAX_OPTIONS

    @property
    def numbers(self) -> "Scale":
        """The scale without its words: what figures depend on."""
        return replace(self, words=())

    @property
    def near(self) -> float:
        """The distance that tolerant accuracy forgives, in points.

        One step; on two points one half, so that of pass and fail only the same answer (or people's majority) is near;
        on more than `MAX_OPTIONS` points a tenth of the range.
        """
        if self.n_points == 2:
            return self.step / 2
        return self.width / _NEAR_SHARE if self.is_number else float(self.step)

    @property
    def options(self) -> tuple[tuple[int, str], ...]:
        """Points with their words, the lowest first: all of them, or those that have words if there are too many."""
        words = dict(self.words)
        return self.words if self.is_number else tuple((point, words.get(point, "")) for point in self.points)

    def word(self, rating: object) -> str:
        """The words of a rating; empty where it has none."""
        if rating == NOT_APPLICABLE:
            return gettext("Not applicable")
        return dict(self.words).get(rating, "") if isinstance(rating, int) else ""

    def shown(self, rating: object) -> str:
        """A rating as people read it: with its sign on a bipolar scale.

        >>> [Scale(-1, 1).shown(point) for point in (-1, 0, 1)]
        ['−1', '0', '+1']
        """
        if not isinstance(rating, int):
            return gettext("n/a") if rating == NOT_APPLICABLE else ""
        sign = "−" if rating < 0 else "+" if self.is_bipolar and rating > 0 else ""
        return f"{sign}{abs(rating)}"

    def allows(self, rating: object) -> bool:
        """Whether this is an answer: a number on the scale, or "not applicable" where that is one."""
        return rating in self or (self.not_applicable and rating == NOT_APPLICABLE)

    @property
    def expected(self) -> str:
        """What an answer has to be, for errors: ``1 to 5``, ``0 to 100 or "not_applicable"``."""
        return f'{self} or "{NOT_APPLICABLE}"' if self.not_applicable else str(self)

    def nearest(self, mean: Fraction | float) -> int:
        """The rating closest to a mean, halves going to the even one, as juries round."""
        offset = 0 if self.low % self.step == 0 else self.low
        rating = offset + self.step * round(Fraction(mean - offset) / self.step)
        return min(self.high, max(self.low, rating))

    def position(self, rating: float) -> float:
        """Where a rating lies, from 0 (the lowest) to 1: the range that criteria on different scales have in common.

        >>> Scale(-3, 3).position(0), Scale(0, 100).position(25)
        (0.5, 0.25)
        """
        return (rating - self.low) / self.width


STANDARD = Scale()
"""One to five: the scale of a criterion that says nothing else."""
NAMED_SCALES: Mapping[str, Scale] = {PASS_FAIL: Scale(0, 1, words=((0, "Fail"), (1, "Pass")))}
"""Scales that files call by a name."""
Scales = Mapping[str, Scale]
"""By criterion; one that is not there is rated on the standard scale."""


def are_mixed(scales: Iterable[Scale]) -> bool:
    """Whether the ends differ, so that ratings of different criteria may only be pooled by `Scale.position`."""
    return len({(scale.low, scale.high) for scale in scales}) > 1

"""What work is worth: per item, or per hour of active time, with what is paid for the test and as a bonus beside it.

Every answer is paid, also one that came too late to count, was set aside, or was a hidden check. Amounts are exact
decimals; what the work of a person comes to is rounded to the cent once, in their favour, since nobody can be paid less
than a cent. So what they read, the report, its sum and its file say the same.
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, ROUND_UP, Decimal

ZERO = Decimal(0)
CENT = Decimal("0.01")
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Earned:
    """What one person has earned in one study, in its currency.

    Attributes
    ----------
    answers : int
        Items answered.
    active_ms : int
        Active time that is paid; of answers whose time is unknown, none.
    n_timed : int
        Answers whose time is known.
    work, test, bonus : Decimal
    """

    answers: int
    active_ms: int
    n_timed: int
    work: Decimal
    test: Decimal
    bonus: Decimal

    @property
    def total(self) -> Decimal:
        return self.work + self.test + self.bonus

    @property
    def active_seconds(self) -> float:
        return self.active_ms / 1000

    @property
    def hourly(self) -> Decimal | None:
        """Work and bonus an hour of active time; None where no time is known. The test is in neither of the two.

        The time of answers without a known one is taken to be the mean of the others'.
        """
        if not self.active_ms or not self.n_timed:
            return None
        hours = Decimal(self.active_ms) * self.answers / self.n_timed / HOUR_MS
        return ((self.work + self.bonus) / hours).quantize(CENT, ROUND_HALF_UP)


def work_pay(
    *, answers: int, active_ms: int, per_item: Decimal = ZERO, per_hour: Decimal = ZERO, by_time: bool = False
) -> Decimal:
    """Pay for the work of one person alone, to the cent.

    Examples
    --------
    >>> work_pay(answers=3, active_ms=0, per_item=Decimal("0.125"))
    Decimal('0.38')
    >>> work_pay(answers=3, active_ms=90_000, per_hour=Decimal("12"), by_time=True)
    Decimal('0.30')
    """
    if answers < 0 or active_ms < 0:
        raise ValueError("answers and active_ms must not be negative")
    exact = per_hour * active_ms / HOUR_MS if by_time else answers * per_item
    return Decimal(exact).quantize(CENT, ROUND_UP)

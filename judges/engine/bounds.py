"""How many requests may be in flight at an endpoint, as its answers and refusals show."""

_NEAR = 0.9
"""Share of a bound that was too high, from which on the bound is raised slowly."""
_SLOWER = 0.1
"""The part of the usual step by which it is raised then."""


class Bound:
    """A bound that is lowered where it is too high, and raised with each answer, as TCP's window is.

    A server that bears a fixed number refuses again as soon as the bound is above it. So what was too high is
    remembered: the bound comes near it slowly, and is lowered by little when it is there again.

    Attributes
    ----------
    now : float
        The bound, at least 1.
    """

    def __init__(self, most: int) -> None:
        self.now = float(most)
        self._too_high = float("inf")

    def _is_near(self, bound: float) -> bool:
        return _NEAR * self._too_high <= bound <= self._too_high / _NEAR

    def answered(self, ceiling: int) -> None:
        """Raise it by an answer: as many answers as are in flight raise it by one."""
        if self.now < ceiling:
            step = _SLOWER if self._is_near(self.now) else 1.0
            self.now = min(self.now + step / self.now, float(ceiling))

    def lower(self, ceiling: int) -> None:
        """Halve it; by less where it was too high before. Once for requests that were sent together."""
        was = min(self.now, float(ceiling))
        self.now = max(was * (_NEAR * _NEAR if self._is_near(was) else 0.5), 1.0)
        self._too_high = was

    def lower_to(self, n_borne: int) -> None:
        """Lower it to what the server has at work now, where it refused several at once; 0 says nothing."""
        if 0 < n_borne < self.now:
            self.now, self._too_high = float(n_borne), n_borne + 1.0

"""What can be set of a sweep, beside its name, its judges and its datasets."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError

from judges.models import Orders, Sweep


@dataclass(frozen=True, slots=True)
class SweepSettings:
    """The settings of a sweep, with their defaults; each is a field of `Sweep`, which says what it means."""

    orders: str = Orders.BOTH.value
    seed: int = 0
    samples: int = 1
    categories: tuple[str, ...] = ()
    subsets: tuple[str, ...] = ()
    sample_size: int | None = None
    budget: Decimal | None = None
    budget_tokens: int | None = None
    budget_minutes: int | None = None
    priority: int = 0
    stop_unparsed: float | None = 0.5

    def __post_init__(self) -> None:
        for name in ("categories", "subsets"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(each, str) and each for each in given):
                raise ValidationError({name: f"Expected a list of names, found {given!r}."})
            object.__setattr__(self, name, tuple(dict.fromkeys(given)))
        object.__setattr__(self, "orders", str(self.orders))
        for name in ("stop_unparsed", "budget"):
            given = getattr(self, name)
            # NaN passes every comparison of a validator; a column that holds it closes the lists that show it.
            if given is not None and not math.isfinite(float(given)):
                raise ValidationError({name: f"Expected a number, found {given}."})
        if isinstance(self.budget, Decimal) and self.budget < 0:
            raise ValidationError({"budget": "Expected an amount of 0 or more."})

    @classmethod
    def of(cls, sweep: Sweep) -> SweepSettings:
        """Return those of a sweep."""
        return cls(**{each.name: getattr(sweep, each.name) for each in fields(cls)})

    def changed(self, **changes: Any) -> SweepSettings:
        """Return them with some changed."""
        return replace(self, **changes)

    def write(self, sweep: Sweep) -> None:
        """Set them on a row, which is not saved.

        Raises
        ------
        ValidationError
            By field: a value is not allowed.
        """
        for name, value in asdict(self).items():
            setattr(sweep, name, list(value) if isinstance(value, tuple) else value)
        sweep.clean_fields(exclude={"created_by"})

"""Many small cases in one test, where a test each would cost more than what it looks at."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def name_of(case: Any) -> str:
    """What a case is told by: its name where it has one, each part of several by its own."""
    if isinstance(case, tuple):
        return ", ".join(map(name_of, case))
    return str(getattr(case, "name", case))


def over(
    cases: Iterable[Any], name: Callable[[Any], str] = name_of
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make one test of a function of a case: it is called with every case, and all that fail are told by name.

    A function of several arguments is called with the parts of each case.
    """
    known = list(cases)

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        is_of_parts = len(inspect.signature(check).parameters) > 1

        def test() -> None:
            errors: list[BaseException] = []
            for case in known:
                try:
                    check(*case) if is_of_parts else check(case)
                except (Exception, pytest.fail.Exception) as error:  # the latter where an error was expected
                    error.add_note(f"of {name(case)}")
                    errors.append(error)
            if errors:
                raise BaseExceptionGroup(f"{len(errors)} of {len(known)} cases", errors)
            assert known, "there are no cases"

        # Not functools.wraps: the argument would be taken for a fixture.
        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate

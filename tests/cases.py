"""Many small cases in one test, where a test each would cost more than what it looks at."""

from collections.abc import Callable, Iterable
from typing import TypeVar

A = TypeVar("A")


def over(
    cases: Iterable[A], name: Callable[[A], str] = str
) -> Callable[[Callable[[A], None]], Callable[[], None]]:
    """Make one test of a function of a case: it is called with every case, and all that fail are told by name."""
    known = list(cases)

    def decorate(check: Callable[[A], None]) -> Callable[[], None]:
        def test() -> None:
            errors = []
            for case in known:
                try:
                    check(case)
                except Exception as error:
                    error.add_note(f"of {name(case)}")
                    errors.append(error)
            if errors:
                raise ExceptionGroup(f"{len(errors)} of {len(known)} cases", errors)
            assert known, "there are no cases"

        # Not functools.wraps: the argument would be taken for a fixture.
        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate

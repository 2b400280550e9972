"""What can go wrong in a strategy.

::

    StrategyError                  this item cannot be judged this way; asking again does not help
    |-- MissingReferenceError      the strategy reads a reference and the item has none
    UnknownStrategyError           no strategy, or no prompt, of that name
    SpecError                      a judge specification is invalid; names the field
"""

from web.plain_text import cut_off

MOST_FIELD, MOST_PROBLEM = 200, 2_000


class StrategyError(Exception):
    """One item cannot be judged by this strategy. Permanent: the same item will fail again."""


class MissingReferenceError(StrategyError):
    """The strategy needs a human-written reference and the item has none."""

    def __init__(self, *, item_id: int, strategy: str) -> None:
        super().__init__(f"Item {item_id} has no reference, and the strategy '{strategy}' needs one.")
        self.item_id = item_id
        self.strategy = strategy


class UnknownStrategyError(LookupError):
    """No strategy or prompt is registered under that name."""


class SpecError(ValueError):
    """A judge specification is invalid.

    Attributes
    ----------
    field : str
        Dotted name of the offending field, e.g. ``"decoding.temperature"``.
    problem : str
        What was expected and what was found, without the field's name. Both are cut off where a file has a name or a
        value of megabytes.
    """

    def __init__(self, field: str, problem: str) -> None:
        field, problem = cut_off(field, MOST_FIELD), cut_off(problem, MOST_PROBLEM)
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

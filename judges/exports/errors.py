"""Why a judge does not go into a tool."""

from judges.strategies.errors import SpecError


class ExportRefusedError(SpecError):
    """A judge cannot be carried into a target, or not whole; the message says what and why."""

"""Which version of Touchstone this is."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def software_version() -> str:
    """Version of the installed distribution; "source" when it is not installed."""
    try:
        return version("touchstone-judge")
    except PackageNotFoundError:
        return "source"

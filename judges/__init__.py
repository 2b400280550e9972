"""Judges: strategies, backends and the engine; and by itself, without a site, `Judge` and the command `touchstone`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judges.standalone.library import StandaloneJudge as Judge

__all__ = ["Judge"]


def __getattr__(name: str) -> Any:
    # Not before it is asked for: everybody who imports any part of this package comes by here.
    if name == "Judge":
        from judges.standalone.library import StandaloneJudge

        return StandaloneJudge
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

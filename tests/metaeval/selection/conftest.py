"""Real data of the selection tests: as of the statistics tests."""

from tests.metaeval.stats.conftest import alpaca, llmbar

__all__ = ["alpaca", "llmbar"]

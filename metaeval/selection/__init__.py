"""Choosing between judges: arrays in, frozen results out. Knows neither Django nor the apps."""

from metaeval.selection.paired import Comparison, compare

__all__ = ["Comparison", "compare"]

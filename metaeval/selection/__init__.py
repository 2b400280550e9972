"""Choosing between judges: arrays in, frozen results out. Knows neither Django nor the apps."""

from metaeval.selection.choosing import choose
from metaeval.selection.paired import LeaderComparison, compare
from metaeval.selection.types import (
    COMPOSITE,
    Candidate,
    CompositeFinding,
    Constraints,
    JudgedDataset,
    Selection,
    Settling,
    Standing,
    Violation,
)
from metaeval.selection.verdict import Lead

__all__ = [
    "COMPOSITE",
    "Candidate",
    "CompositeFinding",
    "Constraints",
    "JudgedDataset",
    "Lead",
    "LeaderComparison",
    "Selection",
    "Settling",
    "Standing",
    "Violation",
    "choose",
    "compare",
]

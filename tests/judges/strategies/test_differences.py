"""What each strategy does otherwise than its source is said, in the words of the code, in the docs."""

from __future__ import annotations

from pathlib import Path

from judges.strategies.differences import DIFFERENCES
from judges.strategies.registry import STRATEGIES

PAGE = Path(__file__).parents[3] / "docs" / "judging-strategies.md"


def test_every_strategy_says_what_differs_from_its_source() -> None:
    assert DIFFERENCES.keys() == STRATEGIES.keys()
    rows = dict(
        line.strip("| ").split(" | ", 1)
        for line in PAGE.read_text(encoding="utf-8")
        .partition("## What differs from the source")[2]
        .splitlines()
        if line.startswith("| `")
    )
    assert rows == {f"`{name}`": text for name, text in DIFFERENCES.items()}
    # A setting that the words name is one.
    for name, text in DIFFERENCES.items():
        if "“faithful”" in text:
            assert "faithful" in STRATEGIES[name].params, name
    assert all(
        "faithful" not in info.params or "“faithful”" in DIFFERENCES[info.name]
        for info in STRATEGIES.values()
    )

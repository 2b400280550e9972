"""The tables `[tool.touchstone.*]` of pyproject.toml: what the checks accept, and why."""

import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def table(name: str, path: Path = PYPROJECT) -> dict[str, Any]:
    """Return `[tool.touchstone.NAME]`.

    Raises
    ------
    SystemExit
        The file has no such table.
    """
    found: dict[str, Any] = tomllib.loads(path.read_text("utf-8")).get("tool", {}).get("touchstone", {})
    if name not in found:
        raise SystemExit(f"{path}: there is no table [tool.touchstone.{name}].")
    return dict(found[name])

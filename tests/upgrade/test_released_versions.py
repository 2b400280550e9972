"""Each version that the changelog gives a date has a stored database, which `test_upgrade.py` upgrades."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STORED = Path(__file__).resolve().parent
FIRST = {"0.1": "first"}
"""0.1 was released before files had the name of their version."""
HEADING = re.compile(r"^## (\d+\.\d+(?:\.\d+)?) (?:- \d{4}-\d{2}-\d{2}|\(unreleased\))$", re.M)


def released(changelog: str) -> list[str]:
    """The versions with a date."""
    return re.findall(r"^## (\d+\.\d+(?:\.\d+)?) - \d{4}-\d{2}-\d{2}$", changelog, re.M)


def missing(changelog: str) -> list[str]:
    names = [*FIRST.values(), *released(changelog)]
    return [name for name in names if not (STORED / f"{name}.sql.xz").is_file()]


def test_each_released_version_has_a_stored_database():
    assert missing((ROOT / "CHANGELOG.md").read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("changelog", "names"),
    [
        ("## 1.0.0 (unreleased)\n", []),
        ("## 1.1.0 (unreleased)\n\n## 1.0.0 - 2026-12-24\n", ["1.0.0"]),
    ],
)
def test_a_version_without_one_is_found(changelog, names):
    assert missing(changelog) == names


def test_the_package_has_the_version_at_the_top_of_the_changelog():
    first = HEADING.search((ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert first is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert first.group(1) == project["version"]

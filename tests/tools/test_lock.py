"""requirements.lock: what a site needs, pinned as in constraints.txt, each file by its hash."""

import re
import tomllib
from pathlib import Path

from tools.licenses import name_of

ROOT = Path(__file__).resolve().parents[2]
PIN = re.compile(
    r"^([\w.-]+)(?:\[[^\]]+\])?==([^\s;]+)(?: ; (.+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
    re.M,
)
EXTRAS = ("app", "pictures", "pdf")


def locked() -> dict[str, tuple[str, str, int]]:
    """By name: version, condition, and number of hashes."""
    text = (ROOT / "requirements.lock").read_text("utf-8")
    return {
        name_of(name): (version, condition, hashes.count("sha256:"))
        for name, version, condition, hashes in PIN.findall(text)
    }


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return {
        name_of(name): version
        for name, _, version in (line.partition("==") for line in lines if "==" in line)
    }


def test_each_package_of_the_lock_has_hashes_and_the_version_of_the_constraints():
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert len(locked()) == len(re.findall(r"^[\w.-]+.*==", text, re.M)) > 50
    pinned = constraints()
    for name, (version, condition, n_hashes) in locked().items():
        assert n_hashes >= 1, name
        # A package of another system, or another Python, is not in this environment.
        assert pinned.get(name) == version or condition, (name, version, pinned.get(name))


def test_each_requirement_of_the_site_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*project["dependencies"]]
    for extra in EXTRAS:
        needed += project["optional-dependencies"][extra]
    names = {name_of(re.match(r"[\w.-]+", each).group()) for each in needed}
    assert names - set(locked()) == set()
    assert len(names) > 30


def test_it_names_no_index_and_no_folder():
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert not re.search(r"--index-url|--extra-index-url|--find-links|file:|https?:", text)

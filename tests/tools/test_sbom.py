"""The software bill of materials that `make sbom` writes."""

import json
import re
import subprocess
from importlib.metadata import distributions
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tools.licenses import OURS, name_of

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.service, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(600)]


def made(folder: Path) -> str:
    recipe = (ROOT / "Makefile").read_text("utf-8")
    line = re.search(r"^\t\$\(BIN\)/cyclonedx-py (.*)$", recipe, re.M)
    assert line is not None
    words = line.group(1).replace("var/sbom.cdx.json", str(folder / "sbom.json")).split()
    from sys import executable

    subprocess.run([Path(executable).parent / "cyclonedx-py", *words], cwd=ROOT, check=True)
    return (folder / "sbom.json").read_text("utf-8")


def test_it_is_valid_has_each_installed_package_and_is_the_same_again(tmp_path):
    text = made(tmp_path)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    listed = {(name_of(each["name"]), each["version"]) for each in bill["components"]}
    assert {(name_of(each.metadata["Name"]), each.version) for each in distributions()} - listed <= {
        (OURS, each.version) for each in distributions(name=OURS)
    }
    assert bill["metadata"]["component"]["name"] == OURS
    assert bill["metadata"]["component"]["version"] == "1.0.0"
    (alpha,) = [each for each in bill["components"] if each["name"] == "krippendorff"]
    assert alpha["purl"].startswith("pkg:pypi/krippendorff@")
    assert [each["license"]["id"] for each in alpha["licenses"]] == ["GPL-3.0-or-later"]
    assert made(tmp_path) == text

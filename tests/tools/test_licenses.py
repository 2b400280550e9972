"""Which licenses are accepted, and how they are read from metadata."""

from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

from tools.configuration import table
from tools.licenses import is_accepted, license_of, main, problems

ACCEPTED = ["MIT", "Apache-2.0", "BSD-3-Clause", "GPL-2.0-only"]


def package(folder: Path, *lines: str) -> Distribution:
    info = folder / "made-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(
        "\n".join(["Metadata-Version: 2.4", "Name: made", "Version: 1.0", *lines]) + "\n\n"
    )
    return Distribution.at(info)


@pytest.mark.parametrize(
    ("expression", "accepted"),
    [
        ("MIT", True),
        ("GPL-3.0-or-later", False),
        ("GPL-3.0-or-later OR MIT", True),
        ("GPL-3.0-or-later AND MIT", False),
        ("MIT AND (GPL-3.0-only OR Apache-2.0)", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", True),
        ("GPL-3.0-only WITH Classpath-exception-2.0", False),
    ],
)
def test_one_of_a_choice_has_to_be_accepted_and_all_of_a_conjunction(expression, accepted):
    assert is_accepted(expression, ACCEPTED) == accepted


def test_what_is_no_expression_is_an_error():
    with pytest.raises(ValueError, match="'as you like' is no SPDX"):
        is_accepted("as you like", ACCEPTED)


@pytest.mark.parametrize(
    ("lines", "expression"),
    [
        (["License-Expression: MIT OR Apache-2.0", "License: BSD"], "MIT OR Apache-2.0"),
        (["License: Apache-2.0"], "Apache-2.0"),
        (["License: The whole text of it", "Classifier: License :: OSI Approved :: MIT License"], "MIT"),
        (
            [
                "Classifier: License :: OSI Approved :: MIT License",
                "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)",
            ],
            "GPL-3.0-only AND MIT",
        ),
        (["Classifier: License :: OSI Approved :: One of its own"], ""),
        ([], ""),
    ],
)
def test_a_license_is_read_from_each_form_of_metadata(tmp_path, lines, expression):
    assert license_of(package(tmp_path, *lines), {}) == expression


@pytest.mark.parametrize(
    ("lines", "changed", "said"),
    [
        (["License-Expression: GPL-3.0-only"], {}, ["made 1.0: GPL-3.0-only isn't accepted"]),
        (["License-Expression: GPL-3.0-only"], {"exceptions": {"made": "because"}}, []),
        ([], {}, ["made 1.0: its metadata has no license that can be read; read its license file"]),
        ([], {"stated": {"made": "MIT"}}, []),
        (["License-Expression: Nonsense-1"], {}, ["made 1.0: 'Nonsense-1' is no SPDX license expression"]),
    ],
)
def test_what_is_wrong_names_the_package(tmp_path, lines, changed, said):
    rules = {"accepted": ACCEPTED, "exceptions": {}, "stated": {}} | changed
    assert list(problems([package(tmp_path, *lines)], rules)) == said


def test_each_package_here_is_accepted_and_krippendorff_by_exception_alone(capsys):
    assert main() == 0, capsys.readouterr().err
    rules = table("licenses") | {"exceptions": {}}
    (said,) = problems([distribution("krippendorff")], rules)
    assert "GPL-3.0-or-later isn't accepted" in said

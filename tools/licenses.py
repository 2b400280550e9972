"""`python -m tools.licenses`: whether each installed package is under a license that we accept.

The accepted licenses, the packages that are exceptions, and what packages with incomplete metadata state in their
license file are in pyproject.toml (`[tool.touchstone.licenses]`).
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import Distribution, PackageMetadata, distributions
from typing import Any

from license_expression import ExpressionError, LicenseSymbol, Licensing, get_spdx_licensing

from tools.configuration import table

OURS = "touchstone-judge"
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.0-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}
"""Trove classifiers by the SPDX identifier that they mean; "BSD License" is one of two that ask for the same."""
LONGEST = 80
"""Characters of a license field that can be an expression; longer ones are the license itself."""


def name_of(name: str) -> str:
    """A package's name as the index compares it."""
    return name.lower().replace("_", "-").replace(".", "-")


@cache
def _spdx() -> Licensing:
    return get_spdx_licensing()


def _parsed(text: str) -> Any:
    """The expression, or None if it is none or has an identifier that SPDX does not know."""
    try:
        return _spdx().parse(text, validate=True)
    except ExpressionError:
        return None


def license_of(package: Distribution, stated: Mapping[str, str]) -> str:
    """The SPDX expression of a package's license, or "" where its metadata has none that can be read.

    `stated` is what license files say, by package, and comes first: metadata can be wrong.
    """
    metadata = package.metadata
    if known := stated.get(name_of(metadata["Name"])):
        return known
    if expression := _field(metadata, "License-Expression"):
        return expression
    found = {
        each.rpartition(" :: ")[2]
        for each in metadata.get_all("Classifier", [])
        if each.startswith("License ::")
    }
    known_ones = sorted(CLASSIFIERS[each] for each in found if each in CLASSIFIERS)
    written = _field(metadata, "License")
    if len(written) <= LONGEST and written and _parsed(written) is not None:
        return written
    # Several classifiers can mean a choice or all of them, so all have to be accepted.
    return " AND ".join(known_ones)


def _field(metadata: PackageMetadata, name: str) -> str:
    return metadata[name].strip() if name in metadata else ""


def is_accepted(expression: str, accepted: Iterable[str]) -> bool:
    """Whether the license, or one that may be chosen, is accepted.

    Raises
    ------
    ValueError
        It is no expression of SPDX.
    """
    parsed = _parsed(expression)
    if parsed is None:
        raise ValueError(f"'{expression}' is no SPDX license expression")
    return _holds(parsed, frozenset(accepted))


def _holds(node: Any, accepted: frozenset[str]) -> bool:
    if isinstance(node, LicenseSymbol):
        return str(node.key) in accepted
    if not node.args:  # a license with an exception, which only adds permissions
        return str(node.license_symbol.key) in accepted
    parts = [_holds(each, accepted) for each in node.args]
    return any(parts) if node.operator.strip() == "OR" else all(parts)


def problems(packages: Iterable[Distribution], rules: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong, a line each: a license that is not accepted or cannot be read."""
    for package in sorted(packages, key=lambda each: name_of(each.metadata["Name"])):
        name = name_of(package.metadata["Name"])
        if name == OURS or name in rules["exceptions"]:
            continue
        expression = license_of(package, rules["stated"])
        if not expression:
            yield f"{name} {package.version}: its metadata has no license that can be read; read its license file"
            continue
        try:
            if not is_accepted(expression, rules["accepted"]):
                yield f"{name} {package.version}: {expression} isn't accepted"
        except ValueError as error:
            yield f"{name} {package.version}: {error}"


def main() -> int:
    """Check this environment; returns the exit code."""
    packages = list(distributions())
    found = list(problems(packages, table("licenses")))
    for each in found:
        sys.stderr.write(f"{each}\n")
    if found:
        sys.stderr.write("What is accepted is in pyproject.toml, [tool.touchstone.licenses].\n")
    else:
        sys.stdout.write(f"Licenses: {len(packages)} packages, all accepted.\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

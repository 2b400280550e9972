"""`python -m tools.audit`: whether an installed package has a known vulnerability, as pip-audit finds them.

Advisories come from the package index, or from a server of the OSV form that you name (`--osv-url`), such as a mirror
without the internet. Where none can be reached nothing is judged: that is said, and the exit code is 0, so that the
other checks can go on. What is accepted is in pyproject.toml (`[tool.touchstone.audit.accepted]`) with its reason.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tools.configuration import table

PROBE = "https://pypi.org/pypi/pip/json"
SECONDS = 10
UNREACHABLE = ("ConnectionError", "ProxyError", "ServiceError", "Timeout", "SSLError", "HTTPError")
"""What pip-audit ends with where the service cannot be asked."""


@dataclass(frozen=True)
class Audit:
    """What an answer of pip-audit says."""

    n_audited: int
    """Packages of which the service has advisories, or has none."""
    unknown: tuple[str, ...]
    """Packages that the service does not know."""
    found: tuple[str, ...]
    """Vulnerabilities that are not accepted, a line each."""


def audit_read(answer: Mapping[str, Any], accepted: Mapping[str, str]) -> Audit:
    """Read pip-audit's JSON. `accepted` has the reason for each id of an advisory, or another name of it."""
    unknown, found, n_audited = [], [], 0
    for package in answer["dependencies"]:
        if "skip_reason" in package:
            unknown.append(package["name"])
            continue
        n_audited += 1
        for advisory in package["vulns"]:
            if {advisory["id"], *advisory["aliases"]} & accepted.keys():
                continue
            fixed = ", ".join(advisory["fix_versions"]) or "no version"
            found.append(f"{package['name']} {package['version']}: {advisory['id']}, fixed in {fixed}")
    return Audit(n_audited, tuple(unknown), tuple(found))


def is_reachable(url: str) -> bool:
    """Whether a server answers at all, with whatever status."""
    try:
        requests.head(url, timeout=SECONDS)
    except requests.RequestException:
        return False
    return True


def _pip_audit(options: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip_audit", *options, "--progress-spinner", "off", "--format", "json"]
    # Tracebacks as plain text: what draws them takes longer than the audit.
    environment = os.environ | {"NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def _said(audit: Audit) -> str:
    total = audit.n_audited + len(audit.unknown)
    if not audit.n_audited:
        return f"Dependency audit: not done. The service has advisories of none of {total} packages.\n"
    lines = [
        f"Dependency audit: {audit.n_audited} of {total} packages, {len(audit.found)} vulnerabilities.\n"
    ]
    if audit.unknown:
        lines.append(f"Not known to the service: {', '.join(audit.unknown)}.\n")
    return "".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit this environment; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.audit", description=__doc__)
    parser.add_argument("--osv-url", help="where advisories are asked in the form of OSV, v1/query")
    parser.add_argument(
        "--path", type=Path, help="a folder of installed packages in place of this environment"
    )
    options = parser.parse_args(arguments)
    if not is_reachable(options.osv_url or PROBE):
        sys.stdout.write(f"Dependency audit: not done. {options.osv_url or PROBE} can't be reached.\n")
        return 0
    given = ["--path", str(options.path)] if options.path else ["--skip-editable"]
    given += ["--vulnerability-service", "osv", "--osv-url", options.osv_url] if options.osv_url else []
    ended = _pip_audit(given)
    try:
        answer = json.loads(ended.stdout)
    except json.JSONDecodeError:
        if any(name in ended.stderr for name in UNREACHABLE):
            last = ended.stderr.strip().splitlines()[-1]
            sys.stdout.write(f"Dependency audit: not done. The service can't be asked: {last}\n")
            return 0
        sys.stderr.write(ended.stderr)
        return 2
    audit = audit_read(answer, table("audit")["accepted"])
    sys.stdout.write(_said(audit))
    sys.stderr.write("".join(f"{each}\n" for each in audit.found))
    return 1 if audit.found else 0


if __name__ == "__main__":
    sys.exit(main())

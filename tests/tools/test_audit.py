"""Known vulnerabilities of installed packages, asked of a server in the form of OSV, and no server at all."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.services import free_port
from tools.audit import Audit, audit_read

ROOT = Path(__file__).resolve().parents[2]
ADVISORY = {
    "id": "PYSEC-2026-1",
    "aliases": ["CVE-2026-1"],
    "summary": "It can be made to fail.",
    "details": "It can be made to fail.",
    "modified": "2026-01-02T00:00:00Z",
    "published": "2026-01-01T00:00:00Z",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "vulnerable"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.1"}]}],
            "versions": ["1.0"],
        }
    ],
}


class Advisories(BaseHTTPRequestHandler):
    """Knows one vulnerability, of the package `vulnerable`."""

    def do_HEAD(self) -> None:
        self.send_response(405)
        self.end_headers()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        found = {"vulns": [ADVISORY]} if asked["package"]["name"] == "vulnerable" else {}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def advisories() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Advisories) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()
        thread.join()


def installed(folder: Path, *names: str) -> Path:
    for name in names:
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n\n")
    return folder


def audited(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.audit", "--osv-url", url, "--path", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.service
@pytest.mark.slow
def test_a_vulnerable_package_is_named_with_the_version_that_mends_it(advisories, tmp_path):
    said = audited(advisories, installed(tmp_path, "vulnerable", "sound"))
    assert said.returncode == 1, said.stderr
    assert said.stderr == "vulnerable 1.0: PYSEC-2026-1, fixed in 1.1\n"
    assert "2 of 2 packages, 1 vulnerabilities" in said.stdout


@pytest.mark.service
@pytest.mark.slow
def test_sound_packages_pass(advisories, tmp_path):
    said = audited(advisories, installed(tmp_path, "sound"))
    assert (said.returncode, said.stdout) == (0, "Dependency audit: 1 of 1 packages, 0 vulnerabilities.\n"), (
        said.stderr
    )


@pytest.mark.service
def test_without_a_network_it_says_so_and_the_other_checks_go_on(tmp_path):
    url = f"http://127.0.0.1:{free_port()}/v1/query"
    said = audited(url, installed(tmp_path, "vulnerable"))
    assert (said.returncode, said.stdout) == (0, f"Dependency audit: not done. {url} can't be reached.\n"), (
        said.stderr
    )


VULNERABLE = {
    "name": "a",
    "version": "1",
    "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": []}],
}


@pytest.mark.parametrize(
    ("packages", "accepted", "read"),
    [
        ([VULNERABLE], {}, Audit(1, (), ("a 1: PYSEC-1, fixed in no version",))),
        ([VULNERABLE], {"PYSEC-1": "why"}, Audit(1, (), ())),
        ([VULNERABLE], {"CVE-1": "why"}, Audit(1, (), ())),
        ([VULNERABLE], {"CVE-2": "why"}, Audit(1, (), ("a 1: PYSEC-1, fixed in no version",))),
        ([{"name": "b", "skip_reason": "not found"}], {}, Audit(0, ("b",), ())),
    ],
)
def test_an_accepted_advisory_counts_by_any_of_its_names(packages, accepted, read):
    assert audit_read({"dependencies": packages}, accepted) == read

"""The wheel and the source distribution: the same to the byte when built again, and a site without its source tree."""

import os
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.services import free_port

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {name: f"config/site/{name}" for name in ("templates", "static", "locale", "fixtures")} | {
    "judges/prompts": "judges/prompts",
    "judges/exports/files": "judges/exports/files",
}

pytestmark = [pytest.mark.service, pytest.mark.slow, pytest.mark.long]


def build(source: Path, target: Path) -> dict[str, bytes]:
    """Build both distributions with the release's time; returns them by file name."""
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(source)],
        env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return {path.name: path.read_bytes() for path in target.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("built")
    build(ROOT, target)
    return target


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_a_second_build_from_the_source_distribution_has_the_same_bytes(built, tmp_path):
    with tarfile.open(only(built, "*.tar.gz")) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    source = only(tmp_path / "source", "*")
    (source / "PKG-INFO").unlink()  # not of the tree: the build makes it
    for path in source.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    again = build(source, tmp_path / "again")
    assert len(again) == 2
    assert again == {path.name: path.read_bytes() for path in built.iterdir()}


def test_the_wheel_has_every_file_that_the_site_reads(built):
    with zipfile.ZipFile(only(built, "*.whl")) as wheel:
        names = set(wheel.namelist())
    for folder, inside in FOLDERS.items():
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"]
        assert files, folder
        missing = {f"{inside}/{path.relative_to(ROOT / folder).as_posix()}" for path in files} - names
        assert missing == set()


class Installed:
    """A site in an environment of its own, with a home folder and nothing else of this machine's environment."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.home = folder / "home"
        # A working folder that has a package of the same name as one of ours.
        self.work = folder / "work"
        (self.work / "config").mkdir(parents=True)
        (self.work / "config" / "__init__.py").write_text("raise SystemExit('the wrong config')\n")
        self.home.mkdir()
        self.folder = folder / "environment"
        venv.create(self.folder, symlinks=True)
        python = self.folder / "bin" / "python"
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "--python",
                str(python),
                "install",
                "--quiet",
                "--no-deps",
                "--no-index",
                str(wheel),
            ],
            check=True,
        )
        # What the site depends on is taken from the environment of the tests; this line makes none of its own `.pth`
        # files count, so the checkout is not among them.
        self.packages = only(self.folder, "lib/python*/site-packages")
        (self.packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.environment = {"HOME": str(self.home), "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}

    def command(self, *words: str) -> list[str]:
        return [str(self.folder / "bin" / "touchstone"), *words]

    def run(self, *words: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.work,
            env=self.environment,
            input=code,
            capture_output=True,
            text=True,
            check=False,
        )

    @contextmanager
    def running(self, *words: str) -> Iterator[None]:
        with subprocess.Popen(
            self.command(*words), cwd=self.work, env=self.environment, stdout=subprocess.DEVNULL
        ) as process:
            try:
                yield
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(30)


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"), only(built, "*.whl"))


def fetched(url: str) -> tuple[int, str]:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.status, answer.read().decode()


def wait_for(url: str, seconds: float = 60) -> None:
    """Until it answers 200."""
    end = time.monotonic() + seconds
    while True:
        try:
            assert fetched(url)[0] == 200
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
        else:
            return


@pytest.mark.timeout(300)
def test_the_demonstration_runs_from_the_wheel_alone_and_writes_into_the_users_folder(installed):
    before = {path for path in installed.folder.rglob("*") if "__pycache__" not in path.parts}
    demonstration = installed.run("demo", "--no-serve")
    assert demonstration.returncode == 0, demonstration.stderr
    assert "6 judges against people" in demonstration.stdout
    port, mock_port = free_port(), free_port()
    site = f"http://127.0.0.1:{port}"
    with installed.running("demo", "--port", str(port), "--mock-port", str(mock_port)):
        wait_for(f"{site}/health/")
        assert "Log in" in fetched(f"{site}/login/")[1]
        assert "--" in fetched(f"{site}/static/css/tokens.css")[1]
    data = installed.home / ".local" / "share" / "touchstone"
    assert {"demo.sqlite3", "secret_key"} <= {path.name for path in data.iterdir()}
    after = {path for path in installed.folder.rglob("*") if "__pycache__" not in path.parts}
    assert after == before


def test_management_commands_and_the_version_are_the_commands_own(installed):
    shown = installed.run("--version")
    assert shown.stdout == "touchstone 1.0.0\n"
    code = "from django.conf import settings; print(settings.BASE_DIR, settings.VAR_DIR)"
    asked = installed.run("manage", "shell", "--verbosity", "0", code=code)
    data = installed.home / ".local" / "share" / "touchstone"
    assert asked.stdout.strip() == f"{installed.packages / 'config' / 'site'} {data}", asked.stderr
    refused = installed.run("manage", "report", "no-such-dataset")
    assert refused.returncode != 0
    assert "Traceback" not in refused.stderr
    (data / ".env").write_text("SITE_URL=https://touchstone.example\n")
    unset = installed.run("manage", "check")
    (data / ".env").unlink()
    assert "DJANGO_SECRET_KEY must be set" in unset.stderr

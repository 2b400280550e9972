"""The steps of the Dockerfile in a fresh environment, and its command as a user who may write to the data alone.

No daemon builds the image here: each RUN line is run as it stands, with folders of this test in place of /opt/venv and
/app. So a dependency, a template or a folder that the image lacks is missed here too.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import services
from tests.deploy.files import (
    ROOT,
    clean_environment,
    copied_into,
    environment_of,
    runs_of,
    started_by,
)

pytestmark = [pytest.mark.service, pytest.mark.long, pytest.mark.timeout(900)]

USER = 10001
READ_ALL = "-all,+dac_read_search"  # the interpreter may lie where only root gets to; this writes nowhere
WITHIN = 90


class Image:
    """What the Dockerfile leaves: an environment, the code, and a folder for the data."""

    def __init__(self, folder: Path) -> None:
        self.venv, self.app, self.data = folder / "venv", folder / "app", folder / "data"
        self._build, self._tmp = folder / "build", folder / "tmp"
        for one in (self.app, self.data, self._build, self._tmp):
            one.mkdir()
        self._tmp.chmod(0o777)

    def _here(self, text: str) -> str:
        places = {"/opt/venv": self.venv, "/app": self.app, "/data": self.data, "/tmp": self._tmp}
        return re.sub(
            rf"(?<![\w/.-])(?:{'|'.join(places)})\b", lambda found: str(places[found.group()]), text
        )

    def environment(self, *stages: str) -> dict[str, str]:
        told: dict[str, str] = {}
        for stage in stages:
            told |= environment_of(stage)
        path = f"{self.venv / 'bin'}:{Path(sys._base_executable).parent}:/usr/bin:/bin"
        told = {name: self._here(value) for name, value in told.items() if name != "PATH"}
        return clean_environment() | told | {"PATH": path}

    def build(self) -> None:
        for name in copied_into("dependencies"):
            shutil.copy(ROOT / name, self._build / name)
        for name in copied_into("code"):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.app / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, self.app / name)
        for stage, folder, known in (
            ("dependencies", self._build, ("dependencies",)),
            ("code", self.app, ("dependencies", "code")),
        ):
            for command in runs_of(stage):
                found = subprocess.run(
                    ["/bin/sh", "-ec", self._here(command)],
                    cwd=folder,
                    env=self.environment(*known),
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert found.returncode == 0, f"{command}\n{found.stdout[-3000:]}{found.stderr[-3000:]}"
        for one in (self.app, self.venv):
            permit(one, write=False)
        if os.geteuid() == 0:
            os.chown(self.data, USER, USER)

    def started(self, words: list[str], **environment: str) -> list[str]:
        """The command line of a process of this image."""
        told = [f"{name}={value}" for name, value in (self.environment("base") | environment).items()]
        as_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        as_user += ["--inh-caps", READ_ALL, "--ambient-caps", READ_ALL]
        return [*(as_user if os.geteuid() == 0 else []), "env", "-i", *told, *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = self.started(list(words))
        return subprocess.run(command, cwd=self.app, capture_output=True, text=True, check=False)

    def files(self) -> set[str]:
        return {str(path) for root in (self.app, self.venv) for path in root.rglob("*")}


def permit(root: Path, *, write: bool) -> None:
    """Let everybody read all below, and its owner write, or nobody."""
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():  # the interpreter is one
            mode = path.stat().st_mode & 0o777
            readable = mode | 0o444 | (0o111 if path.is_dir() or mode & 0o100 else 0)
            path.chmod(readable | 0o200 if write else readable & ~0o222)


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    folder = services.scratch_directory() / "image"
    folder.mkdir(mode=0o755)
    made = Image(folder)
    made.build()
    yield made
    for one in (made.app, made.venv):
        permit(one, write=True)
    shutil.rmtree(folder)


def test_the_environment_has_what_the_extras_name_and_no_model_library(image):
    found = subprocess.run(
        [str(image.venv / "bin" / "python"), "-m", "pip", "list", "--format=freeze"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.lower()
    for name in ("django==", "granian==", "celery==", "vl-convert-python==", "typst==", "sentry-sdk=="):
        assert name in found
    assert "touchstone-judge==" in found
    assert "torch==" not in found
    assert "pytest==" not in found


def test_it_cannot_change_its_own_code(image):
    found = image.run("python", "-c", "open('manage.py', 'a')")
    assert "PermissionError" in found.stderr
    assert image.run("sh", "-c", "touch ../venv/new").returncode != 0


def test_it_migrates_and_serves_as_a_user_who_writes_to_the_data_alone(image):
    before = image.files()
    migrated = image.run("python", "manage.py", "migrate", "--no-input")
    assert migrated.returncode == 0, migrated.stderr
    checked = image.run("python", "manage.py", "check")
    assert checked.returncode == 0, checked.stderr
    port = services.free_port()
    command = [word.replace("0.0.0.0", "127.0.0.1").replace("8000", str(port)) for word in started_by("base")]
    process = subprocess.Popen(
        image.started(command, METRICS_TOKEN="m" * 32, WAKE_UP_SECONDS="1"),
        cwd=image.app,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        # Without a broker the worker is a thread of the process, and gives signs of life like any other.
        assert answered(f"http://127.0.0.1:{port}/readyz")
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/login/", timeout=10).read().decode()
        (sheet,) = re.findall(r'href="(/static/css/tokens\.[0-9a-f]{12}\.css)"', page)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{sheet}", timeout=10) as answer:
            assert "immutable" in answer.headers["Cache-Control"]
        if os.geteuid() == 0:
            status = Path(f"/proc/{process.pid}/status").read_text()
            assert re.search(rf"^Uid:\s+{USER}\s+{USER}\s+{USER}", status, re.MULTILINE)
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert image.files() == before
    assert (image.data / "touchstone.sqlite3").exists()


def answered(url: str) -> bool:
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.status == 200
        except OSError:
            time.sleep(0.3)
    return False

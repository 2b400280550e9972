"""Importing a large file by the command: how long it takes, how much memory, and how fast it's known again.

A file of pairs with the labels of four annotators each goes into a private PostgreSQL and into a SQLite file, by
`import_dataset generic` in a process of its own; then the same file again.

Figures
-------
items, labels : how many, and megabytes of the file.
minutes_1m : minutes into PostgreSQL, scaled to 1,000,000 items with 4,000,000 labels (to reach: 4).
minutes_1m_sqlite : the same into SQLite (to reach: 6).
peak_mb, peak_mb_sqlite : the most memory of the command (to reach: 600), at the size that was measured.
again_seconds, again_seconds_sqlite : the same file once more, which says "unchanged" (to reach: 60).
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ITEMS, QUICK = 1_000_000, 20_000
LABELS = 4
ROOT = Path(__file__).resolve().parent.parent
MILLION = 1_000_000


def run(*, quick: bool = False, size: int = 0) -> dict[str, float]:
    """Measure; the figures by name.

    Parameters
    ----------
    size : int
        Items; by default a million.
    """
    items = size or (QUICK if quick else ITEMS)
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as folder:
        from tests.services import start_postgres

        file = Path(folder) / "pairs.csv"
        _write(file, items)
        found = {
            "items": float(items),
            "labels": float(items * LABELS),
            "megabytes": file.stat().st_size / 2**20,
        }
        for name, url in (("", start_postgres()), ("_sqlite", f"sqlite:///{folder}/bench.sqlite3")):
            found |= {
                f"{key}{name}": value for key, value in _measured(url, Path(folder), file, items).items()
            }
    return found


def _write(file: Path, items: int) -> None:
    """Pairs with texts of about 200 characters, which are none of another pair's."""
    rng = random.Random(0)
    words = """the judge answer which better because model reads long short correct list four cities explains
        why""".split()  # noqa: SIM905  (shorter than a list of words)
    with file.open("w", encoding="utf-8") as out:
        people = ",".join(f"annotator:person-{n}" for n in range(LABELS))
        out.write(f"id,instruction,response_1,response_2,system_1,system_2,category,{people}\n")
        for number in range(items):
            texts = [" ".join(rng.choices(words, k=n)) for n in (12, 30, 30)]
            said = ",".join(str(rng.randrange(3)) for _ in range(LABELS))
            out.write(
                f"q{number},{texts[0]} {number}?,{texts[1]},{texts[2]},model-a,model-b,topic-{number % 20},{said}\n"
            )


def _measured(url: str, folder: Path, file: Path, items: int) -> dict[str, float]:
    environment = os.environ | {
        "DATABASE_URL": url,
        "TOUCHSTONE_VAR": str(folder),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "ERROR",
        "DATABASE_POOL_SIZE": "0",
    }
    _command(environment, "migrate", "-v0")
    seconds, peak, said = _import(environment, file)
    if f"{items:,} items" not in said or "Created." not in said:
        raise AssertionError(said)
    again, _, said = _import(environment, file)
    if "unchanged" not in said:
        raise AssertionError(said)
    print(f"  imports: {items:,} items in {seconds:.0f} s, {peak:.0f} MB, again {again:.1f} s", flush=True)
    return {"minutes_1m": seconds / 60 * MILLION / items, "peak_mb": peak, "again_seconds": again}


def _import(environment: dict[str, str], file: Path) -> tuple[float, float, str]:
    """Seconds, megabytes at most, and what the command said."""
    began = time.perf_counter()
    said = subprocess.run(
        [sys.executable, "-m", "bench.imports", "import_dataset", "generic", str(file), "--name", "bench"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    ).stdout
    *lines, peak = said.splitlines()
    return time.perf_counter() - began, float(peak), "\n".join(lines)


def _command(environment: dict[str, str], *words: str) -> None:
    subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env=environment, check=True)


def _work() -> None:
    """Run a command of the site in this process, and say how much memory it took at most, in megabytes."""
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[1:]])
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}\n")


if __name__ == "__main__":
    _work()

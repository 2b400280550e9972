"""Importing a large file by the command: how long it takes, how much memory, and how fast it's known again.

A file of pairs with the labels of four annotators each goes into a private PostgreSQL and into a SQLite file, by
`import_dataset generic` in a process of its own; then the same file again.

Figures
-------
items, labels : how many, and megabytes of the file.
minutes_1m : minutes into PostgreSQL for 1,000,000 items with 4,000,000 labels (to reach: 4).
minutes_1m_sqlite : the same into SQLite (to reach: 6).
minutes_1m_extrapolated, minutes_1m_extrapolated_sqlite : in their place where fewer were imported: the pace of the
    second half goes on to a million.
growth, growth_sqlite : the time for an item in the second half of the file, by that in the first half.
peak_mb, peak_mb_sqlite : the most memory of the command (to reach: 600), at the size that was measured.
limit_minutes : minutes that PostgreSQL itself takes for the same rows, by COPY from files into the same tables with
    their indexes and foreign keys, one after another: what no reader and no client can be quicker than.
times_limit : the first import by that.
processor_seconds, processor_seconds_sqlite : of the command; the server of PostgreSQL has its own.
again_seconds, again_seconds_sqlite : the same file once more, which says "unchanged" (to reach: 60).
"""

import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ITEMS, QUICK = 1_000_000, 20_000
LABELS = 4
TOLD = 10_000
"""Rows after each of which the command says how many it has read."""
READ = re.compile(r"([\d,]+) rows$")
ROOT = Path(__file__).resolve().parent.parent
MILLION = 1_000_000
TABLES = (
    *("annotation_dataset", "annotation_annotator", "annotation_instruction", "annotation_response"),
    *("annotation_item", "annotation_itemresponse", "annotation_label"),
)
"""In the order of their foreign keys."""


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
            if not name:
                found["limit_minutes"] = _copied(url, Path(folder)) / 60
        taken = found.get("minutes_1m")
        if taken is not None:
            found["times_limit"] = taken / found["limit_minutes"]
    return found


def _copied(url: str, folder: Path) -> float:
    """Seconds for the rows of the import by COPY from files into the same tables of an empty database."""
    import psycopg

    server, _, name = url.partition("?")[0].rpartition("/")
    with psycopg.connect(url, autocommit=True) as connection:
        for table in TABLES:
            statement = f"COPY {table} TO STDOUT (FORMAT BINARY)"
            with (
                (folder / table).open("wb") as out,
                connection.cursor() as cursor,
                cursor.copy(statement) as copy,
            ):
                out.writelines(copy)
        connection.execute("CREATE DATABASE copied")
    again = url.replace(f"{server}/{name}", f"{server}/copied", 1)
    _command(_environment(again, folder), "migrate", "-v0")
    began = time.perf_counter()
    with psycopg.connect(again) as connection, connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            statement = f"COPY {table} FROM STDIN (FORMAT BINARY)"
            with (folder / table).open("rb") as rows, cursor.copy(statement) as copy:
                while part := rows.read(1 << 18):
                    copy.write(part)
            connection.commit()
    return time.perf_counter() - began


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
    environment = _environment(url, folder)
    _command(environment, "migrate", "-v0")
    first = _import(environment, file)
    if f"{items:,} items" not in first.said or "Created." not in first.said:
        raise AssertionError(first.said)
    again = _import(environment, file)
    if "unchanged" not in again.said:
        raise AssertionError(again.said)
    print(
        f"  imports: {items:,} items in {first.seconds:.0f} s, {first.peak:.0f} MB, again {again.seconds:.1f} s",
        flush=True,
    )
    return _minutes(first, items) | {
        "peak_mb": first.peak,
        "processor_seconds": first.processor,
        "again_seconds": again.seconds,
    }


def _environment(url: str, folder: Path) -> dict[str, str]:
    return os.environ | {
        "DATABASE_URL": url,
        "TOUCHSTONE_VAR": str(folder),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "ERROR",
        "DATABASE_POOL_SIZE": "0",
    }


@dataclass(frozen=True)
class _Import:
    """One run of the command: wall and processor seconds, megabytes at most, its words, and when rows were read."""

    seconds: float
    processor: float
    peak: float
    said: str
    read: dict[int, float]


def _minutes(run: _Import, items: int) -> dict[str, float]:
    # Reading is at most three parts ahead of storing, at either time.
    half, last = items // 2 // TOLD * TOLD, max(run.read)
    pace = (run.read[last] - run.read[half]) / (last - half) if last > half else run.seconds / items
    found = {"minutes_1m": run.seconds / 60}
    if items != MILLION:
        found = {"minutes_1m_extrapolated": (run.seconds + (MILLION - items) * pace) / 60}
    if half > TOLD:
        found["growth"] = pace * (half - TOLD) / (run.read[half] - run.read[TOLD])
    return found


def _import(environment: dict[str, str], file: Path) -> _Import:
    began = time.perf_counter()
    words = ["import_dataset", "generic", str(file), "--name", "bench"]
    with subprocess.Popen(
        [sys.executable, "-m", "bench.imports", *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        read = {0: 0.0} | {
            int(found[1].replace(",", "")): time.perf_counter() - began
            for line in process.stderr
            for found in [READ.match(line)]
            if found
        }
        *lines, used = process.stdout.read().splitlines()
    if process.returncode:
        raise AssertionError(lines)
    peak, processor = map(float, used.split())
    return _Import(time.perf_counter() - began, processor, peak, "\n".join(lines), read)


def _command(environment: dict[str, str], *words: str) -> None:
    subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env=environment, check=True)


def _work() -> None:
    """Run a command of the site in this process, and say what it took: megabytes at most, and processor seconds."""
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[1:]])
    used = resource.getrusage(resource.RUSAGE_SELF)
    sys.stdout.write(f"{used.ru_maxrss / 1024} {used.ru_utime + used.ru_stime}\n")


if __name__ == "__main__":
    _work()

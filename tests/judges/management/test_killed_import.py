"""An import that is killed leaves nothing, and is run again."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROWS = 25_000


@pytest.mark.slow
def test_kill_9_in_the_middle(tmp_path):
    file, database = tmp_path / "pairs.csv", tmp_path / "site.sqlite3"
    with file.open("w") as out:
        out.write("id,instruction,response_1,response_2,annotator:ann\n")
        out.writelines(f"q{n},Say {n},a,b,1\n" for n in range(ROWS))
    environment = os.environ | {
        "DATABASE_URL": f"sqlite:///{database}",
        "TOUCHSTONE_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }

    def command(*words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def rows(table: str) -> int:
        with sqlite3.connect(database) as connection:
            return int(connection.execute(f"SELECT count(*) FROM annotation_{table}").fetchone()[0])

    load = ("import_dataset", "generic", str(file), "--name", "demo")
    with command("migrate", "-v0") as migrated:
        migrated.communicate()
    with command(*load) as killed:
        assert killed.stderr is not None
        assert any("20,000 rows" in line for line in killed.stderr)  # parts before are being stored
        killed.kill()
    assert killed.returncode == -signal.SIGKILL
    assert [rows(table) for table in ("dataset", "instruction", "item", "label")] == [0] * 4
    with command(*load) as again:
        said, _ = again.communicate()
    assert "25,000 items, 0 gold; 25,000 labels. Created." in said
    assert [rows(table) for table in ("dataset", "instruction", "item", "label")] == [1, *[ROWS] * 3]

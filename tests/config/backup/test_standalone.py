"""`touchstone backup` and `touchstone restore`, where the site is installed and where it isn't."""

import subprocess
import sys
from pathlib import Path

import pytest

from config.backup.making import backup_make
from judges.standalone.main import BROKEN, main
from tests.judges.standalone.files import COMMAND, ROOT

pytestmark = pytest.mark.service


@pytest.mark.parametrize("words", [["backup"], ["restore", "FILE"], ["backup", "--help"]])
def test_without_django_it_names_the_extra(words: list[str], tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", COMMAND, *words],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == BROKEN
    assert run.stderr.strip() == (
        f"touchstone {words[0]}: this command is of the site, which needs django, and that isn't installed here. "
        "Install the site with: pip install 'touchstone-judge[app]'."
    )


def test_it_has_the_options_of_the_site_s_command(capsys) -> None:
    assert main(["backup", "--help"]) == 0
    said = capsys.readouterr().out
    for option in ("--keep", "--verify", "--key-file"):
        assert option in said
    assert main(["restore", "--help"]) == 0
    assert "--replace" in capsys.readouterr().out
    assert main(["restore"]) == 2


def test_it_does_what_the_site_s_command_does(database, here, capfd) -> None:
    path = backup_make(database, here / "made.tar", None, lambda _: None).path
    assert main(["backup", "--verify", str(path)]) == 0
    assert "counts and hashes equal" in capfd.readouterr().out
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 3)
        file.write(b"!!!")
    assert main(["backup", "--verify", str(path)]) == BROKEN
    assert capfd.readouterr().err.startswith(
        "touchstone backup: The backup is damaged: database/000000 has hash "
    )
    assert main(["restore", str(here / "missing")]) == BROKEN
    assert "No such file" in capfd.readouterr().err

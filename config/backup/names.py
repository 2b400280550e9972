"""How backups are named in their folder, which are there, and which are kept."""

import re
import time
from datetime import datetime
from pathlib import Path

from config.backup.errors import BackupError

PLAIN, SEALED = ".tar", ".tar.enc"
PARTIAL = ".partial"
_NAME = re.compile(r"touchstone-\d{8}T\d{6}Z(-\d+)?\.tar(\.enc)?")
_PARTIAL = re.compile(r"\.touchstone-[\w.-]+\.partial")
_LEFT_OVER = 24 * 60 * 60
"""Seconds after which an unfinished file is one of a backup that was interrupted."""


def backup_name(made_at: datetime, folder: Path, *, encrypted: bool) -> Path:
    """Return a name in the folder that is not taken; names sort by their time, which is UTC."""
    end = SEALED if encrypted else PLAIN
    stem = f"touchstone-{made_at:%Y%m%dT%H%M%SZ}"
    names = [f"{stem}{end}", *(f"{stem}-{n}{end}" for n in range(1, 100))]
    for name in names:
        if not (folder / name).exists():
            return folder / name
    raise BackupError(f"{folder}: {len(names)} backups of this second are there already.")


def backups_in(folder: Path) -> list[Path]:
    """Return the whole backups in a folder, the newest last."""
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in found if _NAME.fullmatch(path.name) and path.is_file())


def newest_backup(folder: Path) -> Path:
    """Return the newest backup in a folder; raises BackupError where there's none."""
    found = backups_in(folder)
    if not found:
        raise BackupError(f"{folder}: there's no backup. Make one with `manage.py backup`, or name a file.")
    return found[-1]


def keep_check(n: int | None) -> None:
    """Raise BackupError for a number of backups that can't be kept."""
    if n is not None and n < 1:
        raise BackupError(f"--keep: expected 1 or more, found {n}.")


def backups_keep(folder: Path, n: int, made: Path) -> list[Path]:
    """Delete the oldest backups but `n`, never the one that was just made; returns those deleted.

    Only files with the names that `backup_name` gives are deleted.
    """
    others = [path for path in backups_in(folder) if path != made]
    old = others[: max(len(others) - (n - 1), 0)]
    for path in old:
        path.unlink(missing_ok=True)
    return old


def partials_remove(folder: Path) -> None:
    """Delete what interrupted backups left in a folder, after a day."""
    before = time.time() - _LEFT_OVER
    for path in folder.iterdir() if folder.is_dir() else ():
        if _PARTIAL.fullmatch(path.name) and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)

"""Which keys encrypt and decrypt backups: from the environment, or from a file."""

from pathlib import Path

from django.conf import settings

from config.backup.encryption import key_lines_read, keys_of_file
from config.backup.errors import BackupError


def backup_keys(key_file: Path | None = None) -> list[bytes]:
    """Return the keys, the first of which encrypts; none where no key is given.

    Parameters
    ----------
    key_file
        In place of what the settings name.

    Raises
    ------
    BackupError
        A key can't be read, or two places are named.
    """
    if key_file is not None:
        return keys_of_file(key_file)
    if settings.BACKUP_KEY and settings.BACKUP_KEY_FILE:
        raise BackupError("BACKUP_KEY and BACKUP_KEY_FILE are both set. Keep one of them.")
    if settings.BACKUP_KEY_FILE:
        return keys_of_file(Path(settings.BACKUP_KEY_FILE))
    return key_lines_read(settings.BACKUP_KEY, "BACKUP_KEY") if settings.BACKUP_KEY else []

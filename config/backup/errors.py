"""What a backup or a restore is refused for."""


class BackupError(Exception):
    """A backup can't be made, read or restored; the message says why and what to do."""


class DamagedBackupError(BackupError):
    """The file isn't a whole backup: truncated, changed, or no backup at all."""

"""The drill: a site that is written to is backed up, killed, restored elsewhere and compared row by row."""

import json
import subprocess
import threading
import time
from hashlib import sha256
from pathlib import Path

import pytest

from tests.config.backup.sites import BackedSite

pytestmark = [pytest.mark.both_databases, pytest.mark.service, pytest.mark.slow, pytest.mark.long]

LABELS = "SELECT * FROM annotation_label WHERE id <= {} ORDER BY id"
JUDGMENTS = "SELECT * FROM judges_judgment WHERE id <= {} ORDER BY id"
COUNTS = "SELECT count(*), max(id) FROM {}"


class Writing:
    """The process that writes, and what it said of its commits."""

    def __init__(self, site: BackedSite) -> None:
        self.process = site.start("-m", "tests.config.backup.writer")
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.said.extend(self.process.stdout)

    def wait_for(self, n: int) -> int:
        """Wait for so many commits; how many there are."""
        deadline = time.monotonic() + 60
        while len(self.said) < n and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self.process.poll() is None, "".join(self.said)
        assert len(self.said) >= n
        return len(self.said)

    def kill(self) -> list[dict[str, object]]:
        """SIGKILL; returns what was committed. Of the last line only a part may have been written."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return [json.loads(line) for line in self.said if line.startswith("{") and line.endswith("\n")]


def test_every_label_and_judgment_from_before_the_snapshot_is_restored(
    site: BackedSite, elsewhere: BackedSite, tmp_path: Path
) -> None:
    key = tmp_path / "backup.key"
    key.write_text(subprocess.check_output(["openssl", "rand", "-base64", "32"], text=True))
    writing = Writing(site)
    try:
        before = writing.wait_for(100)
        backup = site.backup("--key-file", str(key))
        after = writing.wait_for(before)
    finally:
        committed = writing.kill()
    assert before < after, "nothing was written while the backup was made"
    assert b"because of" not in backup.read_bytes()
    assert "verified" in site.manage("verify_backup", "--key-file", str(key))

    said = elsewhere.manage("restore", str(backup), "--key-file", str(key))
    ((n, last_label),) = elsewhere.rows(COUNTS.format("annotation_label"))
    ((n_judgments, last_judgment),) = elsewhere.rows(COUNTS.format("judges_judgment"))
    # One moment: all that was committed when it began, nothing of a transaction that had not ended.
    assert before <= n == n_judgments <= after + 1
    assert f"annotation_label {n:,} {n:,}" in " ".join(said.split())
    labels = elsewhere.rows(LABELS.format(last_label))
    judgments = elsewhere.rows(JUDGMENTS.format(last_judgment))
    assert labels == site.rows(LABELS.format(last_label))
    assert judgments == site.rows(JUDGMENTS.format(last_judgment))
    # And by what the process itself said, whatever the database makes of it.
    told = [(one["label"], one["comment"], one["judgment"], one["raw"]) for one in committed[:n]]
    found = [
        (label, comment, judgment, raw)
        for (label, comment), (judgment, raw) in zip(
            elsewhere.rows("SELECT id, comment FROM annotation_label ORDER BY id"),
            elsewhere.rows("SELECT id, raw_text FROM judges_judgment ORDER BY id"),
            strict=True,
        )
    ]
    assert found[: len(told)] == told
    assert len(told) >= before
    # Every image that a row names is there, with the same content.
    digests = [digest for (digest,) in elsewhere.rows("SELECT digest FROM annotation_datasetimage")]
    assert len(digests) == n
    for digest in digests:
        one, other = (where.var / "images" / digest[:2] / digest for where in (elsewhere, site))
        assert sha256(one.read_bytes()).digest() == sha256(other.read_bytes()).digest()
    assert (elsewhere.var / "secret_key").read_text() == (site.var / "secret_key").read_text()


def test_a_killed_backup_leaves_nothing_that_looks_whole_and_the_next_one_is_made(site: BackedSite) -> None:
    process = site.start("manage.py", "backup")
    assert process.stdout is not None
    said = process.stdout.readline()
    while "Database" not in said:
        assert said, "it ended before it was killed"
        said = process.stdout.readline()
    process.kill()
    process.wait()
    process.stdout.close()
    assert site.backups == []
    site.backup()
    assert len(site.backups) == 1
    assert not (site.var / "backup-scratch").exists()

"""Backups that were made by hand, and such as were changed."""

from collections.abc import Callable
from pathlib import Path

from config.backup.archive import MANIFEST, ArchiveWriter, BackupFile, Manifest

Content = dict[str, bytes]


def manifest_of(path: Path, *keys: bytes) -> Manifest:
    with BackupFile(path, keys) as file:
        return file.checked()


def content_of(path: Path) -> Content:
    """Every member but the manifest."""
    with BackupFile(path, ()) as file:
        return {
            member.name: content.read() for member, content in file.members(file.checked(), lambda _: True)
        }


def rewritten(
    path: Path,
    change: Callable[[Manifest, Content], Manifest | None] = lambda manifest, content: None,
) -> Path:
    """The same backup, whole in itself, with another manifest or other members."""
    manifest, content = manifest_of(path), content_of(path)
    changed = change(manifest, content) or manifest
    out = path.with_name(f"changed-{path.name}")
    with out.open("wb") as file:
        archive = ArchiveWriter(file)
        for name, data in content.items():
            assert name != MANIFEST
            archive.add_bytes(name, data)
        archive.finish(
            Manifest(
                **{name: getattr(changed, name) for name in Manifest.__slots__} | {"members": archive.members}
            )
        )
    return out

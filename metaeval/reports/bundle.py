"""Files as one archive: the same files give the same bytes."""

import io
import zipfile
from collections.abc import Mapping


def zipped(files: Mapping[str, bytes], folder: str) -> bytes:
    """A ZIP archive of these files in a folder, by name, without times."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()

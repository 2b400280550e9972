"""The files of images: where they are, and the end of those that no dataset shows."""

import time
from pathlib import Path

from django.conf import settings
from django.core.cache import cache

from annotation.importers.images import ImageFolder
from annotation.models import DatasetImage
from web.batches import batched

YOUNG = 24 * 60 * 60
"""Seconds for which a file is left alone: an import may be about to use it."""
EVERY = 60 * 60
"""Seconds between two looks at the folder."""


def image_folder() -> ImageFolder:
    """Return the folder of this site's images."""
    return ImageFolder(Path(settings.IMAGES_DIR))


def image_files_tidy() -> int:
    """Remove the files that no dataset shows any more, now and then; returns how many."""
    if not cache.add("image-files-tidy", True, EVERY):
        return 0
    return image_files_remove(older_than=time.time() - YOUNG)


def image_files_remove(*, older_than: float) -> int:
    """Remove the files that no dataset shows and that nobody has wanted since a moment (seconds since 1970)."""
    removed = 0
    for files in batched(image_folder().files(), 500):
        shown = set(
            DatasetImage.objects.filter(digest__in=[one.name for one in files]).values_list(
                "digest", flat=True
            )
        )
        for one in files:
            if one.name not in shown and one.stat().st_mtime < older_than:
                one.unlink(missing_ok=True)
                removed += 1
    return removed

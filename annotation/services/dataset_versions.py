"""What each import made of a dataset, one row a version."""

from typing import Any

from annotation.models import Dataset, DatasetVersion, User


def version_note(
    *, dataset: Dataset, by: User | None = None, source: str = "", **counts: Any
) -> DatasetVersion:
    """Note what the version that the dataset has now brought. The caller holds the dataset's row.

    Parameters
    ----------
    counts
        Of `DatasetVersion`: items_added, items_changed, items_removed, labels_added, rows_left_out, file_hash, counted.
    """
    return DatasetVersion.objects.create(
        dataset=dataset, number=dataset.version, created_by=by, source=source[:300], **counts
    )


def dataset_raise(*, dataset: Dataset, by: User | None = None, source: str = "", **counts: Any) -> None:
    """Give a dataset its next version, and note what it brought. The caller holds the dataset's row."""
    dataset.version += 1
    dataset.save(update_fields=["version"])
    version_note(dataset=dataset, by=by, source=source, **counts)

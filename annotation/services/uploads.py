"""A dataset from a file in the browser, with ready-made criteria: both or neither."""

from __future__ import annotations

from django.db import transaction

from annotation.importers import DatasetBundle
from annotation.models import User
from annotation.services.criteria import criteria_add
from annotation.services.datasets import ImportResult, dataset_import


@transaction.atomic
def dataset_upload(
    *,
    bundle: DatasetBundle,
    owner: User,
    name: str,
    title: str,
    split: str,
    licence: str,
    criteria: str,
    source: str,
) -> ImportResult:
    """Store a bundle as a dataset of `owner`, and put the set `criteria` on it ("": none).

    The same again changes nothing. Raises what `dataset_import` and `criteria_add` raise; then nothing is stored.
    """
    result = dataset_import(
        bundle=bundle,
        name=name,
        title=title or None,
        split=split,
        licence=licence or None,
        owner=owner,
        source=source,
    )
    if criteria:
        criteria_add(dataset=result.dataset, name=criteria)
    return result

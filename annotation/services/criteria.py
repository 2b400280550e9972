"""Ready-made sets of criteria, such as HELM Instruct's five: files in `fixtures/criteria`."""

import tomllib
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import transaction

from annotation.domain.scales import Scale
from annotation.importers.records import CriterionRecord, Origin
from annotation.models import Criterion, Dataset
from annotation.services.dataset_rows import criterion_row
from annotation.services.dataset_versions import dataset_raise
from annotation.services.datasets import DatasetImportError, dataset_lock


def criteria_sets() -> list[str]:
    """Names of the sets that there are."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def criteria_set(name: str) -> tuple[CriterionRecord, ...]:
    """The criteria of a set, in its order; `DatasetImportError` if there is no such set."""
    if name not in criteria_sets():
        known = ", ".join(criteria_sets())
        raise DatasetImportError(f"criteria: there is no set {name!r}; there is {known}.")
    return _read(name)


@cache
def _read(name: str) -> tuple[CriterionRecord, ...]:
    file = _folder() / f"{name}.toml"
    listed = tomllib.loads(file.read_text(encoding="utf-8"))["criteria"]
    return tuple(
        CriterionRecord(
            row["key"],
            row["question"],
            dict(row["options"]),
            position,
            Origin(file.name, position + 1),
            Scale(**row.get("scale", {})).as_json(),
        )
        for position, row in enumerate(listed)
    )


@transaction.atomic
def criteria_add(*, dataset: Dataset, name: str) -> int:
    """Put a ready-made set of criteria on a dataset; return how many were new.

    What is there already and the same is left alone, so that a second call changes nothing. The version of the
    dataset goes up with anything new.

    Raises
    ------
    DatasetImportError
        There is no such set, or the dataset has a criterion of that key which says something else.
    """
    wanted = criteria_set(name)
    locked = dataset_lock(dataset_id=dataset.pk)
    stored = {criterion.key: criterion for criterion in locked.criteria.all()}
    new = []
    for record in wanted:
        known = stored.get(record.key)
        if known is None:
            new.append(record)
        elif (known.question, known.options, known.scale) != (
            record.question,
            dict(record.options),
            dict(record.scale),
        ):
            raise DatasetImportError(
                f"dataset {locked.name!r} has a criterion {record.key!r} already, with another wording; "
                f"ratings with different wordings aren't comparable."
            )
    first = max((criterion.position + 1 for criterion in stored.values()), default=0)
    Criterion.objects.bulk_create(
        criterion_row(locked, record, position) for position, record in enumerate(new, start=first)
    )
    if new:
        dataset_raise(dataset=locked, source=f"criteria: {name}")
        dataset.version = locked.version
    return len(new)


def _folder() -> Path:
    return Path(settings.BASE_DIR) / "fixtures" / "criteria"

"""A file of items into a dataset: at once, or part by part so that an import that was stopped continues."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import islice
from typing import Any, TypeAlias

from django.db import transaction

from annotation.importers import DatasetBundle, ImportFileError
from annotation.importers.build import ReadStart
from annotation.models import Instruction, Item, ItemResponse, Label, Response, User
from annotation.selectors.datasets import dataset_exists
from annotation.services.dataset_parts import ImportResult, VerdictsFoundError, dataset_import_staged
from annotation.services.datasets import DatasetImportError, refuse_other_settings, settings_check
from annotation.services.staged_imports import (
    StagedImportError,
    Staging,
    staged_begin,
    staged_continue,
    staged_remove,
)
from judges.services.judgments import JudgmentsResult, parts_import, tell_planner

Read: TypeAlias = Callable[[ReadStart | None], Generator[DatasetBundle, None, None]]
"""Reads the parts of a file, from its beginning or from where an earlier reading stopped."""
Finished: TypeAlias = Callable[[ImportResult, JudgmentsResult | None], None]


def file_import(
    *,
    read: Read,
    name: str,
    source: str,
    file: str,
    key: str,
    job: str = "",
    made_of: str | None = None,
    owner: User | None = None,
    new_version: bool = False,
    mapping: dict[str, Any] | None = None,
    rows_left_out: Callable[[], int] = lambda: 0,
    progress: Callable[[str, int], None] | None = None,
    stored: Callable[[int, int], None] = lambda _row, _offset: None,
    finished: Finished = lambda _imported, _judged: None,
    **settings: str | None,
) -> tuple[ImportResult, JudgmentsResult | None]:
    """Import a file of items, whole or not at all, and continue an import of it that was stopped.

    A file of several parts that makes its dataset is stored part by part, which nobody sees before the last one. All
    else is one transaction: a small file, one for a dataset that there is, one with verdicts of judges.

    Parameters
    ----------
    file
        Its name.
    key
        A hash of it and of how it is read; empty where it can't be known again, and so not continued.
    job
        What the import is done for.
    rows_left_out
        Of the reading under way.
    stored
        Called after each part but the last with the row and the byte up to which the file is stored.
    finished
        Called in the transaction after which the dataset is seen.
    settings
        Those of the dataset: title, split, licence.

    Raises
    ------
    ImportFileError
        Something in the file is wrong. Nothing of it stays stored.
    DatasetImportError
        The name or a setting is refused, or another import of this name is under way.
    """
    asked = {setting: value for setting, value in settings.items() if value is not None}
    settings_check(name, title=asked.get("title"), split=asked.get("split"), licence=asked.get("licence"))
    options: dict[str, Any] = {"source": made_of, "mapping": mapping, "by": owner}

    def at_once(parts: Iterator[DatasetBundle]) -> tuple[ImportResult, JudgmentsResult | None]:
        with transaction.atomic():
            found = parts_import(
                parts=parts, name=name, source=source, made_of=made_of, owner=owner,
                new_version=new_version, mapping=mapping, rows_left_out=rows_left_out, file_hash=key,
                progress=progress, **asked,
            )  # fmt: skip
            finished(*found)
        return found

    staging: Staging | None = None
    try:
        staging = staged_continue(name=name, key=key, job=job, owner=owner)
        if staging is not None:
            refuse_other_settings(staging.target.dataset, asked, owner)
        with closing(read(None if staging is None else staging.start)) as parts:
            first = list(islice(parts, 2))
            if staging is None and (
                not key or len(first) < 2 or any(part.verdicts for part in first) or dataset_exists(name)
            ):
                return at_once(_each(first, parts))
            if staging is None:
                said = {"title": name, "source": (made_of or first[0].source)[:300]} | asked
                staging = staged_begin(name=name, key=key, file=file, job=job, owner=owner, **said)
            imported = dataset_import_staged(
                parts=_each(first, parts),
                staging=staging,
                stored=stored,
                finished=lambda result: finished(result, None),
                **options,
            )
        tell_planner(Instruction, Response, Item, ItemResponse, Label)
        return imported, None
    except StagedImportError as error:
        raise DatasetImportError(str(error)) from None
    except ImportFileError:
        if staging is not None:
            staged_remove(staging.row)
        raise
    except VerdictsFoundError:
        assert staging is not None
        staged_remove(staging.row)
    with closing(read(None)) as parts:
        return at_once(parts)


def _each(first: list[DatasetBundle], parts: Iterator[DatasetBundle]) -> Iterator[DatasetBundle]:
    """The parts that were read already, and the others; none is kept."""
    while first:
        yield first.pop(0)
    yield from parts

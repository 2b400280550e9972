"""A large file into a dataset that it makes, part by part, so that an import that is killed continues where it stopped.

Each part is one transaction with the place in the file behind it. Until the last one the dataset is staged: nothing but
this module reads it (`Dataset.objects` has none of it). Which process continues is a claim in the row: the one that
claims it last stores the next part, and every other one notices before it stores another.
"""

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone

from annotation.importers.build import ReadStart
from annotation.importers.keys import KeyStore
from annotation.importers.records import ReadUntil
from annotation.models import (
    Annotator,
    Aspect,
    Dataset,
    Instruction,
    Item,
    ItemResponse,
    Label,
    Response,
    StagedImport,
    User,
)
from annotation.services.dataset_comparison import BATCH, ImportTarget
from web.batches import batched
from web.bulk import foreign_keys_check_at_once

STILL_REMOVED = timedelta(minutes=5)
"""How long a process that removes rows may be silent before another one does it."""


class StagedImportError(Exception):
    """Why an import can't continue, or can't begin."""


@dataclass(slots=True)
class Staging:
    """An unfinished import that this process has claimed.

    Attributes
    ----------
    start
        Where the reading of the file continues; None at its beginning.
    """

    row: StagedImport
    target: ImportTarget
    start: ReadStart | None = None

    @contextmanager
    def part(self) -> Iterator[None]:
        """The transaction of one part, which holds the claim.

        Raises
        ------
        StagedImportError
            Another process has continued the import, or it was given up.
        """
        with transaction.atomic():
            rows = StagedImport.objects.select_for_update().filter(pk=self.row.pk, claim=self.row.claim)
            if rows.first() is None:
                raise StagedImportError("another process has continued this import, or it was given up.")
            foreign_keys_check_at_once()
            yield

    def move(self, until: ReadUntil, counted: dict[str, Any]) -> None:
        """Note that the file is stored up to a place; in the transaction of the part before it."""
        row = self.row
        row.row, row.line, row.offset, row.n_left_out = until.row, until.line, until.offset, until.n_left_out
        row.declared, row.counted, row.moved_at = dict(until.declared), counted, timezone.now()
        row.save(
            update_fields=["row", "line", "offset", "n_left_out", "declared", "counted", "moved_at"],
        )

    def finish(self) -> None:
        """Let the dataset be seen; in the transaction of the last part."""
        self.row.delete()
        dataset = self.target.dataset
        dataset.is_staged = False
        dataset.save(update_fields=["is_staged"])


def staged_find(name: str) -> StagedImport | None:
    """The unfinished import into the dataset of this name."""
    return StagedImport.objects.select_related("dataset").filter(dataset__name=name).first()


def staged_begin(
    *, name: str, key: str, file: str, job: str = "", owner: User | None = None, **said: Any
) -> Staging:
    """Make the dataset, staged.

    Raises
    ------
    StagedImportError
        There is a dataset of this name, made at the same moment.
    """
    try:
        with transaction.atomic():
            dataset = Dataset.with_staged.create(name=name, owner=owner, is_staged=True, **said)
            row = StagedImport.objects.create(
                dataset=dataset, file=file[-200:], key=key, job=job, claim=uuid.uuid4().hex,
                moved_at=timezone.now(),
            )  # fmt: skip
    except IntegrityError:
        raise StagedImportError(
            f"another import into {name!r} has just begun; run this one again once it's finished."
        ) from None
    return Staging(row, ImportTarget(dataset, is_created=True, is_whole=False))


def staged_continue(*, name: str, key: str, job: str = "", owner: User | None = None) -> Staging | None:
    """Claim the unfinished import of a file; None where there is none. One that was given up is removed first.

    Raises
    ------
    StagedImportError
        The unfinished import is of another file, of other options, or of another person.
    """
    row = staged_find(name)
    if row is None:
        return None
    if owner is not None and row.dataset.owner_id != owner.pk:
        raise StagedImportError(f"the name {name!r} is taken; choose another one.")
    if row.is_given_up:
        staged_remove(row)
        return None
    if row.key != key:
        raise StagedImportError(
            f"an import of {row.file} into {name!r} stopped after row {row.row:,}. This file isn't the one that it "
            "began with, or it is to be read in another way (columns, criteria, rows left out). Import that file in "
            "the same way to continue, or discard what is stored (Datasets, Unfinished imports; --restart on the "
            "command line) and begin again."
        )
    claim = uuid.uuid4().hex
    StagedImport.objects.filter(pk=row.pk, is_given_up=False).update(claim=claim, job=job)
    try:
        row.refresh_from_db()  # the process that had it may have stored one more part
    except StagedImport.DoesNotExist:  # or all of it, or someone has removed it
        return staged_continue(name=name, key=key, job=job, owner=owner)
    if row.claim != claim:
        return staged_continue(name=name, key=key, job=job, owner=owner)
    target = ImportTarget(row.dataset, is_created=True, is_whole=False)
    if not row.row:
        return Staging(row, target)
    start = ReadStart(
        ReadUntil(row.row, row.line, row.offset, row.n_left_out, row.declared), KeyStore(), KeyStore()
    )
    items = Item.objects.filter(dataset=row.dataset).values_list("external_id", "pk")
    for batch in batched(items.iterator(chunk_size=BATCH), BATCH):
        target.items.add(batch)
        start.items.add((name, 0) for name, _ in batch)
    instructions = Instruction.objects.filter(dataset=row.dataset)
    for batch in batched(instructions.values_list("external_id", "pk").iterator(chunk_size=BATCH), BATCH):
        target.instructions.add(batch)
    alone = instructions.filter(items__isnull=True).values_list("external_id", flat=True)
    for names in batched(alone.iterator(chunk_size=BATCH), BATCH):
        start.alone.add((name, 0) for name in names)
    return Staging(row, target, start)


def staged_give_up(*rows: StagedImport) -> None:
    """Let no process continue unfinished imports; what they have stored is removed later, by `staged_tidy`."""
    StagedImport.objects.filter(pk__in=[row.pk for row in rows]).update(
        is_given_up=True, claim="", moved_at=timezone.now() - STILL_REMOVED
    )


def staged_of_owner(user: User) -> list[StagedImport]:
    """The unfinished imports of the command line whose datasets will be this person's, newest first."""
    return list(_of_owner(user).order_by("-created_at", "-pk"))


def staged_get_for(user: User, pk: int) -> StagedImport:
    """An unfinished import of the command line whose dataset will be this person's; else Http404."""
    return get_object_or_404(_of_owner(user), pk=pk)


def _of_owner(user: User) -> models.QuerySet[StagedImport]:
    rows = StagedImport.objects.filter(dataset__owner=user, job="", is_given_up=False)
    return rows.select_related("dataset")


def staged_rows_of_jobs(jobs: Collection[str]) -> dict[str, int]:
    """How many rows of its file the unfinished import of each job has stored."""
    found = StagedImport.objects.filter(job__in=jobs, is_given_up=False)
    return dict(found.values_list("job", "row"))


def staged_of_job(job: str) -> list[StagedImport]:
    """The unfinished imports that are done for something."""
    return list(StagedImport.objects.filter(job=job))


def staged_remove(row: StagedImport) -> None:
    """Remove an unfinished import and all that it has stored, in short transactions: it may be killed and run again."""
    rows = StagedImport.objects.filter(pk=row.pk)
    if not rows.update(is_given_up=True, claim="", moved_at=timezone.now()):
        return  # it is finished, or removed
    dataset = row.dataset
    for keys in _keys(Item.objects.filter(dataset=dataset), row):
        for each in (
            Label.objects.filter(item__pk__among=keys),
            ItemResponse.objects.filter(item__pk__among=keys),
            Item.objects.filter(pk__among=keys),
        ):
            each._raw_delete(each.db)  # no row is read
    for keys in _keys(Instruction.objects.filter(dataset=dataset), row):
        for one in (
            Response.objects.filter(instruction__pk__among=keys),
            Aspect.objects.filter(instruction__pk__among=keys),
            Instruction.objects.filter(pk__among=keys),
        ):
            one._raw_delete(one.db)
    Annotator.objects.filter(source=f"import:{dataset.name}", labels__isnull=True).delete()
    Dataset.with_staged.filter(pk=dataset.pk, is_staged=True).delete()


def staged_removal_due(row: StagedImport) -> datetime:
    """When an unfinished import that nobody continues is removed (`staged_tidy`)."""
    return row.moved_at + timedelta(hours=settings.EXPORTS_KEEP_HOURS)


def staged_tidy() -> int:
    """Remove unfinished imports that were given up, or not continued for a while; how many."""
    now = timezone.now()
    left = models.Q(moved_at__lt=now - timedelta(hours=settings.EXPORTS_KEEP_HOURS))
    given_up = models.Q(is_given_up=True, moved_at__lt=now - STILL_REMOVED)
    rows = list(StagedImport.objects.filter(left | given_up).select_related("dataset"))
    for row in rows:
        staged_remove(row)
    return len(rows)


def _keys(rows: "models.QuerySet[Any]", staged: StagedImport) -> Iterator[list[int]]:
    """The primary keys of rows, in batches, each of which is gone when the next one is asked for."""
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            StagedImport.objects.filter(pk=staged.pk).update(moved_at=timezone.now())
            yield keys

"""Items of a file of any size: read row by row, as often as they are asked for."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np

from annotation.domain.images import has_images
from annotation.importers.build import AspectFields, BundleBuilder
from annotation.importers.errors import Faults, ImportFileError
from annotation.importers.generic import GenericRow, generic_rows, item_row_add, read_generic
from annotation.importers.images import ImageAttaching, ImageFolder, table_and_images
from annotation.importers.records import (
    EMPTY,
    CategoriesRecord,
    CriterionRecord,
    DatasetBundle,
    InstructionRecord,
)
from judges.standalone.items import bundle_views, items_of_file
from judges.strategies.types import ItemView

_WHOLE = frozenset({".json"})
"""Files whose rows cannot be read one by one."""


class ItemViews(Protocol):
    """Items that can be read more than once, in the same order each time."""

    def __iter__(self) -> Iterator[ItemView]: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class OpenItems:
    """The items of a kind in a file.

    Attributes
    ----------
    n_others : int
        Items of other kinds.
    images : ImageAttaching
        Where the images are that the file's items show.
    """

    views: ItemViews
    n_others: int
    images: ImageAttaching

    def first_with_image(self) -> str:
        """Return the name of the first item that shows an image; empty where none does."""
        shown = (view.external_id for view in self.views if view_has_images(view))
        return next(shown, "") if self.images.has_any else ""


@contextmanager
def items_open(
    path: Path,
    kind: str,
    *,
    systems: Collection[str] = (),
    mapping: Mapping[str, str] = EMPTY,
    limit: int | None = None,
) -> Iterator[OpenItems]:
    """Check a file, or a folder or zip archive of it and its images, and give its items of a kind.

    Rows are read one by one where each is an item by itself; a file is read whole where a judge reads other systems'
    responses as references, or where several rows are one item. Images are kept while the items are open.

    Raises
    ------
    ImportFileError
        Names the file, the line and the field.
    """
    with images_open(path) as (table, images):
        views, n_others = _views_of(table, kind, systems, mapping, limit, images)
        yield OpenItems(views, n_others, images)


@contextmanager
def images_open(path: Path) -> Iterator[tuple[Path, ImageAttaching]]:
    """Give the file of items at a path, and what stores its images for as long as it is open."""
    with (
        table_and_images(path) as (table, folder),
        TemporaryDirectory(prefix="touchstone-images-") as kept,
    ):
        yield table, ImageAttaching(ImageFolder(Path(kept)), folder)


def _views_of(
    path: Path,
    kind: str,
    systems: Collection[str],
    mapping: Mapping[str, str],
    limit: int | None,
    images: ImageAttaching,
) -> tuple[ItemViews, int]:
    if not systems and path.suffix.lower() not in _WHOLE:
        _, long = generic_rows(path, mapping, Faults(1), each_row=True)
        if not long:
            file = ItemFile(path, kind, mapping=mapping, limit=limit, images=images)
            return file, file.n_others
    views, n_others = items_of_file(path, kind, systems=systems, mapping=mapping, images=images)
    return views[:limit], n_others


def view_has_images(view: ItemView) -> bool:
    """Whether a text of an item that a judge may be shown has images."""
    shown = (view.instruction, view.context, view.reference or "", *view.responses)
    spoken = (text for _, text in (*view.conversation, *view.references))
    return any(map(has_images, (*shown, *spoken, *(aspect.text for aspect in view.aspects))))


class ItemFile:
    """The items of a kind in a file of which each row is an item.

    Memory grows by some 24 bytes a row: what has to be compared between rows is kept as 64-bit digests.

    Parameters
    ----------
    images : ImageAttaching, optional
        Stores the images that rows show.

    Raises
    ------
    ImportFileError
        Names the file, the line and the field.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        *,
        mapping: Mapping[str, str] = EMPTY,
        limit: int | None = None,
        images: ImageAttaching | None = None,
    ) -> None:
        self._path, self._kind, self._mapping, self._limit = path, kind, mapping, limit
        self._images = images
        self._criteria: dict[str, CriterionRecord] = {}
        self._categories: tuple[CategoriesRecord | None, tuple[AspectFields, ...]] = (None, ())
        self._repeated: frozenset[str] = frozenset()
        self._n, self.n_others = self._checked()

    def __len__(self) -> int:
        return self._n if self._limit is None else min(self._n, self._limit)

    def __iter__(self) -> Iterator[ItemView]:
        return islice(self._views(), self._limit)

    def _views(self) -> Iterator[ItemView]:
        rows, _ = generic_rows(self._path, self._mapping, Faults(1), each_row=True)
        again: Counter[str] = Counter()
        place = 0
        for row in rows:
            builder, _ = self._read(row)
            if not builder.n_items:
                continue
            for view in bundle_views(self._bundle(builder), self._kind):
                place += 1
                name = view.external_id
                if name in self._repeated:
                    again[name] += 1
                    name = name if again[name] == 1 else f"{name}-{again[name]}"
                yield replace(view, item_id=place, external_id=name)

    def _read(self, row: GenericRow) -> tuple[BundleBuilder, bool]:
        """Return a row as a bundle, and whether it names its item."""
        read = row()
        builder = BundleBuilder(self._path.name)
        builder.criteria = self._criteria
        builder.categories, builder.shared_categories = self._categories
        item_row_add(builder, read, long=False)
        self._categories = builder.categories, builder.shared_categories
        return builder, "id" in read.data

    def _bundle(self, builder: BundleBuilder) -> DatasetBundle:
        bundle = builder.finish(self._path)
        return bundle if self._images is None else self._images.attach(bundle)

    def _checked(self) -> tuple[int, int]:
        """Read all rows once; returns how many items of the kind there are, and how many of others."""
        faults = Faults()
        rows, _ = generic_rows(self._path, self._mapping, faults, each_row=True)
        ids, free, keys, contents = array("Q"), array("Q"), array("Q"), array("Q")
        n = n_others = n_rows = 0
        for row in rows:
            n_rows += 1
            n_faults = len(faults.errors)
            with faults:
                builder, is_named = self._read(row)
                if builder.is_empty:
                    continue
                bundle = self._bundle(builder)
                for item in bundle.items:
                    (ids if is_named else free).append(digest(item.external_id))
                    n += item.kind == self._kind
                    n_others += item.kind != self._kind
                for about in bundle.instructions:
                    keys.append(digest(about.key))
                    contents.append(digest(_content(about)))
            if len(faults.errors) > n_faults and row.has_criteria:
                break  # without the criteria every rubric after it would look wrong
        faults.check()
        if not n_rows or not (n + n_others or len(keys)):
            raise ImportFileError(self._path, None, None, "expected at least one item, found none.")
        if len(_repeats(ids)) or _differ(keys, contents):
            # Two rows contradict each other: read as a whole, the file says which.
            read_generic(self._path, mapping=self._mapping)
        self._repeated = self._names_of(_repeats(free))
        return n, n_others

    def _names_of(self, repeats: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> frozenset[str]:
        """Return the names of rows without one of their own whose texts come more than once."""
        if not len(repeats):
            return frozenset()
        wanted = set(repeats.tolist())
        rows, _ = generic_rows(self._path, self._mapping, Faults(1), each_row=True)
        found = set()
        for row in rows:
            builder, is_named = self._read(row)
            if builder.n_items and not is_named:
                (item,) = builder.finish(self._path).items
                if digest(item.external_id) in wanted:
                    found.add(item.external_id)
        return frozenset(found)


def digest(*parts: object) -> int:
    """Return 64 bits of a hash; among ten million texts, two share them with a chance of 3 in a million."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _content(about: InstructionRecord) -> str:
    parts = about.text, about.context, about.reference, about.category, about.subset, about.conversation
    return repr(tuple(map(str, parts)))


def _repeats(digests: array[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    found = np.sort(np.frombuffer(digests, dtype=np.uint64)) if len(digests) else np.empty(0, np.uint64)
    return np.unique(found[1:][found[1:] == found[:-1]])


def _differ(keys: array[int], contents: array[int]) -> bool:
    """Whether one key has two contents."""
    if not len(keys):
        return False
    by_key = np.argsort(np.frombuffer(keys, dtype=np.uint64), kind="stable")
    key, content = (np.frombuffer(each, dtype=np.uint64)[by_key] for each in (keys, contents))
    return bool(np.any((key[1:] == key[:-1]) & (content[1:] != content[:-1])))

"""Items from a file or from a call, as strategies see them. The file is that of an import into the site."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from annotation.domain.conversation import as_messages, context_for_judging
from annotation.importers import ImportFileError, read_generic
from annotation.importers.build import BundleBuilder
from annotation.importers.generic import item_row_add
from annotation.importers.images import ImageAttaching
from annotation.importers.records import EMPTY, CriterionRecord, DatasetBundle, Origin
from annotation.importers.rows import Row
from annotation.kinds import KINDS
from judges.strategies.types import AspectView, CriterionView, ItemView


def items_of_file(
    path: Path,
    kind: str,
    *,
    systems: Collection[str] = (),
    mapping: Mapping[str, str] = EMPTY,
    criteria: Sequence[CriterionRecord] = (),
    images: ImageAttaching | None = None,
) -> tuple[list[ItemView], int]:
    """Return the items of a kind in a file, in its order, and how many of other kinds it has.

    Parameters
    ----------
    systems : collection of str
        Whose responses a judge reads as references.
    mapping : mapping of str to str
        The field of each column that has another name.
    images : ImageAttaching, optional
        Stores the images that are shown.

    Raises
    ------
    ImportFileError
        Names the file, the line and the field.
    """
    bundle = read_generic(path, criteria=criteria, mapping=mapping)
    bundle = bundle if images is None else images.attach(bundle)
    views = list(bundle_views(bundle, kind, systems))
    return views, len(bundle.items) - len(views)


def item_of_call(
    values: Mapping[str, Any], *, name: str = "item", images: ImageAttaching | None = None
) -> ItemView:
    """Return the item that a row of a file would be.

    Parameters
    ----------
    images : ImageAttaching, optional
        Stores the images that are shown.

    Raises
    ------
    ImportFileError
        Names the field.
    """
    builder = BundleBuilder(name)
    item_row_add(builder, Row(Origin(name, 1), dict(values)), long=False)
    bundle = builder.finish(name)
    if not bundle.items:
        raise ImportFileError(name, None, None, "expected an item, found an instruction alone.")
    bundle = bundle if images is None else images.attach(bundle)
    return next(bundle_views(bundle, bundle.items[0].kind, ()))


def bundle_views(bundle: DatasetBundle, kind: str, systems: Collection[str] = ()) -> Iterator[ItemView]:
    """Yield the items of a kind as strategies see them, in the order of the file."""
    instructions = {record.key: record for record in bundle.instructions}
    responses = {(record.instruction, record.key): record for record in bundle.responses}
    references: dict[str, dict[str, str]] = defaultdict(dict)
    for response in bundle.responses:
        if response.system in systems:
            references[response.instruction].setdefault(response.system, response.text)
    aspects: dict[str, list[AspectView]] = defaultdict(list)
    for aspect in bundle.aspects:
        aspects[aspect.instruction].append(AspectView(aspect.key, aspect.text, aspect.parent or ""))
    criteria = tuple(
        CriterionView(each.key, each.question, each.rated_on)
        for each in sorted(bundle.criteria, key=lambda each: each.position)
    )
    parts = KINDS[kind].parts if kind in KINDS else ""
    for place, item in enumerate(bundle.items, start=1):
        if item.kind != kind:
            continue
        about = instructions[item.instruction]
        shown = [responses[item.instruction, key] for key in item.responses]
        yield ItemView(
            item_id=place,
            kind=kind,
            instruction=about.text,
            responses=tuple(response.text for response in shown),
            context=context_for_judging(about.context, about.conversation),
            reference=about.reference or None,
            category=about.category,
            subset=about.subset,
            external_id=item.external_id,
            systems=tuple(response.system for response in shown),
            criteria=criteria if parts == "criteria" else (),
            aspects=tuple(aspects[item.instruction]) if parts == "aspects" else (),
            conversation=as_messages(about.conversation),
            references=tuple(references[item.instruction].items()),
            several=bundle.categories is not None and bundle.categories.scheme.several,
        )

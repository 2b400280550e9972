"""Reading datasets and their items."""

import difflib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import Count, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Length
from django.shortcuts import get_object_or_404

from annotation.domain.conversation import as_messages, context_for_judging, turns_of
from annotation.domain.scales import Scale
from annotation.kinds import ValueRules, kind_of
from annotation.kinds.classification import CategoryScheme
from annotation.kinds.evidence import Markable, markable_of
from annotation.kinds.grades import STRENGTHS
from annotation.models import (
    Criterion,
    Dataset,
    Instruction,
    Item,
    ItemResponse,
    Response,
    Split,
    Study,
    User,
)
from annotation.models.datasets import Aspect
from annotation.selectors.costly import counted_of_version, counted_of_versions
from annotation.selectors.rights import rights_on, role_granted, shared_with

CHUNK = 500


class DatasetNotFound(LookupError):  # noqa: N818  (reads as what happened, like DoesNotExist)
    """There is no dataset of this name; the message lists names that are near."""


@dataclass(frozen=True, slots=True)
class AspectRow:
    """A requirement of an instruction; `parent` is the key of the one above it, empty for a root."""

    key: str
    text: str
    parent: str


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item as judges and statistics need it; `responses` and their `systems` in canonical order.

    `context` begins with the `conversation`, (role, text) a turn, as one text.
    `aspects` are read for the kinds that are about them.
    """

    item_id: int
    external_id: str
    kind: str
    position: int
    instruction_id: int
    instruction: str
    context: str
    reference: str | None
    category: str
    subset: str
    responses: tuple[str, ...]
    gold: dict[str, Any] | None
    systems: tuple[str, ...] = ()
    aspects: tuple[AspectRow, ...] = ()
    conversation: tuple[tuple[str, str], ...] = ()

    @property
    def gold_choice(self) -> int | None:
        """Gold of a pair: 1, 2, or 0 for a tie; None where there is none."""
        return None if self.gold is None else self.gold.get("choice")


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """An instruction as contestants need it; `conversation` as (role, text)."""

    instruction_id: int
    external_id: str
    text: str
    context: str
    reference: str | None
    category: str
    subset: str
    conversation: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DatasetCounts:
    """Sizes for a page. The mappings go from name to number of items; "" is "none given"."""

    items: int
    instructions: int
    gold: int
    by_kind: dict[str, int]
    by_category: dict[str, int]
    by_subset: dict[str, int]


def dataset_get(name: str) -> Dataset:
    """The dataset of this name.

    Raises
    ------
    DatasetNotFound
        With names that are near, or all that there are.
    """
    try:
        return Dataset.objects.get(name=name)
    except Dataset.DoesNotExist:
        pass
    names = list(Dataset.objects.values_list("name", flat=True))
    if not names:
        raise DatasetNotFound(f"There is no dataset {name!r}: none has been imported yet.")
    near = difflib.get_close_matches(name, names, n=3) or names[:10]
    raise DatasetNotFound(f"There is no dataset {name!r}; there is {', '.join(near)}.")


def datasets_by_name() -> QuerySet[Dataset]:
    """All datasets, by name: for administrators and the command line."""
    return Dataset.objects.order_by("name")


def datasets_hidden_from(user: User) -> QuerySet[Dataset]:
    """Datasets whose items this person may not see."""
    return Dataset.objects.exclude(pk__in=datasets_visible_to(user).values("pk"))


def datasets_visible_to(user: User) -> QuerySet[Dataset]:
    """Datasets whose items this person may see: private ones are for their owner, for administrators and for those that
    they were shared with.
    """
    if user.is_administrator:
        return Dataset.objects.all()
    if not user.is_researcher:
        return Dataset.objects.none()
    return Dataset.objects.filter(is_visible_to(user))


def is_visible_to(user: User, prefix: str = "") -> Q:
    """What restricts rows to datasets that a researcher, who is no administrator, may see.

    Parameters
    ----------
    prefix
        The way from the rows to the dataset: "dataset__" of a study.
    """
    return (
        ~Q(**{f"{prefix}split": Split.PRIVATE})
        | Q(**{f"{prefix}owner": user})
        | shared_with(user, "dataset", key=f"{prefix}pk")
    )


def datasets_of_criteria(dataset_id: int, among: Collection[int]) -> list[int]:
    """Those of the datasets `among` that have the criteria of a dataset, in the same words and on the same scales; two
    queries at most.
    """
    wanted = _criteria_words([dataset_id]).get(dataset_id, {})
    found = _criteria_words(among)
    return [pk for pk in among if wanted.items() <= found.get(pk, {}).items()]


def _criteria_words(datasets: Collection[int]) -> dict[int, dict[str, str]]:
    words: dict[int, dict[str, str]] = defaultdict(dict)
    rows = Criterion.objects.filter(dataset__in=list(datasets))
    for dataset, key, *said in rows.values_list("dataset_id", "key", "question", "options", "scale"):
        words[dataset][key] = json.dumps(said, sort_keys=True)
    return words


def datasets_editable_by(user: User) -> QuerySet[Dataset]:
    """Datasets that this person may add labels, verdicts and criteria to: their own, nobody's, and those that they are
    an editor of; administrators: all.
    """
    visible = datasets_visible_to(user)
    if user.is_administrator:
        return visible
    return visible.filter(Q(owner=user) | Q(owner=None) | shared_with(user, "dataset", editor=True))


def datasets_filled_by(user: User) -> QuerySet[Dataset]:
    """Datasets that this person may add items to: their own, and those that they are an editor of.

    Administrators: all.
    """
    visible = datasets_visible_to(user)
    return visible if user.is_administrator else visible.filter(is_filled_by(user))


def is_filled_by(user: User, prefix: str = "") -> Q:
    """What restricts rows to datasets that take this person's files: a name that they know by chance isn't enough, of
    administrators neither.

    Parameters
    ----------
    prefix
        The way from the rows to the dataset: "dataset__" of a version.
    """
    return Q(**{f"{prefix}owner": user}) | shared_with(user, "dataset", key=f"{prefix}pk", editor=True)


def datasets_offered_by(user: User) -> QuerySet[Dataset]:
    """Datasets whose items this person may give to annotators: all that they see, of private ones those that they own
    or edit.
    """
    visible = datasets_visible_to(user)
    return visible if user.is_administrator else visible.filter(~Q(split=Split.PRIVATE) | is_filled_by(user))


def datasets_owned_by(user: User) -> QuerySet[Dataset]:
    """Datasets whose split, license, description and sharing this person decides: their own; administrators: all."""
    visible = datasets_visible_to(user)
    return visible if user.is_administrator else visible.filter(owner=user)


def dataset_get_for(user: User, name: str, among: QuerySet[Dataset] | None = None) -> Dataset:
    """A dataset with its owner and what this person may do with it; else Http404. One query.

    Parameters
    ----------
    among
        Those of which it has to be one, such as `datasets_editable_by`; all that they see if it is left out.
    """
    rows = datasets_visible_to(user) if among is None else among
    rows = rows.select_related("owner").annotate(granted=role_granted(user, "dataset"))
    return dataset_with_rights(user, get_object_or_404(rows, name=name))


def dataset_with_rights(user: User, dataset: Dataset) -> Dataset:
    """A dataset that has `granted` (see `role_granted`), with what this person may do with it."""
    dataset.rights = rights_on(user, owner=dataset.owner_id, granted=dataset.granted)  # type: ignore[attr-defined]
    return dataset


def datasets_with_ends(among: QuerySet[Dataset]) -> QuerySet[Dataset]:
    """These datasets with ``first`` and ``last``, the lowest and the highest primary key of their items."""
    first, last = item_ends(OuterRef("pk"))
    return among.annotate(first=first, last=last)


def item_ends(dataset_id: int | OuterRef) -> tuple[Subquery, Subquery]:
    """The lowest and the highest primary key of a dataset's items, for a query."""
    items = Item.objects.filter(dataset=dataset_id).values("pk")
    return Subquery(items.order_by("pk")[:1]), Subquery(items.order_by("-pk")[:1])


def items_of(
    datasets: Iterable[Dataset | int], kind: str = "", *, study: Study | None = None, earlier: bool = False
) -> QuerySet[Item]:
    """The items of datasets, of one kind where it is given; in no order.

    Parameters
    ----------
    study
        Those of the version that this study is pinned to, instead of those that are current.
    earlier
        With those that a later version replaced or removed.
    """
    items = Item.objects.order_by().filter(dataset__in=list(datasets))
    items = items if earlier else items.filter(version_condition(study))
    return items.filter(kind=kind) if kind else items


def version_condition(study: Study | None = None, prefix: str = "") -> Q:
    """What restricts rows to items of the version that a study is pinned to, or to those that are current.

    Parameters
    ----------
    prefix
        The way from the rows to the item: "item__" of a label.
    """
    number = None if study is None else study.dataset_version
    current = Q(**{f"{prefix}until_version__isnull": True})
    if number is None:
        return current
    return Q(**{f"{prefix}since_version__lte": number}) & (
        current | Q(**{f"{prefix}until_version__gt": number})
    )


def instructions_of(dataset: Dataset) -> QuerySet[Instruction]:
    """The instructions of a dataset."""
    return Instruction.objects.filter(dataset=dataset)


def items_for_judging(dataset_id: int, item_ids: Sequence[int] | None = None) -> Iterator[ItemRow]:
    """The items in the order of the source, with their texts.

    Texts are read in chunks of 500 items, two queries each (three with aspects), so that no cursor stays open while
    the caller works and memory does not grow with the dataset.

    Parameters
    ----------
    item_ids : sequence of int, optional
        Only these, still in the order of the source.
    """
    ids = list(
        Item.objects.filter(dataset_id=dataset_id)
        # Of those that are named, earlier ones too: a study goes on with them.
        .filter(Q() if item_ids is not None else version_condition())
        .order_by("position", "pk")
        .values_list("pk", flat=True)
    )
    if item_ids is not None:
        wanted = set(item_ids)
        ids = [pk for pk in ids if pk in wanted]
    yield from items_read(ids)


def items_read(item_ids: Sequence[int]) -> Iterator[ItemRow]:
    """Items by primary key, in the order of the source within chunks of 500; as `items_for_judging`."""
    for start in range(0, len(item_ids), CHUNK):
        yield from _read_chunk(item_ids[start : start + CHUNK])


def instructions_read(instruction_ids: Sequence[int]) -> Iterator[InstructionRow]:
    """Instructions by primary key, in that order within chunks of 500, a query each."""
    names = ("pk", "external_id", "text", "context", "reference", "category", "subset", "conversation")
    for start in range(0, len(instruction_ids), CHUNK):
        rows = Instruction.objects.filter(pk__in=instruction_ids[start : start + CHUNK]).order_by("pk")
        for pk, external_id, text, context, reference, category, subset, conversation in rows.values_list(
            *names
        ):
            turns = as_messages(conversation, everything=True)
            yield InstructionRow(pk, external_id, text, context, reference, category, subset, turns)


def references_read(
    instruction_ids: Collection[int], systems: Collection[str]
) -> dict[int, tuple[tuple[str, str], ...]]:
    """Responses of some systems, by instruction: (system, text), the first of each system; one query."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    rows = Response.objects.filter(instruction_id__in=instruction_ids, system__in=systems).order_by("pk")
    for instruction_id, system, text in rows.values_list("instruction_id", "system", "text"):
        found[instruction_id].setdefault(system, text)
    return {instruction_id: tuple(texts.items()) for instruction_id, texts in found.items()}


def _read_chunk(ids: Sequence[int]) -> list[ItemRow]:
    responses: dict[int, list[tuple[str, str]]] = defaultdict(list)
    links = ItemResponse.objects.filter(item_id__in=ids).order_by("item_id", "position")
    for item_id, text, system in links.values_list("item_id", "response__text", "response__system"):
        responses[item_id].append((text, system))
    rows = list(
        Item.objects.filter(pk__in=ids)
        .order_by("position", "pk")
        .values_list(
            "pk",
            "external_id",
            "kind",
            "position",
            "instruction_id",
            "instruction__text",
            "instruction__context",
            "instruction__reference",
            "instruction__category",
            "instruction__subset",
            "gold",
            "instruction__conversation",
        )
    )
    aspects = _aspects({row[4] for row in rows if kind_of(row[2]).parts == "aspects"})
    return [
        ItemRow(
            *row[:6],
            context_for_judging(row[6], row[-1]),
            *row[7:-2],
            responses=tuple(text for text, _ in responses[row[0]]),
            gold=row[-2],
            systems=tuple(system for _, system in responses[row[0]]),
            aspects=tuple(aspects[row[4]]) if kind_of(row[2]).parts == "aspects" else (),
            conversation=as_messages(row[-1]),
        )
        for row in rows
    ]


def _aspects(instruction_ids: Collection[int]) -> dict[int, list[AspectRow]]:
    found: dict[int, list[AspectRow]] = defaultdict(list)
    if instruction_ids:
        rows = Aspect.objects.filter(instruction_id__in=instruction_ids).order_by(
            "instruction_id", "position"
        )
        for instruction_id, key, text, parent in rows.values_list(
            "instruction_id", "key", "text", "parent__key"
        ):
            found[instruction_id].append(AspectRow(key, text, parent or ""))
    return found


def criteria_for_judging(dataset_id: int) -> list[tuple[str, str, Scale]]:
    """Key, question and scale of each criterion, in their order; one query."""
    rows = Criterion.objects.filter(dataset_id=dataset_id).order_by("position")
    return [(row.key, row.question, row.rated_on) for row in rows]


def scales_of(dataset_id: int) -> dict[str, Scale]:
    """The scale of each criterion of a dataset, in their order; one query."""
    return {key: scale for key, _, scale in criteria_for_judging(dataset_id)}


def scales_rated(dataset: Dataset, kind: str) -> tuple[Scale, ...]:
    """The scales of items of a kind, without their words: of rubrics one a criterion, of other kinds none."""
    rated = kind_of(kind).parts == "criteria"
    return tuple(scale.numbers for scale in scales_of(dataset.pk).values()) if rated else ()


def response_lengths(dataset_id: int) -> dict[int, list[int]]:
    """By item, the lengths of its responses in their order: characters (code points), not bytes, on every database."""
    lengths: dict[int, list[int]] = defaultdict(list)
    links = ItemResponse.objects.filter(item__dataset_id=dataset_id).order_by("item_id", "position")
    for item_id, length in links.values_list("item_id", Length("response__text")).iterator(chunk_size=10_000):
        lengths[item_id].append(length)
    return lengths


def dataset_counts(dataset: Dataset) -> DatasetCounts:
    """How many items there are, and of what; at most two queries."""
    return counted_of_version(dataset, "counts", lambda: _dataset_counts(dataset))


def _dataset_counts(dataset: Dataset) -> DatasetCounts:
    items = Item.objects.current().filter(dataset=dataset)
    totals = items.aggregate(
        items=Count("pk"),
        instructions=Count("instruction", distinct=True),
        gold=Count("pk", filter=Q(gold__isnull=False)),
    )
    # That its instructions are of the dataset too spares the database reading those of all others.
    parts = items.filter(instruction__dataset=dataset).order_by()
    kinds, categories, subsets = Counter[str](), Counter[str](), Counter[str]()
    columns = ("kind", "instruction__category", "instruction__subset")
    for kind, category, subset, n in parts.values_list(*columns).annotate(n=Count("pk")):
        kinds[kind] += n
        categories[category] += n
        subsets[subset] += n
    by_kind, by_category, by_subset = (dict(sorted(tally.items())) for tally in (kinds, categories, subsets))
    return DatasetCounts(**totals, by_kind=by_kind, by_category=by_category, by_subset=by_subset)


def item_sizes(datasets: Collection[Dataset]) -> dict[int, dict[str, tuple[int, int]]]:
    """Of each dataset and kind, in the order of its first item: (items, items with gold). One query at most."""
    return counted_of_versions(datasets, "sizes", _item_sizes)


def _item_sizes(datasets: Collection[Dataset]) -> dict[int, dict[str, tuple[int, int]]]:
    sizes: dict[int, dict[str, tuple[int, int]]] = {dataset.pk: {} for dataset in datasets}
    items = Item.objects.current().filter(dataset__in=sizes).order_by()
    counted = items.values("dataset", "kind").annotate(
        first=Min("position"), n=Count("pk"), n_gold=Count("gold")
    )
    columns = ("dataset", "kind", "n", "n_gold")
    for pk, kind, n, gold in counted.order_by("dataset", "first", "kind").values_list(*columns):
        sizes[pk][kind] = (n, gold)
    return sizes


def items_by_external_id(dataset_id: int, names: Collection[str] | None = None) -> dict[str, int]:
    """External id to primary key, of the items with one of these ids; None: of all."""
    items = Item.objects.current().filter(dataset_id=dataset_id)
    if names is not None:
        items = items.filter(external_id__among=names)
    return dict(items.values_list("external_id", "pk"))


def gold_choices(dataset_id: int) -> dict[str, int | None]:
    """External id to the gold choice of a pair; None where there is none."""
    items = Item.objects.current().filter(dataset_id=dataset_id)
    rows = items.order_by("position").values_list("external_id", "gold")
    return {external_id: None if gold is None else gold.get("choice") for external_id, gold in rows}


def aspect_keys(datasets: Collection[int]) -> dict[int, list[str]]:
    """The keys of the aspects of each instruction that has some, in their order; one query."""
    found: dict[int, list[str]] = {}
    rows = Aspect.objects.filter(instruction__dataset_id__in=datasets).order_by("position", "pk")
    for instruction, key in rows.values_list("instruction_id", "key"):
        found.setdefault(instruction, []).append(key)
    return found


def category_scheme(dataset_id: int) -> CategoryScheme:
    """How items to classify of a dataset use their categories; one query."""
    stored = Dataset.objects.filter(pk=dataset_id).values_list("categories", flat=True).first()
    return CategoryScheme.of_json(stored or {})


def item_value_rules(dataset_id: int) -> dict[str, ValueRules]:
    """External id to what decides which values are right for the item: for reading verdicts from a file."""
    scales = scales_of(dataset_id)
    aspects = aspect_keys([dataset_id])
    several = category_scheme(dataset_id).several
    items = (
        Item.objects.current()
        .filter(dataset_id=dataset_id)
        .order_by("position")
        .annotate(n=Count("item_responses"))
    )
    return {
        external_id: ValueRules(
            kind,
            n_responses=n,
            complete=False,
            both_bad=True,
            strengths=tuple(STRENGTHS),
            graded=True,
            response_sets=True,
            open_names=True,
            criteria=tuple(scales),
            aspects=tuple(aspects.get(instruction_id, ())),
            several=several,
            scales=scales,
        )
        for external_id, kind, instruction_id, n in items.values_list(
            "external_id", "kind", "instruction_id", "n"
        )
    }


def markable_texts(dataset_id: int) -> Callable[[str], list[Markable]]:
    """What can be marked of an item's responses, by external id; a query an item."""

    @lru_cache(maxsize=64)
    def texts(name: str) -> list[Markable]:
        links = ItemResponse.objects.filter(
            item__in=Item.objects.current().filter(dataset_id=dataset_id, external_id=name)
        )
        rows = links.order_by("position").values_list("response__text", "response__messages")
        return [markable_of(text, turns_of(messages)) for text, messages in rows]

    return texts


def mapping_kept(name: str, *, owner: User | None = None) -> dict[str, Any] | None:
    """The mapping by which the last file of a dataset was read, as a document; None where there is none.

    Parameters
    ----------
    owner
        Only if the dataset takes their files.
    """
    rows = Dataset.objects.filter(name=name).exclude(mapping={})
    rows = rows if owner is None else rows.filter(is_filled_by(owner))
    return rows.values_list("mapping", flat=True).first()


def dataset_exists(name: str) -> bool:
    """Whether a dataset has this name, of any owner."""
    return Dataset.objects.filter(name=name).exists()

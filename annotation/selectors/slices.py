"""The part of a dataset that a study offers: which items, how many, and of what."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.db.models.functions import Length

from annotation.domain.sampling import Sides
from annotation.models import Criterion, Dataset, Item, ItemResponse, ItemSampling, Study, StudyItem
from annotation.selectors.costly import counted_of_version
from annotation.selectors.judging import ItemSlice


def slice_items(
    *, dataset_id: int, kind: str, categories: Sequence[str] = (), subset: str = ""
) -> QuerySet[Item]:
    """Items of a kind; only of these categories and under this subset path, where they are given."""
    part = ItemSlice(tuple(categories), (subset,) if subset else ())
    items = Item.objects.current()
    return items.filter(part.condition("instruction__"), dataset_id=dataset_id, kind=kind)


def study_slice(study: Study) -> QuerySet[Item]:
    """The slice of the study's dataset, before anything is drawn from it."""
    return slice_items(
        dataset_id=study.dataset_id, kind=study.kind, categories=study.categories, subset=study.subset
    )


@dataclass(frozen=True, slots=True)
class SliceCounts:
    """How much there is of a slice; `by_category` from name ("" is none given) to items."""

    items: int
    gold: int
    by_category: dict[str, int]


def slice_counts(items: QuerySet[Item], dataset_id: int) -> SliceCounts:
    """One query, however many categories; the items are of this dataset."""
    rows = (
        # That the instructions are of the dataset too spares the database reading those of all others.
        items.filter(instruction__dataset=dataset_id)
        .order_by("instruction__category")
        .values_list("instruction__category")
        .annotate(n=Count("pk"), gold=Count("gold"))
    )
    found = [(name, n, gold) for name, n, gold in rows]
    return SliceCounts(
        items=sum(n for _, n, _ in found),
        gold=sum(gold for *_, gold in found),
        by_category={name: n for name, n, _ in found},
    )


def dataset_criteria(dataset_id: int) -> list[tuple[str, str]]:
    """Key and question of each criterion of a dataset, in their order."""
    return list(Criterion.objects.filter(dataset_id=dataset_id).values_list("key", "question"))


def dataset_parts(dataset: Dataset) -> dict[str, list[str]]:
    """What a slice can be chosen by: categories, subset paths with the paths above them."""
    named = dataset.instructions.order_by().values_list("category", "subset").distinct()
    rows = counted_of_version(dataset, "parts", lambda: list(named))
    categories, subsets = set(), set()
    for category, subset in rows:
        categories.add(category)
        parts = subset.split("/") if subset else []
        subsets |= {"/".join(parts[: depth + 1]) for depth in range(len(parts))}
    return {"categories": sorted(categories - {""}), "subsets": sorted(subsets)}


@dataclass(frozen=True, slots=True)
class LengthSides:
    """Pairs against the baseline by instruction; `equal` are as long as it, `without` do not have it (or only it)."""

    sides: tuple[Sides, ...]
    equal: int
    without: int

    @property
    def balanced(self) -> int:
        """Items of the largest balanced sample."""
        return 2 * sum(one.each for one in self.sides)


def length_sides(study: Study, *, within: Collection[int] | None = None) -> LengthSides:
    """Compare, in each pair of the slice, the other response with that of the study's baseline system.

    Lengths are counted in characters. Equal lengths belong to neither side and are left out.
    """
    longer: dict[int, list[int]] = defaultdict(list)
    shorter: dict[int, list[int]] = defaultdict(list)
    equal = without = 0
    for item, instruction, ours, others in _pair_lengths(study):
        if within is not None and item not in within:
            continue
        if len(ours) != 1 or len(others) != 1:
            without += 1
        elif others[0] == ours[0]:
            equal += 1
        else:
            (longer if others[0] > ours[0] else shorter)[instruction].append(item)
    instructions = sorted(longer.keys() | shorter.keys())
    sides = (Sides(tuple(longer[one]), tuple(shorter[one])) for one in instructions)
    return LengthSides(tuple(sides), equal, without)


def _pair_lengths(study: Study) -> Iterable[tuple[int, int, list[int], list[int]]]:
    """(item, instruction, lengths of the baseline's responses, lengths of the others) by item."""
    rows = (
        ItemResponse.objects.filter(item__in=study_slice(study))
        .order_by("item_id", "position")
        .values_list("item_id", "item__instruction_id", "response__system", Length("response__text"))
    )
    current: tuple[int, int, list[int], list[int]] | None = None
    for item, instruction, system, length in rows.iterator():
        if current is None or current[0] != item:
            if current is not None:
                yield current
            current = (item, instruction, [], [])
        _, _, ours, others = current
        (ours if system == study.sampling_baseline else others).append(length)
    if current is not None:
        yield current


def work_size(study: Study) -> int:
    """How many items a draft would offer if it opened as it is; `study` may be one that is not stored yet."""
    if study.pk and (chosen := StudyItem.objects.filter(study=study).count()):
        return chosen
    gold = [("training", study.training_size), ("check", study.check_size)]
    if study.qualification_from_id is None:
        gold.append(("qualification", study.qualification_size))
    own = (None, study.dataset_id)
    used = sum(size for purpose, size in gold if getattr(study, f"{purpose}_dataset_id") in own)
    items = max(0, study_slice(study).count() - used)
    if study.sampling == ItemSampling.RANDOM and study.sample_size:
        return min(items, study.sample_size)
    if study.sampling == ItemSampling.LENGTH_BALANCED:
        balanced = length_sides(study).balanced
        return (
            min(items, balanced, 2 * (study.sample_size // 2)) if study.sample_size else min(items, balanced)
        )
    return items

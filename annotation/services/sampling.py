"""The work of a study: its slice, or a sample of it, in the order in which it is given out.

The sample is seeded by the study's `sample_seed`, the order by its slug: two studies with one seed label the same
items, each in an order of its own. Ids are all that is held in memory.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models.functions import Length

from annotation.domain.sampling import (
    Drawn,
    Sides,
    draw,
    draw_length_balanced,
    draw_stratified,
    interleave,
    shuffled,
)
from annotation.models import ItemResponse, Sampling, Study
from annotation.selectors.slices import study_slice

PAIR = 2


def work_draw(*, study: Study, leave_out: Collection[int], shuffle: bool = True) -> list[tuple[int, float]]:
    """(item, probability) of the work, without the items in `leave_out`, in the order of giving out."""
    categories: dict[str, list[int]] = defaultdict(list)
    rows = study_slice(study).order_by("position", "pk").values_list("pk", "instruction__category")
    source: list[int] = []
    for pk, category in rows.iterator():
        if pk not in leave_out:
            categories[category].append(pk)
            source.append(pk)
    drawn = _sample(study, source, categories)
    if drawn is not None:
        source = [pk for pk in source if pk in drawn.probability]
        categories = {name: [pk for pk in pks if pk in drawn.probability] for name, pks in categories.items()}
    order = _order(study, source, categories) if shuffle else source
    return [(pk, 1.0 if drawn is None else drawn.probability[pk]) for pk in order]


def _order(study: Study, pks: list[int], categories: dict[str, list[int]]) -> list[int]:
    seed = f"{study.slug}/items"
    if not study.balance_categories:
        return shuffled(pks, seed=seed)
    return interleave({name: shuffled(group, seed=f"{seed}/{name}") for name, group in categories.items()})


def order_for(study: Study, rows: Iterable[tuple[int, str]]) -> list[int]:
    """The order in which the study gives out these (item, category)."""
    categories: dict[str, list[int]] = defaultdict(list)
    pks = []
    for pk, category in rows:
        categories[category].append(pk)
        pks.append(pk)
    return _order(study, pks, categories)


def _sample(study: Study, source: list[int], categories: dict[str, list[int]]) -> Drawn | None:
    """What is drawn of the slice; None: all of it."""
    seed = f"sample/{study.sample_seed}"
    if study.sampling == Sampling.RANDOM:
        size = study.sample_size or len(source)
        if study.balance_categories:
            # By id, not by the order of the source: a draw depends on the order that it is given.
            return draw_stratified(
                {name: sorted(pks) for name, pks in sorted(categories.items())}, size, seed=seed
            )
        return draw(sorted(source), size, seed=seed)
    if study.sampling == Sampling.LENGTH_BALANCED:
        pairs = length_sides(study, within=set(source))
        return draw_length_balanced(pairs.sides, seed=seed, size=study.sample_size)
    return None


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
        current[2 if system == study.sampling_baseline else 3].append(length)
    if current is not None:
        yield current

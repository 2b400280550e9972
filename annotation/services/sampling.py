"""The work of a study: its slice, or a sample of it, in the order in which it is given out.

The sample is seeded by the study's `sample_seed`, the order by its slug: two studies with one seed label the same
items, each in an order of its own. Ids are all that is held in memory.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from annotation.domain.sampling import (
    Drawn,
    draw_length_balanced,
    draw_stratified,
    interleave,
    sample_simple,
    shuffled,
)
from annotation.models import ItemSampling, Study
from annotation.selectors.slices import length_sides, study_slice


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
    if study.sampling == ItemSampling.RANDOM:
        size = study.sample_size or len(source)
        if study.balance_categories:
            # By id, not by the order of the source: a draw depends on the order that it is given.
            return draw_stratified(
                {name: sorted(pks) for name, pks in sorted(categories.items())}, size, seed=seed
            )
        return sample_simple(sorted(source), size, seed=seed)
    if study.sampling == ItemSampling.LENGTH_BALANCED:
        pairs = length_sides(study, within=set(source))
        return draw_length_balanced(pairs.sides, seed=seed, size=study.sample_size)
    return None

"""How much of each dataset there is: items, items with gold, labels, and whose they are.

A label of a study is counted where it is added up already: each place of a study knows how many count on it, each
person how many of theirs do. Imported labels change with the version of their dataset only, and are counted once for
each. So no page reads labels by the million to say how many there are.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from annotation.models import Annotator, Dataset, Enrollment, Item, Label, Study, StudyItem, User
from annotation.selectors.costly import counted_of_versions, forget_versions
from annotation.selectors.datasets import dataset_with_rights, datasets_visible_to, item_sizes
from annotation.selectors.overview import labels_visible_to, studies_visible_to
from annotation.selectors.rights import role_granted

IMPORTED = "imported-labels"


@dataclass(frozen=True, slots=True)
class KindItems:
    """How many items of a kind a dataset has, how many with gold, and how many with a label."""

    kind: str
    items: int
    gold: int
    labelled: int


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A dataset in a list, with the number of its items, of items with gold and of labels."""

    dataset: Dataset
    items: int
    gold: int
    labels: int
    studies: int
    kinds: tuple[KindItems, ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetLabels:
    """Labels that count, whose they are, how many of these annotators are simulated, and the items by kind."""

    labels: int
    annotators: int
    simulated: int
    kinds: tuple[KindItems, ...] = ()


@dataclass(slots=True)
class _Imported:
    """Of the labels of a dataset that belong to no study: how many on how many items, by kind, and of whom."""

    labels: int = 0
    items: dict[str, int] = field(default_factory=dict)
    annotators: set[int] = field(default_factory=set)


def dataset_list_for(user: User, among: Iterable[int] | None = None) -> list[DatasetRow]:
    """Datasets (or those of these primary keys) for a list, by name: nine queries at most, whatever their number."""
    visible = datasets_visible_to(user)
    if among is not None:
        visible = visible.filter(pk__in=list(among))
    visible = visible.select_related("owner").annotate(granted=role_granted(user, "dataset"))
    datasets = list(visible.order_by("name"))
    imported = _imported(datasets)
    places = _places(user, datasets)
    kinds = _kinds(user, datasets, imported, places)
    studies: dict[int, int] = dict(
        studies_visible_to(user).order_by().values_list("dataset").annotate(n=Count("pk"))
    )
    return [
        DatasetRow(
            dataset_with_rights(user, dataset),
            sum(one.items for one in kinds[dataset.pk]),
            sum(one.gold for one in kinds[dataset.pk]),
            imported[dataset.pk].labels + sum(one.labels for one in places[dataset.pk]),
            studies.get(dataset.pk, 0),
            tuple(kinds[dataset.pk]),
        )
        for dataset in datasets
    ]


def dataset_labels_for(user: User, dataset: Dataset) -> DatasetLabels:
    """How much of a dataset there is and is labelled, as far as they may see it; eight queries at most."""
    imported, places = _imported([dataset]), _places(user, [dataset])
    own = Enrollment.objects.filter(study__in=_studies(user, [dataset]), n_accepted__gt=0)
    whose = Q(pk__in=own.values("annotator")) | Q(pk__among=imported[dataset.pk].annotators)
    row = Annotator.objects.filter(whose).aggregate(
        annotators=Count("pk"), simulated=Count("pk", filter=Q(is_simulated=True))
    )
    return DatasetLabels(
        labels=imported[dataset.pk].labels + sum(one.labels for one in places[dataset.pk]),
        kinds=tuple(_kinds(user, [dataset], imported, places)[dataset.pk]),
        **row,
    )


def imported_labels_forget(datasets: Iterable[int]) -> None:
    """Count the imported labels of these datasets anew: some were deleted, without a new version."""
    forget_versions(Dataset.objects.filter(pk__in=list(datasets)), IMPORTED)


@dataclass(frozen=True, slots=True)
class _Places:
    """Of a study, of one kind: how many labels count, on how many items."""

    kind: str
    labels: int
    items: int


def _studies(user: User, datasets: Collection[Dataset]) -> QuerySet[Study]:
    return studies_visible_to(user).filter(dataset__in=[dataset.pk for dataset in datasets]).order_by()


def _places(user: User, datasets: Collection[Dataset]) -> dict[int, list[_Places]]:
    """By dataset, a row for each study that has labels. Two queries."""
    those = _studies(user, datasets).values_list("pk", "dataset", "kind")
    studies = {pk: (dataset, kind) for pk, dataset, kind in those}
    rows = StudyItem.objects.filter(study__in=studies, n_accepted__gt=0).order_by().values_list("study")
    found: dict[int, list[_Places]] = defaultdict(list)
    for study, labels, items in rows.annotate(labels=Sum("n_accepted"), items=Count("pk")):
        dataset, kind = studies[study]
        found[dataset].append(_Places(kind, labels, items))
    return found


def _imported(datasets: Collection[Dataset]) -> dict[int, _Imported]:
    """Three queries where the labels of any of these datasets are not counted yet, else none."""
    return counted_of_versions(datasets, IMPORTED, _imported_count)


def _imported_count(datasets: Collection[Dataset]) -> dict[int, _Imported]:
    found = {dataset.pk: _Imported() for dataset in datasets}
    # Most have none, which the index of first imported labels tells at once.
    first = Label.objects.filter(study=None, supersedes=None, item__dataset__in=found).order_by()
    some = list(first.values_list("item__dataset", flat=True).distinct())
    if not some:
        return found
    labels = Label.objects.current().filter(study=None, item__dataset__in=some).order_by()
    is_there = Q(item__until_version=None)
    by_kind = labels.values_list("item__dataset", "item__kind").annotate(
        n=Count("pk"), items=Count("item", distinct=True, filter=is_there)
    )
    for pk, kind, n, items in by_kind:
        found[pk].labels += n
        if items:
            found[pk].items[kind] = items
    for pk, annotator in labels.values_list("item__dataset", "annotator").distinct():
        found[pk].annotators.add(annotator)
    return found


def _kinds(
    user: User,
    datasets: Collection[Dataset],
    imported: dict[int, _Imported],
    places: dict[int, list[_Places]],
) -> dict[int, list[KindItems]]:
    """By dataset; one query at most, and another for datasets with labels from more than one place."""
    labelled: dict[int, Counter[str]] = {}
    several = []
    for dataset in datasets:
        mine = Counter(imported[dataset.pk].items)
        sources = Counter(mine.keys())
        for study in places[dataset.pk]:
            mine[study.kind] += study.items
            sources[study.kind] += 1
        labelled[dataset.pk] = mine
        # Of two studies, or of an earlier version, an item may be counted twice, or be gone.
        if any(n > 1 for n in sources.values()) or (dataset.version > 1 and places[dataset.pk]):
            several.append(dataset.pk)
    if several:
        labels = labels_visible_to(user).current().filter(item=OuterRef("pk"))
        once = Item.objects.current().filter(Exists(labels), dataset__in=several).order_by()
        for pk in several:
            labelled[pk].clear()
        for pk, kind, n in once.values_list("dataset", "kind").annotate(n=Count("pk")):
            labelled[pk][kind] = n
    return {
        pk: [KindItems(kind, n, n_gold, labelled[pk][kind]) for kind, (n, n_gold) in kinds.items()]
        for pk, kinds in item_sizes(datasets).items()
    }

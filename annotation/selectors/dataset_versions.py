"""What changed from one version of a dataset to another: items added, removed and changed, field by field."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from annotation.models import Dataset, DatasetVersion, Item, Study, User
from annotation.selectors.overview import labels_visible_to

LISTED = 200
"""Items that a comparison describes field by field at once."""
INSTRUCTION_FIELDS = ("text", "context", "conversation", "reference", "category", "subset")


@dataclass(frozen=True, slots=True)
class ItemFieldChange:
    """A field of an item in two versions; None where one of them lacks it."""

    field: str
    before: Any
    now: Any

    @property
    def words(self) -> tuple[str, str]:
        """Both as a page shows them: text as it is, anything else as JSON."""
        return _words(self.before), _words(self.now)


@dataclass(frozen=True, slots=True)
class ItemChange:
    """An item that differs: `kind` is "added", "removed" or "changed"; `n_labels` were given on it as it was before."""

    external_id: str
    kind: str
    fields: tuple[ItemFieldChange, ...] = ()
    n_labels: int = 0


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """How many items differ between two versions; `touched_labels` were given on items that changed or went."""

    before: int
    now: int
    added: int
    removed: int
    changed: int
    touched_labels: int


def versions_of(dataset: Dataset) -> list[DatasetVersion]:
    """The versions that are recorded, the latest first."""
    return list(dataset.versions.select_related("created_by").order_by("-number"))


def version_changes(dataset: Dataset, before: int, now: int, reader: User | None) -> VersionChanges:
    """Count what differs. The labels are those that this person may see; None: all."""
    old, new = _differing(dataset, before, now)
    names_before = set(old.values_list("external_id", flat=True))
    names_now = set(new.values_list("external_id", flat=True))
    touched = labels_visible_to(reader).standing().filter(item__in=old.values("pk")).count()
    both = len(names_before & names_now)
    return VersionChanges(before, now, len(names_now) - both, len(names_before) - both, both, touched)


def item_changes(
    dataset: Dataset, before: int, now: int, reader: User | None, *, first: int = 0, n: int = LISTED
) -> list[ItemChange]:
    """What differs in each item, by the id of the item, `n` items from the `first` one on."""
    old, new = _differing(dataset, before, now)
    names = sorted(
        set(old.values_list("external_id", flat=True)) | set(new.values_list("external_id", flat=True))
    )[first : first + n]
    was = _contents(old.filter(external_id__in=names))
    is_now = _contents(new.filter(external_id__in=names))
    labels = dict(
        labels_visible_to(reader)
        .standing()
        .filter(item__in=[pk for pk, _ in was.values()])
        .order_by()
        .values_list("item")
        .annotate(n=Count("pk"))
    )
    return [
        ItemChange(
            name,
            "added" if name not in was else "removed" if name not in is_now else "changed",
            tuple(_fields(was[name][1], is_now[name][1])) if name in was and name in is_now else (),
            labels.get(was[name][0], 0) if name in was else 0,
        )
        for name in names
    ]


def labels_touched(dataset: Dataset, reader: User | None) -> int:
    """How many labels were given on items that a later version changed or removed."""
    labels = labels_visible_to(reader).standing().filter(item__dataset=dataset)
    return labels.filter(item__until_version__isnull=False).count()


def study_lag(study: Study) -> int:
    """How many items that a study offers its dataset's current version has changed or removed."""
    held = study.study_items.filter(withdrawn_at=None, item__until_version__isnull=False)
    return held.count()


def _differing(dataset: Dataset, before: int, now: int) -> tuple[QuerySet[Item], QuerySet[Item]]:
    """Items of the first version that the second does not have as they are, and the other way round."""
    items = Item.objects.order_by().filter(dataset=dataset)
    gone = Q(until_version__isnull=False)
    if before <= now:
        return (
            items.of_version(before).filter(gone, until_version__lte=now),
            items.of_version(now).filter(since_version__gt=before),
        )
    old, new = _differing(dataset, now, before)
    return new, old


def _contents(items: QuerySet[Item]) -> dict[str, tuple[int, dict[str, Any]]]:
    """By id: the primary key, and what an item says, field by field."""
    rows = items.select_related("instruction").prefetch_related(
        "item_responses__response", "instruction__aspects__parent"
    )
    found = {}
    for item in rows:
        asked = item.instruction
        said: dict[str, Any] = {"kind": item.kind}
        said |= {
            "instruction" if name == "text" else name: getattr(asked, name) for name in INSTRUCTION_FIELDS
        }
        for place, link in enumerate(
            sorted(item.item_responses.all(), key=lambda one: one.position), start=1
        ):
            said[f"response_{place}"] = link.response.messages or link.response.text
            said[f"system_{place}"] = link.response.system
        for aspect in asked.aspects.all():
            said[f"aspects.{aspect.key}"] = aspect.text
        said |= {"gold": item.gold, "explanation": item.explanation, "metadata": item.metadata}
        found[item.external_id] = (item.pk, said)
    return found


def _words(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fields(before: dict[str, Any], now: dict[str, Any]) -> Iterator[ItemFieldChange]:
    names: Sequence[str] = list(dict.fromkeys([*before, *now]))
    for name in names:
        if before.get(name) != now.get(name):
            yield ItemFieldChange(name, before.get(name), now.get(name))

"""Items with all that belongs to them, as files have them: read a part at a time, so that memory does not grow."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import QuerySet

from annotation.domain.pseudonyms import pseudonym
from annotation.domain.scales import STANDARD
from annotation.models import Aspect, Criterion, Dataset, Item, ItemResponse
from annotation.models.work import LabelQuerySet
from annotation.peers.items import PeerItem, PeerLabel
from web.batches import batched

CHUNK = 500
TEXTS = ("text", "context", "conversation", "reference", "category", "subset", "metadata")


def items_whole(items: QuerySet[Item], labels: LabelQuerySet | None = None) -> Iterator[PeerItem]:
    """The items in the order of their source, with their texts; and with labels that count, if these are given."""
    fields = ("pk", "external_id", "kind", "gold", "explanation", "metadata", "instruction", "dataset")
    read = items.order_by("dataset_id", "position", "pk").values(
        *fields, "instruction__external_id", *(f"instruction__{name}" for name in TEXTS)
    )
    for rows in batched(read.iterator(chunk_size=CHUNK), CHUNK):
        pks = [row["pk"] for row in rows]
        responses = _responses(pks)
        aspects = _aspects({row["instruction"] for row in rows})
        said = _labels(labels, pks) if labels is not None else {}
        for row in rows:
            yield PeerItem(
                id=row["external_id"],
                kind=row["kind"],
                instruction_id=row["instruction__external_id"],
                instruction=row["instruction__text"],
                context=row["instruction__context"],
                conversation=row["instruction__conversation"],
                reference=row["instruction__reference"],
                category=row["instruction__category"],
                subset=row["instruction__subset"],
                gold=row["gold"],
                explanation=row["explanation"],
                metadata=row["metadata"],
                responses=tuple(responses.get(row["pk"], ())),
                aspects=tuple(aspects.get(row["instruction"], ())),
                labels=tuple(said.get(row["pk"], ())),
            )


def criteria_as_files(datasets: Iterable[Dataset | int]) -> list[dict[str, Any]]:
    """The criteria of datasets, as a file of items declares them."""
    rows = Criterion.objects.filter(dataset__in=list(datasets)).order_by("dataset_id", "position", "key")
    return [_criterion_as_file(row) for row in rows]


def _criterion_as_file(row: Criterion) -> dict[str, Any]:
    scale, declared = row.rated_on, {"key": row.key, "question": row.question, "options": row.options}
    if scale.numbers == STANDARD and len(scale.words) == scale.n_points:
        return declared
    said: dict[str, Any] = {"low": scale.low, "high": scale.high}
    if scale.step != 1:
        said["step"] = scale.step
    if scale.not_applicable:
        said["not_applicable"] = True
    return declared | {"scale": said}


def declared_as_files(datasets: Iterable[Dataset | int]) -> dict[str, Any]:
    """What a file of the items of datasets declares once: criteria, and how categories are used if all agree on it."""
    found: dict[str, Any] = {}
    keys = [one if isinstance(one, int) else one.pk for one in datasets]
    if criteria := criteria_as_files(keys):
        found["criteria"] = criteria
    schemes = [one.category_scheme for one in Dataset.objects.filter(pk__in=keys).exclude(categories={})]
    if schemes and len(set(schemes)) == 1:
        scheme = schemes[0]
        found["categories"] = {"level": scheme.level, "several": scheme.several, "list": list(scheme.order)}
    return found


def _responses(pks: list[int]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    links = ItemResponse.objects.filter(item__in=pks).order_by("item_id", "position")
    for item, system, text, messages in links.values_list(
        "item_id", "response__system", "response__text", "response__messages"
    ):
        said = {"messages": messages} if messages else {"text": text}
        found.setdefault(item, []).append({"system": system, **said})
    return found


def _aspects(instructions: set[int]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    rows = Aspect.objects.filter(instruction__in=instructions).order_by("instruction_id", "position")
    for instruction, key, text, parent, metadata in rows.values_list(
        "instruction", "key", "text", "parent__key", "metadata"
    ):
        aspect: dict[str, Any] = {"key": key, "text": text}
        if parent is not None:
            aspect["parent"] = parent
        if metadata:
            aspect["metadata"] = metadata
        found.setdefault(instruction, []).append(aspect)
    return found


def _labels(labels: LabelQuerySet, pks: list[int]) -> dict[int, list[PeerLabel]]:
    found: dict[int, list[PeerLabel]] = {}
    rows = labels.current().filter(item__in=pks).order_by("item_id", "pk")
    for item, dataset, study, public_id, simulated, value, made, active_ms in rows.values_list(
        "item_id", "item__dataset_id", "study_id", "annotator__public_id", "annotator__is_simulated",
        "value", "created_at", "active_ms",
    ):  # fmt: skip
        name = str(pseudonym(public_id, study=study, dataset=dataset))
        found.setdefault(item, []).append(PeerLabel(name, value, simulated, made, active_ms))
    return found

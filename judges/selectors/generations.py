"""What contestants answered."""

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.models.functions import Left, Length

from annotation.models import Dataset
from annotation.selectors.datasets import datasets_by_name
from judges.models import Generation, Judge, ParseStatus

PAGE = 50
EXCERPT = 400
"""Characters of a text that the list reads."""


@dataclass(frozen=True, slots=True)
class GenerationFilter:
    """Which generations are wanted; what is empty does not matter."""

    contestant_id: int | None = None
    dataset_id: int | None = None
    status: str = ""


@dataclass(frozen=True, slots=True)
class GenerationPage:
    """Rows with `excerpt`, `asked` (excerpts of the texts) and `n_chars`; `newer` and `older` are primary keys."""

    rows: tuple[Generation, ...]
    newer: int | None
    older: int | None


def generations_page(
    filters: GenerationFilter, *, before: int | None = None, after: int | None = None, size: int = PAGE
) -> GenerationPage:
    """Return a page of generations, the latest first; one query, and nothing is counted."""
    rows = Generation.objects.select_related("contestant", "instruction__dataset").only(
        "contestant__name", "instruction__external_id", "instruction__category",
        "instruction__dataset__name", "sample", "status", "finish_reason", "cost", "latency_ms", "created_at",
    )  # fmt: skip
    rows = rows.annotate(
        excerpt=Left("text", EXCERPT), asked=Left("instruction__text", EXCERPT), n_chars=Length("text")
    )
    if filters.contestant_id is not None:
        rows = rows.filter(contestant_id=filters.contestant_id)
    if filters.dataset_id is not None:
        rows = rows.filter(instruction__dataset_id=filters.dataset_id)
    if filters.status:
        rows = rows.filter(status=filters.status)
    if after is not None:
        found = list(rows.filter(pk__gt=after).order_by("pk")[: size + 1])
        shown = tuple(found[:size][::-1])
        return GenerationPage(
            shown,
            shown[0].pk if len(found) > size and shown else None,
            shown[-1].pk if shown else None,
        )
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows.order_by("-pk")[: size + 1])
    shown = tuple(found[:size])
    return GenerationPage(
        shown,
        shown[0].pk if before is not None and shown else None,
        shown[-1].pk if len(found) > size else None,
    )


def contestants_with_generations(dataset_id: int | None = None) -> QuerySet[Judge]:
    """Return the judges that have answered something, or something of a dataset, by name."""
    made = Generation.objects.filter(contestant=OuterRef("pk"))
    if dataset_id is not None:
        made = made.filter(instruction__dataset_id=dataset_id)
    return Judge.objects.filter(Exists(made)).order_by("name")


def datasets_with_generations() -> QuerySet[Dataset]:
    """Return the datasets with an answered instruction, by name."""
    made = Generation.objects.filter(instruction__dataset=OuterRef("pk"))
    return datasets_by_name().filter(Exists(made))


def generation_counts(dataset_id: int) -> dict[int, tuple[int, int]]:
    """Of each contestant: instructions of the dataset that it answered, and most samples of one; one query."""
    rows = (
        Generation.objects.filter(instruction__dataset_id=dataset_id, status=ParseStatus.PARSED)
        .order_by()
        .values_list("contestant_id")
        .annotate(n=Count("instruction", distinct=True), samples=Count("sample", distinct=True))
    )
    return {contestant: (n, samples) for contestant, n, samples in rows}

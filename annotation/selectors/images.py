"""Images of datasets: who may see one. Permission lives in the fetch."""

from collections.abc import Collection, Mapping

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q

from annotation.domain.images import DIGEST, SCHEME
from annotation.models import Dataset, DatasetImage, Enrollment, Item, User
from annotation.selectors.datasets import datasets_visible_to

_DATASETS = (
    "dataset",
    "training_dataset",
    "qualification_dataset",
    "check_dataset",
    "qualification_from__dataset",
)
"""Where the items of a study come from."""


def image_get_for(user: User | AnonymousUser, held: Mapping[str, str], digest: str) -> DatasetImage:
    """The image of a digest in a dataset that this person may see, or whose items a study of theirs has.

    Parameters
    ----------
    held
        The enrollments of this browser: slug of a study to the person's token.

    Raises
    ------
    DatasetImage.DoesNotExist
        There is none, for them.
    """
    if not DIGEST.fullmatch(digest):
        raise DatasetImage.DoesNotExist
    there = DatasetImage.objects.filter(digest=digest)
    allowed = Q()
    if isinstance(user, User):
        allowed |= Q(dataset__in=datasets_visible_to(user))
    if held:
        mine = Enrollment.objects.filter(resume_token__in=list(held.values()), study__slug__in=list(held))
        for name in _DATASETS:
            allowed |= Q(dataset__in=mine.values(f"study__{name}"))
    found = there.filter(allowed).first() if allowed else None
    if found is None:
        raise DatasetImage.DoesNotExist
    return found


def datasets_with_images(among: Collection[int]) -> set[int]:
    """Those of the datasets whose texts show images."""
    return set(DatasetImage.objects.filter(dataset__in=among).values_list("dataset_id", flat=True).distinct())


def first_item_with_image(dataset: Dataset) -> str:
    """The id of the first item of a dataset whose instruction or responses show an image; empty where none does."""
    shown = Q()
    for field in ("text", "context", "reference"):
        shown |= Q(**{f"instruction__{field}__contains": f"]({SCHEME}"})
    shown |= Q(instruction__conversation__icontains=f"]({SCHEME}") | Q(
        responses__text__contains=f"]({SCHEME}"
    )
    found = (
        Item.objects.current().filter(shown, dataset=dataset).order_by("position").values_list("external_id")
    )
    return next((name for (name,) in found[:1]), "")

"""Which dimensions labels of pairs speak of beside the overall one, and what they are called."""

from collections.abc import Mapping

from annotation.kinds import kinds_with
from annotation.kinds.dimensions import RULE, Dimension, said_on
from annotation.kinds.values import spoken
from annotation.models import Dataset, Study, User
from annotation.models.work import LabelQuerySet
from annotation.selectors.overview import studies_visible_to

MOST_LOOKED_AT = 500
"""Imported labels that are looked at for the keys of theirs."""


def dimensions_asked(labels: LabelQuerySet) -> dict[str, Dimension]:
    """The dimensions beside the overall one that the studies of these labels ask for, by key; one query."""
    studies = labels.filter(kind__in=kinds_with(RULE)).order_by().values("study")
    found: dict[str, Dimension] = {}
    for study in Study.objects.filter(pk__in=studies).order_by("pk"):
        for each in study.dimensions_asked:
            if not each.overall:
                found.setdefault(each.key, each)
    return found


def dimensions_of_studies(dataset: Dataset, reader: User | None = None) -> dict[str, str]:
    """Key to name of each dimension that the studies of a dataset ask for, of those that this person may see; one
    query.
    """
    studies = Study.objects.all() if reader is None else studies_visible_to(reader)
    found: dict[str, str] = {}
    for study in studies.filter(dataset=dataset).exclude(dimensions=[]).order_by("pk"):
        for each in study.dimensions_asked:
            if not each.overall:
                found.setdefault(each.key, each.name)
    return found


def dimensions_said(labels: LabelQuerySet, study: Study | None = None) -> dict[str, str]:
    """Key to name of each dimension that these labels may speak of: of one study those that it asks for, else of all
    studies, and of imported labels those that the first ones have, named after their keys. Two queries at most.
    """
    if study is not None:
        return {each.key: each.name for each in study.dimensions_asked if not each.overall}
    found = {key: each.name for key, each in dimensions_asked(labels).items()}
    imported = labels.filter(study=None, kind__in=kinds_with(RULE), value__has_key=RULE).order_by("pk")
    for value in imported.values_list("value", flat=True)[:MOST_LOOKED_AT]:
        _add(found, value)
    return found


def _add(found: dict[str, str], value: Mapping[str, object]) -> None:
    for key in said_on(value):
        found.setdefault(key, spoken(key))

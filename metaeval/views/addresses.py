"""Addresses of the pages of a comparison: those of a sweep, or of all judgments of a dataset."""

from __future__ import annotations

from django.urls import reverse

from metaeval.selectors.sweeps import SweepView


def source_url(source: SweepView, name: str, *args: object) -> str:
    """The page `name` of what is compared: ``comparison``, ``decision``, ``label-next`` and what belongs to them."""
    if source.pk is None:
        return reverse(f"metaeval:dataset-{name}", args=[source.datasets[0].name, *args])
    return reverse(f"metaeval:{name}", args=[source.pk, *args])


def source_slug(source: SweepView) -> str:
    """What tells the files of one source from those of another, in their names."""
    return "all-judgments" if source.pk is None else f"sweep-{source.pk}"

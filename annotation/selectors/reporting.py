"""What a report needs to know beside items and labels: the study it is about."""

from __future__ import annotations

from annotation.models import Study


def study_find(slug: str) -> Study | None:
    """The study of this slug with its dataset, or None."""
    return Study.objects.select_related("dataset").filter(slug=slug).first()


def study_named(slug: str) -> Study:
    """The study of this slug for a command; `LookupError` says which there are."""
    study = study_find(slug)
    if study is None:
        known = ", ".join(study_slugs()[:10]) or "none yet"
        raise LookupError(f"There is no study {slug!r}; there is: {known}.")
    return study


def study_slugs() -> list[str]:
    """All slugs, for telling which names are near."""
    return list(Study.objects.order_by("slug").values_list("slug", flat=True))

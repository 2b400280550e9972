"""The language that a person has chosen, kept with the person: it is theirs on every device."""

from collections.abc import Iterable

from annotation.models import Annotator


def language_of_annotator_keep(*, annotator: Annotator, code: str) -> None:
    """Keep it for one person."""
    annotator.language = code
    annotator.save(update_fields=["language"])


def language_of_browser_keep(*, tokens: Iterable[str], code: str) -> None:
    """Keep it for the people of these personal links, which one browser holds."""
    if held := list(tokens):
        Annotator.objects.filter(enrollments__resume_token__in=held).update(language=code)

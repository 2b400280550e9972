"""Reading preregistrations, each only for who registered it and for administrators."""

from __future__ import annotations

import re

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from annotation.models import User
from annotation.selectors.datasets import datasets_visible_to
from metaeval.models import Preregistration
from metaeval.reports.errors import UnknownNameError

_HASH = re.compile("[0-9a-fA-F]{8,64}")


def preregistrations_visible_to(user: User) -> QuerySet[Preregistration]:
    """Their own, of datasets that they may see; administrators: all.

    A plan rests on labels of whoever made it, which are no other researcher's to see.
    """
    found = Preregistration.objects.filter(dataset__in=datasets_visible_to(user))
    return found if user.is_administrator else found.filter(created_by=user)


def preregistration_named(sha256: str) -> Preregistration | None:
    """The one whose hash begins so, for administrators at a shell; None where nothing was named.

    Raises
    ------
    UnknownNameError
        There is none, or more than one, or fewer than eight characters were given.
    """
    if not sha256:
        return None
    rows = Preregistration.objects.filter(sha256__startswith=sha256.lower())
    found = list(rows[:2]) if _HASH.fullmatch(sha256) else []
    if len(found) != 1:
        why = "More than one preregistration has" if found else "There is no preregistration with"
        raise UnknownNameError(f"preregistration: {why} a SHA-256 that begins with {sha256[:64]!r}.")
    return found[0]


def preregistration_get_for(user: User, pk: int) -> Preregistration:
    """One that this person may see; else Http404."""
    visible = preregistrations_visible_to(user).select_related("dataset", "created_by")
    return get_object_or_404(visible, pk=pk)

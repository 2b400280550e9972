"""Reading preregistrations, each only for who registered it and for administrators."""

from __future__ import annotations

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from annotation.models import User
from annotation.selectors.datasets import datasets_visible_to
from metaeval.models import Preregistration


def preregistrations_visible_to(user: User) -> QuerySet[Preregistration]:
    """Their own, of datasets that they may see; administrators: all.

    A plan rests on labels of whoever made it, which are no other researcher's to see.
    """
    found = Preregistration.objects.filter(dataset__in=datasets_visible_to(user))
    return found if user.is_administrator else found.filter(created_by=user)


def preregistration_get_for(user: User, pk: int) -> Preregistration:
    """One that this person may see; else Http404."""
    visible = preregistrations_visible_to(user).select_related("dataset", "created_by")
    return get_object_or_404(visible, pk=pk)

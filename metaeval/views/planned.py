"""The preregistration that a comparison or a decision names in its address."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import Http404

from annotation.models import Dataset
from metaeval.models import Preregistration
from metaeval.selectors.preregistrations import preregistration_get_for, preregistrations_visible_to
from web.access import ResearcherRequest

PLANS_OFFERED = 50
_LONGEST = 18


def plan_named(request: ResearcherRequest) -> Preregistration | None:
    """The one that the address names as ``plan``; Http404 where this person has no such."""
    given = request.GET.get("plan", "")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) <= _LONGEST):
        raise Http404("There is no such preregistration.")
    return preregistration_get_for(request.user, int(given))


def plans_context(
    request: ResearcherRequest, datasets: Iterable[Dataset], named: Preregistration | None
) -> dict[str, Any]:
    """What a form offers: the person's preregistrations of these datasets, and the one that is named."""
    found = preregistrations_visible_to(request.user).filter(dataset__in=[row.pk for row in datasets])
    plans = list(found.only("pk", "title", "sha256")[:PLANS_OFFERED])
    if named is not None and named not in plans:
        plans.append(named)
    return {"plans": plans, "plan_named": named}

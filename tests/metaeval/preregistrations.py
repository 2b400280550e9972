"""Rows of plans for tests."""

from typing import Any

from annotation.kinds import DEFAULT_KIND
from annotation.models import Dataset, User
from metaeval.models import Preregistration
from metaeval.planning_forms import PlanForm
from metaeval.reports.planning import plan_page
from metaeval.services.preregistrations import preregister


def preregistered(*, dataset: Dataset, user: User, **given: Any) -> Preregistration:
    """The cheapest design of a plan from guesses, or its first."""
    said = {
        "title": "Is the judge as good as people?",
        "question": "May the judge label in place of people?",
        "epsilon": 0.1,
        "stopping": "fixed",
        "notes": "",
    }
    said |= {name: given.pop(name) for name in list(given) if name in said}
    form = PlanForm(given, kind=given.get("kind", DEFAULT_KIND))
    assert form.is_valid(), form.errors
    page = plan_page(form.model(), form.asked())
    row = page.best or page.rows[0]
    return preregister(
        user=user,
        dataset=dataset,
        asked=page.asked,
        row=row,
        model=form.model(),
        pilot=form.pilot_words,
        **said,
    )

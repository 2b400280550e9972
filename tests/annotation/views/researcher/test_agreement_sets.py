"""The page of a study that asks for response sets shows what they say of human annotators, as its report does."""

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Kind, Label
from annotation.selectors.agreement import agreement_so_far
from metaeval.services.reports import report_build
from tests.annotation.cast import client_of
from tests.annotation.factories import annotator_make
from tests.annotation.kinds import kind_study_make
from tests.metaeval.kinds import value_of

pytestmark = pytest.mark.django_db
KINDS = (Kind.PAIRWISE, Kind.RUBRIC, Kind.CLASSIFICATION)
NAMES = ("set_coverage", "set_hit_rate", "set_size", "set_several")


def with_set(kind, value, *, more):
    """The value with its response set: its own answer, and another if `more`."""
    if kind == Kind.PAIRWISE:
        own = {str(value["choice"])} | ({"1"} if more else set())
        return value | {"reasonable": sorted(own, key="102".index)}
    if kind == Kind.RUBRIC:
        also = {3} if more else set()
        return value | {"reasonable": {key: sorted({said} | also) for key, said in value["ratings"].items()}}
    names = list(value["categories"])
    return value | {
        "reasonable": [one for one in names if value["categories"][one] or (more and one == names[1])]
    }


def study_of(kind, *, response_sets, owner):
    """Three people label each item; the second finds more than their own answer reasonable."""
    study = kind_study_make(kind, items=4, response_sets=response_sets, owner=owner)
    people = [annotator_make() for _ in range(3)]
    for k, item in enumerate(study.dataset.items.order_by("position")):
        for place, person in enumerate(people):
            n = k + place
            value = {"choice": n % 2 + 1} if kind == Kind.PAIRWISE else value_of(kind, n)
            if response_sets:
                value = with_set(kind, value, more=place == 1)
            fields = {"value": value, "choice": value.get("choice")}
            Label.objects.create(item=item, annotator=person, study=study, kind=kind, **fields)
    return study


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_those_of_the_report(kind, cast):
    study = study_of(kind, response_sets=True, owner=cast.alice)
    report = report_build(dataset=study.dataset, kind=kind, study=study, n_resamples=0)
    found = agreement_so_far(study)
    for name in NAMES:
        assert found.overall(name)["value"] == report.people.measures[name]["overall"]["value"], name
    assert found.overall("set_size")["value"] > 1
    text = client_of(cast.alice).get(reverse("annotation:study-detail", args=[study.slug])).content.decode()
    assert '<h3 id="h-agreement-response-sets">Response sets</h3>' in text
    for label in ("Response-set coverage", "Response-set hit rate", "Answers in a response set"):
        assert f"<dt>{label}</dt>" in text
    assert "has=set" in text
    assert "Coverage</th>" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_no_query_more_than_without(kind, cast):
    numbers = []
    for response_sets in (False, True):
        study = study_of(kind, response_sets=response_sets, owner=cast.alice)
        alice = client_of(cast.alice)
        cache.clear()
        with CaptureQueriesContext(connection) as context:
            text = alice.get(reverse("annotation:study-detail", args=[study.slug])).content.decode()
        numbers.append(len(context))
        assert ("Response sets</h3>" in text) == response_sets
    assert numbers[0] == numbers[1]

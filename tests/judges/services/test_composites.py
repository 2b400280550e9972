"""Composites that are found rather than written: made once, under a name that is free, or not at all."""

import pytest
from django.core.exceptions import ValidationError

from judges.models import Judge
from judges.services.composites import composite_ensure
from tests.judges.props import endpoint_make, judge_make
from tests.metaeval.rows import judge_make as imported_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def judges():
    endpoint = endpoint_make()
    return judge_make(endpoint, "one", name="One"), judge_make(endpoint, "two", name="Two")


def test_the_same_parts_are_one_judge(judges):
    first, second = judges
    made = composite_ensure(name="Found", by="subset", parts={"a/b": second}, others=first)
    assert {row.key: row.member for row in made.memberships.all()} == {"a/b": second, "*": first}
    assert composite_ensure(name="Other", by="subset", parts={"a/b": second}, others=first) == made
    other = composite_ensure(name="Found", by="category", parts={"a/b": second}, others=first)
    assert (made.name, other.name) == ("Found", "Found (2)")


def test_parts_that_cannot_be_one_judge_are_refused(judges):
    first, second = judges
    ranking = judge_make(endpoint_make(), "m", strategy="loglikelihood_ranking")
    for parts, message in (
        ({"x": ranking}, "different kinds"),
        ({"x" * 120: second}, "at most 100"),
        ({"x//y": second}, "on each side"),
        ({"x": imported_make("Imported", strategy="imported", backend="imported")}, "members"),
    ):
        with pytest.raises(ValidationError, match=message):
            composite_ensure(name="No", by="category", parts=parts, others=first)
    with pytest.raises(ValidationError, match="params"):
        composite_ensure(name="No", by="language", parts={"x": second}, others=first)
    assert not Judge.objects.filter(strategy="composite").exists()


def test_a_long_name_is_cut(judges):
    first, second = judges
    made = composite_ensure(name="n" * 300, by="category", parts={"x": second}, others=first)
    assert made.name == "n" * 180

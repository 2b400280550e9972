"""A person at work in a study of three pairs, with their browser and their first lease."""

import pytest
from django.test import Client

from annotation.models import Assignment, Enrollment, Study
from annotation.services.assignments import assignment_claim
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.visits import client_of


@pytest.fixture
def study(db: None) -> Study:
    return study_make(pairs=3, overlap=2)


@pytest.fixture
def person(study: Study) -> Enrollment:
    return enrollment_make(study=study)


@pytest.fixture
def browser(person: Enrollment) -> Client:
    return client_of(person)


@pytest.fixture
def lease(person: Enrollment) -> Assignment:
    person = Enrollment.objects.select_related("study", "annotator").get(pk=person.pk)
    lease = assignment_claim(enrollment=person)
    assert lease is not None
    return lease

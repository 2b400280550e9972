"""The way back to the platform, by how the person's way ended."""

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Enrollment, Stage
from annotation.services.entry import return_url
from tests.annotation.entry.props import arrive, link_make, person_of
from tests.annotation.factories import enrollment_make, study_make

pytestmark = pytest.mark.django_db
COMPLETE = "https://app.prolific.com/submissions/complete?cc="


@pytest.mark.parametrize(
    ("stage", "code", "address"),
    [
        (Stage.DONE, "TS-1", f"{COMPLETE}CDONE"),
        (Stage.DONE, "", None),  # nothing was answered
        (Stage.SCREENED_OUT, "TS-1", f"{COMPLETE}CSCREEN"),
        (Stage.DECLINED, "", f"{COMPLETE}CNO"),
        (Stage.LEFT, "TS-1", None),
        (Stage.WORK, "", None),
    ],
)
def test_each_outcome_has_its_code(stage, code, address):
    link = link_make(study_make())
    person = enrollment_make(study=link.study, platform_link=link, stage=stage, completion_code=code)
    assert return_url(person) == address


def test_without_a_code_of_the_link_the_persons_own_leads_back():
    link = link_make(study_make(), completed_code="", screened_out_code="")
    person = enrollment_make(study=link.study, platform_link=link, stage=Stage.DONE, completion_code="TS-1")
    assert return_url(person) == f"{COMPLETE}TS-1"
    person.stage = Stage.SCREENED_OUT
    assert return_url(person) is None


def test_who_came_by_another_door_goes_nowhere():
    person = enrollment_make(study=study_make(), stage=Stage.DONE, completion_code="TS-1")
    assert return_url(person) is None


@pytest.mark.parametrize(
    ("stage", "code"), [(Stage.DONE, "CDONE"), (Stage.SCREENED_OUT, "CSCREEN"), (Stage.DECLINED, "CNO")]
)
def test_the_last_page_shows_the_way_back(stage, code):
    link, client = link_make(study_make()), Client()
    arrive(client, link)
    Enrollment.objects.update(stage=stage, completion_code="TS-OWN", screened_out_by="eligibility")
    assert person_of(link).stage == stage
    page = client.get(reverse("annotation:place", args=[link.study.slug]), follow=True).content.decode()
    assert f'href="{COMPLETE}{code}"' in page
    assert "Return to Prolific" in page
    if stage == Stage.DONE:
        assert "TS-OWN" not in page  # one code, and not two

"""The one way into a study: who is let in, once, whatever the door."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.domain.errors import EntryRefusedError
from annotation.models import (
    Enrollment,
    Stage,
    Study,
)
from annotation.services.enrollment import (
    consent_give,
    enrollment_decline,
    enrollment_start,
    entry_refusal,
    guidelines_acknowledge,
    invitation_refusal,
)
from tests.annotation.factories import annotator_make, enrollment_make, invitation_make, study_make
from tests.annotation.work import fresh
from tests.races import all_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

NATIVE = {
    "key": "native",
    "question": "Is English your first language?",
    "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
}
DEGREE = {
    "key": "degree",
    "question": "What is your highest degree?",
    "options": [
        {"text": "None", "eligible": False},
        {"text": "Bachelor", "eligible": True},
        {"text": "Doctorate", "eligible": True},
    ],
}


class TestStart:
    def test_all_that_is_known_is_kept(self):
        study, annotator = study_make(), annotator_make()
        person = enrollment_start(
            study=study,
            annotator=annotator,
            platform_session="s1",
            platform_data={"age": "30"},
            device="d",
        )
        assert (person.platform_session, person.platform_data, person.device) == ("s1", {"age": "30"}, "d")
        assert (person.stage, len(person.resume_token) >= 32) == (Stage.CONSENT, True)
        again = enrollment_start(study=study, annotator=annotator, platform_session="s2", device="other")
        assert (again.pk, again.platform_session) == (person.pk, "s1")

    def test_who_is_in_it_stays_when_it_is_closed_or_full(self):
        study, annotator = study_make(max_annotators=1), annotator_make()
        person = enrollment_start(study=study, annotator=annotator)
        Study.objects.filter(pk=study.pk).update(state="closed")
        assert enrollment_start(study=study, annotator=annotator) == person

    @pytest.mark.parametrize(
        ("rules", "reason"),
        [
            ({"state": "draft"}, "draft"),
            ({"state": "paused"}, "paused"),
            ({"state": "closed"}, "closed"),
            ({"closes_at": timezone.now() - timedelta(seconds=1)}, "closed"),
            ({"max_annotators": 1}, "full"),
        ],
    )
    def test_refusals(self, rules, reason):
        study = study_make(**rules)
        enrollment_make(study=study)
        with pytest.raises(EntryRefusedError) as caught:
            enrollment_start(study=study, annotator=annotator_make())
        assert caught.value.reason == reason
        assert Enrollment.objects.count() == 1

    @pytest.mark.parametrize("stage", [Stage.DECLINED, Stage.LEFT])
    def test_who_has_gone_leaves_their_place(self, stage):
        study = study_make(max_annotators=1)
        enrollment_make(study=study, stage=stage)
        assert enrollment_start(study=study, annotator=annotator_make())

    def test_one_person_a_browser(self):
        study, other = study_make(), study_make()
        enrollment_make(study=study, device="d")
        with pytest.raises(EntryRefusedError) as caught:
            enrollment_start(study=study, annotator=annotator_make(), device="d")
        assert caught.value.reason == "device"
        assert enrollment_start(study=other, annotator=annotator_make(), device="d")
        Study.objects.filter(pk=study.pk).update(one_per_device=False)
        assert enrollment_start(study=study, annotator=annotator_make(), device="d")

    def test_no_mark_is_nobodys(self):
        study = study_make()
        for _ in range(2):
            enrollment_start(study=study, annotator=annotator_make(), device="")
        assert Enrollment.objects.count() == 2

    def test_who_declined_begins_again_in_their_own(self):
        study, annotator = study_make(max_annotators=1), annotator_make()
        person = enrollment_start(study=study, annotator=annotator, device="d")
        enrollment_decline(enrollment=person)
        again = enrollment_start(study=study, annotator=annotator, device="d")
        assert (again.pk, again.stage) == (person.pk, Stage.CONSENT)

    def test_guidelines_that_were_read_are_remembered_by_version(self):
        study = study_make(guidelines_version=2)
        person = enrollment_make(study=study, stage=Stage.GUIDELINES)
        guidelines_acknowledge(enrollment=person)
        assert fresh(person).guidelines_read_version == 2
        Study.objects.filter(pk=study.pk).update(guidelines_version=3)
        guidelines_acknowledge(enrollment=fresh(person))
        first = fresh(person)
        guidelines_acknowledge(enrollment=first)
        assert (first.guidelines_read_version, first.stage) == (3, Stage.WORK)
        assert fresh(person).guidelines_read_at == first.guidelines_read_at

    def test_consent_leads_to_the_questions(self):
        person = enrollment_make(study=study_make(eligibility=[NATIVE]), stage=Stage.CONSENT)
        consent_give(enrollment=person)
        assert fresh(person).stage == Stage.ELIGIBILITY


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def starts(self, study, **fields):
        def start(_):
            try:
                return enrollment_start(study=study, annotator=annotator_make(), **fields).pk
            except EntryRefusedError as refused:
                return refused.reason

        return all_at_once(start, list(range(8)))

    def test_places_over_all_doors(self):
        study = study_make(max_annotators=3)
        assert self.starts(study).count("full") == 5

    def test_one_browser(self):
        assert self.starts(study_make(), device="d").count("device") == 7

    def test_one_annotator_is_one_enrollment(self):
        study, annotator = study_make(), annotator_make()
        pks = all_at_once(lambda _: enrollment_start(study=study, annotator=annotator).pk, list(range(8)))
        assert len(set(pks)) == 1


@pytest.mark.parametrize("stage", [Stage.DECLINED, Stage.SCREENED_OUT, Stage.LEFT])
def test_who_does_not_take_part_has_no_place(stage):
    study = study_make(pairs=1, max_annotators=1)
    invitation = invitation_make(study=study, max_annotators=1)
    enrollment_make(study=study, stage=stage, invitation=invitation)
    assert entry_refusal(study=study) is None
    assert invitation_refusal(invitation) is None
    enrollment_make(study=study, stage=Stage.WORK, invitation=invitation)
    assert entry_refusal(study=study) == "full"
    assert invitation_refusal(invitation) == "full"

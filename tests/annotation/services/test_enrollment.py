"""The way in and the steps, as services: forward only, and the same when called twice."""

from datetime import timedelta
from hashlib import sha256

import pytest
from django.utils import timezone

from annotation.domain.errors import (
    EntryRefusedError,
    LabelValueError,
    StageError,
    StudyRuleError,
)
from annotation.models import Annotator, Assignment, Enrollment, QualificationAnswer, Stage, StudyState
from annotation.selectors.steps import question_next
from annotation.services.assignments import assignment_claim, assignment_submit
from annotation.services.consent import consent_fingerprint
from annotation.services.enrollment import (
    code_make,
    consent_give,
    enrollment_decline,
    enrollment_finish,
    enrollment_join,
    guidelines_acknowledge,
    invitation_refusal,
)
from annotation.services.qualification import qualification_answer
from annotation.services.studies import (
    invitation_create,
    invitation_revoke,
    study_close,
    study_create,
    study_open,
    study_pause,
    study_update,
)
from tests.annotation.factories import dataset_make, enrollment_make, invitation_make, study_make
from tests.annotation.work import fresh

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
class TestJoin:
    def test_makes_a_person_at_the_first_step(self):
        enrollment = enrollment_join(invitation=invitation_make(study=study_make()))
        assert enrollment.stage == Stage.CONSENT
        assert enrollment.annotator.source == "invitation"
        assert len(enrollment.resume_token) >= 32

    @pytest.mark.parametrize(
        ("rules", "stage"),
        [
            ({"consent": " "}, Stage.GUIDELINES),
            ({"consent": "", "guidelines": "", "qualification": 1}, Stage.QUALIFICATION),
            ({"consent": "", "guidelines": ""}, Stage.WORK),
        ],
    )
    def test_steps_that_a_study_lacks_are_skipped(self, rules, stage):
        assert enrollment_join(invitation=invitation_make(study=study_make(**rules))).stage == stage

    def test_the_same_visit_is_the_same_person(self):
        invitation = invitation_make(study=study_make(), max_annotators=1)
        first = enrollment_join(invitation=invitation, visit="v")
        assert enrollment_join(invitation=invitation, visit="v") == first
        assert Annotator.objects.count() == 1

    def test_refusals(self):
        study, now = study_make(), timezone.now()
        cases = {
            "revoked": invitation_make(study=study, revoked_at=now),
            "expired": invitation_make(study=study, expires_at=now - timedelta(seconds=1)),
            "full": invitation_make(study=study, max_annotators=0),
        }
        for reason, invitation in cases.items():
            with pytest.raises(EntryRefusedError) as caught:
                enrollment_join(invitation=invitation)
            assert caught.value.reason == reason
        assert not Enrollment.objects.exists()

    def test_who_declines_leaves_their_place(self):
        invitation = invitation_make(study=study_make(), max_annotators=1)
        enrollment_decline(enrollment=enrollment_join(invitation=invitation))
        assert invitation_refusal(invitation) is None
        enrollment_join(invitation=invitation)
        assert invitation_refusal(invitation) == "full"

    @pytest.mark.parametrize("state", [StudyState.DRAFT, StudyState.PAUSED, StudyState.CLOSED])
    def test_only_into_an_open_study(self, state):
        with pytest.raises(EntryRefusedError):
            enrollment_join(invitation=invitation_make(study=study_make(state=state)))


class TestSteps:
    def test_consent_records_what_was_agreed_to_and_when_once(self):
        study = study_make(consent="Ja?")
        person = enrollment_make(study=study, stage=Stage.CONSENT)
        first = timezone.now()
        assert consent_give(enrollment=person, fingerprint=consent_fingerprint(study), now=first)
        assert consent_give(enrollment=person, now=first + timedelta(hours=1))
        person = fresh(person)
        assert person.stage == Stage.GUIDELINES
        assert person.consented_at == first
        assert person.consent_sha256 == sha256(b"Ja?").hexdigest()

    def test_consent_to_another_text_is_no_consent(self):
        person = enrollment_make(study=study_make(), stage=Stage.CONSENT)
        assert not consent_give(enrollment=person, fingerprint="0" * 64)
        assert fresh(person).stage == Stage.CONSENT

    def test_no_step_goes_backward(self):
        person = enrollment_make(study=study_make(), stage=Stage.WORK)
        consent_give(enrollment=person)
        guidelines_acknowledge(enrollment=person)
        enrollment_decline(enrollment=person)
        assert fresh(person).stage == Stage.WORK

    def test_guidelines_lead_to_the_test_or_the_work(self):
        for qualification, stage in ((0, Stage.WORK), (1, Stage.QUALIFICATION)):
            study = study_make(qualification=qualification)
            person = enrollment_make(study=study, stage=Stage.GUIDELINES)
            guidelines_acknowledge(enrollment=person)
            assert fresh(person).stage == stage

    @pytest.mark.both_databases
    def test_finish_gives_the_lease_back_and_makes_one_code(self):
        study = study_make()
        person = enrollment_make(study=study)
        lease = assignment_claim(enrollment=fresh(person))
        assignment_submit(assignment=lease, shown_value={"choice": 1})
        assignment_claim(enrollment=fresh(person))
        done = enrollment_finish(enrollment=person)
        again = enrollment_finish(enrollment=person)
        assert done.stage == Stage.DONE
        assert done.completion_code == again.completion_code != ""
        assert sum(study.study_items.values_list("n_open", flat=True)) == 0

    @pytest.mark.both_databases
    def test_finish_during_a_hidden_check_gives_back_no_place(self):
        study = study_make(pairs=1)
        place = study.study_items.get()
        study.study_items.update(role="check", overlap=0)
        person, now = enrollment_make(study=study), timezone.now()
        Assignment.objects.create(
            study_item=place,
            enrollment=person,
            role="check",
            shown_order=[0, 1],
            leased_at=now,
            expires_at=now + timedelta(hours=1),
        )
        assert enrollment_finish(enrollment=person).stage == Stage.DONE
        assert study.study_items.get().n_open == 0
        assert Assignment.objects.get().state == "expired"

    def test_who_is_suspended_does_not_finish(self):
        person = enrollment_make(study=study_make(), suspended_at=timezone.now())
        assert enrollment_finish(enrollment=person).stage == Stage.WORK
        assert fresh(person).completion_code == ""

    def test_the_code_of_the_study_and_none_for_nothing(self):
        study = study_make(completion_code="THANKS")
        idle, busy = enrollment_make(study=study), enrollment_make(study=study)
        assignment_submit(assignment=assignment_claim(enrollment=fresh(busy)), shown_value={"choice": 1})
        assert enrollment_finish(enrollment=idle).completion_code == ""
        assert enrollment_finish(enrollment=busy).completion_code == "THANKS"

    def test_finish_before_the_work_is_refused(self):
        with pytest.raises(StageError):
            enrollment_finish(enrollment=enrollment_make(study=study_make(), stage=Stage.CONSENT))

    @pytest.mark.both_databases
    def test_codes_do_not_repeat(self):
        codes = {code_make() for _ in range(200)}
        assert len(codes) == 200
        assert all(len(code) == 14 for code in codes)


class TestQualification:
    def answer_all(self, person, right):
        """Answer each question in the order shown to this person; the first `right` of them rightly."""
        while (question := question_next(person)) is not None:
            gold = question.question.item.gold["choice"]
            position = gold - 1 if question.number <= right else 2 - gold
            person = qualification_answer(
                enrollment=person,
                question=question.question,
                shown_value={"choice": question.order.index(position) + 1},
            )
        return person

    @pytest.mark.parametrize(("right", "stage"), [(10, Stage.WORK), (9, Stage.WORK), (8, Stage.SCREENED_OUT)])
    def test_nine_of_ten(self, right, stage):
        study = study_make(qualification=10, passing=9)
        person = self.answer_all(enrollment_make(study=study, stage=Stage.QUALIFICATION), right)
        assert (person.stage, person.qualification_score) == (stage, right)
        assert bool(person.completion_code) == (stage == Stage.SCREENED_OUT)
        assert QualificationAnswer.objects.filter(is_correct=True).count() == right

    def test_a_failed_test_never_shows_the_code_of_the_study(self):
        study = study_make(qualification=1, completion_code="PAY-ME")
        person = self.answer_all(enrollment_make(study=study, stage=Stage.QUALIFICATION), 0)
        assert person.completion_code not in ("", "PAY-ME")

    @pytest.mark.both_databases
    def test_the_first_answer_stands(self):
        study = study_make(qualification=2)
        person = enrollment_make(study=study, stage=Stage.QUALIFICATION)
        question = question_next(person).question
        for choice in (1, 2, 1):
            qualification_answer(enrollment=person, question=question, shown_value={"choice": choice})
        stored = QualificationAnswer.objects.get()
        assert stored.value["choice"] == stored.shown_order[0] + 1
        assert question_next(person).number == 2

    def test_after_the_test_nothing_changes(self):
        study = study_make(qualification=1)
        person = enrollment_make(study=study, stage=Stage.WORK)
        question = study.qualification_questions.select_related("item").get()
        assert (
            qualification_answer(enrollment=person, question=question, shown_value={"choice": 1}).stage
            == Stage.WORK
        )
        assert not QualificationAnswer.objects.exists()

    def test_ties_are_refused_where_there_are_none(self):
        study = study_make(qualification=1, tie_policy="off")
        person = enrollment_make(study=study, stage=Stage.QUALIFICATION)
        with pytest.raises(LabelValueError):
            qualification_answer(
                enrollment=person, question=question_next(person).question, shown_value={"choice": 0}
            )
        assert not QualificationAnswer.objects.exists()


class TestStudies:
    @pytest.mark.both_databases
    def test_open_makes_the_test_and_the_work_apart(self):
        study = study_create(dataset=dataset_make(pairs=20), title="A study", overlap=3)
        study = study_open(study=study)
        again = study_open(study=study)
        asked = set(study.qualification_questions.values_list("item_id", flat=True))
        given = set(study.study_items.values_list("item_id", flat=True))
        assert (study.slug, study.state, again.state) == ("a-study", "open", "open")
        assert len(asked) == len(given) == 10
        assert not asked & given
        assert set(study.study_items.values_list("overlap", flat=True)) == {3}

    @pytest.mark.both_databases
    def test_the_order_is_shuffled_and_the_same_for_a_slug(self):
        dataset = dataset_make(pairs=30)
        orders = []
        for slug in ("one", "two"):
            study = study_create(dataset=dataset, title="x", slug=slug, qualification_size=0)
            study_open(study=study)
            orders.append(list(study.study_items.order_by("position").values_list("item_id", flat=True)))
        assert orders[0] != orders[1] != sorted(orders[1])
        plain = study_create(dataset=dataset, title="x", qualification_size=0)
        study_open(study=plain, shuffle=False)
        listed = list(plain.study_items.order_by("position").values_list("item_id", flat=True))
        assert listed == sorted(listed)

    def test_chosen_questions(self):
        dataset = dataset_make(pairs=5)
        chosen = list(dataset.items.order_by("position")[:2])
        study = study_create(dataset=dataset, title="x", qualification_size=2, qualification_pass=1)
        study_open(study=study, qualification_items=chosen)
        assert [question.item for question in study.qualification_questions.all()] == chosen
        assert study.study_items.count() == 3

    @pytest.mark.parametrize(
        ("pairs", "gold", "rules", "field"),
        [
            (20, False, {}, "qualification_size"),
            (10, True, {}, "dataset"),
            (0, True, {"qualification_size": 0}, "dataset"),
        ],
    )
    def test_what_cannot_be_opened_stays_a_draft(self, pairs, gold, rules, field):
        study = study_create(dataset=dataset_make(pairs=pairs, gold=gold), title="x", **rules)
        with pytest.raises(StudyRuleError) as caught:
            study_open(study=study)
        assert caught.value.field == field
        study.refresh_from_db()
        assert study.state == StudyState.DRAFT
        assert not study.qualification_questions.exists()

    @pytest.mark.parametrize(
        ("rules", "field"),
        [
            ({"overlap": 0}, "overlap"),
            ({"qualification_size": 2, "qualification_pass": 3}, "__all__"),
            ({"kind": "rubric"}, "kind"),
            ({"colour": "red"}, "colour"),
            ({"slug": "no spaces"}, "slug"),
        ],
    )
    def test_rules_are_checked(self, rules, field):
        with pytest.raises(StudyRuleError) as caught:
            study_create(dataset=dataset_make(pairs=1), title="x", **rules)
        assert caught.value.field == field

    @pytest.mark.both_databases
    def test_two_studies_of_one_title(self):
        dataset = dataset_make(pairs=1)
        slugs = {study_create(dataset=dataset, title="Same").slug for _ in range(3)}
        assert len(slugs) == 3

    def test_pause_open_close(self):
        study = study_make()
        assert study_pause(study=study).state == StudyState.PAUSED
        assert study_open(study=study).state == StudyState.OPEN
        assert study_close(study=study).state == StudyState.CLOSED
        assert study_close(study=study).state == StudyState.CLOSED
        for change in (study_open, study_pause):
            with pytest.raises(StudyRuleError):
                change(study=study)

    @pytest.mark.both_databases
    def test_new_guidelines_and_overlap(self):
        study = study_make(pairs=2, overlap=2)
        assert study_update(study=study, title="New").guidelines_version == 1
        study = study_update(study=study, guidelines="Other", overlap=3)
        assert study.guidelines_version == 2
        assert set(study.study_items.values_list("overlap", flat=True)) == {3}
        for _ in range(2):
            assignment_claim(enrollment=fresh(enrollment_make(study=study)))
        with pytest.raises(StudyRuleError) as caught:
            study_update(study=study, overlap=1)
        assert caught.value.field == "overlap"
        with pytest.raises(StudyRuleError):
            study_update(study=study, tie_policy="off")

    @pytest.mark.both_databases
    def test_invitations(self):
        invitation = invitation_create(study=study_make(), note="lab", max_annotators=3)
        assert invitation_refusal(invitation) is None
        invitation_revoke(invitation=invitation)
        invitation.refresh_from_db()
        assert invitation_refusal(invitation) == "revoked"

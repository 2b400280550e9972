"""People are erased: nothing leads to them any more, labels and counters are right, again changes nothing."""

import json
from datetime import UTC, timedelta

import pytest
from django.core.serializers import serialize
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.domain.errors import StageError, SuspendedError
from annotation.models import (
    Annotator,
    AnswerSignals,
    Assignment,
    AuditEvent,
    AuditRedaction,
    Bonus,
    ConsentRecord,
    Enrollment,
    Erasure,
    ErasureKind,
    ErasureRequest,
    Intervention,
    ItemReport,
    Label,
    PlatformEvent,
    Stage,
    Study,
    StudyItem,
)
from annotation.services.assignments import assignment_claim, assignment_submit, draft_save
from annotation.services.consent import consent_fingerprint
from annotation.services.enrollment import consent_give
from annotation.services.erasure import ANONYMOUS, annotator_erase, enrollment_erase
from annotation.services.erasure_log import REQUEST, erasures_read, person_hash
from annotation.services.labels import label_change
from annotation.services.quality import enrollment_suspend, labels_set_aside
from tests.annotation.entry.props import link_make
from tests.annotation.factories import enrollment_make, invitation_make, study_make, user_make
from tests.annotation.recount import counters_check, figures_check
from tests.annotation.work import fresh
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
SECRETS = (
    "prolific-person-77",
    "submission-88",
    "Lisbon",
    "device-99",
    "my sister is ill",
    "calls herself Ada",
)


@pytest.fixture(autouse=True)
def erasures(settings, tmp_path):
    settings.ERASURES_FILE = tmp_path / "erasures.jsonl"
    return settings.ERASURES_FILE


def labels_give(person: Enrollment, n: int, comment: str = "") -> list[Label]:
    given = []
    for _ in range(n):
        lease = assignment_claim(enrollment=fresh(person))
        assert lease is not None
        given.append(assignment_submit(assignment=lease, shown_value={"choice": 1}, comment=comment).label)
    return given


def known_person(study: Study) -> Enrollment:
    """Somebody of whom everything is stored that can be."""
    link = link_make(study)
    person = enrollment_make(
        study=study,
        annotator=Annotator.objects.create(source="prolific", external_id=SECRETS[0]),
        stage=Stage.CONSENT,
        platform_link=link,
        platform_session=SECRETS[1],
        platform_status="APPROVED",
        platform_data={"city": SECRETS[2]},
        invitation=invitation_make(study=study, note="for Ada"),
        device=SECRETS[3],
        eligibility={"native": "Yes, from Lisbon"},
    )
    consent_give(enrollment=person, fingerprint=consent_fingerprint(study))
    Enrollment.objects.filter(pk=person.pk).update(stage=Stage.WORK)
    labels = labels_give(person, 3, comment=SECRETS[4])
    label_change(assignment=labels[0].assignment, shown_value={"choice": 2})
    AnswerSignals.objects.create(assignment=labels[0].assignment, typed=12)
    lease = assignment_claim(enrollment=fresh(person))
    draft_save(assignment=lease, fields={"comment": SECRETS[4]}, active_ms=5)
    by = user_make()
    Intervention.objects.create(
        enrollment=person, action="message", by=by, reason=SECRETS[5], text=SECRETS[4]
    )
    Bonus.objects.create(enrollment=person, amount=1, reason=SECRETS[5], by=by, nonce="n")
    ItemReport.objects.create(
        enrollment=person, study_item=labels[1].assignment.study_item, reason="broken", note=SECRETS[4]
    )
    PlatformEvent.objects.create(link=link, event_id="e1", channel="file", session=SECRETS[1])
    ErasureRequest.objects.create(enrollment=person, asked_at=timezone.now())
    return fresh(person)


def anonymous(study: Study) -> Enrollment:
    """The one person of the study of whom nothing is known."""
    return Enrollment.objects.select_related("study", "annotator").get(
        study=study, annotator__source=ANONYMOUS
    )


def everything() -> str:
    """All rows that may say something of a person, as text."""
    models = (
        *(Annotator, Enrollment, Assignment, Label, Intervention, ItemReport, Bonus, PlatformEvent),
        *(ConsentRecord, ErasureRequest, AuditEvent, Erasure),
    )
    return "\n".join(serialize("json", model.objects.all()) for model in models)


def consent_study(**rules) -> Study:
    return study_make(pairs=6, overlap=2, ask_comment=True, consent="We keep **answers**.", **rules)


@pytest.mark.both_databases
def test_an_anonymized_person_is_found_nowhere(erasures, django_capture_on_commit_callbacks):
    study = consent_study()
    person = known_person(study)
    before = fresh(person)
    values = sorted(json.dumps(label.value) for label in Label.objects.filter(study=study))
    others = labels_give(enrollment_make(study=study), 2)
    numbers = set(Label.objects.exclude(pk__in=[one.pk for one in others]).values_list("pk", flat=True))
    for secret in SECRETS:
        assert secret in everything()
    with django_capture_on_commit_callbacks(execute=True):
        erased = enrollment_erase(enrollment=person, why=REQUEST)
    assert erased is not None
    assert erased.kind == ErasureKind.ANONYMIZED
    said = everything()
    for secret in (*SECRETS, before.resume_token, str(before.annotator.public_id), before.pseudonym):
        assert secret not in said
    after = anonymous(study)
    assert after.pk != person.pk
    assert (after.stage, after.device, after.invitation, after.platform_link) == (Stage.LEFT, "", None, None)
    assert not Annotator.objects.filter(pk=before.annotator_id).exists()
    mine = Label.objects.filter(study=study, annotator=after.annotator)
    assert sorted(json.dumps(label.value) for label in mine) == values
    assert not numbers & set(mine.values_list("pk", flat=True))
    assert mine.filter(supersedes__isnull=False).count() == 1
    for label in mine:
        assert (label.created_at.astimezone(UTC).hour, label.created_at.microsecond) == (0, 0)
    assert Assignment.objects.filter(enrollment=after).count() == 3
    for given in Assignment.objects.filter(enrollment=after):
        assert given.leased_at.microsecond == given.submitted_at.microsecond == 0
        assert given.submitted_at.astimezone(UTC).hour == 0
    counters_check(study)
    figures_check(study)
    (line,) = erasures_read(erasures)
    assert line.person == person_hash(before.annotator.public_id, study.pk)


def test_texts_stay_where_the_study_says_so():
    study = consent_study(texts_kept=True)
    person = known_person(study)
    enrollment_erase(enrollment=person, why=REQUEST)
    assert sorted(Label.objects.values_list("comment", flat=True)) == ["", *[SECRETS[4]] * 3]
    assert not AnswerSignals.objects.exists()
    assert ItemReport.objects.get().note == SECRETS[4]
    assert Intervention.objects.get().text == ""


@pytest.mark.both_databases
def test_a_deleted_person_frees_their_places():
    study = consent_study(labels_kept=False)
    person = known_person(study)
    other = enrollment_make(study=study)
    labels_give(other, 6)
    labels_set_aside(enrollment=fresh(other), by=None, reason="test")
    assert sum(study.study_items.values_list("n_accepted", flat=True)) == 3
    erased = enrollment_erase(enrollment=person, why=REQUEST)
    assert (erased.kind, erased.n_labels) == (ErasureKind.DELETED, 4)
    assert not Enrollment.objects.filter(pk=person.pk).exists()
    assert not Label.objects.filter(annotator=person.annotator_id).exists()
    assert not AnswerSignals.objects.exists()
    assert set(study.study_items.values_list("n_open", "n_accepted")) == {(0, 0)}
    counters_check(study)
    for secret in SECRETS:
        assert secret not in everything()


def test_what_a_person_was_promised_outlasts_the_rule():
    """The study said that labels go too; that it says otherwise now is no consent of this person."""
    study = consent_study(labels_kept=False)
    person = known_person(study)
    Study.objects.filter(pk=study.pk).update(labels_kept=True)
    assert enrollment_erase(enrollment=fresh(person), why=REQUEST).kind == ErasureKind.DELETED


def test_again_changes_nothing():
    study = consent_study()
    person = known_person(study)
    enrollment_erase(enrollment=person, why=REQUEST)
    after = everything()
    assert enrollment_erase(enrollment=person, why=REQUEST) is None
    assert enrollment_erase(enrollment=person, why=REQUEST, with_labels=True) is None
    assert everything() == after


def test_an_erasure_that_was_killed_is_begun_again(monkeypatch):
    study = consent_study()
    person = known_person(study)
    monkeypatch.setattr(
        "annotation.services.erasure.erasure_note",
        lambda *_, **__: (_ for _ in ()).throw(OSError("killed")),
    )
    with pytest.raises(OSError, match="killed"):
        enrollment_erase(enrollment=person, why=REQUEST)
    assert fresh(person).suspended_at is not None
    with pytest.raises(SuspendedError):
        assignment_claim(enrollment=fresh(person))
    monkeypatch.undo()
    assert enrollment_erase(enrollment=person, why=REQUEST) is not None
    assert anonymous(study).suspended_at is None


def test_one_study_of_several_is_erased_alone():
    study, second = consent_study(), study_make(pairs=2)
    person = known_person(study)
    there = enrollment_make(study=second, annotator=person.annotator)
    labels_give(there, 1)
    enrollment_erase(enrollment=person, why=REQUEST)
    assert fresh(there).annotator == person.annotator
    assert anonymous(study).annotator != person.annotator
    assert Label.objects.filter(study=second, annotator=person.annotator).count() == 1
    counters_check(second)


def test_somebody_is_erased_everywhere():
    study, second = consent_study(), study_make(pairs=2)
    person = known_person(study)
    there = enrollment_make(study=second, annotator=person.annotator)
    labels_give(there, 1)
    item = second.study_items.first().item
    Label.objects.create(
        item=item,
        annotator=person.annotator,
        kind="pairwise",
        value={"choice": 1},
        choice=1,
        source="a.csv: Ada",
    )
    assert len(annotator_erase(annotator=person.annotator, why=REQUEST)) == 2
    assert not Annotator.objects.filter(pk=person.annotator_id).exists()
    assert not Label.objects.filter(source__contains="Ada").exists()
    assert Erasure.objects.count() == 3
    assert Label.objects.filter(study=None).count() == 1
    assert annotator_erase(annotator=person.annotator, why=REQUEST) == []


def test_who_was_suspended_stays_so():
    study = consent_study()
    person = known_person(study)
    enrollment_suspend(enrollment=person, by=None, reason="calls herself Ada")
    enrollment_erase(enrollment=person, why=REQUEST)
    after = anonymous(study)
    assert after.suspended_at is not None
    assert after.suspended_because == ""
    assert "calls herself Ada" not in everything()


def test_the_audit_log_changes_only_for_a_redaction():
    event = AuditEvent.objects.create(via="page", action="study.changed", before={"a": 1})
    with pytest.raises(IntegrityError), transaction.atomic():
        AuditEvent.objects.filter(pk=event.pk).update(before=None)
    redaction = AuditRedaction.objects.create(event=event)
    with pytest.raises(IntegrityError), transaction.atomic():
        AuditEvent.objects.filter(pk=event.pk).update(actor="nobody")
    AuditEvent.objects.filter(pk=event.pk).update(before=None)
    AuditRedaction.objects.filter(pk=redaction.pk).update(is_done=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        AuditEvent.objects.filter(pk=event.pk).update(before={"a": 2})


def test_the_erasure_is_in_the_audit_log_without_the_person():
    study = consent_study()
    person = known_person(study)
    enrollment_erase(enrollment=person, why=REQUEST)
    event = AuditEvent.objects.get(action="annotator.anonymized")
    assert (event.subject, event.after) == (study.slug, {"why": "request", "texts_kept": False})


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kept", [True, False])
def test_beside_submits_and_claims_nothing_is_lost_or_counted_wrongly(kept):
    """Everybody works on while one of them is erased."""
    study = study_make(pairs=12, overlap=3, labels_kept=kept)
    people = [enrollment_make(study=study) for _ in range(4)]
    labels_give(people[0], 2)
    gone = fresh(people[0])

    def work(pk: int) -> int:
        done = 0
        while True:
            try:
                lease = assignment_claim(enrollment=fresh(pk))
                if lease is None:
                    return done
                assignment_submit(assignment=lease, shown_value={"choice": 1})
            except (Enrollment.DoesNotExist, Assignment.DoesNotExist, SuspendedError, StageError):
                if pk != gone.pk:
                    raise
                return done
            done += 1

    def act(what: tuple[str, int]) -> object:
        kind, pk = what
        return work(pk) if kind == "work" else enrollment_erase(enrollment=gone, why=REQUEST)

    all_at_once(act, [*(("work", person.pk) for person in people), ("erase", 0), ("erase", 0)])
    while enrollment_erase(enrollment=gone, why=REQUEST) is not None:
        pass
    counters_check(study)
    assert not Label.objects.filter(annotator=gone.annotator_id).exists()
    assert not Annotator.objects.filter(pk=gone.annotator_id).exists()
    assert Erasure.objects.count() == 1
    if kept:
        assert Label.objects.filter(annotator=anonymous(study).annotator).count() >= 2
    else:
        assert not Enrollment.objects.filter(pk=gone.pk).exists()
    assert StudyItem.objects.filter(n_open__gt=0).count() == 0


def test_late_days_are_kept():
    study = consent_study()
    person = known_person(study)
    Enrollment.objects.filter(pk=person.pk).update(created_at=timezone.now() - timedelta(days=3))
    day = fresh(person).created_at.astimezone(UTC).date()
    enrollment_erase(enrollment=person, why=REQUEST)
    assert anonymous(study).created_at.astimezone(UTC).date() == day
    assert anonymous(study).annotator.created_at.astimezone(UTC).date() == day

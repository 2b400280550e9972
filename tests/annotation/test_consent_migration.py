"""Consent that was given before there were records is kept: with its text where that is known."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction
from django.utils import timezone

import annotation.migrations
from annotation.models import ConsentRecord, ConsentText, Enrollment, Study
from annotation.services.studies import study_update
from tests.annotation.factories import enrollment_make, study_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

(NAME,) = (path.stem for path in Path(annotation.migrations.__path__[0]).glob("*_privacy.py"))
MIGRATION = import_module(f"annotation.migrations.{NAME}")
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def agreed(study: Study, text: str, days: int) -> Enrollment:
    return enrollment_make(
        study=study,
        consented_at=FIRST + timedelta(days=days),
        consent_sha256=sha256(text.encode()).hexdigest(),
    )


def test_each_consent_is_a_record_of_its_text():
    study = study_make(consent="The first.")
    old, forgotten = agreed(study, "The first.", 0), agreed(study, "Of long ago.", 1)
    study_update(study=study, consent="The second.")
    study_update(study=study, consent="The third.")
    now, again = agreed(study, "The third.", 3), agreed(study, "The third.", 4)
    enrollment_make(study=study)  # did not agree yet
    MIGRATION.consents_take(apps, None)
    records = {record.enrollment_id: record for record in ConsentRecord.objects.select_related("text")}
    assert set(records) == {old.pk, forgotten.pk, now.pk, again.pk}
    assert (records[old.pk].text.version, records[old.pk].text.text) == (1, "The first.")
    assert (records[now.pk].text.version, records[now.pk].text.text) == (2, "The third.")
    assert records[again.pk].text == records[now.pk].text
    assert records[forgotten.pk].text is None
    assert records[forgotten.pk].sha256 == forgotten.consent_sha256
    assert records[now.pk].at == now.consented_at
    assert set(ConsentText.objects.values_list("labels_kept", flat=True)) == {None}


def test_closed_studies_have_a_time_from_which_retention_counts():
    past = timezone.now() - timedelta(days=9)
    deadline, closed, opened = (
        study_make(state="closed", closes_at=past),
        study_make(state="closed"),
        study_make(),
    )
    MIGRATION.closed_now(apps, None)
    for study in (deadline, closed, opened):
        study.refresh_from_db()
    assert abs(deadline.closed_at - past) < timedelta(seconds=1)
    assert abs(closed.closed_at - timezone.now()) < timedelta(minutes=1)
    assert opened.closed_at is None


def test_a_record_of_consent_is_never_changed():
    study = study_make(consent="The first.")
    agreed(study, "The first.", 0)
    MIGRATION.consents_take(apps, None)
    with pytest.raises(IntegrityError), transaction.atomic():
        ConsentRecord.objects.update(event="declined")
    assert ConsentRecord.objects.get().event == "given"

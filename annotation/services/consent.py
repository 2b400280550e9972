"""What people agree to: the text of a study with the promises beside it, kept once a version, and who agreed when."""

import json
from datetime import datetime
from hashlib import sha256

from django.db.models import Max
from django.utils import timezone
from django.utils.translation import get_language

from annotation.models import ConsentEvent, ConsentRecord, ConsentText, Enrollment, Study


def consent_fingerprint(study: Study) -> str:
    """SHA-256 of what a person agrees to: the text, and what the page promises beside it."""
    promises = [study.consent, study.labels_kept, study.retention_days, _action(study)]
    return sha256(json.dumps(promises).encode()).hexdigest()


def _action(study: Study) -> str:
    return "" if study.retention_days is None else str(study.retention_action)


def consent_text_keep(study: Study) -> ConsentText:
    """The study's text as it is now, kept under the next version if it is new. Inside a transaction of the caller."""
    fingerprint = consent_fingerprint(study)
    if (known := ConsentText.objects.filter(study=study, fingerprint=fingerprint).first()) is not None:
        return known
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # one version at a time
    latest = ConsentText.objects.filter(study=study).aggregate(latest=Max("version"))["latest"] or 0
    kept, _ = ConsentText.objects.get_or_create(
        study=study,
        fingerprint=fingerprint,
        defaults={
            "version": latest + 1,
            "text": study.consent,
            "sha256": sha256(study.consent.encode()).hexdigest(),
            "labels_kept": study.labels_kept,
            "retention_days": study.retention_days,
            "retention_action": _action(study),
        },
    )
    return kept


def consent_record(
    *, enrollment: Enrollment, event: ConsentEvent, text: ConsentText | None, now: datetime | None = None
) -> ConsentRecord:
    """Add a row: who, what, of which text, in which language the page around it was. Inside a transaction."""
    return ConsentRecord.objects.create(
        enrollment=enrollment,
        event=event,
        text=text,
        sha256="" if text is None else text.sha256,
        language=get_language() or "",
        at=now or timezone.now(),
    )


def consent_latest(enrollment: Enrollment) -> ConsentRecord | None:
    """The consent that a person gave last, if they gave one."""
    given = ConsentRecord.objects.filter(enrollment=enrollment, event=ConsentEvent.GIVEN)
    return given.select_related("text").order_by("at", "pk").last()


def labels_may_stay(enrollment: Enrollment) -> bool:
    """Whether labels may outlast the person: as was promised to them, and by the study's rule where nothing was."""
    given = consent_latest(enrollment)
    promised = given.text.labels_kept if given is not None and given.text is not None else None
    return enrollment.study.labels_kept if promised is None else promised and enrollment.study.labels_kept

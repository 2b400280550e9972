"""Consent as rows with the words that were agreed to, retention by study, requests for deletion, and what was erased.

What people agreed to before is kept: with its text where that is the study's own still, or stands in the audit log; by
its hash elsewhere. The labels' table isn't touched.
"""

import json
from hashlib import sha256

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


CREATE = {
    "sqlite": [
        "CREATE TRIGGER consent_append_only BEFORE UPDATE ON annotation_consentrecord"
        " BEGIN SELECT RAISE(ABORT, 'consent records are append-only'); END"
    ],
    "postgresql": [
        """
        CREATE FUNCTION annotation_consentrecord_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'consent records are append-only' USING ERRCODE = 'integrity_constraint_violation';
        END $$
        """,
        "CREATE TRIGGER consent_append_only BEFORE UPDATE ON annotation_consentrecord"
        " FOR EACH ROW EXECUTE FUNCTION annotation_consentrecord_refuse()",
    ],
}
DROP = {
    "sqlite": ["DROP TRIGGER consent_append_only"],
    "postgresql": [
        "DROP TRIGGER consent_append_only ON annotation_consentrecord",
        "DROP FUNCTION annotation_consentrecord_refuse()",
    ],
}
# An event of the audit log may change while a redaction of it isn't done: what it says of a person, and nothing else.
REFUSAL = "the audit log is append-only"
KEPT = ("id", "at", "actor", "actor_key", "via", "network", "action")
REDACTION = {
    "sqlite": [
        "DROP TRIGGER audit_append_only",
        "CREATE TRIGGER audit_append_only BEFORE UPDATE ON annotation_auditevent WHEN NOT ("
        "EXISTS (SELECT 1 FROM annotation_auditredaction r WHERE r.event_id = OLD.id AND NOT r.is_done) AND "
        + " AND ".join(f"NEW.{name} IS OLD.{name}" for name in KEPT)
        + f") BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END",
    ],
    "postgresql": [
        f"""
        CREATE OR REPLACE FUNCTION annotation_auditevent_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'UPDATE' THEN
                IF ({", ".join(f"NEW.{name}" for name in KEPT)}) IS NOT DISTINCT FROM
                   ({", ".join(f"OLD.{name}" for name in KEPT)})
                   AND EXISTS (SELECT 1 FROM annotation_auditredaction r WHERE r.event_id = OLD.id AND NOT r.is_done)
                THEN
                    RETURN NEW;
                END IF;
            END IF;
            RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation';
        END $$
        """
    ],
}
AS_BEFORE = {
    "sqlite": [
        "DROP TRIGGER audit_append_only",
        "CREATE TRIGGER audit_append_only BEFORE UPDATE ON annotation_auditevent"
        f" BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END",
    ],
    "postgresql": [
        f"""
        CREATE OR REPLACE FUNCTION annotation_auditevent_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation';
        END $$
        """
    ],
}
BATCH = 2_000


def redaction_allow(apps, schema_editor):
    for statement in REDACTION[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def redaction_refuse(apps, schema_editor):
    for statement in AS_BEFORE[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def append_only(apps, schema_editor):
    for statement in CREATE[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def append_only_end(apps, schema_editor):
    for statement in DROP[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def consents_take(apps, schema_editor):
    """A record of each consent that was given, oldest first, so that texts are numbered in the order of their use."""
    Study = apps.get_model("annotation", "Study")
    Enrollment = apps.get_model("annotation", "Enrollment")
    AuditEvent = apps.get_model("annotation", "AuditEvent")
    ConsentText = apps.get_model("annotation", "ConsentText")
    ConsentRecord = apps.get_model("annotation", "ConsentRecord")
    given = Enrollment.objects.filter(consented_at__isnull=False).order_by("study_id", "consented_at", "pk")
    texts, kept, records = {}, {}, []
    for study in Study.objects.filter(pk__in=given.order_by().values("study_id")).only("pk", "consent").iterator():
        known = [study.consent]
        for event in AuditEvent.objects.filter(action="study.changed", subject_key=str(study.pk)).only("before", "after"):
            known += [values["consent"] for values in (event.before, event.after) if values and values.get("consent")]
        texts[study.pk] = {sha256(text.encode()).hexdigest(): text for text in known if text}
    for pk, study, at, digest in given.values_list("pk", "study_id", "consented_at", "consent_sha256").iterator():
        text = texts[study].get(digest)
        if text is not None and (study, digest) not in kept:
            version = 1 + sum(1 for of, _ in kept if of == study)
            terms = json.dumps([text, None, None, ""])
            kept[study, digest] = ConsentText.objects.create(
                study_id=study, version=version, text=text, sha256=digest,
                fingerprint=sha256(terms.encode()).hexdigest(),
            )
        records.append(
            ConsentRecord(enrollment_id=pk, event="given", text=kept.get((study, digest)), sha256=digest, at=at)
        )
        if len(records) == BATCH:
            ConsentRecord.objects.bulk_create(records)
            records = []
    ConsentRecord.objects.bulk_create(records)


def closed_now(apps, schema_editor):
    """When a study was closed wasn't kept: retention counts from its deadline, else from this moment."""
    from django.db.models import F
    from django.db.models.functions import Coalesce, Least, Now

    closed = apps.get_model("annotation", "Study").objects.filter(state="closed", closed_at=None)
    closed.filter(closes_at__isnull=False).update(closed_at=Least(F("closes_at"), Now()))
    closed.filter(closes_at=None).update(closed_at=Coalesce("closed_at", Now()))


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0026_sharing'),
    ]

    operations = [
        migrations.CreateModel(
            name='ConsentRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event', models.CharField(choices=[('given', 'Given'), ('declined', 'Declined'), ('withdrawn', 'Withdrawn')], max_length=9)),
                ('sha256', models.CharField(blank=True, help_text='Of the text.', max_length=64)),
                ('language', models.CharField(blank=True, help_text='Of the page around the text.', max_length=16)),
                ('at', models.DateTimeField()),
            ],
            options={
                'ordering': ['at', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='ConsentText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(help_text='1, 2, … in each study.')),
                ('text', models.TextField(help_text='Markdown, as it was shown.')),
                ('sha256', models.CharField(help_text='Of the text.', max_length=64)),
                ('fingerprint', models.CharField(help_text='SHA-256 of the text and the promises beside it.', max_length=64)),
                ('labels_kept', models.BooleanField(blank=True, help_text='Promised: after a deletion, labels stay without a link to the person.', null=True)),
                ('retention_days', models.PositiveIntegerField(blank=True, help_text='Promised: days after the study closes; empty: no promise.', null=True)),
                ('retention_action', models.CharField(blank=True, help_text='What happens then.', max_length=9)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['study', 'version'],
            },
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('person', models.CharField(help_text='Hash of the identifier that is gone.', max_length=64)),
                ('study_key', models.PositiveBigIntegerField(blank=True, help_text='Primary key of the study; empty: what was in no study.', null=True)),
                ('kind', models.CharField(choices=[('anonymized', 'Anonymized'), ('deleted', 'Deleted')], max_length=10)),
                ('texts_kept', models.BooleanField(default=False, help_text='Comments and marked passages stayed.')),
                ('why', models.CharField(help_text='request, retention or restore.', max_length=10)),
                ('at', models.DateTimeField()),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ErasureRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('open', 'Open'), ('withdrawn', 'Withdrawn'), ('refused', 'Refused')], default='open', max_length=9)),
                ('asked_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('answer', models.CharField(blank=True, help_text='Why it was refused; shown to the person.', max_length=300)),
            ],
            options={
                'ordering': ['asked_at', 'pk'],
            },
        ),
        migrations.AddField(
            model_name='enrollment',
            name='anonymized_on',
            field=models.DateField(blank=True, help_text='From then on, nothing says who this is; times are those of days.', null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='closed_at',
            field=models.DateTimeField(blank=True, editable=False, help_text='When it was closed: retention counts from then.', null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='erase_at_once',
            field=models.BooleanField(db_default=False, default=False, help_text="A person's request for deletion is carried out at once, without a researcher."),
        ),
        migrations.AddField(
            model_name='study',
            name='labels_kept',
            field=models.BooleanField(db_default=True, default=True, help_text='After a deletion, labels stay without a link to the person. Said on the consent page.'),
        ),
        migrations.AddField(
            model_name='study',
            name='retention_action',
            field=models.CharField(choices=[('anonymize', 'Anonymize people, keep their labels'), ('delete', 'Delete people and their labels')], db_default='anonymize', default='anonymize', help_text='What happens to people then.', max_length=9),
        ),
        migrations.AddField(
            model_name='study',
            name='retention_days',
            field=models.PositiveIntegerField(blank=True, help_text='Days after the study closed, from which people are erased; empty: never by themselves.', null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='texts_kept',
            field=models.BooleanField(db_default=False, default=False, help_text='Comments and marked passages stay with labels that stay.'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('retention_action__in', ['anonymize', 'delete'])), name='study_retention_action_known'),
        ),
        migrations.AddField(
            model_name='consentrecord',
            name='enrollment',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consents', to='annotation.enrollment'),
        ),
        migrations.AddField(
            model_name='consenttext',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consent_texts', to='annotation.study'),
        ),
        migrations.AddField(
            model_name='consentrecord',
            name='text',
            field=models.ForeignKey(blank=True, help_text="Empty: an earlier text that wasn't kept.", null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='records', to='annotation.consenttext'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['anonymized', 'deleted'])), name='erasure_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.UniqueConstraint(fields=('person',), name='erasure_once'),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='decided_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='enrollment',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='erasure_requests', to='annotation.enrollment'),
        ),
        migrations.AddConstraint(
            model_name='consenttext',
            constraint=models.UniqueConstraint(fields=('study', 'version'), name='consent_text_version_unique'),
        ),
        migrations.AddConstraint(
            model_name='consenttext',
            constraint=models.UniqueConstraint(fields=('study', 'fingerprint'), name='consent_text_unique'),
        ),
        migrations.AddConstraint(
            model_name='consentrecord',
            constraint=models.CheckConstraint(condition=models.Q(('event__in', ['given', 'declined', 'withdrawn'])), name='consent_event_known'),
        ),
        migrations.AddConstraint(
            model_name='erasurerequest',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['open', 'withdrawn', 'refused'])), name='erasure_request_state_known'),
        ),
        migrations.AddConstraint(
            model_name='erasurerequest',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('enrollment',), name='erasure_request_one_open'),
        ),
        migrations.CreateModel(
            name='AuditRedaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_done', models.BooleanField(default=False)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('event', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='redaction', to='annotation.auditevent')),
            ],
        ),
        migrations.RunPython(append_only, append_only_end),
        migrations.RunPython(redaction_allow, redaction_refuse),
        migrations.RunPython(consents_take, migrations.RunPython.noop),
        migrations.RunPython(closed_now, migrations.RunPython.noop),
    ]

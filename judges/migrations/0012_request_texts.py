"""Requests: what is asked apart from the row that an answer changes, stored once and compressed.

Rows that there are stay as they are: none is rewritten, and they are read by their `payload`. What had a lease of its own
is from now on held by a worker's row; claims of before have none, so the first worker that needs them takes them over.
"""

import json
import zlib

from django.utils import timezone
import django.db.models.deletion
from django.db import migrations, models

FIRST = ("kind", "model", "revision", "messages", "decoding", "choices", "json_schema", "logprobs", "sample", "text")
SETTINGS = {
    # An answer is written beside the claim, in the room that is left in its page, and no index is touched.
    "ALTER TABLE judges_modelrequest SET (fillfactor = 50)": "ALTER TABLE judges_modelrequest RESET (fillfactor)",
    # It is compressed already.
    "ALTER TABLE judges_textblock ALTER COLUMN body SET STORAGE EXTERNAL": "",
}


def settings_make(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for statement in SETTINGS:
            schema_editor.execute(statement)


def settings_undo(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for statement in filter(None, SETTINGS.values()):
            schema_editor.execute(statement)


def rows_restore(apps, schema_editor):
    """Give every row its whole payload back."""
    requests, texts, blocks = (apps.get_model("judges", name) for name in ("ModelRequest", "RequestText", "TextBlock"))
    requests.objects.filter(lease_until=None).update(lease_until=timezone.now())
    forms = {form.pk: form for form in apps.get_model("judges", "RequestForm").objects.all()}
    last = ""
    while some := list(requests.objects.filter(hash__gt=last, form__isnull=False).order_by("hash")[:500]):
        places = {bytes(each.digest): each for each in texts.objects.filter(digest__in=[row.text for row in some])}
        bodies = {
            block.pk: zlib.decompress(block.body).split(b"\n")
            for block in blocks.objects.filter(pk__in={each.block for each in places.values()})
        }
        for row in some:
            form, place = forms[row.form_id], places.get(bytes(row.text))
            there = place is not None and place.block in bodies
            shown = json.loads(bodies[place.block][place.place]) if there else {}
            payload = {**form.content, **shown}
            for name, empty in (("prefix", ""), ("regex", None)):
                if payload.get(name) == empty:
                    payload.pop(name, None)
            named = {name: payload.pop(name) for name in FIRST if name in payload}
            row.kind, row.endpoint, row.model, row.payload = form.kind, form.endpoint, form.model, named | payload
        requests.objects.bulk_update(some, ["kind", "endpoint", "model", "payload"])
        last = some[-1].hash


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0009_webhooks'),
        ('judges', '0011_export_jobs'),
    ]

    operations = [
        migrations.CreateModel(
            name='RequestForm',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('endpoint', models.CharField(help_text='Identity of the server or engine.', max_length=300)),
                ('kind', models.CharField(max_length=16)),
                ('model', models.CharField(db_index=True, max_length=200)),
                ('has_choices', models.BooleanField(default=False)),
                ('content', models.JSONField()),
                ('n_answers', models.PositiveBigIntegerField(default=0)),
                ('latency_ms', models.FloatField(default=0.0)),
                ('characters', models.PositiveBigIntegerField(default=0)),
                ('prompt_tokens', models.PositiveBigIntegerField(default=0)),
                ('n_completions', models.PositiveBigIntegerField(default=0)),
                ('completion_tokens', models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='RequestText',
            fields=[
                ('digest', models.BinaryField(max_length=16, primary_key=True, serialize=False)),
                ('block', models.BigIntegerField()),
                ('place', models.PositiveSmallIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='TextBlock',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('body', models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('name', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('host', models.CharField(blank=True, max_length=100)),
                ('lease_until', models.DateTimeField()),
            ],
        ),
        migrations.RemoveIndex(
            model_name='modelrequest',
            name='model_request_claimed',
        ),
        migrations.AlterField(
            model_name='modelrequest',
            name='lease_until',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='modelrequest',
            name='form',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='judges.requestform'),
        ),
        migrations.AddField(
            model_name='modelrequest',
            name='text',
            field=models.BinaryField(max_length=16, null=True),
        ),
        migrations.AlterField(
            model_name='modelrequest',
            name='endpoint',
            field=models.CharField(help_text='Identity of the server or engine.', max_length=300, null=True),
        ),
        migrations.AlterField(
            model_name='modelrequest',
            name='kind',
            field=models.CharField(max_length=16, null=True),
        ),
        migrations.AlterField(
            model_name='modelrequest',
            name='model',
            field=models.CharField(max_length=200, null=True),
        ),
        migrations.AlterField(
            model_name='modelrequest',
            name='payload',
            field=models.JSONField(null=True),
        ),
        migrations.RunPython(migrations.RunPython.noop, rows_restore),
        migrations.RemoveField(
            model_name='modelrequest',
            name='lease_until',
        ),
        migrations.RunPython(settings_make, settings_undo),
        migrations.AddIndex(
            model_name='judgment',
            index=models.Index(condition=models.Q(('status', 'failed')), fields=['judge'], name='judgment_failed'),
        ),
        migrations.AddIndex(
            model_name='modelrequest',
            index=models.Index(condition=models.Q(('error', ''), _negated=True), fields=['form'], name='model_request_failed'),
        ),
    ]

"""Studies may ask for the passages that are reasons, and labels have them. Studies that exist don't ask; of their labels the
column is NULL. The database refuses to change it, as every other word of a label.
"""

from django.db import migrations, models

BEFORE = (
    "id, item_id, annotator_id, study_id, assignment_id, supersedes_id, role, kind, value, choice, shown_order, "
    "comment, pasted_chars, check_score, source, guidelines_version, probability, active_ms, wall_ms, created_at"
)
COLUMNS = f"{BEFORE}, evidence"


def _replace(schema_editor, columns):
    table = "annotation_label"
    vendor = schema_editor.connection.vendor
    schema_editor.execute(f"DROP TRIGGER {table}_append_only" + (f" ON {table}" if vendor == "postgresql" else ""))
    begin = f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OF {columns} ON {table} "
    if vendor == "postgresql":
        schema_editor.execute(f"{begin} FOR EACH ROW EXECUTE FUNCTION annotation_label_refuse_update()")
    else:
        refusal = "SELECT RAISE(ABORT, 'labels are append-only; a correction supersedes');"
        schema_editor.execute(f"{begin} BEGIN {refusal} END")


def with_evidence(apps, schema_editor):
    _replace(schema_editor, COLUMNS)


def without_evidence(apps, schema_editor):
    _replace(schema_editor, BEFORE)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0023_fetch_ahead'),
    ]

    operations = [
        migrations.AddField(
            model_name='label',
            name='evidence',
            field=models.JSONField(blank=True, help_text='Passages marked as reasons (annotation.kinds.evidence); empty where nobody asked.', null=True),
        ),
        migrations.RunPython(with_evidence, without_evidence),
        migrations.AddField(
            model_name='study',
            name='evidence',
            field=models.CharField(choices=[('off', 'Not asked'), ('optional', 'Optional'), ('required', 'Required: at least one passage')], db_default='off', default='off', help_text='Whether people mark the passages of an answer that are their reasons.', max_length=8),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('evidence__in', ['off', 'optional', 'required'])), name='study_evidence_known'),
        ),
    ]

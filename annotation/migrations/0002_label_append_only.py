"""The database itself refuses to change a label: what an annotator said is never silently altered.

Whether it counts may change: people are suspended and restored. Every other column is listed here, and a test holds
the list against the model.
"""

from django.db import migrations

COLUMNS = (
    "id, item_id, annotator_id, study_id, assignment_id, supersedes_id, role, kind, value, choice, shown_order, "
    "comment, pasted_chars, check_score, source, guidelines_version, probability, active_ms, wall_ms, created_at"
)
CREATE = {
    "sqlite": f"""
        CREATE TRIGGER annotation_label_append_only BEFORE UPDATE OF {COLUMNS} ON annotation_label
        BEGIN SELECT RAISE(ABORT, 'labels are append-only; a correction supersedes'); END
    """,
    "postgresql": f"""
        CREATE FUNCTION annotation_label_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'labels are append-only; a correction supersedes'
                USING ERRCODE = 'integrity_constraint_violation';
        END $$;
        CREATE TRIGGER annotation_label_append_only BEFORE UPDATE OF {COLUMNS} ON annotation_label
        FOR EACH ROW EXECUTE FUNCTION annotation_label_refuse_update()
    """,
}
DROP = {
    "sqlite": "DROP TRIGGER annotation_label_append_only",
    "postgresql": """
        DROP TRIGGER annotation_label_append_only ON annotation_label;
        DROP FUNCTION annotation_label_refuse_update()
    """,
}


def create(apps, schema_editor):
    schema_editor.execute(CREATE[schema_editor.connection.vendor])


def drop(apps, schema_editor):
    schema_editor.execute(DROP[schema_editor.connection.vendor])


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]
    operations = [migrations.RunPython(create, drop)]

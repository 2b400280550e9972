"""The audit log. The database itself refuses to change it, and PostgreSQL to delete of it.

SQLite would refuse `flush` too, which empties a table there by DELETE.
"""

from django.db import migrations, models

REFUSAL = "the audit log is append-only"
CREATE = {
    "sqlite": [
        "CREATE TRIGGER audit_append_only BEFORE UPDATE ON annotation_auditevent"
        f" BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    ],
    "postgresql": [
        f"""
        CREATE FUNCTION annotation_auditevent_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation';
        END $$
        """,
        "CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON annotation_auditevent"
        " FOR EACH ROW EXECUTE FUNCTION annotation_auditevent_refuse()",
    ],
}
DROP = {
    "sqlite": ["DROP TRIGGER audit_append_only"],
    "postgresql": [
        "DROP TRIGGER audit_append_only ON annotation_auditevent",
        "DROP FUNCTION annotation_auditevent_refuse()",
    ],
}


def create(apps, schema_editor):
    for statement in CREATE[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def drop(apps, schema_editor):
    for statement in DROP[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0024_evidence")]
    operations = [
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "actor",
                    models.CharField(blank=True, help_text="Username; empty: a command or a worker.", max_length=150),
                ),
                (
                    "actor_key",
                    models.PositiveBigIntegerField(blank=True, help_text="Primary key of the user.", null=True),
                ),
                ("via", models.CharField(help_text="page, api, or the command.", max_length=60)),
                (
                    "network",
                    models.CharField(
                        blank=True,
                        help_text="Of the client: /24 of IPv4, /48 of IPv6; not the whole address.",
                        max_length=45,
                    ),
                ),
                ("action", models.CharField(help_text="Such as study.changed.", max_length=40)),
                ("subject", models.CharField(blank=True, help_text="Name of what was changed.", max_length=200)),
                ("subject_key", models.CharField(blank=True, help_text="Its primary key.", max_length=40)),
                (
                    "before",
                    models.JSONField(blank=True, help_text="Fields that were changed, before.", null=True),
                ),
                ("after", models.JSONField(blank=True, help_text="The same fields, after.", null=True)),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(fields=["action", "-id"], name="audit_action"),
                    models.Index(fields=["actor", "-id"], name="audit_actor"),
                ],
            },
        ),
        migrations.RunPython(create, drop),
    ]

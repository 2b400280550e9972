"""One index of request hashes is enough: nobody looks for them by their beginning."""

from django.db import migrations

NAME = "judges_modelrequest_hash_57d60a56_like"


def drop(apps, schema_editor):
    # Django adds it on PostgreSQL for LIKE; each claim and each answer would write into it, at random places.
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX IF EXISTS {NAME}")


def create(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"CREATE INDEX {NAME} ON judges_modelrequest (hash varchar_pattern_ops)")


class Migration(migrations.Migration):
    dependencies = [("judges", "0002_judge_immutable")]
    operations = [migrations.RunPython(drop, create)]

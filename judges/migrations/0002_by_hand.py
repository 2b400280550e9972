"""What the models cannot say.

The database itself refuses to change what a judge is, once it has judged or, a contestant, answered. And one index of request hashes is enough:
nobody looks for them by their beginning.
"""

from django.db import migrations

CREATE = {
    "sqlite": """
        CREATE TRIGGER judges_judge_immutable BEFORE UPDATE OF spec, fingerprint ON judges_judge
        WHEN (OLD.spec IS NOT NEW.spec OR OLD.fingerprint IS NOT NEW.fingerprint)
            AND (
                EXISTS (SELECT 1 FROM judges_judgment WHERE judge_id = OLD.id)
                OR EXISTS (SELECT 1 FROM judges_generation WHERE contestant_id = OLD.id)
            )
        BEGIN SELECT RAISE(ABORT, 'a judge that has judged is immutable'); END
    """,
    "postgresql": """
        CREATE FUNCTION judges_judge_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF EXISTS (SELECT 1 FROM judges_judgment WHERE judge_id = OLD.id)
                OR EXISTS (SELECT 1 FROM judges_generation WHERE contestant_id = OLD.id)
            THEN
                RAISE EXCEPTION 'a judge that has judged is immutable'
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER judges_judge_immutable BEFORE UPDATE OF spec, fingerprint ON judges_judge
        FOR EACH ROW WHEN (OLD.spec IS DISTINCT FROM NEW.spec OR OLD.fingerprint IS DISTINCT FROM NEW.fingerprint)
        EXECUTE FUNCTION judges_judge_refuse_update()
    """,
}
DROP = {
    "sqlite": "DROP TRIGGER judges_judge_immutable",
    "postgresql": """
        DROP TRIGGER judges_judge_immutable ON judges_judge;
        DROP FUNCTION judges_judge_refuse_update()
    """,
}


LIKE_INDEX = "judges_modelrequest_hash_57d60a56_like"


def create(apps, schema_editor):
    schema_editor.execute(CREATE[schema_editor.connection.vendor])
    # Django adds it on PostgreSQL for LIKE; each claim and each answer would write into it, at random places.
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX IF EXISTS {LIKE_INDEX}")


def drop(apps, schema_editor):
    schema_editor.execute(DROP[schema_editor.connection.vendor])
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"CREATE INDEX {LIKE_INDEX} ON judges_modelrequest (hash varchar_pattern_ops)")


class Migration(migrations.Migration):
    dependencies = [("judges", "0001_initial")]
    operations = [migrations.RunPython(create, drop)]

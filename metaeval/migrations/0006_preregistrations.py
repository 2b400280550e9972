"""What was planned before a study is frozen: the database itself refuses to change it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


CREATE = {
    "sqlite": """
        CREATE TRIGGER metaeval_preregistration_frozen BEFORE UPDATE ON metaeval_preregistration
        BEGIN SELECT RAISE(ABORT, 'a preregistration is frozen; save a new one'); END
    """,
    "postgresql": """
        CREATE FUNCTION metaeval_preregistration_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'a preregistration is frozen; save a new one'
                USING ERRCODE = 'integrity_constraint_violation';
        END $$;
        CREATE TRIGGER metaeval_preregistration_frozen BEFORE UPDATE ON metaeval_preregistration
        FOR EACH ROW EXECUTE FUNCTION metaeval_preregistration_refuse_update()
    """,
}
DROP = {
    "sqlite": "DROP TRIGGER metaeval_preregistration_frozen",
    "postgresql": """
        DROP TRIGGER metaeval_preregistration_frozen ON metaeval_preregistration;
        DROP FUNCTION metaeval_preregistration_refuse_update()
    """,
}


def create(apps, schema_editor):
    schema_editor.execute(CREATE[schema_editor.connection.vendor])


def drop(apps, schema_editor):
    schema_editor.execute(DROP[schema_editor.connection.vendor])


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0005_kinds_from_the_registry'),
        ('metaeval', '0005_verdicts_of_report_jobs'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Preregistration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=200)),
                ('content', models.JSONField(help_text='The plan itself, in the documented JSON schema.')),
                ('sha256', models.CharField(help_text='Of its canonical JSON.', max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='preregistrations', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='preregistrations', to='annotation.dataset')),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.AddField(
            model_name='report',
            name='preregistration',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reports', to='metaeval.preregistration'),
        ),
        migrations.AddField(
            model_name='reportjob',
            name='preregistration',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='report_jobs', to='metaeval.preregistration'),
        ),
        migrations.AddConstraint(
            model_name='preregistration',
            constraint=models.UniqueConstraint(fields=('dataset', 'created_by', 'sha256'), name='preregistration_content_once'),
        ),
        migrations.RunPython(create, drop),
    ]

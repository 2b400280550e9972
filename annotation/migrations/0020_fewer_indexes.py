"""Drop indexes that are written with each imported row and that no query needs: the beginning of another index, or
empty for every imported label.
"""

import django.db.models.deletion
from django.db import migrations, models

OF_ITS_OWN = [
    ("instruction", "dataset"),
    ("itemresponse", "item"),
    ("label", "assignment"),
    ("label", "study"),
    ("response", "instruction"),
]


def _fields(apps):
    for model, name in OF_ITS_OWN:
        of = apps.get_model("annotation", model)
        yield of, of._meta.get_field(name)


def drop(apps, schema_editor):
    for model, field in _fields(apps):
        # By the name that Django gave it: an AlterField would have SQLite make the table anew, without its triggers.
        name = schema_editor._create_index_name(model._meta.db_table, [field.column])
        schema_editor.execute(schema_editor._delete_index_sql(model, name))


def create(apps, schema_editor):
    for model, field in _fields(apps):
        schema_editor.execute(schema_editor._create_index_sql(model, fields=[field]))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0019_study_reading_rules")]

    operations = [
        migrations.RemoveConstraint(model_name="label", name="label_first_unique"),
        migrations.RemoveIndex(model_name="label", name="label_by_annotator"),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(drop, create)],
            state_operations=[
                migrations.AlterField(
                    "instruction",
                    "dataset",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="instructions",
                        to="annotation.dataset",
                    ),
                ),
                migrations.AlterField(
                    "itemresponse",
                    "item",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="item_responses",
                        to="annotation.item",
                    ),
                ),
                migrations.AlterField(
                    "label",
                    "assignment",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="labels",
                        to="annotation.assignment",
                    ),
                ),
                migrations.AlterField(
                    "label",
                    "study",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="labels",
                        to="annotation.study",
                    ),
                ),
                migrations.AlterField(
                    "response",
                    "instruction",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="responses",
                        to="annotation.instruction",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            "label",
            models.Index(
                condition=models.Q(("study__isnull", False)),
                fields=["study", "annotator"],
                name="label_by_annotator",
            ),
        ),
        migrations.AddIndex(
            "label",
            models.Index(
                condition=models.Q(("assignment__isnull", False)),
                fields=["assignment"],
                name="label_of_assignment",
            ),
        ),
        migrations.AddConstraint(
            "label",
            models.UniqueConstraint(
                condition=models.Q(("assignment__isnull", False), ("supersedes__isnull", True)),
                fields=("assignment",),
                name="label_first_unique",
            ),
        ),
    ]

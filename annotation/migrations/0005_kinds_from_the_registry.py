"""Which kinds of items there are is known to `annotation.kinds`, so a new kind needs no migration."""

from django.db import migrations, models

import annotation.kinds


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0004_wording"),
    ]

    operations = [
        migrations.AlterField(
            model_name="item",
            name="kind",
            field=models.CharField(choices=annotation.kinds.kind_choices, max_length=16),
        ),
        migrations.AlterField(
            model_name="study",
            name="kind",
            field=models.CharField(
                choices=annotation.kinds.kind_choices, default="pairwise", max_length=16
            ),
        ),
        migrations.AlterField(
            model_name="label",
            name="kind",
            field=models.CharField(choices=annotation.kinds.kind_choices, max_length=16),
        ),
        migrations.RemoveConstraint(model_name="item", name="item_kind_known"),
        migrations.RemoveConstraint(model_name="study", name="study_kind_known"),
    ]

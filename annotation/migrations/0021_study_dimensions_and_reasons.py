"""Studies may ask on several dimensions and for reasons. Those that exist don't."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0020_fewer_indexes'),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='dimensions',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text='Of pairs: the dimensions that are compared, one of them the overall one; empty: one question.'),
        ),
        migrations.AddField(
            model_name='study',
            name='reasons',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text='Short reasons to pick from with every answer; empty: none.'),
        ),
        migrations.AddField(
            model_name='study',
            name='require_reason',
            field=models.BooleanField(db_default=False, default=False, help_text='At least one reason has to be picked.'),
        ),
    ]

"""A report may be on one dimension of pairs. Those that wait are on the overall one."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('metaeval', '0013_preset_of_report_jobs'),
    ]

    operations = [
        migrations.AddField(
            model_name='reportjob',
            name='dimension',
            field=models.CharField(blank=True, db_default='', default='', help_text='Of pairs: the key of the dimension, empty for the overall one.', max_length=40),
        ),
    ]

"""Workers take a run range by range. Runs that are not finished are one range each."""

import django.db.models.deletion
from django.db import migrations, models


def ranges_make(apps, schema_editor):
    run_range = apps.get_model("judges", "RunRange")
    runs = apps.get_model("judges", "SweepRun").objects.filter(finished_at=None)
    run_range.objects.bulk_create([run_range(run_id=pk) for pk in runs.values_list("pk", flat=True)])


class Migration(migrations.Migration):

    dependencies = [
        ('judges', '0012_request_texts'),
    ]

    operations = [
        migrations.AddField(
            model_name='sweeprun',
            name='n_started',
            field=models.PositiveBigIntegerField(default=0, help_text='Works started since the run was last cut into ranges.'),
        ),
        migrations.CreateModel(
            name='RunRange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.BigIntegerField(default=0)),
                ('last', models.BigIntegerField(help_text='Empty: to the end.', null=True)),
                ('owner', models.CharField(blank=True, max_length=64)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='ranges', to='judges.sweeprun')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'first'), name='run_range_unique')],
            },
        ),
        migrations.RunPython(ranges_make, migrations.RunPython.noop),
    ]

"""Studies may ask for response sets: beside the answer, all that are reasonable. Those that exist don't."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0015_dataset_versions'),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='response_sets',
            field=models.BooleanField(db_default=False, default=False, help_text='Ask also for every answer that is reasonable.'),
        ),
    ]

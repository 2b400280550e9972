from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('metaeval', '0010_verification_of_reports'),
    ]

    operations = [
        migrations.AlterField(
            model_name='reportjob',
            name='page',
            field=models.CharField(blank=True, choices=[('comparison', 'Comparison'), ('decision', 'Judge selection'), ('systems', 'Systems'), ('confidence', 'Errors and confidence'), ('verification', 'Verification of a report'), ('paper', 'Tables of a paper')], max_length=12),
        ),
    ]

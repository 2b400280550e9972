from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("metaeval", "0008_options_of_report_jobs")]

    operations = [
        migrations.AddField(
            model_name="reportjob",
            name="started_at",
            field=models.DateTimeField(
                help_text="When rows were read; later ones don't count.", null=True
            ),
        ),
    ]

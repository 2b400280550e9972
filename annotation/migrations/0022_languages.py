"""A language for each study, English for those that exist, and for each annotator, who hasn't chosen one yet."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0021_study_dimensions_and_reasons'),
    ]

    operations = [
        migrations.AddField(
            model_name='annotator',
            name='language',
            field=models.CharField(blank=True, db_default='', help_text='The one that they chose; empty: none yet.', max_length=16),
        ),
        migrations.AddField(
            model_name='study',
            name='language',
            field=models.CharField(choices=[('en', 'English'), ('es', 'Español'), ('de', 'Deutsch'), ('fr', 'Français'), ('pt', 'Português'), ('zh-hans', '简体中文'), ('ja', '日本語'), ('hi', 'हिन्दी'), ('ar', 'العربية'), ('auto', "The annotator's browser decides")], db_default='en', default='en', help_text="Of its pages, for people who haven't chosen another.", max_length=16),
        ),
    ]

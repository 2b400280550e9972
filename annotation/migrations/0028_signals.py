"""A browser's summary of how an answer was given, beside its label. Studies that exist collect none: nobody was told."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0027_privacy'),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='collect_signals',
            field=models.BooleanField(db_default=False, default=True, help_text='The browser summarizes how each answer is given: paste, hidden tab, events, typing rhythm.'),
        ),
        migrations.AddField(
            model_name='study',
            name='machine_text',
            field=models.BooleanField(db_default=False, default=False, help_text="The page of an item has a request to automated readers, and a field, that people don't see."),
        ),
        migrations.CreateModel(
            name='AnswerSignals',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first_ms', models.PositiveIntegerField(help_text='Until the first key, press or turn of the wheel.', null=True)),
                ('hidden', models.PositiveIntegerField(help_text='How often the page was hidden.', null=True)),
                ('hidden_ms', models.PositiveIntegerField(null=True)),
                ('pointer', models.PositiveIntegerField(help_text='Events of a mouse or pen.', null=True)),
                ('touch', models.PositiveIntegerField(null=True)),
                ('keys', models.PositiveIntegerField(null=True)),
                ('scrolled', models.PositiveIntegerField(help_text='Percent of the texts that came into view.', null=True)),
                ('pastes', models.PositiveIntegerField(null=True)),
                ('pasted', models.PositiveIntegerField(help_text='Characters.', null=True)),
                ('gaps', models.PositiveIntegerField(help_text='Pauses between two keys in text fields.', null=True)),
                ('gap_ms', models.PositiveIntegerField(help_text='Their median.', null=True)),
                ('gap_spread_ms', models.PositiveIntegerField(help_text='The distance between their quartiles.', null=True)),
                ('typed', models.PositiveIntegerField(help_text='Characters in text fields.', null=True)),
                ('keyless', models.PositiveIntegerField(help_text='Of these, neither with a key nor pasted.', null=True)),
                ('untrusted', models.PositiveIntegerField(help_text='Events that a script made.', null=True)),
                ('automated', models.BooleanField(default=False, help_text='navigator.webdriver')),
                ('decoy', models.BooleanField(default=False, help_text="The field that people don't see was filled in.")),
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='signals', to='annotation.assignment')),
            ],
            options={
                'verbose_name_plural': 'answer signals',
            },
        ),
    ]

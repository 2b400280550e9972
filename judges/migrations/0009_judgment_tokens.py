"""How many tokens a judgment took is kept with it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judges", "0008_anchors"),
    ]

    # Without a default, so that no row is rewritten.
    operations = [
        migrations.AddField(
            model_name="judgment",
            name="prompt_tokens",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Over its requests. Empty: not reported, or judged by an earlier version.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="judgment",
            name="completion_tokens",
            field=models.PositiveIntegerField(blank=True, help_text="As prompt_tokens.", null=True),
        ),
    ]

"""How many of a judgment's tokens were thoughts is kept with it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judges", "0014_endpoint_addresses"),
    ]

    # Without a default, so that no row is rewritten.
    operations = [
        migrations.AddField(
            model_name="judgment",
            name="reasoning_tokens",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="How many of the completion tokens were thoughts. Empty: none, or not reported.",
                null=True,
            ),
        ),
    ]

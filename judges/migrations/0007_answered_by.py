"""The model that a server says answered is kept with every result."""

from importlib import import_module

from django.db import migrations, models

AddText = import_module("judges.migrations.0003_thoughts").AddText
HELP = "The models that answered, as their servers name them, a line each: asked, returned, fingerprint."


class Migration(migrations.Migration):
    dependencies = [
        ("judges", "0006_wording"),
    ]

    operations = [
        AddText(
            model_name=name,
            name="answered_by",
            field=models.TextField(blank=True, default="", help_text=HELP),
            preserve_default=False,
        )
        for name in ("generation", "judgment")
    ]

"""Tokens get scopes and end with the password; those that there are keep all rights, and their user's password."""

from django.db import migrations, models
from django.utils.crypto import salted_hmac


def mark(apps, _schema_editor):
    tokens = apps.get_model("annotation", "ApiToken")
    for token in tokens.objects.select_related("user"):
        token.scopes = ["read", "write"]
        token.password_mark = salted_hmac(
            "annotation.ApiToken", token.user.password, algorithm="sha256"
        ).hexdigest()
        token.save(update_fields=["scopes", "password_mark"])


class Migration(migrations.Migration):
    dependencies = [("annotation", "0002_label_append_only")]

    operations = [
        migrations.AddField(
            "apitoken",
            "scopes",
            models.JSONField(default=list, help_text="What it may be used for."),
        ),
        migrations.AddField(
            "apitoken",
            "password_mark",
            models.CharField(
                default="", help_text="Of the user's password when it was made.", max_length=64
            ),
            preserve_default=False,
        ),
        migrations.RunPython(mark, migrations.RunPython.noop),
    ]

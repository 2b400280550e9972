"""Scopes name a resource; tokens that there are keep what they could do. Answers to writes that may be repeated."""

import django.db.models.deletion
from django.db import migrations, models

MEANT = {
    "read": ["judges:read", "sweeps:read", "judgments:read"],
    "write": ["judges:write", "sweeps:write"],
}


def widen(apps, _schema_editor):
    for token in apps.get_model("annotation", "ApiToken").objects.all():
        token.scopes = sorted({new for scope in token.scopes for new in MEANT.get(scope, [scope])})
        token.save(update_fields=["scopes"])


def narrow(apps, _schema_editor):
    # A token gets back only what covers no more than it may do.
    for token in apps.get_model("annotation", "ApiToken").objects.all():
        token.scopes = [old for old, new in MEANT.items() if set(new) <= set(token.scopes)]
        token.save(update_fields=["scopes"])


class Migration(migrations.Migration):
    dependencies = [("annotation", "0006_item_notes_and_adjudication_requests")]

    operations = [
        migrations.RunPython(widen, narrow),
        migrations.CreateModel(
            "IdempotentAnswer",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=255)),
                ("request_hash", models.CharField(help_text="SHA-256 of method, address and body.", max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("body", models.TextField(blank=True, help_text="JSON.")),
                ("created_at", models.DateTimeField(auto_now_add=True, db_index=True)),
                (
                    "token",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="idempotent_answers",
                        to="annotation.apitoken",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("token", "key"), name="idempotent_answer_once")
                ],
            },
        ),
    ]

"""What a model thought before it answered is kept apart from what it said."""

from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState


class AddText(migrations.AddField):
    """Add a column of text. On SQLite in one statement: Django would make the table anew, which the triggers that name
    it do not survive, and which takes long where there are many rows.
    """

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "sqlite":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        self._alter(schema_editor, to_state, app_label, "ADD COLUMN {} text NOT NULL DEFAULT ''")

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "sqlite":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
            return
        self._alter(schema_editor, from_state, app_label, "DROP COLUMN {}")

    def _alter(self, schema_editor: BaseDatabaseSchemaEditor, state: ProjectState, app_label: str, what: str) -> None:
        model: Any = state.apps.get_model(app_label, self.model_name)
        name = schema_editor.quote_name
        schema_editor.execute(f"ALTER TABLE {name(model._meta.db_table)} {what.format(name(self.name))}")


class Migration(migrations.Migration):
    dependencies = [
        ("judges", "0002_by_hand"),
    ]

    operations = [
        AddText(
            model_name="generation",
            name="thought",
            field=models.TextField(
                blank=True, default="", help_text="What the model thought before it answered."
            ),
            preserve_default=False,
        ),
        AddText(
            model_name="judgment",
            name="thought",
            field=models.TextField(
                blank=True,
                default="",
                help_text="What the models thought on the way; nothing is read from it.",
            ),
            preserve_default=False,
        ),
    ]

"""The field of titles and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

from web.plain_text import printable_line

if TYPE_CHECKING:
    _Text = models.CharField[str, str]
else:
    _Text = models.CharField


class NameField(_Text):
    """A title or a name. Whichever way it comes in, it is stored and looked up as `printable_line`."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return printable_line(text) if isinstance(text, str) else text

    def get_prep_value(self, value: Any) -> Any:
        return self.to_python(super().get_prep_value(value))

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = self.to_python(super().pre_save(model_instance, add))
        setattr(model_instance, self.attname, value)
        return value

    def deconstruct(self) -> Any:
        # To the database it is a CharField, so that its rules are no migration.
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs

"""People who sign in: researchers and administrators. Annotators enter by invitation (see `people`)."""

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db import models


class Role(models.TextChoices):
    ANNOTATOR = "annotator", "Annotator"
    RESEARCHER = "researcher", "Researcher"
    ADMINISTRATOR = "administrator", "Administrator"


class User(AbstractUser):
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.RESEARCHER)

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="user_role_known"),
        ]

    @property
    def is_administrator(self) -> bool:
        return self.is_active and (self.is_superuser or self.role == Role.ADMINISTRATOR)

    @property
    def is_researcher(self) -> bool:
        """Researchers, and administrators, who may do all that a researcher may."""
        return self.is_active and (self.is_administrator or self.role == Role.RESEARCHER)

    def has_perm(self, perm: str, obj: models.Model | AnonymousUser | None = None) -> bool:
        """Administrators may do everything in the admin; permissions by model are not used."""
        return self.is_administrator

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_administrator

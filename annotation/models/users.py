"""People who sign in: researchers and administrators. Annotators enter by invitation (see `people`)."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.contrib.auth.models import UserManager as DjangoUserManager
from django.db import models
from django.utils.crypto import salted_hmac


class Role(models.TextChoices):
    ANNOTATOR = "annotator", "Annotator"
    RESEARCHER = "researcher", "Researcher"
    ADMINISTRATOR = "administrator", "Administrator"


class UserManager(DjangoUserManager["User"]):
    use_in_migrations = False

    def create_superuser(
        self, username: str, email: str | None = None, password: str | None = None, **extra: Any
    ) -> "User":
        """`createsuperuser` makes an administrator: the role decides, Django's own flags are not asked."""
        return super().create_superuser(username, email, password, **extra | {"role": Role.ADMINISTRATOR})


class User(AbstractUser):
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.RESEARCHER)
    # Another value ends all of a person's sessions, whichever engine keeps them.
    session_mark = models.CharField(max_length=32, blank=True, default="", db_default="", editable=False)

    objects: ClassVar[UserManager] = UserManager()

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="user_role_known"),
        ]

    @property
    def is_administrator(self) -> bool:
        return self.is_active and self.role == Role.ADMINISTRATOR

    @property
    def is_researcher(self) -> bool:
        """Researchers, and administrators, who may do all that a researcher may."""
        return self.is_active and (self.is_administrator or self.role == Role.RESEARCHER)

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """What each session keeps and is compared with: another password, role or mark ends it."""
        value = f"{self.password} {self.role} {self.session_mark}"
        return salted_hmac("annotation.User.session", value, secret=secret, algorithm="sha256").hexdigest()

    def has_perm(self, perm: str, obj: models.Model | AnonymousUser | None = None) -> bool:
        """Administrators may do everything in the admin; permissions by model are not used."""
        return self.is_administrator

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_administrator

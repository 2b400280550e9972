"""People who sign in, as the command line names them, and their valid tokens of the API."""

from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import ApiToken, Role, User
from annotation.models.tokens import password_mark


def user_find(username: str) -> User | None:
    """The account of this name, if there is one."""
    return User.objects.filter(username=username).first()


def administrator_find(username: str) -> User | None:
    """The administrator of this name, if there is one who may sign in."""
    return User.objects.filter(username=username, role=Role.ADMINISTRATOR, is_active=True).first()


def tokens_valid(user: User, now: datetime | None = None) -> QuerySet[ApiToken]:
    """Return the user's tokens that open something now, latest first."""
    return ApiToken.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=now or timezone.now()),
        user=user,
        revoked_at=None,
        password_mark=password_mark(user.password),
    )

"""Tokens of the API that are valid."""

from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import ApiToken, User
from annotation.models.tokens import password_mark


def tokens_valid(user: User, now: datetime | None = None) -> QuerySet[ApiToken]:
    """Return the user's tokens that open something now, latest first."""
    return ApiToken.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=now or timezone.now()),
        user=user,
        revoked_at=None,
        password_mark=password_mark(user.password),
    )

"""Tokens with which programs speak for a user. Only a hash of each is stored."""

from django.conf import settings
from django.db import models
from django.utils.crypto import salted_hmac

from annotation.models.names import NameField


class TokenScope(models.TextChoices):
    """What a token may be used for, within what its user may do."""

    READ = "read", "Read judges, sweeps and judgments"
    WRITE = "write", "Define judges, and make and run sweeps"


def password_mark(password: str) -> str:
    """A mark of a stored password: a token that has another one was made before the password changed."""
    return salted_hmac("annotation.ApiToken", password, algorithm="sha256").hexdigest()


class ApiToken(models.Model):
    """A token of the API. What it is was shown once, when it was made; `prefix` tells people which one it is."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = NameField(max_length=100, help_text="What it is for.")
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token.")
    scopes = models.JSONField(default=list, help_text="What it may be used for.")
    password_mark = models.CharField(max_length=64, help_text="Of the user's password when it was made.")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def scope_names(self) -> str:
        """Its scopes in words."""
        return ", ".join(scope.capitalize() for scope in self.scopes)

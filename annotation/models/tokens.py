"""Tokens with which programs speak for a user. Only a hash of each is stored."""

from django.conf import settings
from django.db import models
from django.utils.crypto import salted_hmac

from annotation.models.names import NameField

RESOURCES = {
    "datasets": ("Datasets and items", "Import datasets and items"),
    "studies": ("Studies and invitations", "Create, change, open and close studies; invite annotators"),
    "labels": ("Labels", "Import labels"),
    "judges": ("Judges, strategies, endpoints", "Create judges"),
    "sweeps": ("Sweeps, estimates", "Plan, start, pause and stop sweeps"),
    "judgments": ("Judgments", "Import judgments"),
    "exports": ("Exports as files", "Ask for and delete exports"),
    "reports": ("Reports, comparisons", "Make reports"),
    "decisions": ("Decisions", "Promote a judge"),
    "sharing": ("Who has access, teams", "Share, transfer ownership, change teams"),
    "webhooks": ("Webhooks and their deliveries", "Register, change and replay webhooks"),
}
"""What a scope is about: what it lets a token read, and what it lets it change."""
READ, WRITE = "read", "write"


def scope_of(resource: str, access: str) -> str:
    """The scope for reading or for changing a resource."""
    return f"{resource}:{access}"


TOKEN_SCOPES = tuple(scope_of(resource, access) for resource in RESOURCES for access in (READ, WRITE))
"""What a token may be used for, within what its user may do."""


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
        if set(self.scopes) == set(TOKEN_SCOPES):
            return "All"
        held: dict[str, list[str]] = {}
        for scope in self.scopes:
            resource, _, access = scope.partition(":")
            held.setdefault(resource, []).append(access)
        return ", ".join(f"{resource} ({' and '.join(of)})" for resource, of in held.items())


class IdempotentAnswer(models.Model):
    """What a write with an `Idempotency-Key` was answered, for a day: the same request again gets the same answer.

    The row is stored in the transaction of the effect, so there is one where there is the other.
    """

    token = models.ForeignKey(ApiToken, on_delete=models.CASCADE, related_name="idempotent_answers")
    key = models.CharField(max_length=255)
    request_hash = models.CharField(max_length=64, help_text="SHA-256 of method, address and body.")
    status = models.PositiveSmallIntegerField(default=0)
    body = models.TextField(blank=True, help_text="JSON.")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="idempotent_answer_once")]

    def __str__(self) -> str:
        return f"{self.key} of {self.token_id}"

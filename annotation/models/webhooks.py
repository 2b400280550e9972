"""Webhooks: addresses of users that are told of events, what they were told, and how often it was tried."""

from django.conf import settings
from django.db import models

from annotation.models.names import NameField


class Webhook(models.Model):
    """An address that one user's events are sent to. Its secret is not stored: it follows from the site's own."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks")
    name = NameField(max_length=100, help_text="What listens there.")
    url = models.CharField(max_length=500)
    events = models.JSONField(default=list, help_text="Names of the events that it is told of.")
    nonce = models.CharField(max_length=32, help_text="Makes its secret; a new one makes another secret.")
    created_at = models.DateTimeField(auto_now_add=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    disabled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            # A form that is sent twice makes one.
            models.UniqueConstraint(fields=["user", "url"], name="webhook_url_once"),
        ]

    def __str__(self) -> str:
        return self.name


class DeliveryState(models.TextChoices):
    BEFORE = "before", "Before the webhook"
    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    FAILED = "failed", "Failed"


class Delivery(models.Model):
    """One event for one webhook. The row is the truth: a worker that dies leaves it to the next one.

    `subject` is what the event is about, so that nothing is told twice.
    """

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=40)
    subject = models.CharField(max_length=64)
    message_id = models.CharField(max_length=40, unique=True)
    payload = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    tries = models.PositiveSmallIntegerField(default=0, help_text="Since it was last asked for.")
    next_at = models.DateTimeField(db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event", "subject"], name="delivery_once"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.subject}"


class DeliveryAttempt(models.Model):
    """One try, and what came back."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts")
    at = models.DateTimeField(auto_now_add=True)
    status = models.PositiveSmallIntegerField(null=True, help_text="Of HTTP; empty where nothing came back.")
    error = models.CharField(max_length=300, blank=True)
    duration_ms = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.status or self.error}"

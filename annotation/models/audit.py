"""The audit log: who changed rights, rules, the standing of labels or a promotion, and who exported what."""

from django.db import models


class AuditEvent(models.Model):
    """One change or export. The database refuses to change it; PostgreSQL to delete it, too. What it says of an
    annotator who was erased is taken out of it once, which leaves an `AuditRedaction`.

    It names people and things by text, so that it outlasts them.
    """

    at = models.DateTimeField(auto_now_add=True)
    actor = models.CharField(max_length=150, blank=True, help_text="Username; empty: a command or a worker.")
    actor_key = models.PositiveBigIntegerField(null=True, blank=True, help_text="Primary key of the user.")
    via = models.CharField(max_length=60, help_text="page, api, or the command.")
    network = models.CharField(
        max_length=45, blank=True, help_text="Of the client: /24 of IPv4, /48 of IPv6; not the whole address."
    )
    action = models.CharField(max_length=40, help_text="Such as study.changed.")
    subject = models.CharField(max_length=200, blank=True, help_text="Name of what was changed.")
    subject_key = models.CharField(max_length=40, blank=True, help_text="Its primary key.")
    before = models.JSONField(null=True, blank=True, help_text="Fields that were changed, before.")
    after = models.JSONField(null=True, blank=True, help_text="The same fields, after.")

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["action", "-id"], name="audit_action"),
            models.Index(fields=["actor", "-id"], name="audit_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"


class AuditRedaction(models.Model):
    """What an event said of a person was taken out of it. The database lets the event change while this isn't done."""

    event = models.OneToOneField(AuditEvent, on_delete=models.PROTECT, related_name="redaction")
    is_done = models.BooleanField(default=False)
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"redaction of {self.event_id}"

"""Doors into a study beside invitations: crowdsourcing platforms, and accounts of people who sign up."""

from django.db import models

from annotation.models.studies import Study


class PlatformLink(models.Model):
    """A study's entry link for one platform: the address that is given there, and the codes that lead back.

    Secrets (API token, webhook secret) are not here: the environment has them.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="platform_links")
    platform = models.CharField(max_length=20, help_text="Name of an adapter in annotation.entry.")
    token = models.CharField(max_length=64, unique=True, help_text="Part of the address.")
    external_study_id = models.CharField(max_length=200, blank=True, help_text="The study's id there.")
    completed_code = models.CharField(max_length=64, blank=True)
    screened_out_code = models.CharField(max_length=64, blank=True)
    no_consent_code = models.CharField(max_length=64, blank=True)
    require_signed_token = models.BooleanField(
        default=False, help_text="Admit only people with a token that the platform signed."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "platform"], name="platform_link_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.platform} of {self.study_id}"


class PlatformEvent(models.Model):
    """What a platform told us, each event once: by webhook, file or API."""

    link = models.ForeignKey(PlatformLink, on_delete=models.CASCADE, related_name="events")
    event_id = models.CharField(max_length=200)
    channel = models.CharField(max_length=10, help_text="webhook, file or api.")
    session = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=40, blank=True)
    outcome = models.CharField(max_length=200, blank=True, help_text="What followed from it here.")
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["link", "event_id"], name="platform_event_once")]

    def __str__(self) -> str:
        return self.event_id

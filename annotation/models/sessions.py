"""Sessions of staff, so that a person sees where they are signed in and can end it."""

from django.conf import settings
from django.db import models


class StaffSession(models.Model):
    """A browser in which a person signed in. When it was last used is in the session itself.

    A row may outlast its session; `annotation.selectors.sessions` reads those that still open something.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="staff_sessions"
    )
    session_key = models.CharField(max_length=64, unique=True)
    device = models.CharField(max_length=60, help_text="Browser and system, without versions.")
    network = models.CharField(
        max_length=45, blank=True, help_text="Of the client: /24 of IPv4, /48 of IPv6; not the whole address."
    )
    started_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-started_at"]

    def __str__(self) -> str:
        return f"{self.user}: {self.device}"

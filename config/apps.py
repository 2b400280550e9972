"""The deployment as an application: its checks and its commands."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Registers the checks of a deployment."""

    name = "config"

    def ready(self) -> None:
        """Register them, and what is to happen when a worker starts, a task is sent, or a person signs in or out."""
        from config import checks, protection  # noqa: F401

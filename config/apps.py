"""The deployment as an application: its checks and its commands."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Registers the checks of a deployment."""

    name = "config"

    def ready(self) -> None:
        """Register them."""
        from config import checks, protection  # noqa: F401  (protection: what signing in and out notes)

"""What every page shares and no app owns."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "web"

    def ready(self) -> None:
        import web.lookups  # noqa: F401  (registers them)

from django.apps import AppConfig


class JudgesConfig(AppConfig):
    name = "judges"
    verbose_name = "Judges"

    def ready(self) -> None:
        import judges.services.webhook_events  # noqa: F401  (makes its events known)

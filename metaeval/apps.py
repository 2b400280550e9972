from django.apps import AppConfig


class MetaevalConfig(AppConfig):
    name = "metaeval"
    verbose_name = "Meta-evaluation"

    def ready(self) -> None:
        import metaeval.services.webhook_events  # noqa: F401  (makes its events known)

from django.apps import AppConfig


class JudgesConfig(AppConfig):
    name = "judges"
    verbose_name = "Judges"

    def ready(self) -> None:
        import judges.services.erased
        import judges.services.webhook_events  # noqa: F401  (makes its events known)
        from annotation.services.audit import audited
        from judges.models import Endpoint

        audited(
            Endpoint,
            "endpoint",
            ("name", "kind", "base_url", "queue", "api_key_env", "is_local"),
            rules=("addresses", "options"),
        )

from django.apps import AppConfig


class MetaevalConfig(AppConfig):
    name = "metaeval"
    verbose_name = "Meta-evaluation"

    def ready(self) -> None:
        import metaeval.services.webhook_events  # noqa: F401  (makes its events known)
        from annotation.services.audit import audited
        from metaeval.models import Decision

        audited(Decision, "decision", ("dataset_id", "kind", "judge_id", "sweep_id", "reason"))

from django.apps import AppConfig
from django.utils.translation import gettext, ngettext

from annotation.domain import wording
from annotation.logs import hide_tokens


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = "Annotation"

    def ready(self) -> None:
        import annotation.services.webhook_events  # noqa: F401  (makes its events known)
        from annotation.services.audit import audit_begin
        from annotation.sign_in import events

        hide_tokens()
        audit_begin()
        events.connect()
        wording.use(gettext, ngettext)

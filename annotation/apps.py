from django.apps import AppConfig

from annotation.logs import hide_tokens


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = "Annotation"

    def ready(self) -> None:
        hide_tokens()

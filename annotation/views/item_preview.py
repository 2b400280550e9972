"""An item as annotators would see it, on a page of researchers: their own templates, with nothing to send."""

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from annotation.kinds import KINDS
from annotation.kinds.shown import ShownItem
from annotation.models import Study
from annotation.selectors.shown import plain_if_long

TEMPLATE = "annotation/researcher/item_preview.html"
STYLES = (
    *("css/annotate.css", "css/reading.css", "css/timeline.css"),
    *dict.fromkeys(style for kind in KINDS.values() for style in kind.styles),
)
"""What a page with a preview needs: the styles of annotators' pages, of every kind."""


def item_preview(request: HttpRequest, shown: ShownItem) -> SafeString:
    """The item and its answer bar, whose fields are disabled; under the rules that a new study has."""
    study = Study(kind=shown.kind)
    study.question = study.kind_info.question
    context = {
        "study": study,
        "item": plain_if_long(shown),
        "fields": {},
        "submit": "Submit",
        "kind_template": study.kind_info.template,
        "bar_template": study.kind_info.bar_template,
    }
    return mark_safe(render_to_string(TEMPLATE, context, request=request))  # noqa: S308  (a template's)

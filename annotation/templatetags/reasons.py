"""Why a person leaves an item out."""

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from annotation.forms.annotator import REPORT_REASONS, SKIP_REASONS

register = template.Library()
_REASONS = {"skip": SKIP_REASONS, "report": REPORT_REASONS}


@register.simple_tag
def reason_inputs(which: str) -> SafeString:
    """The reasons to `skip` or to `report` an item, as radio inputs."""
    line = (
        '<label class="check"><input type="radio" name="reason" value="{}" required> <span>{}</span></label>'
    )
    return format_html_join("", line, _REASONS[which])

"""The way back to the platform from which a person came."""

from typing import Any

from django import template

from annotation.entry import platform_find
from annotation.models import Enrollment
from annotation.services.entry import return_code, return_url

register = template.Library()


@register.simple_tag
def platform_return(enrollment: Enrollment) -> dict[str, Any] | None:
    """`{% platform_return enrollment as back %}`: its `url`, `label` and `code`; None when there is no way back."""
    address = return_url(enrollment)
    link = enrollment.platform_link
    platform = platform_find(link.platform) if link is not None else None
    if address is None or platform is None:
        return None
    return {"url": address, "label": platform.label, "code": return_code(enrollment)}

"""The admin site: for administrators, whatever Django's own staff flag says."""

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.http import HttpRequest


class TouchstoneAdminConfig(AdminConfig):
    default_site = "config.admin.TouchstoneAdminSite"


class TouchstoneAdminSite(AdminSite):
    site_title = site_header = "Touchstone"
    index_title = "Administration"

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(getattr(request.user, "is_administrator", False))

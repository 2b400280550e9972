"""The admin site: for administrators, whatever Django's own staff flag says."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models.signals import pre_migrate
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django_htmx.http import HttpResponseClientRefresh

from config.schema import refuse_foreign_schema
from web.second_factor import lacks_second_factor, to_second_factor

ORDER = ("Sweep", "Judge", "PromptText", "Endpoint", "Judgment", "User", "Dataset", "Study")
"""Models in the order in which an administrator needs them; others come after, by name."""
IN_TABS = ORDER[:5]
"""Those that every page of the admin links to."""


class TouchstoneAdminConfig(AdminConfig):
    default_site = "config.admin.TouchstoneAdminSite"

    def ready(self) -> None:
        super().ready()
        pre_migrate.connect(refuse_foreign_schema)
        # Who may do what hangs on a person's role; groups would be a switch that is connected to nothing.
        from allauth.account.models import EmailAddress
        from allauth.mfa.models import Authenticator
        from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
        from django.contrib import admin
        from django.contrib.auth.models import Group

        # Factors are reset by an action on people, and the provider is set in the environment.
        for model in (Group, EmailAddress, Authenticator, SocialAccount, SocialApp, SocialToken):
            if admin.site.is_registered(model):
                admin.site.unregister(model)


def _is_key(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


class TouchstoneAdminSite(AdminSite):
    site_title = site_header = "Touchstone"
    index_title = "Administration"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(getattr(request.user, "is_administrator", False)) and not lacks_second_factor(request)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().each_context(request), "section": "admin", "in_tabs": IN_TABS}

    def admin_view(  # type: ignore[override]  # the stubs promise the very type of the view
        self, view: Callable[..., Any], cacheable: bool = False
    ) -> Callable[..., Any]:
        """Refuse the rows of an action that are none: Django's own page of a list answers 500 to these."""

        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if request.method == "POST" and not all(map(_is_key, request.POST.getlist("_selected_action"))):
                raise BadRequest("An action was sent for something that isn't a row.")
            return view(request, *args, **kwargs)

        return super().admin_view(update_wrapper(checked, view), cacheable)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Lead to the one login of the site, which counts attempts; who is signed in already is refused."""
        if getattr(request, "htmx", False):
            # A part of a page asked, and would be filled with a login form: let the whole page ask.
            return HttpResponseClientRefresh()
        wanted = request.GET.get("next", "")
        if not url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure()):
            wanted = resolve_url("admin:index")
        if self.has_permission(request):
            return redirect(wanted)
        if getattr(request.user, "is_administrator", False):
            return to_second_factor()
        if request.user.is_authenticated:
            raise PermissionDenied("These pages are for administrators.")
        return redirect(f"{resolve_url('login')}?{urlencode({'next': wanted})}")

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = super().get_app_list(request, app_label)

        def place(model: dict[str, Any]) -> tuple[int, str]:
            name = model["object_name"]
            return (ORDER.index(name) if name in ORDER else len(ORDER), str(model["name"]))

        for app in apps:
            app["models"].sort(key=place)
        return sorted(apps, key=lambda app: place(app["models"][0]))

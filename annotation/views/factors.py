"""One's own second factors: an authenticator app, passkeys and recovery codes. django-allauth's views, in our pages."""

from typing import Any

from allauth.mfa.base.views import IndexView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.internal import auth
from allauth.mfa.webauthn.views import AddWebAuthnView, RemoveWebAuthnView
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from annotation.forms.factors import AddPasskeyForm, SetUpCodeForm
from annotation.models import User
from annotation.selectors.factors import factors_of
from web.second_factor import lacks_second_factor
from web.throttling import too_many_requests, too_often

RATE = "10/5m"


def _crumbs(here: str) -> list[tuple[str, str | None]]:
    return [("Your account", reverse("me")), ("Second factor", reverse("mfa_index")), (here, None)]


class _Limited:
    """Counts what a person sends; a guess costs as much as a right one."""

    request: HttpRequest

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if too_often(group="factors", by=str(request.user.pk), rate=RATE):
            return too_many_requests(request)
        return super().post(request, *args, **kwargs)  # type: ignore[misc]


_guarded: Any = [never_cache, sensitive_post_parameters(), login_required]


@method_decorator(never_cache, name="dispatch")
@method_decorator(login_required, name="dispatch")
class FactorsPage(IndexView):
    """What is set up, and what can be."""

    template_name = "registration/factors.html"
    http_method_names = ["get", "head"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = self.request.user
        assert isinstance(user, User), "login_required"
        return {
            "factors": factors_of(user),
            "is_missing": lacks_second_factor(self.request),
            "is_required": settings.SECOND_FACTOR == "required",
            "crumbs": [("Your account", reverse("me")), ("Second factor", None)],
        }


@method_decorator(_guarded, name="dispatch")
class SetUpApp(_Limited, ActivateTOTPView):
    """Show the secret of an authenticator app as a QR code and as text, and take its first code."""

    form_class = SetUpCodeForm
    template_name = "registration/factor_app.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        secret = (found := super().get_context_data(**kwargs))["form"].secret
        groups = " ".join(secret[n : n + 4] for n in range(0, len(secret), 4))
        return found | {"secret": groups, "crumbs": _crumbs("Authenticator app")}

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


@method_decorator(_guarded, name="dispatch")
class RemoveApp(_Limited, DeactivateTOTPView):
    """Remove the authenticator app, after a question."""

    template_name = "registration/factor_remove.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = {"what": "your authenticator app", "crumbs": _crumbs("Remove the authenticator app")}
        return super().get_context_data(**kwargs) | context


@method_decorator(_guarded, name="dispatch")
class AddPasskey(_Limited, AddWebAuthnView):
    """Let the browser make a passkey, and store its public key."""

    form_class = AddPasskeyForm
    template_name = "registration/factor_passkey.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        form = kwargs.get("form") or self.get_form()
        options = auth.begin_registration(self.request.user, True)
        return {"form": form, "options": options, "crumbs": _crumbs("New passkey")}

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


@method_decorator(_guarded, name="dispatch")
class RemovePasskey(_Limited, RemoveWebAuthnView):
    """Remove one of one's passkeys, after a question."""

    template_name = "registration/factor_remove.html"
    success_url = reverse_lazy("mfa_index")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = {"what": f"the passkey “{self.object.wrap().name}”", "crumbs": _crumbs("Remove a passkey")}
        return super().get_context_data(**kwargs) | context


@method_decorator(_guarded, name="dispatch")
class MakeCodes(_Limited, GenerateRecoveryCodesView):
    """Make ten new recovery codes, which replace the earlier ones."""

    template_name = "registration/factor_codes_make.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"crumbs": _crumbs("New recovery codes")}

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


@method_decorator(_guarded, name="dispatch")
class ShowCodes(ViewRecoveryCodesView):
    """Show the recovery codes, this one time."""

    template_name = "registration/factor_codes.html"
    http_method_names = ["get"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"crumbs": _crumbs("Recovery codes")}

"""Signing in by a second factor, and by a passkey alone."""

import logging
from typing import Any

from allauth.account.internal import stagekit
from allauth.account.internal.decorators import login_stage_required
from allauth.account.models import Login as SignIn
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.stages import AuthenticateStage
from allauth.mfa.webauthn.internal import auth, flows
from allauth.mfa.webauthn.views import LoginWebAuthnView
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from annotation.forms.factors import (
    SecondStepPasskeyForm,
    SignInCodeForm,
    SignInPasskeyForm,
    hint_recovery_codes,
)
from annotation.selectors.factors import factors_of, is_of_provider_alone
from annotation.sign_in.recent import FIRST_STEP
from web.throttling import address_of, any_too_often, client_network, too_many_requests, too_often

logger = logging.getLogger("annotation.security")

# Of a person, from wherever they come: people get here with the right password alone, so nobody else can use it up.
CODE_RATE = "5/5m"
CODE_RATE_PER_DAY = "50/d"
PASSKEY_RATE = "60/m"


@method_decorator(sensitive_post_parameters(), name="dispatch")
@method_decorator(login_stage_required(AuthenticateStage.key, "account_login"), name="dispatch")
class SecondStep(AuthenticateView):
    """Take a code or a passkey of the person whose password was right."""

    form_class = SignInCodeForm
    webauthn_form_class = SecondStepPasskeyForm
    template_name = "registration/second_step.html"
    http_method_names = ["get", "head", "post"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        person = request._login_stage.login.user  # type: ignore[attr-defined]  # what the library found
        if request.session.get(FIRST_STEP) != person.get_session_auth_hash() or not person.is_active:
            stagekit.clear_login(request)  # the password, the role or the account changed meanwhile
            return redirect("login")
        if request.method == "POST" and any_too_often(
            ("second-factor", str(person.pk), CODE_RATE),
            ("second-factor-day", str(person.pk), CODE_RATE_PER_DAY),
        ):
            logger.warning("Too many codes as %r from %s", person.get_username(), client_network(request))
            return too_many_requests(request)
        return super().dispatch(request, *args, **kwargs)

    def form_invalid(self, form: Any) -> HttpResponse:
        person = self.stage.login.user
        logger.warning(
            "Wrong second factor as %r from %s", person.get_username(), client_network(self.request)
        )
        return self.render_to_response(self.get_context_data(), status=422)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        factors = factors_of(self.stage.login.user)
        if not factors.totp:
            hint_recovery_codes(self.auth_form)
        options = auth.begin_authentication(self.stage.login.user) if factors.passkeys else None
        return {
            "form": self.auth_form,
            "passkey_form": self.webauthn_form,
            "factors": factors,
            "options": options,
        }


@method_decorator(never_cache, name="dispatch")
@method_decorator(sensitive_post_parameters(), name="dispatch")
class PasskeySignIn(LoginWebAuthnView):
    """GET: what a browser needs to ask for a passkey; POST: its answer, in place of name and password."""

    form_class = SignInPasskeyForm
    http_method_names = ["get", "post"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if too_often(group="passkey", by=address_of(request), rate=PASSKEY_RATE):
            return too_many_requests(request)
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.headers.get("Accept") != "application/json":
            return redirect("login")
        return JsonResponse({"options": auth.begin_authentication(user=None)})

    def form_invalid(self, form: Any) -> HttpResponse:
        logger.warning("Failed sign-in by passkey from %s", client_network(self.request))
        return self._back("This passkey wasn't accepted. Try again, or sign in with your password.")

    def form_valid(self, form: Any) -> HttpResponse:
        authenticator = form.cleaned_data["credential"]
        user = authenticator.user
        if is_of_provider_alone(user):
            return self._back(f"Your account is for {settings.OIDC_NAME} alone. Sign in with its button.")
        if not user.is_active:
            return self.form_invalid(form)
        wanted = self.request.POST.get("next", "")
        is_ours = url_has_allowed_host_and_scheme(wanted, {self.request.get_host()}, self.request.is_secure())
        sign_in = SignIn(user=user, redirect_url=wanted if is_ours else None)
        return flows.perform_passwordless_login(self.request, authenticator, sign_in)

    def _back(self, text: str) -> HttpResponse:
        messages.error(self.request, text)
        return redirect("login")

"""A forgotten password: asked for, sent, set and done; of staff, and the same of annotators with an account.

Django's views and links. Whether an address is known changes neither what is answered nor how long it takes.
"""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.http import urlsafe_base64_decode
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from annotation.forms.passwords import (
    AccountForgotForm,
    AccountNewPasswordForm,
    AccountTokens,
    ChangePasswordForm,
    EmailForm,
    ForgotForm,
    NewPasswordForm,
)
from annotation.models import Account, User
from annotation.selectors.factors import factors_of, has_single_sign_on, is_of_provider_alone
from annotation.selectors.sessions import sessions_open
from annotation.services.accounts import email_normal
from annotation.services.sessions import sessions_end
from web.throttling import address_of, any_too_often, too_many_requests, too_often

# A class may share an address; nobody forgets a password many times an hour.
FORGOT_RATE_PER_ADDRESS = "30/h"
FORGOT_RATE_PER_EMAIL = "5/h"
LINK_RATE = "60/m"
ME_RATE = "10/5m"
TOKEN_IN_SESSION = views.INTERNAL_RESET_SESSION_TOKEN


@method_decorator(never_cache, name="dispatch")
class Forgot(views.PasswordResetView):
    """Asks for the address. A site that sends no mail says whom to ask instead."""

    form_class: type[ForgotForm] = ForgotForm
    template_name = "registration/password_forgot.html"
    subject_template_name = "registration/password_mail_subject.txt"
    email_template_name = "registration/password_mail.txt"
    success_url = reverse_lazy("password-sent")
    extra_context: dict[str, Any] = {"layout": "base.html", "sign_in": "login"}
    set_new = "password-set"

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        """Send the link, if there is anybody to send it to."""
        if not settings.SENDS_MAIL:
            return self.get(request, *args, **kwargs)
        email = email_normal(request.POST.get("email", ""))[:200]
        limits = any_too_often(
            ("forgot-address", address_of(request), FORGOT_RATE_PER_ADDRESS),
            (f"forgot-email-{self.set_new}", email, FORGOT_RATE_PER_EMAIL),
        )
        return too_many_requests(request) if limits else super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """Name the site as it is configured: the address of a request may be anybody's word."""
        self.extra_email_context = {"site": settings.SITE_URL, "set_new": self.set_new}
        return super().form_valid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Say whether a link can be sent at all."""
        return super().get_context_data(**kwargs) | {"sends_mail": settings.SENDS_MAIL}


class Sent(views.PasswordResetDoneView):
    """The same whether or not anything was sent."""

    template_name = "registration/password_sent.html"
    extra_context = Forgot.extra_context


class SetNew(views.PasswordResetConfirmView):
    """Takes a new password from who has the link, once."""

    form_class: type[NewPasswordForm] = NewPasswordForm
    template_name = "registration/password_set.html"
    success_url = reverse_lazy("password-done")
    extra_context = Forgot.extra_context | {"forgot": "password-forgot"}
    model: type[User] | type[Account] = User

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Refuse who tries many links."""
        if too_often(group="password-link", by=address_of(self.request), rate=LINK_RATE):
            return too_many_requests(self.request)
        return super().dispatch(*args, **kwargs)

    def get_user(self, uidb64: str) -> Any:
        """Return whom the link is for."""
        try:
            return self.model._default_manager.get(pk=int(urlsafe_base64_decode(uidb64).decode()))
        except (ValueError, OverflowError, self.model.DoesNotExist):
            return None

    def form_valid(self, form: Any) -> HttpResponse:
        """Store it, unless the same link was used a moment ago."""
        assert self.user is not None, "the link was looked at"
        with transaction.atomic():
            now = self.model._default_manager.select_for_update(of=("self",)).get(pk=self.user.pk)
            if not self.token_generator.check_token(now, self.request.session.get(TOKEN_IN_SESSION)):
                self.validlink = False
                return self.render_to_response(self.get_context_data())
            form.user = now
            return super().form_valid(form)


class Done(views.PasswordResetCompleteView):
    """Leads to signing in."""

    template_name = "registration/password_done.html"
    extra_context = Forgot.extra_context


OF_ACCOUNTS = {
    "layout": "annotation/annotator/page.html",
    "sign_in": "annotation:account-sign-in",
    "of_annotator": True,
}


class AccountForgot(Forgot):
    form_class = AccountForgotForm
    token_generator = AccountTokens()
    success_url = reverse_lazy("annotation:account-sent")
    extra_context = OF_ACCOUNTS
    set_new = "annotation:account-set"


class AccountSent(Sent):
    extra_context = OF_ACCOUNTS


class AccountSetNew(SetNew):
    form_class = AccountNewPasswordForm
    token_generator = AccountForgot.token_generator
    success_url = reverse_lazy("annotation:account-done")
    extra_context = OF_ACCOUNTS | {"forgot": "annotation:account-forgot"}
    model = Account


class AccountDone(Done):
    extra_context = OF_ACCOUNTS


# Who is signed in


def _me(request: HttpRequest, *, email: EmailForm | None = None, password: Any = None) -> HttpResponse:
    user = request.user
    assert isinstance(user, User), "who is not is led to the login"
    is_connected, by_provider_alone = has_single_sign_on(user), is_of_provider_alone(user)
    has_password = user.has_usable_password() and not by_provider_alone
    context = {
        "person": User.objects.get(pk=user.pk),
        "email_form": (email or EmailForm(instance=user)) if has_password else None,
        "password_form": (password or ChangePasswordForm(user)) if has_password else None,
        "factors": factors_of(user),
        "sessions": sessions_open(user, request.session.session_key),
        "single_sign_on": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
        "is_connected": is_connected,
        "may_disconnect": is_connected and has_password,
    }
    return render(request, "registration/me.html", context, status=422 if email or password else 200)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def me(request: HttpRequest) -> HttpResponse:
    """Show one's own name and address; POST: change the address."""
    user = request.user
    assert isinstance(user, User), "login_required"
    if request.method != "POST":
        return _me(request)
    if too_often(group="own-password", by=str(request.user.pk), rate=ME_RATE):
        return too_many_requests(request)
    if not user.has_usable_password():
        raise PermissionDenied("The address of this account comes from the provider.")
    # Not `request.user` itself: the page would show what was typed as if it were stored.
    form = EmailForm(request.POST, instance=User.objects.get(username=request.user.get_username()))
    if not form.is_valid():
        return _me(request, email=form)
    form.save()
    messages.success(request, "Your email address has been saved.")
    return redirect("me")


@sensitive_post_parameters()
@never_cache
@require_POST
@login_required
def password_change(request: HttpRequest) -> HttpResponse:
    """Change one's own password. Other browsers are signed out, this one is not."""
    user = request.user
    assert isinstance(user, User), "login_required"
    if too_often(group="own-password", by=str(user.pk), rate=ME_RATE):
        return too_many_requests(request)
    if not user.has_usable_password() or is_of_provider_alone(user):
        raise PermissionDenied("This account has no password here.")
    form = ChangePasswordForm(user, request.POST)
    if not form.is_valid():
        return _me(request, password=form)
    form.save()
    sessions_end(user, keep=request)
    messages.success(request, "Your password has been changed.")
    return redirect("me")

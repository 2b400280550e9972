"""What django-allauth asks the site: who may sign up, how a person confirms who they are, how secrets are stored."""

import base64
import logging
import secrets
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from annotation.models import User
from annotation.sign_in.recent import FIRST_STEP, PROVIDER_FACTOR, has_several_factors, is_proof_recent
from annotation.sign_in.sealing import SealedUnderAnotherKeyError, seal, unseal
from web.throttling import client_address

logger = logging.getLogger("annotation.security")

SAID = {
    "mfa/messages/totp_activated.txt": "Your authenticator app is set up.",
    "mfa/messages/totp_deactivated.txt": "Your authenticator app has been removed.",
    "mfa/messages/webauthn_added.txt": "Your passkey has been added.",
    "mfa/messages/webauthn_removed.txt": "Your passkey has been removed.",
    "socialaccount/messages/account_connected.txt": "Single sign-on is connected to your account.",
    "socialaccount/messages/account_connected_updated.txt": "Single sign-on is connected to your account.",
    "socialaccount/messages/account_connected_other.txt": (
        "That account of the provider belongs to another account here, so it wasn't connected."
    ),
}
"""What is said where the library has a template of its own; of the rest nothing is said."""


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are made by administrators, and by single sign-on for people with a mapped group."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def is_reauthentication_required(self, app: str = "") -> bool:
        user = context.request.user
        return not (isinstance(user, User) and is_proof_recent(context.request, user))

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """One page that has them all."""
        return [{"id": "reauthenticate", "url": reverse("confirm"), "description": "Confirm that it's you"}]

    def pre_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse | None:
        """Keep for which password the first step was right, and whether the provider asked for several factors."""
        by_provider = (kwargs.get("signal_kwargs") or {}).get("sociallogin")
        request.session[FIRST_STEP] = user.get_session_auth_hash()
        request.session[PROVIDER_FACTOR] = by_provider is not None and has_several_factors(by_provider.claims)
        found: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return found

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        text = "Your account is switched off here. Ask an administrator of this site."
        return render(
            request, "registration/refused.html", {"title": "You can't sign in", "text": text}, status=403
        )

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        if said := message or SAID.get(message_template or ""):
            messages.add_message(request, level, said, extra_tags=extra_tags)

    def send_notification_mail(self, *args: Any, **kwargs: Any) -> None:
        """No mail: what changed is in the audit log, and on the page of the account."""


class FactorAdapter(DefaultMFAAdapter):
    """Secrets of factors are stored encrypted, and named after this site."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code isn't right, or it was used already. Enter the one that's shown now.",
    }

    def get_totp_label(self, user: Any) -> str:
        return str(user.get_username())

    def get_totp_issuer(self) -> str:
        return f"Touchstone ({self._get_site_name()})"

    def _get_site_name(self) -> str:
        return settings.SITE_URL.partition("://")[2] or "Touchstone"

    def encrypt(self, text: str) -> str:
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return unseal(encrypted_text)
        except SealedUnderAnotherKeyError:
            logger.error("A second factor was stored under another DJANGO_SECRET_KEY. Reset it.")
            return base64.b32encode(secrets.token_bytes(20)).decode()  # which no code fits

    def _get_user_identifier(self, user: Any) -> str:
        return str(user.get_username())

    def generate_authenticator_name(self, user: Any, type: Any) -> str:
        return "Passkey"

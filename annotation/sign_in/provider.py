"""Single sign-on: the OpenID provider of the settings, its checked ID token, and the person that this makes.

The library does the code flow with its state and its code verifier (PKCE). What it leaves out is here: the nonce, the
issuer, the signature of the ID token, and that requests go to the provider's hosts alone.
"""

import logging
import secrets
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import requests
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.internal.flows.login import record_authentication
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.models import Role, User
from annotation.services.audit import audit
from annotation.services.sessions import sessions_end
from annotation.sign_in.groups import groups_of, role_of
from annotation.sign_in.id_token import IdTokenError, id_token_read
from web.throttling import client_network

logger = logging.getLogger("annotation.security")

PROVIDER_ID = "oidc"
LOGIN, CONNECT, CONFIRM = "login", "connect", "confirm"
"""What a person went to the provider for."""
WELL_KNOWN = "/.well-known/openid-configuration"
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
MOST_BYTES = 2**20
CODE_REFUSED = "Error retrieving access token"
"""How the library begins what it says of an answer without a token."""
LEEWAY_SECONDS = 30


def account_key(issuer: str, subject: str) -> str:
    """Return what an account of a provider is known by: its issuer and its subject, of any length."""
    return sha256(f"{issuer}\0{subject}".encode()).hexdigest()


def hosts_allowed() -> set[str]:
    """Return the hosts that may be asked."""
    return {urlsplit(settings.OIDC_ISSUER).netloc, *settings.OIDC_HOSTS}


class ProviderSession(requests.Session):
    """Asks the provider's hosts alone, follows no redirect, and waits a limited time."""

    def request(self, method: Any, url: Any, *args: Any, **options: Any) -> requests.Response:
        parts = urlsplit(str(url))
        if parts.scheme != urlsplit(settings.OIDC_ISSUER).scheme or parts.netloc not in hosts_allowed():
            raise requests.exceptions.InvalidURL(
                f"{parts.scheme}://{parts.netloc} is no address of the provider"
            )
        options |= {"timeout": settings.SOCIALACCOUNT_REQUESTS_TIMEOUT, "allow_redirects": False}
        response = super().request(method, url, *args, **options)
        if len(response.content) > MOST_BYTES:
            raise requests.exceptions.ContentDecodingError("The provider's answer is too long.")
        return response


class OpenIDAdapter(OpenIDConnectOAuth2Adapter):
    """The code flow, with what the library doesn't check."""

    state: Mapping[str, Any] = {}
    """Of this sign-in, as it began; the view of the callback sets it."""

    @property
    def openid_config(self) -> dict[str, Any]:
        """The provider's metadata, if it is that of the issuer that is set here."""
        if not hasattr(self, "_config"):
            found = provider_json(settings.OIDC_ISSUER.rstrip("/") + WELL_KNOWN)
            if found.get("issuer") != settings.OIDC_ISSUER:
                raise OAuth2Error(f"The metadata is that of {found.get('issuer')!r}.")
            scheme = urlsplit(settings.OIDC_ISSUER).scheme
            missing = [name for name in ENDPOINTS if not str(found.get(name)).startswith(f"{scheme}://")]
            if missing:
                raise OAuth2Error(f"The metadata has no safe {', '.join(missing)}.")
            self._config = found
        return self._config

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return request.build_absolute_uri(reverse("openid_connect_callback"))

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> SocialLogin:
        id_token = kwargs["response"].get("id_token")
        if not isinstance(id_token, str):
            raise OAuth2Error("The provider sent no ID token.")
        data = self.state.get("data") or {}
        try:
            claims = id_token_read(
                id_token,
                keys=provider_json(self.openid_config["jwks_uri"]),
                issuer=settings.OIDC_ISSUER,
                client_id=app.client_id,
                nonce=str(data.get("nonce", "")),
            )
        except IdTokenError as error:
            raise OAuth2Error(f"The ID token is refused: {error}") from error
        if self.state.get("process") == CONFIRM and not _is_since(claims, data.get("began_at")):
            raise OAuth2Error("The provider didn't ask for the person again.")
        if settings.OIDC_GROUPS_CLAIM.partition(".")[0] not in claims and self.openid_config.get(
            "userinfo_endpoint"
        ):
            more = provider_json(self.profile_url, token=token.token)
            if more.get("sub") != claims["sub"]:
                raise OAuth2Error("The user information is that of another person.")
            claims = more | claims
        found: SocialLogin = self.get_provider().sociallogin_from_response(request, claims)
        found.email_addresses = []  # the library would store and match them
        found.claims = claims
        return found


def _is_since(claims: Mapping[str, Any], began_at: object) -> bool:
    """Whether the person proved who they are after this moment, as the provider says."""
    at = claims.get("auth_time")
    return (
        isinstance(at, int | float) and isinstance(began_at, int | float) and at >= began_at - LEEWAY_SECONDS
    )


def provider_json(url: str, token: str = "") -> dict[str, Any]:
    with ProviderSession() as session:
        answer = session.get(url, headers={"Authorization": f"Bearer {token}"} if token else None)
    if answer.status_code != 200:
        raise OAuth2Error(f"{url} answered {answer.status_code}.")
    found = answer.json()
    if not isinstance(found, dict):
        raise OAuth2Error(f"{url} answered no object.")
    return found


class OpenIDProvider(OpenIDConnectProvider):
    """The provider of the settings."""

    oauth2_adapter_class = OpenIDAdapter
    pkce_enabled_default = True

    def redirect(
        self, request: HttpRequest, process: str, next_url: str | None = None, data: Any = None, **kwargs: Any
    ) -> HttpResponse:
        nonce = secrets.token_urlsafe(24)
        params = {"nonce": nonce}
        if process == CONFIRM:
            params |= {"prompt": "login", "max_age": "0"}
        data = {**(data or {}), "nonce": nonce, "began_at": time.time()}
        return super().redirect(request, process, next_url=next_url, data=data, auth_params=params, **kwargs)

    def get_scope(self) -> list[str]:
        return list(settings.OIDC_SCOPES)

    def get_callback_url(self) -> str:
        return reverse("openid_connect_callback")

    def extract_uid(self, data: Mapping[str, Any]) -> str:
        return account_key(data["iss"], data["sub"])

    def extract_extra_data(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """What is stored: by whom the person is known. Nothing else that the provider tells."""
        return {"iss": data["iss"], "sub": data["sub"]}

    def extract_common_fields(self, data: Mapping[str, Any]) -> dict[str, Any]:
        texts = {
            "username": data.get("preferred_username"),
            "first_name": data.get("given_name"),
            "last_name": data.get("family_name"),
            "name": data.get("name"),
            "email": data.get("email") if data.get("email_verified") is True else None,
        }
        return {name: value[:150] for name, value in texts.items() if isinstance(value, str)}

    def extract_email_addresses(self, data: Mapping[str, Any]) -> list[Any]:
        return []


class SingleSignOnAdapter(DefaultSocialAccountAdapter):
    """Who may come by single sign-on, with which role, and as which user."""

    def list_apps(
        self, request: Any, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """The provider of the settings; none can be set in the database."""
        if not settings.OIDC_ISSUER:
            return []
        return [
            SocialApp(
                provider=OpenIDConnectProvider.id,
                provider_id=PROVIDER_ID,
                name=settings.OIDC_NAME[:40],
                client_id=settings.OIDC_CLIENT_ID,
                secret=settings.OIDC_CLIENT_SECRET,
                settings={"server_url": settings.OIDC_ISSUER},
            )
        ]

    def get_requests_session(self) -> requests.Session:
        return ProviderSession()

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """`pre_social_login` has refused people without a mapped group."""
        return True

    def can_authenticate_by_email(self, login: SocialLogin, email: str) -> bool:
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Refuse people without a mapped group, and give the others the role of theirs."""
        claims: Mapping[str, Any] = sociallogin.claims
        process = sociallogin.state.get("process")
        role = role_of(groups_of(claims, settings.OIDC_GROUPS_CLAIM), settings.OIDC_GROUPS)
        user = sociallogin.user
        if role is None:
            raise ImmediateHttpResponse(_refused(request, user if sociallogin.is_existing else None, claims))
        if process == CONFIRM:
            raise ImmediateHttpResponse(_confirmed(request, sociallogin))
        if process == LOGIN:
            _role_set(user, role, is_new=not sociallogin.is_existing)

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """Make the person's account here, without a password and without addresses of the library's own."""
        user: User = sociallogin.user
        user.set_unusable_password()
        user.username = _free_name(str(sociallogin.claims.get("preferred_username") or "user"))
        try:
            with transaction.atomic():
                user.save()
                sociallogin.account.user = user
                sociallogin.account.save()
        except IntegrityError as error:  # they came in twice at the same time
            raise ImmediateHttpResponse(redirect("login")) from error
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: SocialAccount) -> str:
        return reverse("me")

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: BaseException | None = None,
        extra_context: Any = None,
    ) -> None:
        raise ImmediateHttpResponse(sign_on_failed(request, exception or error or "unknown"))


def sign_on_failed(request: HttpRequest, why: object) -> HttpResponse:
    """The page of a sign-in that the provider didn't finish; why is logged, and not shown."""
    address = client_network(request)
    text = str(why)
    if text.startswith(CODE_REFUSED):
        text = "the provider didn't take the code"  # its answer may have tokens, which no log is to have
    logger.warning("Single sign-on failed from %s: %.300r", address, text)
    context = {
        "title": "Single sign-on didn't work",
        "text": "The provider didn't confirm who you are, or this sign-in was begun too long ago. Try again. If that "
        "doesn't help, tell an administrator of this site: its log says why.",
    }
    return render(request, "registration/refused.html", context, status=403)


def _refused(request: HttpRequest, user: User | None, claims: Mapping[str, Any]) -> HttpResponse:
    """Refuse a person without a mapped group; one who had a role loses it, and their sessions."""
    if user is not None and user.role != Role.ANNOTATOR:
        _role_set(user, Role.ANNOTATOR, is_new=False)
        sessions_end(user)
    audit("user.single sign-on refused", user or "a person without an account")
    logger.warning("Single sign-on refused: no mapped group for subject %.100r", str(claims.get("sub")))
    context = {
        "title": "Your account has no access here",
        "text": "You signed in, but none of your groups at the provider has a role on this site. Ask the people who "
        "manage your groups, or an administrator of this site.",
    }
    return render(request, "registration/refused.html", context, status=403)


def _confirmed(request: HttpRequest, sociallogin: SocialLogin) -> HttpResponse:
    """Lead a person back who has proved again who they are."""
    if not sociallogin.is_existing or sociallogin.user != request.user:
        return sign_on_failed(request, "another person confirmed it")
    record_authentication(request, sociallogin)
    request.session.cycle_key()
    return redirect(sociallogin.state.get("next") or "me")


def _role_set(user: User, role: str, *, is_new: bool) -> None:
    if user.role != role:
        user.role = role
        if not is_new:
            user.save(update_fields=["role"])


def _free_name(wanted: str) -> str:
    """The name that the provider gave, or one like it that nobody has."""
    base = "".join(letter for letter in wanted if letter.isalnum() or letter in "@.+-_")[:140] or "user"
    like = User.objects.filter(username__istartswith=base).values_list("username", flat=True)
    taken = {name.casefold() for name in like}
    if base.casefold() not in taken:
        return base
    return next(name for n in range(2, len(taken) + 3) if (name := f"{base}-{n}").casefold() not in taken)

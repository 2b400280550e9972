"""Who may use the API: the user of a token, within its scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from annotation.models import ApiToken, User, scope_of
from annotation.models.tokens import READ, WRITE
from annotation.services.tokens import token_use

if TYPE_CHECKING:  # the framework's views read these classes while they are imported
    from rest_framework.views import APIView


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer tst_...``; tokens are made under *Account*, or with ``manage.py api_token``.

    No session is accepted, so that no page of another site can act for somebody who is signed in.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() != b"bearer":
            return None
        token = token_use(secret=parts[1].decode("ascii", "replace")) if len(parts) == 2 else None
        if token is None:
            raise exceptions.AuthenticationFailed("The token isn't valid.")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def has_valid_token(request: HttpRequest) -> bool:
    """Whether the request carries a token of the API that is valid now."""
    try:
        return TokenAuthentication().authenticate(Request(request)) is not None
    except exceptions.AuthenticationFailed:
        return False


class IsResearcher(BasePermission):
    """What researchers do on their pages; which rows is decided where they are fetched."""

    message = "Only researchers can do this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.user, User) and request.user.is_researcher


class MayReadOrAdministrates(BasePermission):
    """Researchers read what the pages show them; judging is the administrators' business."""

    message = "Only administrators can do this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = request.user
        if not isinstance(user, User):
            return False
        return user.is_administrator or (user.is_researcher and request.method in SAFE_METHODS)


class IsResearcherWhoDeletes(IsResearcher):
    """As the pages have it: researchers, and only administrators delete."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.method == "DELETE":
            self.message = "Only administrators may do this."
            return isinstance(request.user, User) and request.user.is_administrator
        return super().has_permission(request, view)


class IsAdministrator(BasePermission):
    """What shows how the operator's servers are reached."""

    message = "Only administrators can do this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.user, User) and request.user.is_administrator


class HasScope(BasePermission):
    """The token has the scope of the view's `resource`, for reading or for writing; any token where it has none."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, ApiToken):
            return False
        needed = scope_needed(view, request.method or "GET")
        self.message = f"This token doesn't have the scope {needed}."
        return not needed or needed in request.auth.scopes


def scope_needed(view: Any, method: str) -> str:
    """The scope that a view asks for, by its `resource`; empty where any token may."""
    resource: str = getattr(view, "resource", "")
    return scope_of(resource, READ if method in SAFE_METHODS else WRITE) if resource else ""

"""What happens when a person signs in or changes a factor: the session's row and marks, and the audit log."""

from typing import Any

from allauth.account.signals import authentication_step_completed
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import (
    authenticator_added,
    authenticator_removed,
    authenticator_reset,
    authenticator_used,
)
from allauth.socialaccount.signals import social_account_added
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest

from annotation.models import User
from annotation.services.audit import audit
from annotation.services.sessions import session_note
from annotation.sign_in.recent import note_second_factor
from web.second_factor import SECOND_FACTOR_SHOWN


def connect() -> None:
    """Listen; called once, when the app is ready."""
    user_logged_in.connect(_signed_in, dispatch_uid="sign_in.signed_in")
    authentication_step_completed.connect(_proved, dispatch_uid="sign_in.proved")
    authenticator_added.connect(_added, dispatch_uid="sign_in.added")
    authenticator_removed.connect(_removed, dispatch_uid="sign_in.removed")
    authenticator_reset.connect(_made_codes, dispatch_uid="sign_in.codes")
    authenticator_used.connect(_used, dispatch_uid="sign_in.used")
    social_account_added.connect(_connected, dispatch_uid="sign_in.connected")


def _signed_in(request: HttpRequest | None, user: User, **_: Any) -> None:
    if request is None:
        return
    note_second_factor(request, user)
    session_note(request, user)


def _proved(request: HttpRequest, user: User, **_: Any) -> None:
    """A step of a person who is signed in already, as when they confirm who they are."""
    if (
        request.user.is_authenticated
        and request.user.pk == user.pk
        and not request.session.get(SECOND_FACTOR_SHOWN)
    ):
        note_second_factor(request, user)


def _added(request: HttpRequest, user: User, authenticator: Authenticator, **_: Any) -> None:
    audit("user.second factor added", user, after={"type": authenticator.type}, actor=user)
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        request.session[SECOND_FACTOR_SHOWN] = True  # they proved to have it when they set it up


def _removed(request: HttpRequest, user: User, authenticator: Authenticator, **_: Any) -> None:
    audit("user.second factor removed", user, before={"type": authenticator.type}, actor=user)
    if not Authenticator.objects.filter(user=user).exists():
        request.session.pop(SECOND_FACTOR_SHOWN, None)


def _made_codes(user: User, **_: Any) -> None:
    audit("user.recovery codes made", user, actor=user)


def _used(user: User, authenticator: Authenticator, **_: Any) -> None:
    """A recovery code is worth a line: it's used up, and often because something was lost."""
    if authenticator.type == Authenticator.Type.RECOVERY_CODES:
        audit("user.recovery code used", user, actor=user)


def _connected(request: HttpRequest, **_: Any) -> None:
    if isinstance(request.user, User):
        audit("user.single sign-on connected", request.user)

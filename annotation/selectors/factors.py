"""How a person can prove who they are: second factors, and single sign-on."""

from dataclasses import dataclass, field
from datetime import datetime

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings

from annotation.models import User

PRIMARY = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""Factors that stand by themselves; recovery codes belong to one of them."""


@dataclass(frozen=True)
class Passkey:
    pk: int
    name: str
    added_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True)
class Factors:
    """A person's second factors."""

    totp: Authenticator | None = None
    passkeys: list[Passkey] = field(default_factory=list)
    n_codes_left: int | None = None

    @property
    def has_any(self) -> bool:
        """Whether signing in asks for one."""
        return self.totp is not None or bool(self.passkeys)


def factors_of(user: User) -> Factors:
    """Return the factors that a person has set up."""
    totp, passkeys, n_left = None, [], None
    for one in Authenticator.objects.filter(user=user).order_by("pk"):
        if one.type == Authenticator.Type.TOTP:
            totp = one
        elif one.type == Authenticator.Type.WEBAUTHN:
            passkeys.append(Passkey(one.pk, one.data["name"], one.created_at, one.last_used_at))
        else:
            n_left = settings.MFA_RECOVERY_CODE_COUNT - int(one.data["used_mask"]).bit_count()
    return Factors(totp, passkeys, n_left)


def has_factor(user: User) -> bool:
    """Whether signing in asks this person for a second factor."""
    return bool(Authenticator.objects.filter(user=user, type__in=PRIMARY).exists())


def has_single_sign_on(user: User) -> bool:
    """Whether the person is known at the OpenID provider."""
    return bool(settings.OIDC_ISSUER) and SocialAccount.objects.filter(user=user).exists()


def is_of_provider_alone(user: User) -> bool:
    """Whether this person can sign in by the OpenID provider alone (`TOUCHSTONE_OIDC_ONLY`)."""
    return settings.OIDC_ONLY and has_single_sign_on(user)

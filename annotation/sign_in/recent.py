"""What a session says of its person: whether they showed a second factor, and when they last confirmed who they are."""

import time
from collections.abc import Mapping
from typing import Any

from allauth.account.internal.flows.login import get_authentication_records
from django.http import HttpRequest

from annotation.models import User
from web.second_factor import SECOND_FACTOR_SHOWN

PROVIDER_FACTOR = "provider_second_factor"
"""Key of a session: the provider said that it asked for several factors."""
FIRST_STEP = "first_step_hash"
"""Key of a session: what `User.get_session_auth_hash` was when the first step of signing in was right."""
RECENT_SECONDS = 300
PROOFS = ("password", "mfa", "socialaccount")


SEVERAL_FACTORS = frozenset(("mfa", "hwk", "swk", "otp", "fpt", "face", "sc"))
"""Values of `amr` (RFC 8176) that say more than a password."""


def has_several_factors(claims: Mapping[str, Any]) -> bool:
    """Whether a provider says that it asked for more than a password; one that says nothing didn't.

    Examples
    --------
    >>> has_several_factors({"amr": ["pwd", "mfa"]}), has_several_factors({})
    (True, False)
    """
    amr = claims.get("amr")
    return isinstance(amr, list) and any(one in SEVERAL_FACTORS for one in amr if isinstance(one, str))


def records_of(request: HttpRequest, user: User) -> list[dict[str, Any]]:
    """What this person proved in this session, in order: each with `method` and `at`, in seconds since 1970."""
    return get_authentication_records(request, user)


def is_proof_recent(request: HttpRequest, user: User) -> bool:
    """Whether this person proved who they are within the last five minutes, by signing in or by confirming it."""
    records = [one for one in records_of(request, user) if one.get("method") in PROOFS]
    return bool(records) and time.time() - records[-1]["at"] < RECENT_SECONDS


def note_second_factor(request: HttpRequest, user: User) -> None:
    """Keep in the session whether a second factor was shown in it, so that no page has to ask the database."""
    by_factor = any(one.get("method") == "mfa" for one in records_of(request, user))
    if by_factor or request.session.get(PROVIDER_FACTOR):
        request.session[SECOND_FACTOR_SHOWN] = True
    else:
        request.session.pop(SECOND_FACTOR_SHOWN, None)

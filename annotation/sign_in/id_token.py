"""Checking the ID token of an OpenID provider. Pure: keys come from outside (OpenID Connect Core 1.0, 3.1.3.7)."""

import hmac
from collections.abc import Mapping
from typing import Any

import jwt

ALGORITHMS = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)
"""Signatures by a key that the provider alone has. `none`, and secrets that both sides know, are refused."""
LEEWAY_SECONDS = 30
REQUIRED = ("iss", "sub", "aud", "exp", "iat")


class IdTokenError(Exception):
    """The ID token proves nothing; the text is for logs."""


def id_token_read(
    token: str, *, keys: Mapping[str, Any], issuer: str, client_id: str, nonce: str
) -> dict[str, Any]:
    """Return the claims of an ID token that this provider signed for this client and this sign-in.

    Parameters
    ----------
    keys : mapping
        The provider's JSON Web Key Set.
    issuer, client_id : str
        As they are configured here.
    nonce : str
        What was sent when the sign-in began.

    Raises
    ------
    IdTokenError
        If the signature, the issuer, the audience, the time or the nonce is not right.
    """
    try:
        head = jwt.get_unverified_header(token)
        algorithm, key_id = head.get("alg"), head.get("kid")
        if algorithm not in ALGORITHMS:
            raise IdTokenError(f"signed with {algorithm!r}")
        found = jwt.PyJWKSet.from_dict(dict(keys)).keys
        fitting = [key for key in found if key_id in (None, key.key_id)]
        if len(fitting) != 1:
            raise IdTokenError(f"{len(fitting)} keys for {key_id!r}")
        claims: dict[str, Any] = jwt.decode(
            token,
            key=fitting[0].key,
            algorithms=[algorithm],
            issuer=issuer,
            audience=client_id,
            leeway=LEEWAY_SECONDS,
            options={"require": list(REQUIRED)},
        )
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise IdTokenError(str(error)) from error
    if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and claims.get("azp") != client_id:
        raise IdTokenError("made for another client")
    if not nonce or not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise IdTokenError("of another sign-in: the nonce differs")
    if not claims["sub"]:
        raise IdTokenError("without a subject")
    return claims

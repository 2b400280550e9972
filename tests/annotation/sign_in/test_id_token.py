"""ID tokens that prove something, and all the others."""

import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from annotation.sign_in.groups import groups_of, role_of
from annotation.sign_in.id_token import IdTokenError, id_token_read

RSA, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
CURVE = ec.generate_private_key(ec.SECP256R1())
ISSUER, CLIENT, NONCE = "https://id.example", "touchstone", "n-1"


def public(key, kid, algorithm):
    made = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return made | {"kid": kid, "use": "sig", "alg": algorithm}


KEYS = {"keys": [public(RSA, "a", "RS256"), public(CURVE, "b", "ES256")]}


def token(key=RSA, algorithm="RS256", kid="a", without=(), times=(), **claims):
    """A token of now; `times` are claims in seconds from now."""
    now = int(time.time())
    found = {"iss": ISSUER, "sub": "zoe", "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": NONCE} | claims
    found |= {name: now + seconds for name, seconds in dict(times).items()}
    for name in without:
        del found[name]
    return jwt.encode(found, key, algorithm=algorithm, headers={"kid": kid} if kid else None)


def read(text, **options):
    return id_token_read(
        text, **({"keys": KEYS, "issuer": ISSUER, "client_id": CLIENT, "nonce": NONCE} | options)
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: token(),
        lambda: token(CURVE, "ES256", "b"),
        lambda: token(aud=[CLIENT]),
        lambda: token(aud=[CLIENT, "other"], azp=CLIENT),
        lambda: token(times={"exp": -10}),
    ],
)
def test_what_the_provider_signed_for_this_sign_in(make):
    assert read(make())["sub"] == "zoe"


def test_the_only_key_needs_no_name():
    assert read(token(kid=None), keys={"keys": KEYS["keys"][:1]})["sub"] == "zoe"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: token(OTHER), "Signature"),
        (lambda: token(kid="b"), ""),
        (lambda: token(kid="c"), "0 keys"),
        (lambda: token(kid=None), "2 keys"),
        (lambda: token(iss="https://evil.example"), "ssuer"),
        (lambda: token(iss=ISSUER + "/"), "ssuer"),
        (lambda: token(aud="other"), "udience"),
        (lambda: token(aud=["other", CLIENT]), "another client"),
        (lambda: token(aud=["other", CLIENT], azp="other"), "another client"),
        (lambda: token(times={"exp": -120}), "expired"),
        (lambda: token(times={"iat": 600}), "not yet valid"),
        (lambda: token(times={"nbf": 600}), "not yet valid"),
        (lambda: token(nonce="n-2"), "nonce"),
        (lambda: token(nonce=""), "nonce"),
        (lambda: token(without=["nonce"]), "nonce"),
        (lambda: token(without=["sub"]), "sub"),
        (lambda: token(sub=""), "subject"),
        (lambda: token(without=["exp"]), "exp"),
        (lambda: token(without=["iat"]), "iat"),
        (lambda: token("secret that both sides know " * 2, "HS256"), "HS256"),
        (lambda: token(None, "none"), "none"),
        (lambda: "", ""),
        (lambda: "a.b.c", ""),
        (lambda: "é" * 20, ""),
        (lambda: token()[:-5] + "AAAAA", ""),
    ],
)
def test_what_proves_nothing(make, why):
    with pytest.raises(IdTokenError, match=f"(?i){why}"):
        read(make())


@pytest.mark.parametrize(
    "keys",
    [{}, {"keys": []}, {"keys": "x"}, {"keys": [{"kty": "oct", "k": "AA", "kid": "a"}]}, {"keys": [7]}],
)
def test_keys_that_are_none(keys):
    with pytest.raises(IdTokenError):
        read(token(), keys=keys)


def test_no_nonce_was_sent():
    with pytest.raises(IdTokenError, match="nonce"):
        read(token(nonce=""), nonce="")


@pytest.mark.parametrize(
    ("claims", "claim", "found"),
    [
        ({"groups": ["a", "b"]}, "groups", ["a", "b"]),
        ({"groups": "a"}, "groups", ["a"]),
        ({"groups": ["a", 7, None, ["b"]]}, "groups", ["a"]),
        ({"r": {"x": ["a"]}}, "r.x", ["a"]),
        ({"https://lab.example/groups": ["a"]}, "https://lab.example/groups", ["a"]),
        ({"r": ["x"]}, "r.x", []),
        ({}, "groups", []),
        ({"groups": None}, "groups", []),
        ({"groups": {"a": 1}}, "groups", []),
    ],
)
def test_groups_in_a_claim(claims, claim, found):
    assert groups_of(claims, claim) == found


def test_the_role_that_may_do_most():
    mapped = {"lab": "researcher", "it": "administrator", "boss": "administrator"}
    assert role_of(["x", "lab"], mapped) == "researcher"
    assert role_of(["lab", "it", "boss"], mapped) == "administrator"
    assert role_of(["LAB", "Lab ", ""], mapped) is None
    assert role_of([], mapped) is None

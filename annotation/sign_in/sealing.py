"""Secrets of second factors are stored encrypted: a copy of the database alone is no second factor."""

import base64
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

NONCE_BYTES = 12
INFO = b"touchstone second factors"


class SealedUnderAnotherKeyError(Exception):
    """`DJANGO_SECRET_KEY` is not the one with which this was stored."""


def _cipher() -> AESGCM:
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=INFO).derive(settings.SECRET_KEY.encode())
    return AESGCM(key)


def seal(text: str) -> str:
    """Encrypt a text with AES-256-GCM, under a key derived from `DJANGO_SECRET_KEY`."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return base64.b64encode(nonce + _cipher().encrypt(nonce, text.encode(), INFO)).decode()


def unseal(sealed: str) -> str:
    """Decrypt what `seal` made; raises SealedUnderAnotherKeyError after the secret key was replaced."""
    data = base64.b64decode(sealed)
    try:
        return _cipher().decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], INFO).decode()
    except InvalidTag:
        raise SealedUnderAnotherKeyError from None

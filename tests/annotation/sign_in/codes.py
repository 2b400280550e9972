"""An authenticator app (RFC 6238), written apart from the one that checks it."""

import base64
import hashlib
import hmac
import struct
import time


def code_of(secret: str, at: float | None = None) -> str:
    """The six digits of a secret in base32 at a time in seconds since 1970."""
    key = base64.b32decode(secret.replace(" ", ""))
    digest = hmac.new(key, struct.pack(">Q", int((at or time.time()) // 30)), hashlib.sha1).digest()
    start = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[start : start + 4])[0] & 0x7FFFFFFF) % 1_000_000:06d}"

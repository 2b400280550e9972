"""A platform's side of the story: addresses, files, messages and tokens, made as the platform makes them."""

import base64
import hashlib
import hmac
import json
from datetime import datetime
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from annotation.models import Enrollment, PlatformLink, Study
from annotation.services.entry import platform_link_save

PID = "5f8c2a1b3d4e5f6a7b8c9d0e"
SESSION = "671b8e95b17f88050648883e"
STUDY_ID = "671b8ae84509b9a624b95e13"
SECRET = "a secret of webhooks"
SITE = "https://touchstone.example"
HEAD = "Submission id,Participant id,Status,Custom study tncs accepted at,Started at,Completed at,Reviewed at,Archived at,Time taken,Completion code,Total approvals"  # noqa: E501

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
KEYS: dict[str, Any] = {
    "keys": [
        json.loads(RSAAlgorithm.to_jwk(RSA_KEY.public_key())) | {"kid": "one", "alg": "RS256", "use": "sig"},
        json.loads(ECAlgorithm.to_jwk(EC_KEY.public_key())) | {"kid": "two", "alg": "ES256", "use": "sig"},
    ]
}


def link_make(study: Study, platform: str = "prolific", **fields: Any) -> PlatformLink:
    codes = {"completed_code": "CDONE", "screened_out_code": "CSCREEN", "no_consent_code": "CNO"}
    return platform_link_save(study=study, platform=platform, **(codes | fields))


def params(pid: str = PID, session: str = SESSION, **more: str) -> dict[str, str]:
    return {"PROLIFIC_PID": pid, "STUDY_ID": STUDY_ID, "SESSION_ID": session} | more


def door(link: PlatformLink) -> str:
    return reverse("annotation:enter", args=[link.platform, link.token])


def visit_of(page: HttpResponse) -> str:
    return str(page.context["visit"])


def arrive(client: Client, link: PlatformLink, **parameters: str) -> HttpResponse:
    """Open the address and press Begin; the answer of whichever comes first with an end."""
    page = client.get(door(link), params(**parameters))
    if page.status_code != 200:
        return page
    return client.post(door(link), {"visit": visit_of(page)})


def person_of(link: PlatformLink, pid: str = PID) -> Enrollment:
    return Enrollment.objects.get(
        study=link.study, annotator__source=link.platform, annotator__external_id=pid
    )


def csv_row(
    session: str = SESSION,
    pid: str = PID,
    status: str = "AWAITING REVIEW",
    code: str = "CDONE",
    *,
    started: str = "",
) -> str:
    start = started or "2026-10-25T12:00:00.000000Z"
    return f"{session},{pid},{status},Not Applicable,{start},,,,61.5,{code},12"


def csv_file(*rows: str) -> bytes:
    return "\n".join([HEAD, *rows, ""]).encode()


def message(
    status: str,
    /,
    *,
    now: datetime,
    session: str = SESSION,
    pid: str = PID,
    event_id: str = "e1",
    **changed: Any,
) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a webhook, signed."""
    body = json.dumps(
        {
            "resource_id": session,
            "event_type": "submission.status.change",
            "participant_id": pid,
            "status": status,
        }
        | changed
    ).encode()
    stamp = str(now.timestamp())
    digest = hmac.new(SECRET.encode(), stamp.encode() + body, hashlib.sha256).digest()
    return body, {
        "X-Prolific-Request-Timestamp": stamp,
        "X-Prolific-Request-Signature": base64.b64encode(digest).decode(),
        "X-Event-ID": event_id,
    }


def token(
    *, now: datetime, key: Any = RSA_KEY, kid: str = "one", algorithm: str = "RS256", **claims: Any
) -> str:
    """An entry token as Prolific signs it."""
    payload = {
        "iss": "https://www.prolific.com",
        "aud": SITE,
        "sub": SESSION,
        "exp": int(now.timestamp()) + 300,
        "prolific": params() | {"workspace_id": "w1"},
    } | claims
    return jwt.encode(payload, key, algorithm=algorithm, headers={"kid": kid})

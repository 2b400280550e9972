"""The provider of the tests: its process, and a person at its form."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests import services

ROOT = Path(__file__).resolve().parents[3]


class Provider:
    def __init__(self, port):
        self.issuer = f"http://localhost:{port}"

    def person(self, sub, **claims):
        """Make or change a person."""
        httpx.put(f"{self.issuer}/users/{sub}", json=claims).raise_for_status()

    def authorize(self, url, sub=None):
        """What a person does who is led there; returns the address to which the provider sends them back."""
        data = {"action": "deny"} if sub is None else {"sub": sub}
        return httpx.post(url, data=data).headers["Location"]


@contextmanager
def provider_running():
    port = services.free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.annotation.sign_in.oidc_server", str(port)],
        cwd=ROOT,
        env=os.environ | {"AUTHLIB_INSECURE_TRANSPORT": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        found = Provider(port)
        deadline = time.monotonic() + 30
        while True:
            try:
                httpx.get(f"{found.issuer}/.well-known/openid-configuration").raise_for_status()
                break
            except httpx.HTTPError:
                assert process.poll() is None, "the provider ended"
                assert time.monotonic() < deadline, "the provider didn't start"
                time.sleep(0.1)
        yield found
    finally:
        process.kill()
        process.wait()

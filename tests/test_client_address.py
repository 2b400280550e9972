"""Whose address rate limits count."""

import pytest
from django.test import RequestFactory

from config.client import client_address


@pytest.mark.parametrize(
    ("header", "value", "address"),
    [
        ("", "203.0.113.9", "192.0.2.1"),  # no header is configured: what a client claims is not believed
        ("X-Real-IP", "203.0.113.9", "203.0.113.9"),
        ("X-Real-IP", "10.9.9.9, 203.0.113.9", "203.0.113.9"),  # the nearest proxy's word, not the client's
        ("X-Real-IP", "2001:db8::7", "2001:db8::7"),
        ("X-Real-IP", "nonsense", "192.0.2.1"),
        ("X-Real-IP", "", "192.0.2.1"),
    ],
)
def test_address(settings, header, value, address):
    settings.CLIENT_IP_HEADER = header
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1", headers={"x-real-ip": value})
    assert client_address(request) == address

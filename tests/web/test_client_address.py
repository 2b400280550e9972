"""Whose address rate limits count, and how often it may ask."""

import ipaddress

import pytest
from django.core.cache import cache
from django.test import RequestFactory

from web import throttling
from web.throttling import address_of, client_address, too_often

NEAR, PROXY, CLIENT = "192.0.2.1", "192.0.2.2", "203.0.113.9"


@pytest.mark.parametrize(
    ("header", "sender", "value", "address"),
    [
        ("", NEAR, CLIENT, NEAR),  # no header is configured: what a client claims is not believed
        ("X-Real-IP", NEAR, CLIENT, CLIENT),
        ("X-Real-IP", "198.51.100.4", CLIENT, "198.51.100.4"),  # sent past the proxy
        ("X-Real-IP", NEAR, f"10.9.9.9, {CLIENT}", CLIENT),  # the nearest proxy's word, not the client's
        ("X-Real-IP", NEAR, f"10.9.9.9, {CLIENT}, {PROXY}", CLIENT),  # one proxy behind another
        ("X-Real-IP", NEAR, "2001:db8::7", "2001:db8::7"),
        ("X-Real-IP", NEAR, "nonsense", NEAR),
        ("X-Real-IP", NEAR, f"{CLIENT}, nonsense", NEAR),
        ("X-Real-IP", NEAR, "", NEAR),
        ("X-Real-IP", "", CLIENT, CLIENT),  # through a socket of this machine
    ],
)
def test_address(settings, header, sender, value, address):
    settings.CLIENT_IP_HEADER = header
    settings.TRUSTED_PROXIES = [ipaddress.ip_network("192.0.2.0/30")]
    request = RequestFactory().get("/", REMOTE_ADDR=sender, headers={"x-real-ip": value})
    assert client_address(request) == address


def test_an_ipv6_network_counts_as_one():
    def found(address: str) -> str:
        return address_of(RequestFactory().get("/", REMOTE_ADDR=address))

    assert found("2001:db8::1") == found("2001:db8::ffff:2") != found("2001:db8:0:1::1")
    assert found("192.0.2.1") == "192.0.2.1"


def test_counts_are_of_one_group_one_person_and_one_window(settings, monkeypatch):
    settings.RATELIMIT_ENABLE = True
    cache.clear()
    now = 1_000_000_000.0
    monkeypatch.setattr(throttling.time, "time", lambda: now)
    rule = {"group": "a", "by": "x", "rate": "2/5m"}
    assert [too_often(**rule) for _ in range(4)] == [False, False, True, True]
    assert not too_often(**rule | {"by": "y"})
    assert not too_often(**rule | {"group": "b"})
    now += 300
    assert not too_often(**rule)
    settings.RATELIMIT_ENABLE = False
    assert not any(too_often(**rule) for _ in range(9))


@pytest.mark.parametrize("rate", ["", "ten", "10", "10/x"])
def test_a_rate_is_written_as_expected(settings, rate):
    settings.RATELIMIT_ENABLE = True
    with pytest.raises(ValueError, match="expected something like 10/5m"):
        too_often(group="a", by="x", rate=rate)

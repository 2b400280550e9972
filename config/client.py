"""The address that rate limits count by."""

import contextlib
import ipaddress

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The client's address: from the header that the proxy sets, where one is configured.

    Of several addresses the last is taken: it is the one that the nearest proxy added, and those before it are
    whatever the client claimed.
    """
    if settings.CLIENT_IP_HEADER:
        address = request.headers.get(settings.CLIENT_IP_HEADER, "").rpartition(",")[2].strip()
        with contextlib.suppress(ValueError):
            return str(ipaddress.ip_address(address))
    return str(request.META["REMOTE_ADDR"])

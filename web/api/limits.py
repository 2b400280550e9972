"""How often a token may ask. The headers are those of the IETF draft `ratelimit-headers`."""

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from web.throttling import Allowance, address_of, count_one

if TYPE_CHECKING:
    from rest_framework.views import APIView


class TokenThrottle(BaseThrottle):
    """So many requests a minute for each token; without one, for each address."""

    rate = "300/m"

    def allow_request(self, request: Request, view: "APIView") -> bool:
        by = f"token {request.auth.pk}" if request.auth is not None else address_of(request)
        counted = count_one(group="api", by=by, rate=self.rate)
        request._request.allowance = counted  # type: ignore[attr-defined]  # `limits_say` reads it
        self._counted = counted
        return counted is None or not counted.is_over

    def wait(self) -> float | None:
        """Seconds until the window ends."""
        return None if self._counted is None else float(self._counted.seconds_left)


def limits_say(request: Request, response: Response) -> None:
    """Add the headers that say what is left, where requests are counted."""
    counted: Allowance | None = getattr(request, "allowance", None)
    if counted is not None:
        left = max(counted.most - counted.used, 0)
        response["RateLimit-Policy"] = f'"token";q={counted.most};w={counted.seconds}'
        response["RateLimit"] = f'"token";r={left};t={counted.seconds_left}'

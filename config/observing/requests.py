"""Each request has an id, which the answer and every log line carry, and is counted, logged and traced if asked for."""

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.conf import settings
from django.core.signals import request_finished
from django.http import HttpRequest, HttpResponse

from config.observing.context import log_fields_begin, log_fields_end
from config.observing.metrics import request_observe
from config.observing.traces import request_traced

logger = logging.getLogger("touchstone.request")

HEADER = "X-Request-ID"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")
PROBES = ("healthz", "readyz", "metrics", "health")
"""Asked every few seconds: neither logged nor traced."""


request_finished.connect(log_fields_end)


class RequestMiddleware:
    """The first of all, so that what the others log and refuse has the id too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = request_id_of(request)
        # Until the answer was sent (`request_finished`): Django logs a refusal after all middleware.
        log_fields_begin(request_id=request_id, user=lambda: _user_pk(request))
        with request_traced(request):
            began = time.perf_counter()
            response = self._get_response(request)
            seconds = time.perf_counter() - began
            response.headers[HEADER] = request_id
            route = route_of(request)
            request_observe(
                route=route, method=_method(request), status=response.status_code, seconds=seconds
            )
            if settings.LOG_REQUESTS and route not in PROBES:
                # The route and not the path: paths of invitations and personal links are secrets.
                facts = {"route": route, "method": _method(request), "status": response.status_code}
                logger.info("request", extra=facts | {"ms": round(1000 * seconds, 1)})
            return response


def request_id_of(request: HttpRequest) -> str:
    """The id that was sent, if it is one (8 to 64 letters, digits, `.`, `_`, `-`); else a new one."""
    sent = request.headers.get(HEADER, "")
    return sent if _ID.fullmatch(sent) else uuid.uuid4().hex


def route_of(request: HttpRequest) -> str:
    """The name of the address that answered, "none" where there is no such page: few names, and no secret in one."""
    match = request.resolver_match
    return (match.view_name or "unnamed") if match else "none"


def _method(request: HttpRequest) -> str:
    # Whatever word a client sends: as a label of a metric, each would be kept for ever.
    return request.method if request.method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE") else "other"


def _user_pk(request: HttpRequest) -> int | None:
    # As far as it was looked up: a log line asks no database. Django keeps it there (django.contrib.auth.middleware).
    user = getattr(request, "_cached_user", None)
    return getattr(user, "pk", None)

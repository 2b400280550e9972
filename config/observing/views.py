"""`/healthz`, `/readyz` and `/metrics`: for those who run the site, and their programs."""

import ipaddress
from http import HTTPStatus

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from config.observing.collector import SiteCollector
from config.observing.metrics import counted_everywhere
from config.observing.readiness import CHECKS, ready_checks
from web.throttling import client_address


@require_safe
@never_cache
def healthz(_request: HttpRequest) -> HttpResponse:
    """Say that this process answers. It asks nothing, so that no outage elsewhere gets it restarted."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Say what is ready, each check by itself; 503 if one is not.

    `?exclude=worker&exclude=broker` leaves checks out: a web process whose workers are down still takes answers, and a
    load balancer must not take it away from annotators. An unknown check is 400.
    """
    without = [name for value in request.GET.getlist("exclude") for name in value.split(",") if name]
    if unknown := sorted(set(without) - set(CHECKS)):
        known = ", ".join(CHECKS)
        words = f"exclude: there is no check {unknown[0][:40]!r}; there are {known}."
        return JsonResponse({"status": "error", "detail": words}, status=HTTPStatus.BAD_REQUEST)
    found = ready_checks(without=without)
    is_ready = all(check.ok for check in found.values())
    checks = {
        name: {"status": "ok" if check.ok else "failed"} | ({"detail": check.detail} if check.detail else {})
        for name, check in found.items()
    }
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    return JsonResponse({"status": "ready" if is_ready else "not ready", "checks": checks}, status=status)


@require_safe
@never_cache
def metrics_text(request: HttpRequest) -> HttpResponse:
    """All metrics in the text format of Prometheus, for who has the token or asks from an allowed network.

    Without METRICS_TOKEN and METRICS_NETWORKS there is no such page.
    """
    if not settings.METRICS:
        raise Http404
    if not _may_read(request):
        answer = HttpResponse("Send the token of METRICS_TOKEN.\n", status=401, content_type="text/plain")
        answer.headers["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return answer
    registry = CollectorRegistry()
    registry.register(SiteCollector())
    body = generate_latest(counted_everywhere()) + generate_latest(registry)
    return HttpResponse(body, content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _may_read(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if settings.METRICS_TOKEN and scheme.lower() == "bearer":
        return constant_time_compare(token.strip(), settings.METRICS_TOKEN)
    try:
        address = ipaddress.ip_address(client_address(request))
    except ValueError:
        return False
    return any(address in network for network in settings.METRICS_NETWORKS)
